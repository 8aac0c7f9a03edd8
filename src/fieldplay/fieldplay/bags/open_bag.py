"""Any bag: of ROS 2, or of ROS 1 as if it were one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fieldplay.bags.bag_detection import is_ros1_bag
from fieldplay.bags.bag_reader import Ros2Bag
from fieldplay.bags.bag_stream import rows_of_topic
from fieldplay.bags.bag_topics import AS_USUAL, Bag, BagReading, IndexedTopic, MessageFiles, mixed_types
from fieldplay.bags.compression import MB, MESSAGE_FILES, UNPACK_LIMIT_MB
from fieldplay.bags.qos import is_same_layout, profile_list
from fieldplay.bags.ros1 import (
    Parts,
    Ros1Bag,
    Ros1Conversion,
    conversion_of_kind,
    parts_of_bag,
)
from fieldplay.bags.storage import MessageOffsets, merge_offsets
from fieldplay.core.errors import ArchiveError, Defect, Report, UsageError, pluralize
from fieldplay.core.progress import Progress
from fieldplay.messages.message_batches import (
    Batch,
    Topic,
    batch_of_messages,
    parts_of_lengths,
)

BLOCK_BITS = 48  # of a block's place: above them stands which topic it is read for
LATCHED = [{"durability": "transient_local", "reliability": "reliable", "history": "keep_last", "depth": 1}]


# A bag of ROS 1 as if it were one of ROS 2: each message becomes CDR when it is read.


class Ros1AsRos2Bag(Bag):
    """A bag of ROS 1 with the topics whose types have a like in ROS 2; the others are noted."""

    title = "a bag of ROS 1"
    storages: Sequence[str] = ("a file of ROS 1",)
    early = 0

    def __init__(self, bag: Ros1Bag, files: Sequence[Path], note: Callable[[str], None] = lambda text: None) -> None:
        super().__init__(bag.name, bag.report)
        self.files = files
        self.information: Mapping[str, Any] = {}
        self._bag, self._note = bag, note
        self._conversions: list[Ros1Conversion] = []

    @cached_property
    def indexed(self) -> Mapping[str, IndexedTopic]:
        topics: dict[str, IndexedTopic] = {}
        for ros1_name, topic in self._bag.layouts:
            name, count = _full_name(ros1_name), len(topic.offsets.stamp_ns)
            try:
                conversion = conversion_of_kind(topic.kind)
            except ArchiveError as error:
                message = f"{name}: {pluralize(count, 'message')} of {topic.kind.msgtype} left out: {error}"
                self.report(Defect(file=self.name, kind="unconvertible_type", message=message))
                continue
            if conversion.is_filled:
                self._note(f"{name}: {conversion.kind.msgtype} has fields that ROS 1 lacks: they are 0 or empty")
            first_block = len(self._conversions) << BLOCK_BITS
            self._conversions.append(conversion)
            offsets = replace(topic.offsets, block=topic.offsets.block + first_block)
            known = topics.get(name)
            own = IndexedTopic(conversion.kind, offsets)
            if known is not None and not is_same_layout(known.kind, conversion.kind):
                self.report(mixed_types(self.name, name, own, known))
                continue
            topics[name] = replace(own, offsets=merge_offsets([known.offsets, offsets])) if known else own
        return topics

    @property
    def topics(self) -> list[Topic]:
        """The topics with their types."""
        return [Topic(name, topic.kind.msgtype) for name, topic in self.indexed.items()]

    @property
    def profiles(self) -> Mapping[str, object]:
        return {_full_name(name): LATCHED for name in self._bag.latched}

    def read(self, block: int, offsets: Sequence[int]) -> Iterator[bytes]:
        return map(self._conversions[block >> BLOCK_BITS], self._bag.read(block & (1 << BLOCK_BITS) - 1, offsets))

    def report_damaged(self, block: int, message: str) -> None:
        self._bag.report_damaged(block & (1 << BLOCK_BITS) - 1, message)

    def close(self) -> None:
        self._bag.close()

    def batches(self, progress: Progress) -> Iterator[Batch]:
        """All messages that can be read, by topic in batches, in the order of their first times."""
        topics = {name: self.topic(name, rows_of_topic(self, name, at_once=True)[0]) for name in self.indexed}
        entries = sorted(
            (span.first_ns, name, i) for name, topic in topics.items() for i, span in enumerate(topic.spans)
        )
        for done, (_, name, index) in enumerate(entries, start=1):
            topic = topics[name]
            read = topic.messages(index)
            stamp_ns = topic.stamps(index)[[message is not None for message in read]]
            if len(stamp_ns):
                parts = parts_of_lengths(stamp_ns, [message for message in read if message is not None])
                yield batch_of_messages(Topic(name, topic.kind.msgtype), stamp_ns, parts)
            progress(done / len(entries), done)


def _full_name(topic: str) -> str:
    """A topic with the slash before it that not all writers put there."""
    return "/" + topic.lstrip("/")


class JoinedBag(Bag):
    """Bags of ROS 2 and ROS 1 as one. A topic that has another type in a later bag is reported and left out of it."""

    def __init__(self, bags: Sequence[Ros2Bag | Ros1AsRos2Bag]) -> None:
        super().__init__(" and ".join(bag.name for bag in bags), bags[0].report)
        self._bags = bags
        self._blocks: list[tuple[int, int]] = []  # the bag of each block and its number there
        self.information: Mapping[str, Any] = {}
        self.storages = list(dict.fromkeys(storage for bag in bags for storage in bag.storages))

    @property
    def early(self) -> int:
        """Messages that were logged before the recorder had a clock."""
        return sum(bag.early for bag in self._bags)

    @property
    def title(self) -> str:  # type: ignore[override]
        """What it is, for people."""
        return f"{pluralize(len(self._bags), 'bag')} as one"

    @property
    def files(self) -> Sequence[Path]:
        return [file for bag in self._bags for file in bag.files]

    @property
    def topics(self) -> list[Topic]:
        return list(dict.fromkeys(topic for bag in self._bags for topic in bag.topics))

    @cached_property
    def indexed(self) -> Mapping[str, IndexedTopic]:
        joined: dict[str, IndexedTopic] = {}
        for number, bag in enumerate(self._bags):
            for name, topic in bag.indexed.items():
                own = replace(topic, offsets=self._renumber(number, topic.offsets), convert=None)
                first = joined.get(name)
                if first is None:
                    joined[name] = own
                elif is_same_layout(first.kind, own.kind):
                    joined[name] = replace(first, offsets=merge_offsets([first.offsets, own.offsets]))
                else:
                    self.report(mixed_types(bag.name, name, own, first))
        return joined

    def _renumber(self, number: int, offsets: MessageOffsets) -> MessageOffsets:
        """Give the blocks of one of the bags their numbers in the joined bag."""
        blocks, which = np.unique(offsets.block, return_inverse=True)
        first = len(self._blocks)
        self._blocks += [(number, block) for block in blocks.tolist()]
        return replace(offsets, block=first + which.reshape(-1).astype(np.int64))

    @property
    def profiles(self) -> Mapping[str, object]:
        profiles: dict[str, list[object]] = {}
        for bag in self._bags:
            for name, topic in bag.indexed.items():
                offered = bag.profiles.get(name) or (topic.stored.profiles if topic.stored else "")
                profiles.setdefault(name, []).extend(profile_list(offered))
        return profiles

    @property
    def custom_data(self) -> Mapping[str, str]:
        """What all of them say alike."""
        first, *others = (bag.custom_data for bag in self._bags)
        return {key: text for key, text in first.items() if all(other.get(key) == text for other in others)}

    def read(self, block: int, offsets: Sequence[int]) -> Iterator[bytes]:
        number, own = self._blocks[block]
        return self._bags[number].read(own, offsets)

    def read_topic(self, name: str, block: int, offsets: Sequence[int]) -> Iterator[bytes]:
        number, own = self._blocks[block]
        return self._bags[number].read_topic(name, own, offsets)

    def view(self, name: str, block: int, offset: int) -> bytes | memoryview:
        number, own = self._blocks[block]
        return self._bags[number].view(name, own, offset)

    def report_damaged(self, block: int, message: str) -> None:
        number, own = self._blocks[block]
        self._bags[number].report_damaged(own, message)

    def close(self) -> None:
        for bag in self._bags:
            bag.close()

    def batches(self, progress: Progress) -> Iterator[Batch]:
        """All messages that can be read, one bag after the other."""
        for number, bag in enumerate(self._bags):

            def own(fraction: float, count: int, number: int = number) -> None:
                progress((number + fraction) / len(self._bags), count)

            yield from bag.batches(own)


AnyBag = Ros2Bag | Ros1AsRos2Bag


def open_bag(
    path: Path,
    report: Report,
    note: Callable[[str], None] = lambda text: None,
    reading: BagReading = AS_USUAL,
) -> AnyBag:
    """Open a bag; BagError or ArchiveError where it is none."""
    if is_ros1_bag(path):
        return Ros1AsRos2Bag(open_ros1_bag(path, report, reading), parts_of_bag(path)[0], note)
    return Ros2Bag(path, report, note, reading)


def open_joined_bag(
    paths: Sequence[Path],
    report: Report,
    note: Callable[[str], None] = lambda text: None,
    reading: BagReading = AS_USUAL,
) -> "AnyBag | JoinedBag":
    """Open one bag, or several as one; BagError or ArchiveError where one of them is none."""
    if len(paths) == 1:
        return open_bag(paths[0], report, note, reading)
    with ExitStack() as stack:
        bags = []
        for path in paths:
            bags.append(open_bag(path, report, note, reading))
            stack.callback(bags[-1].close)
        joined = JoinedBag(bags)
        stack.pop_all()
    return joined


def reading_of_parameters(values: Mapping[str, Any]) -> BagReading:
    """How a bag is read, by the parameters that a bag has as an archive."""
    folder, limit_mb = values[MESSAGE_FILES], values[UNPACK_LIMIT_MB]
    if not limit_mb > 0:
        raise UsageError(f"parameter {UNPACK_LIMIT_MB}: expected more than 0, got {limit_mb:g}")
    files = MessageFiles(Path(folder)) if folder else None
    return BagReading(message_files=files, unpack_limit=round(limit_mb * MB))


def open_ros1_bag(path: Path, report: Report, reading: BagReading = AS_USUAL) -> Ros1Bag:
    """Open a bag of ROS 1 as it is, all its parts if it is one of several."""
    parts, missing = parts_of_bag(path)
    for name in missing:
        message = f"expected this part of the bag, got none; what stands before it is read: {len(parts)} part(s)"
        report(Defect(file=name, kind="missing_part", message=message))
    return Ros1Bag(Parts(parts), report, reading)
