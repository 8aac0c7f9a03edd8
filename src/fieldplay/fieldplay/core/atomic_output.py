"""Files and folders that appear when they are complete, or not at all: written beside their place, and renamed."""

import fcntl
import glob
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fieldplay.core.errors import UserError


class Partial:
    """A file or folder `.<name>.partial-<pid>` beside a target, until it takes the target's place or is removed.

    It is locked while its process lives, so that the next run knows what a killed one has left. `check` raises where
    what stands at the target must not be replaced. A file's name ends as the target's does.
    """

    def __init__(self, target: Path, *, is_folder: bool, check: Callable[[], None] | None = None) -> None:
        self._target = target
        self._check = check or (lambda: None)
        self._created_parents = [path for path in target.parents if not path.exists()]
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise UserError(f"cannot write {target}: {target.parent} is no folder") from None
        clean_up(target)
        self._check()
        self.path = _sibling_path(target, "partial", os.getpid(), "" if is_folder else target.suffix)
        try:
            self.path.mkdir() if is_folder else self.path.touch(exist_ok=False)
        except FileExistsError:
            raise UserError(f"{target} is being written already") from None
        self._lock = _lock(self.path)

    def commit(self) -> None:
        """Make everything in it durable and put it in the target's place; a folder that stood there goes afterwards."""
        for path in (*(self.path.iterdir() if self.path.is_dir() else ()), self.path):
            _sync(path)
        self._check()
        aside = _sibling_path(self._target, "replaced", os.getpid())
        replaces = self._target.is_dir() and self.path.is_dir()
        try:
            if replaces:
                os.rename(self._target, aside)
            os.rename(self.path, self._target)
        except BaseException:
            if aside.exists() and not self._target.exists():
                os.rename(aside, self._target)
            raise
        _sync(self._target.parent)
        _unlock(self._lock)
        if replaces:
            shutil.rmtree(aside, ignore_errors=True)

    def remove(self) -> None:
        """Leave nothing behind, not even parents made for it."""
        _remove(self.path)
        _unlock(self._lock)
        with suppress(OSError):
            for parent in self._created_parents:
                parent.rmdir()


@contextmanager
def atomic_output(out: Path, *, is_folder: bool = False) -> Iterator[Path]:
    """A temporary path to write to, which replaces OUT at the end; UserError where it cannot be written.

    A file that stands at OUT is replaced, a folder never.
    """
    path = _sibling_path(out, "partial", os.getpid())
    try:
        partial = Partial(out, is_folder=is_folder, check=lambda: _require_no_folder(out))
        try:
            path = partial.path
            yield path
            partial.commit()
        except BaseException:
            partial.remove()
            raise
    except OSError as error:
        if error.filename is None or str(error.filename).startswith((str(path), str(out))):
            raise UserError(f"cannot write {out}: {error.strerror or str(error)}") from error
        raise  # another file than OUT, which the error names


def write_atomically(out: Path, data: bytes) -> None:
    """Write a file and the folders that it needs; on failure nothing is left of either."""
    with atomic_output(out) as path:
        path.write_bytes(data)


def clean_up(target: Path) -> None:
    """Remove what killed runs have left beside a target; a folder they were about to replace gets its place back."""
    for path in _stale_outputs(target, "replaced"):
        if not target.exists():
            os.rename(path, target)
        _remove(path)
    for path in _stale_outputs(target, "partial"):
        _remove(path)


def _require_no_folder(out: Path) -> None:
    if out.is_dir():
        raise UserError(f"{out} is a folder")


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _sibling_path(target: Path, kind: str, pid: int | str, suffix: str = "") -> Path:
    return target.with_name(f".{target.name}.{kind}-{pid}{suffix}")


def _stale_outputs(target: Path, kind: str) -> Iterator[Path]:
    pattern = str(_sibling_path(Path(glob.escape(str(target))), kind, "*"))
    for path in map(Path, glob.glob(pattern)):
        pid = path.name.rpartition("-")[2].partition(".")[0]
        if pid.isdecimal() and not _is_running(int(pid)) and not _is_locked(path):
            yield path


def _is_running(pid: int) -> bool:
    """Whether another process has this id; where ids start anew, as in containers, an own one may be an old one."""
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _lock(path: Path) -> int | None:
    """Lock what is written for as long as this process lives; None where there are no locks or it is taken."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _unlock(descriptor: int | None) -> None:
    if descriptor is not None:
        os.close(descriptor)


def _is_locked(path: Path) -> bool:
    try:
        descriptor = _lock(path)
    except OSError:
        return True
    _unlock(descriptor)
    return descriptor is None


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:
        if not path.is_dir():  # some file systems cannot sync folders
            raise
    finally:
        os.close(descriptor)
