"""What can be opened, an archive or a bag, as records in the order of time; and what was found wrong with it."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.number_text import many
from fieldplay.core.progress import Progress
from fieldplay.messages.message_batches import Topic
from fieldplay.messages.record_decoder import FramedRecord

KEPT_PER_KIND = 6

Single = Callable[[], FramedRecord | None]


@dataclass(frozen=True, kw_only=True)
class Issue:
    """One problem: where, and what is wrong there."""

    kind: str
    place: str
    message: str


class Issues:
    """Problems as they are found, counted by kind, the first of each kind with their places; and notes."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.kept: dict[str, list[Issue]] = {}
        self.notes: list[str] = []

    def add(self, kind: str, place: str, message: str, *, count: int = 1) -> None:
        """Tell of a problem, which may stand for many of its kind at its place."""
        if count <= 0:
            return
        self.counts[kind] += count
        kept = self.kept.setdefault(kind, [])
        if len(kept) < KEPT_PER_KIND:
            kept.append(Issue(kind=kind, place=place, message=message))

    def note(self, text: str) -> None:
        """Tell of what is no problem, once."""
        if text not in self.notes:
            self.notes.append(text)

    @property
    def total(self) -> int:
        return self.counts.total()


def tell_unreadable(findings: Issues, topic: Topic, count: int) -> None:
    """Messages that are not of the type that their topic says."""
    findings.add(
        "unreadable_message", topic.name, f"{many(count, 'message')} cannot be read as {topic.msgtype}", count=count
    )


@dataclass(frozen=True, kw_only=True)
class RecordingInfo:
    """What the source is, in words: `facts` are names with values.

    Gaps longer than `skip_gaps_s` are nothing unusual in it; 0 says nothing of them. `notes` are what is to be known of
    a topic, by its name, where its type alone would mislead; `units` those of its fields.
    """

    title: str
    name: str
    kind: str
    size_bytes: int
    facts: tuple[tuple[str, str], ...] = ()
    skip_gaps_s: float = 0.0
    notes: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(eq=False)
class RecordBatch:
    """The next rows of a topic: the times at which they leave, in order (n,), and their records when asked for.

    `whole` makes records of all rows. `single` gives the rows one by one with their times, each to be made into a
    record of one row if it is wanted, None where it cannot be read: for what is large, or of which few are wanted.
    """

    topic: Topic
    stamp_ns: NDArray[np.int64]
    whole: Callable[[], Iterable[FramedRecord]]
    single: Callable[[], Iterator[tuple[int, Single]]]
    is_readable: bool = True

    @cached_property
    def records(self) -> tuple[FramedRecord, ...]:
        """All rows, those of one kind of message in a record."""
        return tuple(self.whole())

    def rows(self) -> Iterator[tuple[int, FramedRecord, int]]:
        """All rows in the order of time: when each leaves, and in which record it is in which place."""
        places = [
            (int(stamp_ns), number, row)
            for number, (record, *_) in enumerate(self.records)
            for row, stamp_ns in enumerate(record.leaves_ns)
        ]
        for stamp_ns, number, row in sorted(places):
            yield stamp_ns, self.records[number], row


class RecordSource(Protocol):
    """What can be opened. Topics and findings are complete when the batches are."""

    @property
    def subject(self) -> RecordingInfo: ...

    @property
    def topics(self) -> list[Topic]:
        """All topics, those without any message among them."""

    @property
    def begin_ns(self) -> int | None:
        """When the data begin; of a bag it is known when the batches are complete."""

    @property
    def findings(self) -> Issues: ...

    def batches(self, progress: Progress, only: Collection[str] | None = None) -> Iterator[RecordBatch]:
        """All rows, or those of some topics by their names; of one topic in the order of time, as far as they are."""
