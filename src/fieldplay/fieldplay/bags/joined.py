"""Several bags as one: topics of one name and type have the messages of all, in the order of time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from fieldplay.bags.bag_reader import Ros2Bag
from fieldplay.bags.bag_topics import Bag, IndexedTopic, mixed_types
from fieldplay.bags.qos import is_same_layout, profile_list
from fieldplay.bags.ros1_adapter import Ros1AsRos2Bag
from fieldplay.bags.storage import MessageOffsets, joined_places
from fieldplay.core.errors import counted
from fieldplay.core.progress import Progress
from fieldplay.messages.message_batches import Batch, Topic


class JoinedBag(Bag):
    """Bags of ROS 2 and ROS 1 as one. A topic that has another type in a later bag is reported and left out of it."""

    def __init__(self, bags: Sequence[Ros2Bag | Ros1AsRos2Bag]) -> None:
        super().__init__(" and ".join(bag.name for bag in bags), bags[0].report)
        self._bags = bags
        self._blocks: list[tuple[int, int]] = []  # the bag of each block and its number there

    @property
    def title(self) -> str:  # type: ignore[override]
        """What it is, for people."""
        return f"{counted(len(self._bags), 'bag')} as one"

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
            for name, found in bag.indexed.items():
                own = replace(found, places=self._numbered(number, found.places), convert=None)
                first = joined.get(name)
                if first is None:
                    joined[name] = own
                elif is_same_layout(first.kind, own.kind):
                    joined[name] = replace(first, places=joined_places([first.places, own.places]))
                else:
                    self.report(mixed_types(bag.name, name, own, first))
        return joined

    def _numbered(self, number: int, places: MessageOffsets) -> MessageOffsets:
        """Places in one of the bags by the numbers that their blocks have here."""
        blocks, which = np.unique(places.block, return_inverse=True)
        first = len(self._blocks)
        self._blocks += [(number, block) for block in blocks.tolist()]
        return replace(places, block=first + which.reshape(-1).astype(np.int64))

    @property
    def profiles(self) -> Mapping[str, object]:
        found: dict[str, list[object]] = {}
        for bag in self._bags:
            for name, topic in bag.indexed.items():
                told = bag.profiles.get(name) or (topic.stored.profiles if topic.stored else "")
                found.setdefault(name, []).extend(profile_list(told))
        return found

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

    def tell_damaged(self, block: int, message: str) -> None:
        number, own = self._blocks[block]
        self._bags[number].tell_damaged(own, message)

    def close(self) -> None:
        for bag in self._bags:
            bag.close()

    def batches(self, progress: Progress) -> Iterator[Batch]:
        """All messages that can be read, one bag after the other."""
        for number, bag in enumerate(self._bags):

            def own(share: float, count: int, number: int = number) -> None:
                progress((number + share) / len(self._bags), count)

            yield from bag.batches(own)
