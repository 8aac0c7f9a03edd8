"""What a bag says about its topics: types, how they were offered, and how many messages there are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import BagError
from fieldplay.messages.cdr_layout import typestore
from fieldplay.streams.message_block import Messages

MOST_CHANNELS = 65_535  # MCAP numbers them with 16 bits


@dataclass(frozen=True, kw_only=True)
class Qos:
    """How a publisher offers a topic; what is not named here is the default of ROS 2 (no deadlines, automatic)."""

    reliability: Literal["reliable", "best_effort"] = "reliable"
    durability: Literal["volatile", "transient_local"] = "volatile"
    history: Literal["keep_last", "keep_all"] = "keep_last"
    depth: int = 10


@dataclass(frozen=True, kw_only=True)
class Channel:
    """A topic of a bag. `msgtype` like "sensor_msgs/msg/Imu", `msgdef` as ros2msg with the definitions of all parts."""

    topic: str
    msgtype: str
    msgdef: str
    type_hash: str
    qos: Qos = field(default_factory=Qos)

    def __post_init__(self) -> None:
        if not self.topic.startswith("/"):
            raise BagError(f"a topic of a bag starts with a slash, got {self.topic!r}")


def channel_of_type(topic: str, msgtype: str, qos: Qos | None = None) -> Channel:
    """The channel of a message type of ROS 2 Jazzy."""
    msgdef, type_hash = _definition_and_hash(msgtype)
    return Channel(topic=topic, msgtype=msgtype, msgdef=msgdef, type_hash=type_hash, qos=qos or Qos())


@cache
def _definition_and_hash(msgtype: str) -> tuple[str, str]:
    store = typestore()
    if msgtype not in store.fielddefs:
        raise BagError(f"{msgtype!r} is no message type of ROS 2 Jazzy's common packages")
    return store.generate_msgdef(msgtype, ros_version=2)[0], store.hash_rihs01(msgtype)


class Contents:
    """Channels, numbered from 1, and counts."""

    def __init__(self, channels: Sequence[Channel] = (), custom_data: Mapping[str, str] | None = None) -> None:
        self.channels: list[Channel] = list(channels)
        self.custom_data: Mapping[str, str] = custom_data or {}  # what the writer says of the recording
        self.first_ns = np.iinfo(np.int64).max  # as rosbag2 says it for no message at all
        self.last_ns = 0
        self._counts: NDArray[np.int64] = np.zeros(1 + len(self.channels), np.int64)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Messages of each channel (channels,)."""
        return self._counts[1:]

    @property
    def message_count(self) -> int:
        return int(self._counts.sum())

    @property
    def duration_ns(self) -> int:
        """From the first message to the last."""
        return max(0, int(self.last_ns - self.first_ns))

    def add_channel(self, channel: Channel) -> int:
        """Number a channel; a topic has one."""
        if any(known.topic == channel.topic for known in self.channels):
            raise BagError(f"topic {channel.topic} stands in the bag already")
        if len(self.channels) == MOST_CHANNELS:
            raise BagError(f"a bag holds at most {MOST_CHANNELS} topics")
        self.channels.append(channel)
        self._counts = np.append(self._counts, 0)
        return len(self.channels)

    def join(self, other: "Contents") -> None:
        """Count what another part of the same bag holds."""
        self._counts[: len(other._counts)] += other._counts
        self.first_ns, self.last_ns = min(self.first_ns, other.first_ns), max(self.last_ns, other.last_ns)

    def add(self, messages: Messages) -> None:
        """Count a batch that is not empty; BagError if a channel in it is unknown."""
        lowest, highest = messages.channel.min(), messages.channel.max()
        if lowest < 1 or highest > len(self.channels):
            raise BagError(f"channels {lowest} to {highest} in a bag whose channels are 1 to {len(self.channels)}")
        self._counts += np.bincount(messages.channel.astype(np.int64), minlength=len(self._counts))
        self.first_ns = min(self.first_ns, int(messages.stamp_ns[0]))
        self.last_ns = max(self.last_ns, int(messages.stamp_ns[-1]))
