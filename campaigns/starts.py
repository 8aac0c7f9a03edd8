"""Starts of players and whole launches, ended in all ways at random moments, several at a time.

./ws exec python -m campaigns.starts [--starts N | --seconds S] [--seed N] [--first N]
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from threading import Lock

from ament_index_python.packages import get_package_prefix

from campaigns.frame import say
from fieldplay_samples.write_sample import SampleOptions, write_sample

AT_ONCE = 3
MARK = "FIELDPLAY_STARTED_AS"  # in the environment of all that a start has started
BEGINS_S, ENDS_S, LEFT_S = 60.0, 120.0, 30.0  # how long it may take on a busy machine
LOOK_S = 0.05
NOBODY = 1 << (signal.SIGTERM - 1)
FEW = 8  # signals that come before the program can hear them, one of so many
WAYS = ("end", "SIGINT", "SIGTERM", "twice", "parent", "failed")
IN_A_SHELL = 'trap "" TERM INT; "$@" & echo $! >&2; wait $!'  # a parent that can die before its child
NOT_BEGUN = ("importlib", "line 0, in <module>", "Python runtime state: core initialized")


@dataclass(frozen=True)
class Start:
    """What is started, how it is ended and when."""

    number: int
    is_launch: bool
    way: str
    after_s: float  # from when it hears signals
    again_s: float
    is_soon: bool  # or from its start

    @classmethod
    def of(cls, seed: int, number: int) -> "Start":
        """The same for the same seed and number."""
        draw = random.Random(f"starts {seed} {number}")
        is_launch, trajectory = draw.random() < 0.4, draw.choice(WAYS)
        if not is_launch and trajectory == "failed":
            trajectory = "SIGINT"
        after_s = draw.choice([0.0, draw.random() * 0.5, draw.random() * 5.0])
        return cls(
            number, is_launch, trajectory, after_s, draw.random() * draw.choice([0.05, 1.0]), not draw.randrange(FEW)
        )

    def command(self, archive: Path) -> list[str]:
        """What a user types; it plays to the end, or until it is ended."""
        ends = self.way == "end" or (self.way == "parent" and not self.is_launch)
        values = {"archive": str(archive), "rate": "20.0", "loop": "false" if ends else "true"}
        if self.is_launch:
            arguments = ["ros2", "launch", "fieldplay_bringup", "ida.launch.py"]
            return [*arguments, *(f"{name}:={value}" for name, value in values.items())]
        player = Path(get_package_prefix("fieldplay_ros")) / "lib" / "fieldplay_ros" / "player"
        return [str(player), "--ros-args", *(word for name in values for word in ("-p", f"{name}:={values[name]}"))]


@dataclass
class Ending:
    """How a start ended."""

    code: int | None
    text: str
    left: list[str]  # processes
    seconds: float
    stands: str = ""  # where that stood which did not end

    def fault(self, start: Start) -> str:
        """What is not as it must be; nothing where all is."""
        is_early = start.is_soon and start.way not in ("end", "failed", "parent")
        codes = {0}
        has_not_started = any(mark in self.text for mark in NOT_BEGUN)
        is_early |= "KeyboardInterrupt" in self.text and has_not_started
        if is_early:
            codes |= {1, 130, 143, -signal.SIGINT, -signal.SIGTERM}
        if start.is_launch and start.way in ("SIGTERM", "failed"):
            codes |= {1}
        if start.is_launch and start.way == "twice":
            codes |= {-signal.SIGINT}  # all has ended, and the second comes while Python ends
        if start.way == "parent":
            codes = {-signal.SIGKILL} if start.is_launch else {-signal.SIGKILL, 0}  # it may have come to its end before
        issues = {
            "did not end": self.code is None,
            f"ended with {self.code}": self.code is not None and self.code not in codes,
            "a traceback": "Traceback" in self.text and not is_early,
            "a process was left": bool(self.left),
            "where it stood was told: the end took long": "Timeout (" in self.text,
        }
        return ", ".join(message for message, is_wrong in issues.items() if is_wrong)


def ending_of(start: Start, command: list[str], *, ends_s: float = ENDS_S) -> Ending:
    """Start it, end it, and look what is left."""
    mark, began = uuid.uuid4().hex, time.monotonic()
    environment = {
        **os.environ, MARK: mark, "ROS_DOMAIN_ID": str(random.SystemRandom().randrange(1, 101)),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
    }  # fmt: skip
    arguments = ["/bin/sh", "-c", IN_A_SHELL, "sh", *command] if start.way == "parent" else command
    with tempfile.TemporaryFile() as out:
        started = subprocess.Popen(arguments, stdout=out, stderr=subprocess.STDOUT, env=environment)
        stands = ""
        with suppress(ProcessLookupError):
            _end(start, started, mark)
        try:
            code: int | None = started.wait(ends_s)
        except subprocess.TimeoutExpired:
            code, stands = None, _where(mark)
        left = _left(mark, ends_s if start.way == "parent" else LEFT_S)
        stands += _where(mark) if left and not stands else ""
        for pid in list(_pids(mark)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        started.wait()
        out.seek(0)
        text = out.read().decode("utf-8", "backslashreplace")
    return Ending(code, text, left, time.monotonic() - began, stands)


def _end(start: Start, started: "subprocess.Popen[bytes]", mark: str) -> None:
    if start.way == "end":
        return
    if not start.is_soon or start.way in ("parent", "failed"):
        _wait_until(lambda: started.poll() is not None or any(map(_hears, _children(started.pid, start))), BEGINS_S)
    time.sleep(start.after_s)
    if start.way == "parent":
        ends = [started.pid, *(_children(started.pid, start) if start.is_launch else [])]
        for pid in ends:
            os.kill(pid, signal.SIGKILL)
    elif start.way == "failed":
        _wait_until(lambda: started.poll() is not None or len(list(_pids(mark))) > 1, BEGINS_S)
        players = [pid for pid in _pids(mark) if "fieldplay_ros" in _words(pid) and pid != started.pid]
        for pid in players[:1]:
            os.kill(pid, signal.SIGKILL)
    else:
        started.send_signal(signal.SIGTERM if start.way == "SIGTERM" else signal.SIGINT)
        if start.way == "twice":
            time.sleep(start.again_s)
            started.send_signal(signal.SIGINT)


def _children(pid: int, start: Start) -> list[int]:
    """The program itself: a shell is around it where that is to die."""
    if start.way != "parent":
        return [pid]
    with suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def _hears(pid: int) -> bool:
    """Whether a program has said what it does at SIGTERM."""
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return any(line.startswith("SigCgt:") and int(line.split()[1], 16) & NOBODY for line in lines)
    return False


def _pids(mark: str) -> Iterator[int]:
    """All processes that a start has started, and theirs."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        with suppress(OSError):
            is_dead = (folder / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
            if not is_dead and f"{MARK}={mark}".encode() in (folder / "environ").read_bytes():
                yield int(folder.name)


def _words(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    return ""


def _left(mark: str, within_s: float) -> list[str]:
    _wait_until(lambda: not list(_pids(mark)), within_s)
    return [_words(pid) for pid in _pids(mark)]


def _wait_until(what: Callable[[], bool], within_s: float) -> None:
    until = time.monotonic() + within_s
    while not what() and time.monotonic() < until:
        time.sleep(LOOK_S)


def _where(mark: str) -> str:
    """Where all that is left stands, as far as there are programs that tell."""
    messages = []
    for pid in _pids(mark):
        for text in (["py-spy", "dump", "-p"], ["gdb", "-batch", "-ex", "thread apply all bt 25", "-p"]):
            with suppress(OSError):
                result = subprocess.run([*text, str(pid)], capture_output=True, text=True, check=False)
                messages.append(f"--- {_words(pid)}\n{result.stdout}{result.stderr}")
    return "\n".join(messages)


class Starts:
    """Many of them, some at a time."""

    def __init__(self, seed: int, archive: Path, keep: Path) -> None:
        self.seed, self._archive, self._keep = seed, archive, keep
        self._lock = Lock()
        self.ways: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.slowest_s = 0.0

    def run(self, numbers: Iterator[int], until: float) -> None:
        """One after the other, until the time is up; called in several threads."""
        while time.monotonic() < until:
            with self._lock:
                number = next(numbers, None)
            if number is None:
                return
            start = Start.of(self.seed, number)
            ending = ending_of(start, start.command(self._archive))
            with self._lock:
                self._note(start, ending)

    def _note(self, start: Start, ending: Ending) -> None:
        self.ways[f"{'launch' if start.is_launch else 'player'} {start.way}"] += 1
        self.slowest_s = max(self.slowest_s, ending.seconds)
        issue = ending.fault(start)
        if issue:
            self.faults[issue] += 1
            self._keep.mkdir(parents=True, exist_ok=True)
            message = f"{start}\n{issue}; left: {ending.left}\n{ending.text}\n{ending.stands}\n"
            (self._keep / f"starts-{self.seed}-{start.number}.txt").write_text(message)

    def line(self) -> str:
        """All of it in one line, and a line for each fault."""
        trajectories = ", ".join(f"{number} {trajectory}" for trajectory, number in sorted(self.ways.items()))
        head = f"starts: {self.ways.total()} ({trajectories}), the slowest {self.slowest_s:.0f} s; seed {self.seed}"
        issues = (f"  {number} x {what}" for what, number in self.faults.most_common())
        return "\n".join([f"{head}; {self.faults.total()} failed", *issues])


def main() -> int:
    """The exit code: 1 where a start failed."""
    parser = argparse.ArgumentParser(prog="campaigns.starts", description=__doc__)
    parser.add_argument("--starts", type=int, help="so many")
    parser.add_argument("--seconds", type=float, help="for so long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--keep", type=Path, default=Path("bags/campaigns"), help="where is told what failed")
    chosen = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in a shell's background it is ignored, as by all below
    with tempfile.TemporaryDirectory(prefix="starts-") as folder, ThreadPoolExecutor(AT_ONCE) as threads:
        archive = Path(folder) / "bundle"
        write_sample("ida", archive, SampleOptions(seconds=4, workers=1))
        starts = Starts(chosen.seed, archive, chosen.keep)
        most = chosen.starts or (None if chosen.seconds else 30)
        numbers = iter(count(chosen.first) if most is None else range(chosen.first, chosen.first + most))
        until = time.monotonic() + (chosen.seconds or 86_400.0)
        for ended in wait([threads.submit(starts.run, numbers, until) for _ in range(AT_ONCE)]).done:
            ended.result()
    say(starts.line())
    return int(starts.faults.total() > 0)


if __name__ == "__main__":
    sys.exit(main())
