"""A bag of ROS 1 as if it were one of ROS 2: each message becomes CDR when it is read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from fieldplay.bags.bag_topics import Bag, IndexedTopic, mixed_types
from fieldplay.bags.qos import is_same_layout
from fieldplay.bags.ros1 import Ros1Bag
from fieldplay.bags.ros1_types import Ros1Conversion, conversion_of_kind
from fieldplay.bags.serialized_stream import rows_of_topic
from fieldplay.bags.storage import joined_places
from fieldplay.core.errors import ArchiveError, Defect, counted
from fieldplay.core.progress import Progress
from fieldplay.messages.message_batches import (
    Batch,
    Topic,
    batch_of_messages,
    parts_of_lengths,
)

BLOCK_BITS = 48  # of a block's place: above them stands which topic it is read for
LATCHED = [{"durability": "transient_local", "reliability": "reliable", "history": "keep_last", "depth": 1}]


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
        found: dict[str, IndexedTopic] = {}
        for told, topic in self._bag.layouts:
            name, count = _full_name(told), len(topic.places.stamp_ns)
            try:
                conversion = conversion_of_kind(topic.kind)
            except ArchiveError as error:
                message = f"{name}: {counted(count, 'message')} of {topic.kind.msgtype} left out: {error}"
                self.report(Defect(file=self.name, kind="unconvertible_type", message=message))
                continue
            if conversion.is_filled:
                self._note(f"{name}: {conversion.kind.msgtype} has fields that ROS 1 lacks: they are 0 or empty")
            place = len(self._conversions) << BLOCK_BITS
            self._conversions.append(conversion)
            places = replace(topic.places, block=topic.places.block + place)
            known = found.get(name)
            own = IndexedTopic(conversion.kind, places)
            if known is not None and not is_same_layout(known.kind, conversion.kind):
                self.report(mixed_types(self.name, name, own, known))
                continue
            found[name] = replace(own, places=joined_places([known.places, places])) if known else own
        return found

    @property
    def topics(self) -> list[Topic]:
        """The topics with their types."""
        return [Topic(name, found.kind.msgtype) for name, found in self.indexed.items()]

    @property
    def profiles(self) -> Mapping[str, object]:
        return {_full_name(name): LATCHED for name in self._bag.latched}

    def read(self, block: int, offsets: Sequence[int]) -> Iterator[bytes]:
        return map(self._conversions[block >> BLOCK_BITS], self._bag.read(block & (1 << BLOCK_BITS) - 1, offsets))

    def tell_damaged(self, block: int, message: str) -> None:
        self._bag.tell_damaged(block & (1 << BLOCK_BITS) - 1, message)

    def close(self) -> None:
        self._bag.close()

    def batches(self, progress: Progress) -> Iterator[Batch]:
        """All messages that can be read, by topic in batches, in the order of their first times."""
        topics = {name: self.topic(name, rows_of_topic(self, name, at_once=True)[0]) for name in self.indexed}
        places = sorted(
            (span.first_ns, name, i) for name, topic in topics.items() for i, span in enumerate(topic.spans)
        )
        for done, (_, name, index) in enumerate(places, start=1):
            topic = topics[name]
            read = topic.messages(index)
            stamp_ns = topic.stamps(index)[[message is not None for message in read]]
            if len(stamp_ns):
                parts = parts_of_lengths(stamp_ns, [message for message in read if message is not None])
                yield batch_of_messages(Topic(name, topic.kind.msgtype), stamp_ns, parts)
            progress(done / len(places), done)


def _full_name(topic: str) -> str:
    """A topic with the slash before it that not all writers put there."""
    return "/" + topic.lstrip("/")
