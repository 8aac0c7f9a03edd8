"""What all campaigns with inputs have in common: draw one, look at it, judge, keep what failed."""

import random
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import FrameType
from typing import NamedTuple, Protocol

from fieldplay.core.errors import UserError

OURS = "fieldplay"
BYTES_A_S = 100_000
TWICE_EVERY = 8  # how often an input is looked at a second time
MOST_KEPT = 3  # inputs of one fault
MORE_MEMORY = 1 << 30  # bytes


class WrongError(Exception):
    """What an oracle says: something else came than the file holds, or something did not come."""


class Found(NamedTuple):
    """What came of an input: how it ended in a word, and all that came, to be compared with a second time."""

    word: str
    what: Hashable


class Inputs(Protocol):
    """One kind of input: how it is changed, and an oracle of what must come of it."""

    suffix: str
    slow_s: float = 1.0  # that an input may take, and as long again for each 100 kB of it
    hangs_s: float = 30.0  # after which it counts as one without an end

    def mutated(self, draw: random.Random) -> bytes:
        """An input that was changed."""

    def look(self, data: bytes) -> Found:
        """What comes of an input; UserError where it is refused, WrongError where something is not as it must be."""


class Fault(NamedTuple):
    """One failure: what of, and which input."""

    name: str
    seed: int
    number: int
    data: bytes
    told: str


@dataclass
class Summary:
    """What came of all inputs of a campaign."""

    name: str
    seed: int
    words: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    kept: list[Fault] = field(default_factory=list)
    seconds: float = 0.0
    slowest_s: float = 0.0
    largest_bytes: int = 0

    @property
    def inputs(self) -> int:
        return self.words.total()

    def line(self) -> str:
        """All of it in one line, and a line for each fault."""
        parts = ", ".join(f"{number} {word}" for word, number in sorted(self.words.items()))
        rate = self.inputs / self.seconds if self.seconds else 0.0
        head = (
            f"{self.name}: {self.inputs} inputs ({parts}) in {self.seconds:.1f} s, {rate:.0f} a second, "
            f"the slowest {self.slowest_s:.2f} s; seed {self.seed}; {self.faults.total()} failed"
        )
        return "\n".join([head, *(f"  {number} x {what}" for what, number in self.faults.most_common())])


def campaign(
    name: str, inputs: Inputs, *, seed: int, first: int = 0, most: int | None = None, seconds: float | None = None
) -> Summary:
    """Look at so many inputs, or for so long."""
    summary, start = Summary(name, seed), time.monotonic()
    for index in count(first):
        if most is not None and index - first >= most:
            break
        if seconds is not None and time.monotonic() - start >= seconds:
            break
        data = inputs.mutated(random.Random(f"{name} {seed} {index}"))
        judge(summary, inputs, data, index)
    summary.seconds = time.monotonic() - start
    return summary


def judge(summary: Summary, inputs: Inputs, data: bytes, index: int) -> None:
    """Look at an input, and note what became of it."""
    began = time.process_time()
    what = fault_of(inputs, data, is_twice=index % TWICE_EVERY == 0, word=summary.words)
    took = time.process_time() - began
    summary.slowest_s, summary.largest_bytes = max(summary.slowest_s, took), max(summary.largest_bytes, len(data))
    if not what and took > inputs.slow_s + len(data) / BYTES_A_S:
        what = ("slow", f"{took:.1f} s for {len(data)} bytes")
    if not what:
        return
    short, message = what
    summary.faults[short] += 1
    if summary.faults[short] <= MOST_KEPT:
        summary.kept.append(Fault(summary.name, summary.seed, index, data, message))


def fault_of(inputs: Inputs, data: bytes, *, is_twice: bool, word: Counter[str]) -> tuple[str, str] | None:
    """What is wrong with what becomes of an input, short and in full; None where nothing is."""
    try:
        with _ended_at_last(inputs.hangs_s):
            result = _found(inputs, data)
            word[result.word] += 1
            if is_twice and _found(inputs, data) != result:
                return "another thing came the second time", "the second run says another thing than the first"
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic of polars is no Exception
        word["failed"] += 1
        return _short(error), "".join(traceback.format_exception(error))
    return None


def _found(inputs: Inputs, data: bytes) -> Found:
    try:
        return inputs.look(data)
    except UserError as error:
        return Found("refused", str(error))


def _short(error: BaseException) -> str:
    """A fault by what it is and where in our code it arose, the same for all inputs that have it."""
    if isinstance(error, WrongError):
        return str(error).partition(":")[0]
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if OURS in frame.filename]
    folder = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "elsewhere"
    return f"{type(error).__name__} at {folder}"


@contextmanager
def _ended_at_last(within_s: float) -> Iterator[None]:
    def late(_: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"no end within {within_s:g} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, within_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def keep(issue: Fault, folder: Path, suffix: str) -> Path:
    """Write an input that failed, and beside it why, so that it can be looked at again."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{issue.name}-{issue.seed}-{issue.number}.{suffix}"
    path.write_bytes(issue.data)
    path.with_suffix(f".{suffix}.txt").write_text(issue.told, "utf-8", "backslashreplace")
    return path


def limit_memory(more_bytes: int) -> None:
    """Let this process have so many bytes more than it has now, and no more."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    size = pages * resource.getpagesize() + more_bytes
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.getrlimit(resource.RLIMIT_AS)[1]))


def say(text: str) -> None:
    """A line for whoever started the campaign."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
