"""A folder that comes into being whole: written beside its place under another name, and renamed when complete."""

import fcntl
import glob
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from fieldplay_messages.errors import BagError

METADATA = "metadata.yaml"


class PartialFolder:
    """The folder `.<name>.partial-<pid>` beside a target, until it takes the target's place or is removed.

    It is locked while its process lives, so that the next run knows what a killed one has left.
    """

    def __init__(self, target: Path, *, overwrite: bool) -> None:
        self._target = target
        self._overwrite = overwrite
        self._made_parents = [path for path in target.parents if not path.exists()]
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise BagError(f"{target.parent} is no folder") from None
        clean_up(target)
        self._check_target()
        self.path = _beside(target, "partial", os.getpid())
        try:
            self.path.mkdir()
        except FileExistsError:
            raise BagError(f"{target} is being written already") from None
        self._lock = _lock(self.path)

    def commit(self) -> None:
        """Make everything in it durable and put it in the target's place; a bag that stood there goes afterwards."""
        for path in (*self.path.iterdir(), self.path):
            _sync(path)
        self._check_target()
        aside = _beside(self._target, "replaced", os.getpid())
        replaces = self._target.exists()
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
        shutil.rmtree(self.path, ignore_errors=True)
        _unlock(self._lock)
        with suppress(OSError):
            for parent in self._made_parents:
                parent.rmdir()

    def _check_target(self) -> None:
        if not os.path.lexists(self._target):
            return
        if not self._overwrite:
            raise BagError(f"{self._target} exists already")
        is_bag = self._target.is_dir() and ((self._target / METADATA).exists() or not any(self._target.iterdir()))
        if not is_bag:
            raise BagError(f"{self._target} exists and is no bag: it is not overwritten")


def clean_up(target: Path) -> None:
    """Remove what killed runs have left beside a target; a bag they were about to replace gets its place back."""
    for path in _left_behind(target, "replaced"):
        if not target.exists():
            os.rename(path, target)
        shutil.rmtree(path, ignore_errors=True)
    for path in _left_behind(target, "partial"):
        shutil.rmtree(path, ignore_errors=True)


def _beside(target: Path, kind: str, pid: int | str) -> Path:
    return target.with_name(f".{target.name}.{kind}-{pid}")


def _left_behind(target: Path, kind: str) -> Iterator[Path]:
    pattern = str(_beside(Path(glob.escape(str(target))), kind, "*"))
    for path in map(Path, glob.glob(pattern)):
        pid = path.name.rpartition("-")[2]
        if pid.isdecimal() and not _lives(int(pid)) and not _is_locked(path):
            yield path


def _lives(pid: int) -> bool:
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


def _lock(folder: Path) -> int | None:
    """Lock a folder for as long as this process lives; None where the file system has no locks or it is taken."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _unlock(descriptor: int | None) -> None:
    if descriptor is not None:
        os.close(descriptor)


def _is_locked(folder: Path) -> bool:
    try:
        descriptor = _lock(folder)
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
