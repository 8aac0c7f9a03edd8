"""How an archive is played: one set of options for the node, the command line and the tests."""

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from fieldplay.core.errors import UsageError
from fieldplay.topics.selection import Selection

LoopStamps = Literal["restart", "continue"]
Stamps = Literal["archive", "now"]
OnEnd = Literal["exit", "pause"]

READ_AHEAD_MB = 128
MIN_RATE, MAX_RATE = 1e-6, 1e6  # beyond them times are no numbers that a machine can wait for


class RequiredSubscription(NamedTuple):
    """A stream (by its id) that must have a subscriber: a node of this name in the player's namespace, else any."""

    stream: str
    node: str = ""

    @classmethod
    def from_text(cls, text: str) -> "RequiredSubscription":
        """From 'STREAM' or 'STREAM@NODE'."""
        stream, _, node = text.partition("@")
        return cls(stream, node)


@dataclass(frozen=True, kw_only=True)
class PlayOptions:
    """`loop_stamps`: whether the times of a further round begin again or go on; `clock_hz`: of /clock, 0 is never.

    `skip_gaps_s`: a longer stretch of the archive without a message is passed over at once; 0 is never, and None as
    the dataset has it.
    `wait_for_streams`: begin once each of these streams is heard, as far as the archive has them.
    """

    selection: Selection = field(default_factory=Selection)
    rate: float = 1.0
    loop: bool = False
    loop_stamps: LoopStamps = "restart"
    paused: bool = False
    clock_hz: float = 0.0
    skip_gaps_s: float | None = None
    stamps: Stamps = "archive"
    on_end: OnEnd = "exit"
    wait_for_subscribers: int = 0
    wait_for_streams: tuple[RequiredSubscription, ...] = ()
    wait_timeout_s: float = 0.0
    read_ahead_mb: float = READ_AHEAD_MB
    qos_overrides: Path | None = None
    urdf: Path | None = None

    def __post_init__(self) -> None:
        _check("rate", self.rate, is_rate(self.rate), f"a number above 0, from {MIN_RATE:g} to {MAX_RATE:g}")
        is_size = math.isfinite(self.read_ahead_mb) and self.read_ahead_mb > 0
        _check("read_ahead_mb", self.read_ahead_mb, is_size, "a number above 0")
        for name in ("clock_hz", "skip_gaps_s", "wait_for_subscribers", "wait_timeout_s"):
            value = getattr(self, name)
            _check(name, value, value is None or (math.isfinite(value) and value >= 0), "0 or more")
        start, duration = self.selection.start_s, self.selection.duration_s
        _check("start", start, math.isfinite(start) and start >= 0, "0 s or more")
        _check("duration", duration, duration is None or (math.isfinite(duration) and duration >= 0), "0 s or more")
        for text in (*self.selection.patterns, *self.selection.exclude_topics):
            _check("topics", text, _is_regex(text), "a regular expression")
        for name, choices in (("loop_stamps", LoopStamps), ("stamps", Stamps), ("on_end", OnEnd)):
            value = getattr(self, name)
            _check(name, value, value in get_args(choices), f"one of {', '.join(get_args(choices))}")

    @property
    def waits(self) -> bool:
        """Whether playing begins only when it is heard."""
        return self.wait_for_subscribers > 0 or bool(self.wait_for_streams)


def is_rate(rate: float) -> bool:
    """Whether playing can go at this rate."""
    return MIN_RATE <= rate <= MAX_RATE


def _is_regex(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def _check(name: str, value: object, good: bool, expected: str) -> None:
    if not good:
        raise UsageError(f"{name}: expected {expected}, got {value!r}")
