"""A place where a command runs again and again, in processes forked from one that has loaded all that it needs."""

import gc
import hashlib
import importlib
import io
import json
import os
import re
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from campaigns.frame import WrongError
from campaigns.shim import Request, Shim
from fieldplay.cli.main import main

LEFT = re.compile(r"\.(.+)\.(partial|replaced)-\d+(\.\w+)?")  # what is named as ours beside an output
GONE_SHARE = 0.4  # of the patience: in which all end that a command has begun, once it is gone
POLL_S = 0.0005
CRASHED = 70
TIMES = re.compile(rb"\d+\.\d+(e[-+]?\d+)?")
Files = Mapping[str, str]  # digests by the names of files
Meddle = Callable[[int], bool]  # told the id of the leader again and again; whether it has done its part


class Ended(NamedTuple):
    """How a run ended, what it printed, and what it told beside."""

    code: int
    printed: str
    told: str
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command that writes; `Stage` has the folders."""

    make: Callable[[Path], None]  # makes the archive in a folder that is there
    words: Callable[["Stage"], Sequence[str]]
    before: Callable[["Stage"], Sequence[str]] | None = None  # of an earlier run, whose output stands there
    again: tuple[str, ...] = ("--overwrite",)  # of a run where another was killed
    loose: frozenset[str] = frozenset()  # outputs that are folders whose files appear each by itself
    timed: frozenset[str] = frozenset()  # endings of files that tell how long something took
    telling: frozenset[str] = frozenset()  # and of those of loose outputs that tell of what failed, where it did
    prepare: Callable[[], None] = field(default=lambda: None)  # in the process, before it runs
    patience_s: float = 60.0  # in which it ends


class Stage:
    """A folder with an archive, a place for outputs, one for what is temporary, and one for indexes."""

    def __init__(self, command: Command, root: Path) -> None:
        self.command = command
        self.archive, self.out, self.before = root / "archive", root / "out", root / "before"
        self.cache, self.scratch = self.out / "cache", root / "scratch"
        self._log = root / "log"
        self.shim = Shim()
        for folder in (self.archive, self.out, self.before, self.scratch):
            folder.mkdir(parents=True)
        os.environ |= {"TMPDIR": str(self.scratch), "FIELDPLAY_CACHE": str(self.cache)}
        self._apart(self._make)
        self.was = state_of(self.archive)
        if command.before is not None:
            self._require_well(self.run(command.before(self)))
            self.before.rmdir()
            shutil.copytree(self.out, self.before, symlinks=True)
        self.earlier = self.files()
        self._learn()
        self.reset()
        self.ended = self._require_well(self.run(command.words(self)))
        self.wanted, self.counts, self.bytes = self.files(), self.shim.counts, self.shim.bytes
        self.reset()
        again = self.run(command.words(self))
        if (self.files(), again.code) != (self.wanted, self.ended.code):
            raise WrongError(f"a second run gives something else: {differing(self.wanted, self.files())}")
        self.seconds = again.seconds

    def _make(self) -> int:
        self.command.make(self.archive)
        return 0

    def _require_well(self, ended: Ended) -> Ended:
        if ended.code not in (0, 1):
            raise WrongError(f"does not even run well: {ended.told}")
        return ended

    def _learn(self) -> None:
        """Run it once, and load what it loads: those that are forked then have it already."""
        self.reset()
        names = self._log.with_suffix(".modules")

        def run() -> int:
            code = self._called(self.command.words(self))
            names.write_text(json.dumps(sorted(sys.modules)))
            return code

        self._apart(run)
        for name in json.loads(names.read_text()):
            if name.startswith("fieldplay"):  # others have been loaded by these, or when they are needed
                importlib.import_module(name)
        with redirect_stdout(io.StringIO()):
            main(["list"])  # which reads the descriptions of all datasets
        gc.freeze()

    def reset(self) -> None:
        """Everything as it is before a run."""
        for folder in (self.out, self.scratch):
            for path in folder.iterdir():
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        shutil.copytree(self.before, self.out, symlinks=True, dirs_exist_ok=True)

    def run(self, arguments: Sequence[str], meddle: Meddle | None = None, request: Request | None = None) -> Ended:
        """Run it to its end, or until it is ended; the shim sees what it writes, or what it reads of the archive."""
        reads = request is not None and request.kinds & 4
        self.shim.arm(request or Request(), *([self.archive] if reads else [self.out, self.scratch]))
        return self._apart(lambda: self._called(arguments), meddle, is_looked_at=True)

    def _called(self, text: Sequence[str]) -> int:
        self.command.prepare()
        try:
            return main(text)
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else 1

    def _apart(self, call: Callable[[], int], meddle: Meddle | None = None, *, is_looked_at: bool = False) -> Ended:
        """Call something in a process of its own, and wait for it and all that it begins."""
        began = time.monotonic()
        pid = os.fork()
        if not pid:
            os._exit(self._in_fork(call, is_looked_at=is_looked_at))
        with suppress(OSError):  # it may have gone on already, and does the same: whoever is first
            os.setpgid(pid, pid)
        code = self._waited(pid, meddle or (lambda pid: True), began)
        seconds = time.monotonic() - began
        self._wait_for_all(pid)
        texts = [self._log.with_suffix(kind).read_text("utf-8", "backslashreplace") for kind in (".out", ".err")]
        return Ended(code, texts[0], texts[1], seconds)

    def _in_fork(self, call: Callable[[], int], *, is_looked_at: bool) -> int:
        try:
            os.setpgid(0, 0)
            for number, kind in ((1, ".out"), (2, ".err")):
                file = os.open(self._log.with_suffix(kind), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                os.dup2(file, number)
            if is_looked_at:
                self.shim.begin()
            code = call()
            sys.stdout.flush()
        except BaseException:
            traceback.print_exc()
            code = CRASHED
        sys.stderr.flush()
        return code

    def _waited(self, pid: int, meddle: Meddle, began: float) -> int:
        is_done = False
        while True:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            is_done = is_done or meddle(pid)
            if time.monotonic() - began > self.command.patience_s:
                os.killpg(pid, signal.SIGABRT)
                raise WrongError(f"hangs: no end within {self.command.patience_s:g} s")
            time.sleep(POLL_S)

    def _wait_for_all(self, group: int) -> None:
        """Those that it has begun end, too: they come to us when their parent is gone."""
        wait_s = GONE_SHARE * self.command.patience_s
        until = time.monotonic() + wait_s
        while True:
            try:
                if not os.waitpid(-1, os.WNOHANG)[0]:
                    time.sleep(POLL_S)
            except ChildProcessError:
                return
            if time.monotonic() > until:
                with suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGKILL)
                raise WrongError(f"leaves processes: they live {wait_s:g} s after it")

    def files(self) -> Files:
        """What stands in the place of outputs."""
        return {name: self._digest(path) for name, path in files_below(self.out)}

    def _digest(self, path: Path) -> str:
        data = path.read_bytes()
        if path.suffix in self.command.timed:
            data = TIMES.sub(b"0", data)
        return hashlib.sha1(data).hexdigest()

    def was_changed(self) -> bool:
        """Whether the archive is another than at first."""
        return state_of(self.archive) != self.was

    def judge_left(self, *, has_failed: bool = False) -> list[str]:
        """WrongError where an output is half there or something is not named as ours; the names of what is."""
        actual = self.files()
        left = [name for name in actual if any(map(LEFT.fullmatch, name.split("/")))]
        telling = self.command.telling if has_failed else frozenset()
        rest = {name: each for name, each in actual.items() if name not in left and Path(name).suffix not in telling}
        for unit in {name.split("/")[0] for name in (*rest, *self.wanted, *self.earlier)}:
            own, requested, earlier = (_below(unit, files) for files in (rest, self.wanted, self.earlier))
            if unit in {*self.command.loose, "cache"}:
                half = [name for name in own if own[name] not in (requested.get(name), earlier.get(name))]
            else:
                half = [] if own in ({}, requested, earlier) else [differing(requested, own)]
            if half:
                raise WrongError(f"an output is neither absent nor complete: {half[0]}")
        return left

    def judge_again(self) -> None:
        """The run after it gives what one gives that was never disturbed, and clears what was left."""
        if self.was_changed():
            raise WrongError("the archive is not as it was")
        arguments_read = [*self.command.words(self), *self.command.again]
        there = [name for name in self.files() if not any(map(LEFT.fullmatch, name.split("/")))]
        if not self.command.again and there:
            for name in {name.split("/")[0] for name in there}:
                shutil.rmtree(self.out / name, ignore_errors=True)
        ended = self.run(arguments_read)
        if ended.code != self.ended.code:
            raise WrongError(f"the run after it fails: {ended.code}: {ended.told}")
        if self.files() != self.wanted:
            raise WrongError(f"the run after it leaves something else: {differing(self.wanted, self.files())}")
        if left := sorted(path.name for path in self.scratch.iterdir()):
            raise WrongError(f"something temporary stays for ever: {left[0]}")


def files_below(root: Path) -> Iterator[tuple[str, Path]]:
    """All files, and folders without any, with their names."""
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_file():
            yield name, path


def state_of(root: Path) -> Mapping[str, tuple[int, int]]:
    """Sizes and times of change of all files below a folder."""
    return {name: (path.stat().st_size, path.stat().st_mtime_ns) for name, path in files_below(root)}


def differing(requested: Files, result: Files) -> str:
    """Where they differ, in words."""
    for name in sorted({*requested, *result}):
        if requested.get(name) != result.get(name):
            return f"{name} is {'missing' if name not in result else 'too much' if name not in requested else 'other'}"
    return "nothing"


def _below(unit: str, files: Files) -> dict[str, str]:
    return {name: digest for name, digest in files.items() if name.split("/")[0] == unit}
