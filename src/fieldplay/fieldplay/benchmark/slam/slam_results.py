"""What came of methods, as a table and as JSON."""

import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fieldplay.core.number_text import number_text
from fieldplay.evaluation.evaluation_text import table_lines
from fieldplay.evaluation.trajectory_pair import Comparison
from fieldplay.trajectories.evaluation import DEGREES, PERCENT
from fieldplay.trajectories.pose_errors import statistics_of

GRACE_S = 5.0  # from the wish that a program ends to its end by force
LOOK_S = 0.2  # how often memory is looked at; what a process has had at most is known until its end
KILOBYTES = 1024.0
RADIAN = float(np.degrees(1.0))
NONE = "-"
DONE, FAILED, SKIPPED = "done", "failed", "skipped"


# Programs of others: run to their end or to a limit of time, with their output in a file, and what they took.


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What programs took: seconds by the clock, seconds of CPU, memory in MB of the largest process at its most."""

    seconds: float = 0.0
    cpu_s: float = 0.0
    rss_mb: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ProgramResult:
    """Result of a program: an error text, empty on success, and the cost of it and the background programs."""

    error: str
    cost: Cost


@dataclass(frozen=True, kw_only=True)
class ProcessSettings:
    """Where programs run, with which variables, and the file that their output goes to."""

    folder: Path
    variables: Mapping[str, str]
    log: Path


class _Program:
    """A program with all that it starts, in a group of its own."""

    def __init__(self, command: Sequence[str], settings: ProcessSettings) -> None:
        self._command = command[0]
        with settings.log.open("ab") as out:
            out.write(f"$ {' '.join(command)}\n".encode())
            out.flush()
            self._process = subprocess.Popen(
                command, cwd=settings.folder, env=dict(settings.variables), stdin=subprocess.DEVNULL,
                stdout=out, stderr=out,
                start_new_session=True,
            )  # fmt: skip
        self._watch = os.pidfd_open(self._process.pid)
        self._status: int | None = None
        self.cpu_s = self.rss_mb = 0.0

    def wait(self, seconds: float) -> bool:
        """Whether it has ended, after so many seconds at most."""
        if self._status is None and self._has_ended(seconds):
            _, self._status, used = os.wait4(self._process.pid, 0)
            self._process.returncode = os.waitstatus_to_exitcode(self._status)
            self.cpu_s = used.ru_utime + used.ru_stime
        return self._status is not None

    def _has_ended(self, seconds: float) -> bool:
        poll, end = select.poll(), time.monotonic() + seconds
        poll.register(self._watch, select.POLLIN)
        while True:
            left = max(end - time.monotonic(), 0.0)
            if poll.poll(min(left, LOOK_S) * 1000):
                return True
            self.look()
            if left <= 0:
                return False

    def look(self) -> None:
        """See how much memory its processes have had; the system's own account begins with what we had ourselves."""
        for pid in _family(self._process.pid):
            self.rss_mb = max(self.rss_mb, _most_mb(pid))

    def close(self) -> None:
        """End it and what it has started: SIGINT, as a user would, and SIGKILL where that does not do."""
        if not self.wait(0):
            self._send(signal.SIGINT)
            self.wait(GRACE_S)
        self._send(signal.SIGKILL)
        self.wait(GRACE_S)
        os.close(self._watch)

    def _send(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    @property
    def error(self) -> str:
        code = self._process.returncode
        if not code:
            return ""
        name = Path(self._command).name
        return f"{name} ended with code {code}" if code > 0 else f"{name} was ended by {_signal_name(-code)}"


def run_programs(
    command: Sequence[str], background: Sequence[Sequence[str]], settings: ProcessSettings, *, limit_s: float
) -> ProgramResult:
    """Run a program to its end beside others, and stop them all; one that does not start is an error, too."""
    start, issue = time.monotonic(), ""
    programs: list[_Program] = []
    try:
        with _closing_all(programs):
            programs += [_Program(arguments, settings) for arguments in background]
            programs.append(_Program(command, settings))
            late = f"not done after {limit_s:g} s (--time-limit)"
            issue = programs[-1].error if programs[-1].wait(limit_s) else late
            seconds = time.monotonic() - start
    except (FileNotFoundError, PermissionError) as error:
        return ProgramResult(error=f"cannot start {error.filename}: {error.strerror}", cost=Cost())
    cpu_s, rss_mb = sum(each.cpu_s for each in programs), max(each.rss_mb for each in programs)
    return ProgramResult(error=issue, cost=Cost(seconds=seconds, cpu_s=cpu_s, rss_mb=rss_mb))


@contextmanager
def _closing_all(programs: list[_Program]) -> Iterator[None]:
    """Close all programs on exit, whatever happens."""
    try:
        yield
    finally:
        for program in reversed(programs):
            program.close()


def _family(pid: int) -> Iterator[int]:
    """A process and all that it has started and that live."""
    yield pid
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in path.read_text().split():
                yield from _family(int(child))


def _most_mb(pid: int) -> float:
    """What a process has had at most; 0 where it is gone."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / KILOBYTES
    return 0.0


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """What came of a method: how it ended and why, what it took, of how many scans how many poses, and the errors."""

    name: str
    version: str
    status: str
    error: str = ""
    notes: tuple[str, ...] = ()
    scans: int = 0
    poses: int = 0
    data_s: float = 0.0
    cost: Cost = field(default_factory=Cost)
    comparison: Comparison | None = None


def as_json(outcome: Outcome) -> dict[str, Any]:
    """All of it for programs, with units in the names; errors are root mean squares."""
    cost, data_s = outcome.cost, outcome.data_s
    values: dict[str, Any] = {
        "method": outcome.name,
        "version": outcome.version,
        "status": outcome.status,
        "error": outcome.error or None,
        "notes": list(outcome.notes),
        "scans": outcome.scans,
        "poses": outcome.poses,
        "data_s": data_s,
        "seconds": cost.seconds,
        "cpu_s": cost.cpu_s,
        "rss_mb": cost.rss_mb,
        "seconds_per_s": cost.seconds / data_s if data_s else None,
        "cpu_s_per_s": cost.cpu_s / data_s if data_s else None,
    }
    return {**values, **_errors(outcome)}


def _errors(outcome: Outcome) -> dict[str, Any]:
    if outcome.comparison is None:
        return {"ate_rmse_m": None, "drift_percent": None, "rpe": []}
    evaluation = outcome.comparison.evaluation
    ate = statistics_of(evaluation.absolute.translation)
    lengths = [one for one in evaluation.over_lengths if len(one.errors)]
    fractions = np.concatenate([np.zeros(0), *(one.errors.translation for one in lengths)])
    return {
        "truth": outcome.comparison.pair.truth.topic,
        "pairs": len(evaluation.pairs),
        "way_m": float(evaluation.travelled_m[-1]),
        "alignment": evaluation.settings.alignment,
        "offset_s": evaluation.settings.offset_s,
        "ate_rmse_m": ate.rmse,
        "ate_max_m": ate.most,
        "ate_rotation_rmse_deg": _rms_degrees(evaluation.absolute.rotation),
        "drift_percent": statistics_of(fractions).rmse * PERCENT if len(fractions) else None,
        "rpe": [
            {
                "length_m": one.length_m,
                "translation_percent": statistics_of(one.errors.translation).rmse * PERCENT,
                "rotation_deg_per_m": _rms_degrees(one.errors.rotation),
            }
            for one in lengths
        ],
    }


def _rms_degrees(errors: Any) -> float | None:
    """The root mean square of angles in degrees; None where no rotation is known."""
    rmse = statistics_of(errors).rmse * RADIAN
    return None if np.isnan(rmse) else rmse


def lines_of(outcomes: Sequence[Outcome], title: str) -> Iterator[str]:
    """The table, and below it what is to be said of some."""
    results = [as_json(outcome) for outcome in outcomes]
    lengths_m = sorted({over["length_m"] for one in results for over in one["rpe"]})
    heads = ["", "status", "poses", "s per s", "CPU s per s", "MB", "ATE, m", "max, m", f"ATE, {DEGREES}", "drift, %"]
    heads += [f"% over {length:g} m" for length in lengths_m]
    yield title
    yield from table_lines([heads, *(_row(one, lengths_m) for one in results)])
    for one in results:
        for text in [*([one["error"]] if one["error"] else []), *one["notes"]]:
            yield f"  {one['method']}: {text}"


def _row(one: dict[str, Any], lengths_m: Sequence[float]) -> list[str]:
    over = {each["length_m"]: each["translation_percent"] for each in one["rpe"]}
    poses = f"{one['poses']} of {one['scans']}" if one["scans"] else NONE
    cost = [one["seconds_per_s"], one["cpu_s_per_s"], one["rss_mb"] or None]
    errors = [one.get(name) for name in ("ate_rmse_m", "ate_max_m", "ate_rotation_rmse_deg", "drift_percent")]
    numbers = [*cost, *errors, *(over.get(length) for length in lengths_m)]
    return [one["method"], one["status"], poses, *(NONE if each is None else number_text(each) for each in numbers)]
