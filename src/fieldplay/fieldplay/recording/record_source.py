"""What can be opened, an archive or a bag, as records in the order of time; and what was found wrong with it."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError, UsageError
from fieldplay.core.number_text import count_noun
from fieldplay.core.progress import Progress
from fieldplay.geometry.frames import Frames
from fieldplay.messages.codec import FramedRecord
from fieldplay.messages.message_batches import Topic
from fieldplay.messages.record_decoder import IMAGE, INFO
from fieldplay.messages.records import Transforms
from fieldplay.recording.field_data import COMPRESSED, FieldData, TopicInfo

NAME_PARTS = re.compile(r"[A-Z]?[a-z0-9]+")
QUALIFIERS = (
    "left",
    "right",
    "depth",
    "disparity",
    "cloud",
    "points",
    "scene",
    "model",
)  # words that tell inputs apart
LISTED_PER_KIND = 6
Single = Callable[[], FramedRecord | None]
TF = "tf2_msgs/msg/TFMessage"
STATIC = "tf_static"
LARGEST = 1e8  # metres that a transform can have
MIN_QUATERNION = 1e-9


# Which topic of a recording feeds an input: as asked for, as the dataset says, or as it is called.


def topics_by_input(texts: Sequence[str], ports: Collection[str]) -> dict[str, str]:
    """Parse PORT=TOPIC into topics by port."""
    topics = {}
    for text in texts:
        port, equals, topic = text.partition("=")
        if not (port and equals and topic):
            raise UsageError(f"--input: expected PORT=TOPIC, got '{text}'")
        if port not in ports:
            raise UsageError(f"--input: there is no input {port}; there are {', '.join(ports)}")
        topics[port] = topic
    return topics


def find_topic(data: FieldData, name: str) -> TopicInfo | None:
    """Find the topic that a dataset's description names; None where the recording lacks it."""
    try:
        return data.topic(name, suffix=COMPRESSED)
    except UsageError:
        return None  # this archive lacks it; perhaps another is called so


def topic_of_input(data: FieldData, port: str, types: Sequence[str]) -> TopicInfo:
    """Find the topic of a matching type whose name has the qualifier of this input."""
    fitting = [topic for topic in data.topics.values() if topic.type in types]
    qualifiers = {word.lower() for word in NAME_PARTS.findall(port)} & set(QUALIFIERS)
    named = [topic for topic in fitting if qualifiers <= set(re.split(r"[/_]", topic.name))] if qualifiers else fitting
    candidates = _prefer_raw(named)
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        called = f" called {' '.join(sorted(qualifiers))}" if qualifiers else ""
        there = ", ".join(f"{topic.name} ({topic.count})" for topic in fitting)
        raise ArchiveError(
            f"nothing feeds the input {port}: expected a topic of {' or '.join(types)}{called}, "
            f"{f'there are {there}' if there else 'there is none'}; --input {port}=TOPIC names one"
        )
    raise UsageError(
        f"the input {port} may be fed by {' or '.join(topic.name for topic in candidates)}: "
        f"--input {port}=TOPIC chooses"
    )


def _prefer_raw(topics: Sequence[TopicInfo]) -> list[TopicInfo]:
    """Drop compressed images that are there raw too."""
    raw = {topic.name for topic in topics if topic.type == IMAGE}
    return [topic for topic in topics if topic.name.removesuffix(COMPRESSED) not in raw or topic.name in raw]


def camera_info_topic(data: FieldData, topic: TopicInfo) -> str:
    """The CameraInfo topic of an image topic; "" where there is none."""
    plain = topic.name.removesuffix(COMPRESSED)
    folder = plain.rpartition("/")[0]
    names = (f"{folder}/camera_info", f"{plain}/camera_info", f"{folder}/camera_info_rect")
    return next((name for name in names if name in data.topics and data.topics[name].type == INFO), "")


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
        entries = [
            (int(stamp_ns), number, row)
            for number, (record, *_) in enumerate(self.records)
            for row, stamp_ns in enumerate(record.leaves_ns)
        ]
        for stamp_ns, number, row in sorted(entries):
            yield stamp_ns, self.records[number], row


class RecordSource(Protocol):
    """What can be opened. Topics and findings are complete when the batches are."""

    @property
    def subject(self) -> RecordingInfo: ...

    @property
    def topics(self) -> list[Topic]:
        """All topics, those without any message among them."""

    @property
    def start_ns(self) -> int | None:
        """When the data begin; of a bag it is known when the batches are complete."""

    @property
    def issues(self) -> Issues: ...

    def batches(self, progress: Progress, only: Collection[str] | None = None) -> Iterator[RecordBatch]:
        """All rows, or those of some topics by their names; of one topic in the order of time, as far as they are."""


# Transforms of a source as a tree of frames.


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
