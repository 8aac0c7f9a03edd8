"""What the storage file of a bag is to whoever writes it and to whoever reads it: the same for MCAP and SQLite."""

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import BagError
from fieldplay.messages.cdr_layout import typestore
from fieldplay.messages.message_batches import Topic
from fieldplay.streams.message_block import MergedBlock

MOST_CHANNELS = 65_535  # MCAP numbers them with 16 bits
CACHE_BYTES = 32 << 20  # of unpacked chunks: those that topics are read from side by side, or each is read often


# What a bag says about its topics: types, how they were offered, and how many messages there are.


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

    def add(self, messages: MergedBlock) -> None:
        """Count a batch that is not empty; BagError if a channel in it is unknown."""
        lowest, highest = messages.channel.min(), messages.channel.max()
        if lowest < 1 or highest > len(self.channels):
            raise BagError(f"channels {lowest} to {highest} in a bag whose channels are 1 to {len(self.channels)}")
        self._counts += np.bincount(messages.channel.astype(np.int64), minlength=len(self._counts))
        self.first_ns = min(self.first_ns, int(messages.stamp_ns[0]))
        self.last_ns = max(self.last_ns, int(messages.stamp_ns[-1]))


class StorageWriter(Protocol):
    """A storage file while it is written."""

    def add_channel(self, channel: Channel) -> None:
        """Make the next channel known, ahead of its messages."""

    def write(self, messages: MergedBlock) -> None:
        """Put n > 0 messages of known channels behind those before."""

    def finish(self, contents: Contents, file_name: str) -> None:
        """Write what is left and close the file."""

    def close(self) -> None:
        """Let go of a file that is not to be finished."""


class BagMessage(NamedTuple):
    """A message as it lies in a storage file; cdr is whether its bytes are CDR."""

    topic: Topic
    stamp_ns: int
    data: bytes | memoryview
    is_cdr: bool


@dataclass(frozen=True)
class StoredTopic:
    """A topic of a storage file, with the definition of its type: ros2msg, ros2idl, or none that is known.

    `profiles` is how it was offered, as YAML. `encoding` is how its messages are serialized.
    """

    topic: Topic
    is_cdr: bool
    definition: str = ""
    definition_form: str = ""
    profiles: str = ""
    type_hash: str = ""
    encoding: str = "cdr"


@dataclass(frozen=True, eq=False)
class MessageOffsets:
    """Messages of one topic in the order of time: when (n,), in which block of the file (n,) and where in it (n,)."""

    stamp_ns: NDArray[np.int64]
    block: NDArray[np.int64]
    offset: NDArray[np.int64]


class StorageReader(Protocol):
    """A storage file that is read, damaged or not; damage is reported in `issues`, with its offset.

    It is read sequentially, or it is indexed, and messages are read at random, by several threads.
    """

    @property
    def issues(self) -> list[str]: ...

    @property
    def topics(self) -> Mapping[int, StoredTopic]:
        """Topics by their numbers in the file, as far as they are known by now."""

    @property
    def information(self) -> str:
        """What the file says about itself, as YAML, as far as it was read; "" where it says nothing."""

    @property
    def position(self) -> int:
        """About how many bytes were gone through."""

    def messages(self) -> Iterator[BagMessage]:
        """All messages that can be read, in the order of the file."""

    def index(self) -> Mapping[int, MessageOffsets]:
        """The offsets of the messages of each topic."""

    def read(self, block: int, offsets: Sequence[int]) -> Iterator[bytes]:
        """Messages of a block, in the order of their offsets; ArchiveError at the first that is damaged."""

    def views(self, block: int, offsets: Sequence[int]) -> Iterator[bytes | memoryview]:
        """The same without a copy, where they lie in a chunk, which they keep in memory."""

    def close(self) -> None: ...


class NoStorage:
    """In place of a file that is no storage file: it holds nothing."""

    def __init__(self) -> None:
        self.issues: list[str] = []
        self.topics: dict[int, StoredTopic] = {}
        self.information, self.position = "", 0

    def messages(self) -> Iterator[BagMessage]:
        yield from ()

    def index(self) -> Mapping[int, MessageOffsets]:
        return {}

    def read(self, block: int, offsets: Sequence[int]) -> Iterator[bytes]:
        yield from ()

    views = read

    def close(self) -> None:
        pass


(UNUSED,) = [sys.getrefcount(buffer) for buffer in [bytearray()]]  # references to one that only its pool knows
BUFFER_STEP = 1 << 20  # buffers are multiples of so many bytes, so that they fit for more
SMALL_BUFFER = BUFFER_STEP // 2  # fewer bytes are cheap to get, and a bag may have very many chunks of a few bytes


class UnpackedBlocks:
    """Blocks of a file, unpacked when they are needed; the last ones are kept. Several threads may use it."""

    def __init__(self, unpack: Callable[[int], bytes | memoryview]) -> None:
        self._unpack = unpack
        self._cache: OrderedDict[int, bytes | memoryview] = OrderedDict()
        self._bytes = 0  # of all that is kept
        self._lock = threading.Lock()

    def __getitem__(self, block: int) -> bytes | memoryview:
        with self._lock:
            if block in self._cache:
                self._cache.move_to_end(block)
                return self._cache[block]
        data = self._unpack(block)
        with self._lock:
            self._bytes += len(data) - len(self._cache.get(block, b""))
            self._cache[block] = data
            while len(self._cache) > 1 and self._bytes > CACHE_BYTES:
                self._bytes -= len(self._cache.popitem(last=False)[1])
        return data


class BufferPool:
    """Buffers that are used again once nothing refers to them: to get fresh memory costs more than to read into it."""

    def __init__(self) -> None:
        self._buffers: list[bytearray] = []
        self._lock = threading.Lock()

    def take(self, size: int) -> bytearray:
        """A buffer of at least so many bytes; it is in use as long as it, or a view of it, is referred to."""
        if size < SMALL_BUFFER:
            return bytearray(size)
        with self._lock:
            is_used = [sys.getrefcount(buffer) > UNUSED for buffer in self._buffers]
            for buffer, used in zip(self._buffers, is_used, strict=True):
                if not used and len(buffer) >= size:
                    return buffer
            self._buffers = [buffer for buffer, used in zip(self._buffers, is_used, strict=True) if used]
            buffer = bytearray(-(-size // BUFFER_STEP) * BUFFER_STEP)
            self._buffers.append(buffer)
            return buffer


def offsets_by_time(stamp_ns: NDArray[np.int64], block: NDArray[np.int64], offset: NDArray[np.int64]) -> MessageOffsets:
    """Offsets (n,) in the order of time; at equal times in the given order."""
    order = np.argsort(stamp_ns, kind="stable")
    return MessageOffsets(stamp_ns[order], block[order], offset[order])


def merge_offsets(parts: Sequence[MessageOffsets]) -> MessageOffsets:
    """Merge the offsets of several files or connections by time."""
    columns = [[part.stamp_ns, part.block, part.offset] for part in parts]
    return offsets_by_time(*np.concatenate(columns, axis=1))
