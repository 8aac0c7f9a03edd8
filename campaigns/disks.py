"""Disks and archives that fail while a command runs: full, read-only, unreadable, changed, cut, removed."""

import errno
import json
import os
import random
import shutil
from typing import Any

from campaigns.frame import Found, Inputs, WrongError
from campaigns.shim import FILL, NAMES, READS, REFUSE, WAIT, WRITES, Request
from campaigns.stage import Ended, Meddle, Stage, files_below

FULL, READ_ONLY, UNWRITABLE, UNREADABLE, CHANGED = "full", "read-only", "unwritable", "unreadable", "changed"
CHANGES = ("cut", "emptied", "removed", "other", "longer", "all removed")
REFUSED, WRONG_USAGE = 1, 2
TOLD = "fieldplay: "
CRASHES = ("Traceback", "Error:", "Exception")  # of Python's own


class Disks(Inputs):
    """An input says what fails and where, as JSON."""

    suffix = "json"
    slow_s = hangs_s = 900.0

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._pristine = stage.archive.with_name("pristine")
        shutil.copytree(self.stage.archive, self._pristine)
        stage.reset()
        stage.run(stage.command.words(stage), request=Request(kinds=READS))
        self._reads = stage.shim.counts[2]

    def mutated(self, draw: random.Random) -> bytes:
        writes, names, _ = self.stage.counts
        ill = draw.choice([FULL, FULL, READ_ONLY, UNWRITABLE, *[UNREADABLE, CHANGED] * bool(self._reads)])
        by_name: dict[str, Any] = {"ill": ill}
        if ill == FULL:
            by_name["at"] = int(self.stage.bytes * draw.random() ** draw.choice([1, 1, 3]))
        elif ill in (READ_ONLY, UNWRITABLE):
            by_name["at"] = 1 + draw.randrange(names if ill == READ_ONLY else max(writes, 1))
        else:
            by_name["at"] = 1 + draw.randrange(self._reads)
        if ill in (UNWRITABLE, UNREADABLE):
            by_name["is_once"] = draw.random() < 0.5
        if ill == CHANGED:
            by_name |= {"change": draw.choice(CHANGES), "file": draw.random()}
        return json.dumps(by_name).encode()

    def look(self, data: bytes) -> Found:
        result = json.loads(data)
        stage = self.stage
        stage.reset()
        try:
            ended = stage.run(stage.command.words(stage), self._change(result), _request(result))
            if result["ill"] in (UNREADABLE, CHANGED):
                self._judge_read(ended, is_gone="removed" in result.get("change", ""))
            else:
                self._judge_written(ended)
        finally:
            self._restore()
        stage.judge_again()
        return Found("refused" if ended.code == REFUSED else "done", 0)

    def _change(self, message: dict[str, Any]) -> Meddle:
        def meddle(leader: int) -> bool:
            if not self.stage.shim.waiting:
                return False
            self._changed(message)
            self.stage.shim.let_go()
            return True

        return meddle

    def _changed(self, output: dict[str, Any]) -> None:
        files = [path for _, path in files_below(self.stage.archive)]
        path = files[int(output["file"] * len(files))]
        data = path.read_bytes()
        if output["change"] == "all removed":
            shutil.rmtree(self.stage.archive)
        elif output["change"] == "removed":
            path.unlink()
        elif output["change"] == "longer":
            path.write_bytes(data + data[-len(data) // 3 :])
        else:
            os.truncate(path, len(data) // 2 if output["change"] == "cut" else 0)
            if output["change"] == "other":
                path.write_bytes(data.translate(bytes.maketrans(b"123456", b"234561")))

    def _restore(self) -> None:
        if self.stage.was_changed():
            shutil.rmtree(self.stage.archive, ignore_errors=True)
            shutil.copytree(self._pristine, self.stage.archive)

    def _judge_written(self, ended: Ended) -> None:
        """What could not be written is told, and nothing is half there or left behind."""
        stage = self.stage
        left = stage.judge_left(has_failed=ended.code != stage.ended.code)
        if left:
            raise WrongError(f"something is left behind: {left[0]}")
        if ended.code == stage.ended.code:
            if lost := [name for name in stage.wanted if name not in stage.files() and not name.startswith("cache/")]:
                raise WrongError(f"it ends well without an output: {lost[0]}")
            return
        _require_told(self._with_steps(ended))

    def _with_steps(self, ended: Ended) -> Ended:
        """Of a command that goes on where a step fails, what it prints of that is what it tells."""
        failed = [line for line in ended.printed.splitlines() if self.stage.command.telling and " failed: " in line]
        return ended._replace(told="\n".join([ended.told, *(f"{TOLD}{line}" for line in failed)]))

    def _judge_read(self, ended: Ended, *, is_gone: bool) -> None:
        """What could not be read is told; what is there is not half of something."""
        stage = self.stage
        files = stage.files()
        if left := [name for name in files if ".partial-" in name or ".replaced-" in name]:
            raise WrongError(f"something is left behind: {left[0]}")
        if ended.code != stage.ended.code:
            _require_told(self._with_steps(ended), is_gone=is_gone)
            more = [name for name in files if stage.earlier.get(name) != files[name] and name[:6] != "cache/"]
            if more and not stage.command.telling:
                raise WrongError(f"an output though it was refused: {more[0]}")
        elif files != stage.wanted and not (ended.told or "problem" in ended.printed or "fault" in ended.printed):
            raise WrongError("another output, and nothing is told of why")
        elif "Traceback" in ended.told:
            raise WrongError(f"a traceback: {ended.told}")


def _request(message: dict[str, Any]) -> Request:
    once = bool(message.get("is_once"))
    return {
        FULL: Request(kinds=WRITES | NAMES, action=FILL, at=message["at"]),
        READ_ONLY: Request(kinds=NAMES, action=REFUSE, at=message["at"], error=errno.EROFS),
        UNWRITABLE: Request(kinds=WRITES, action=REFUSE, at=message["at"], error=errno.EIO, is_once=once),
        UNREADABLE: Request(kinds=READS, action=REFUSE, at=message["at"], error=errno.EIO, is_once=once),
        CHANGED: Request(kinds=READS, action=WAIT, at=message["at"]),
    }[message["ill"]]


def _require_told(ended: Ended, *, is_gone: bool = False) -> None:
    """Our own error in one line, and the exit code that goes with it; a file that is gone may be a wrong argument."""
    lines = [line for line in ended.told.splitlines() if line.startswith(TOLD)]
    if is_gone and ended.code == WRONG_USAGE and "there is no such" in ended.told:
        return
    if ended.code != REFUSED:
        raise WrongError(f"ends with {ended.code}: {ended.told}")
    if not lines or any(word in line for word in CRASHES for line in ended.told.splitlines()):
        raise WrongError(f"not told in words of ours: {ended.told}")
