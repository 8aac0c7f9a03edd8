"""Rows of topics as they are read from a recording, batch by batch, what is wrong with them, and their transforms."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.number_text import count_noun
from fieldplay.geometry.frames import Frames
from fieldplay.messages.codec import FramedRecord
from fieldplay.messages.message_batches import Topic
from fieldplay.messages.records import Transforms

LISTED_PER_KIND = 6
Single = Callable[[], FramedRecord | None]
TF = "tf2_msgs/msg/TFMessage"
STATIC = "tf_static"
LARGEST = 1e8  # metres that a transform can have
MIN_QUATERNION = 1e-9


@dataclass(frozen=True, kw_only=True)
class Issue:
    """One issue: its location, and what is wrong there."""

    kind: str
    location: str
    message: str


class Issues:
    """Issues counted by kind, the first of each kind with their locations; and notes."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.listed: dict[str, list[Issue]] = {}
        self.notes: list[str] = []

    def add(self, kind: str, location: str, message: str, *, count: int = 1) -> None:
        """Add an issue, which may stand for many of its kind at its location."""
        if count <= 0:
            return
        self.counts[kind] += count
        listed = self.listed.setdefault(kind, [])
        if len(listed) < LISTED_PER_KIND:
            listed.append(Issue(kind=kind, location=location, message=message))

    def note(self, text: str) -> None:
        """Add a note that is no issue, once."""
        if text not in self.notes:
            self.notes.append(text)

    @property
    def total(self) -> int:
        return self.counts.total()


def report_unreadable(issues: Issues, topic: Topic, count: int) -> None:
    """Report messages that do not match the type of their topic."""
    issues.add(
        "unreadable_message",
        topic.name,
        f"{count_noun(count, 'message')} cannot be read as {topic.msgtype}",
        count=count,
    )


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
        entries = [
            (int(stamp_ns), number, row)
            for number, (record, *_) in enumerate(self.records)
            for row, stamp_ns in enumerate(record.leaves_ns)
        ]
        for stamp_ns, number, row in sorted(entries):
            yield stamp_ns, self.records[number], row


# Transforms of a recording as a tree of frames.


class FrameReader:
    """Puts transforms into a tree, and counts those that are none, by topic and frames."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self.unusable: Counter[str] = Counter()

    def add(self, batch: RecordBatch) -> None:
        """Further transforms; those on a topic tf_static hold for ever."""
        is_static = batch.topic.name.rpartition("/")[2] == STATIC
        for record, *_ in batch.records:
            if isinstance(record, Transforms):
                for index in range(len(record.children)):
                    self._add(batch.topic.name, record, index, is_static=is_static)

    def _add(self, topic: str, record: Transforms, index: int, *, is_static: bool) -> None:
        parent, child = (names[index].lstrip("/") for names in (record.parents, record.children))
        values = np.concatenate([record.translation_m[:, index], record.rotation_xyzw[:, index]], axis=1)
        known = np.ones(len(record), bool) if record.known is None else record.known[:, index]
        usable = (np.abs(values) < LARGEST).all(axis=1) & (np.abs(values[:, 3:]).max(axis=1) > MIN_QUATERNION)
        if not usable[known].all():
            self.unusable[f"{topic}: {parent} to {child}"] += int((~usable & known).sum())
        usable &= known
        if usable.any() and parent != child:
            stamp_ns = record.stamp_ns[usable]
            self._frames.add(parent, child, is_static=is_static, stamp_ns=stamp_ns, values=values[usable])
