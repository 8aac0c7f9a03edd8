"""A chunk of an MCAP file while it fills: message records laid out by numpy, thousands at a time."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay_messages.bags.mcap_records import (
    INDEX_ENTRY,
    LENGTH_BEFORE_PAYLOAD,
    MESSAGE,
    MESSAGE_PREFIX,
    message_index,
)
from fieldplay_messages.feeds.messages import Messages
from fieldplay_messages.feeds.payloads import scatter


@dataclass(frozen=True)
class Runs:
    """Messages ordered by channel: `order` (n,), and each channel's stretch of it, `starts` and `ends`."""

    order: NDArray[np.intp]
    starts: NDArray[np.intp]
    ends: NDArray[np.intp]


def runs_by_channel(channel: NDArray[np.uint16]) -> Runs:
    """Group n > 0 messages by channel; within a channel they keep their order."""
    order = np.argsort(channel, kind="stable")
    changes = np.flatnonzero(np.diff(channel[order])) + 1
    return Runs(order, np.concatenate(([0], changes)), np.concatenate((changes, [len(channel)])))


def count_up(channel: NDArray[np.uint16], counts: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The sequence number of each message (n,) of n > 0 in its channel; counts, by channel, go up with it."""
    runs = runs_by_channel(channel)
    number = np.empty(len(channel), np.uint32)
    lengths = runs.ends - runs.starts
    ordered = channel[runs.order]
    number[runs.order] = np.arange(len(channel)) - np.repeat(runs.starts, lengths) + counts[ordered]
    counts[ordered[runs.starts]] += lengths.astype(np.uint32)
    return number


def record_sizes(messages: Messages) -> NDArray[np.int64]:
    """Bytes of each message's record (n,)."""
    return messages.size + MESSAGE_PREFIX.itemsize


class Chunk:
    """Message records, one behind the other in one buffer, and what their index needs."""

    def __init__(self, room: int) -> None:
        self._buffer = np.empty(room, np.uint8)
        self.clear()

    def clear(self) -> None:
        self.used = 0
        self.largest = 0
        self._channels: list[NDArray[np.uint16]] = []
        self._entries: list[NDArray[np.void]] = []

    def append(self, messages: Messages, sequence: NDArray[np.uint32]) -> None:
        """Lay out n > 0 messages; only the first of a chunk makes the buffer grow where it has no room."""
        size = messages.size
        ends = np.cumsum(size + MESSAGE_PREFIX.itemsize) + self.used
        starts = ends - size - MESSAGE_PREFIX.itemsize
        if ends[-1] > len(self._buffer):
            self._grow(int(ends[-1]))
        channel = messages.channel.astype(np.uint16)
        prefix = np.empty(len(messages), MESSAGE_PREFIX)
        prefix["op"] = MESSAGE
        prefix["length"] = size + LENGTH_BEFORE_PAYLOAD
        prefix["channel"] = channel
        prefix["sequence"] = sequence
        prefix["log"] = prefix["publish"] = messages.stamp_ns
        scatter(prefix.view(np.uint8).reshape(len(messages), -1), self._buffer, starts)
        messages.payloads.place(self._buffer, starts + MESSAGE_PREFIX.itemsize)
        self._remember(channel, messages.stamp_ns, starts)
        self.used = int(ends[-1])
        self.largest = max(self.largest, int(size.max()))

    @property
    def data(self) -> memoryview:
        """The records, until the chunk is cleared."""
        return self._buffer[: self.used].data

    @property
    def span_ns(self) -> tuple[int, int]:
        """The times of the first and the last message."""
        return min(int(e["log"][0]) for e in self._entries), max(int(e["log"][-1]) for e in self._entries)

    def index_records(self) -> Iterator[tuple[int, bytes]]:
        """For each channel its number and its record of times and places in the chunk."""
        channel = np.concatenate(self._channels)
        runs = runs_by_channel(channel)
        entries = np.concatenate(self._entries)[runs.order]
        for start, end in zip(runs.starts.tolist(), runs.ends.tolist(), strict=True):
            number = int(channel[runs.order[start]])
            yield number, message_index(number, entries[start:end].tobytes())

    def _grow(self, room: int) -> None:
        grown = np.empty(room, np.uint8)
        grown[: self.used] = self._buffer[: self.used]
        self._buffer = grown

    def _remember(self, channel: NDArray[np.uint16], stamp_ns: NDArray[np.int64], starts: NDArray[np.int64]) -> None:
        entries = np.empty(len(channel), INDEX_ENTRY)
        entries["log"] = stamp_ns
        entries["offset"] = starts
        self._channels.append(channel)
        self._entries.append(entries)
