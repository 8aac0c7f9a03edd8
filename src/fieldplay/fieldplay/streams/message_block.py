"""Batches of messages in the order of their times."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import BagError
from fieldplay.streams.payloads import MergedPayloads, Payloads


@dataclass(frozen=True, kw_only=True, eq=False)
class Messages:
    """n messages in the order of their times: whose they are, when, and their bytes.

    `channel` (n,) holds the numbers that BagWriter.add_channel gave, `stamp_ns` (n,) is not negative and does not
    decrease. A bag costs some 0.1 ms per batch however small, so batches hold thousands of small messages.
    """

    channel: NDArray[np.integer]
    stamp_ns: NDArray[np.int64]
    payloads: Payloads

    def __post_init__(self) -> None:
        if self.stamp_ns.dtype != np.int64 or self.channel.dtype.kind not in "iu":
            raise BagError(f"stamps are int64, channels integers, got {self.stamp_ns.dtype} and {self.channel.dtype}")
        shapes = (self.channel.shape, self.stamp_ns.shape, self.payloads.size.shape)
        if len(set(shapes)) != 1 or self.stamp_ns.ndim != 1:
            raise BagError(f"channels, stamps and payloads of a batch are equally many, got shapes {shapes}")
        if len(self) and self.stamp_ns[0] < 0:
            raise BagError(f"a bag holds no time before 1970, got {self.stamp_ns[0]} ns")
        if (self.stamp_ns[1:] < self.stamp_ns[:-1]).any():
            raise BagError("the messages of a batch are in the order of their times")

    def __len__(self) -> int:
        return len(self.stamp_ns)

    @property
    def size(self) -> NDArray[np.int64]:
        """Bytes of each message (n,)."""
        return self.payloads.size

    def part(self, start: int, stop: int) -> "Messages":
        """The messages start <= i < stop."""
        if (start, stop) == (0, len(self)):
            return self
        return Messages(
            channel=self.channel[start:stop],
            stamp_ns=self.stamp_ns[start:stop],
            payloads=self.payloads.part(start, stop),
        )


def messages_of_channel(channel: int, stamp_ns: NDArray[np.int64], payloads: Payloads) -> Messages:
    """Messages that are all of one channel."""
    return Messages(channel=np.full(len(stamp_ns), channel), stamp_ns=stamp_ns, payloads=payloads)


def merged(batches: Sequence[Messages]) -> Messages:
    """Batches interleaved by time; at equal times in the order of the batches."""
    if len(batches) == 1:
        return batches[0]
    stamp_ns = np.concatenate([np.zeros(0, np.int64), *(batch.stamp_ns for batch in batches)])
    channel = np.concatenate([np.zeros(0, np.int64), *(batch.channel for batch in batches)])
    order = np.argsort(stamp_ns, kind="stable")
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    ends = np.cumsum([len(batch) for batch in batches])[:-1]
    sources = (
        [(batch.payloads, places) for batch, places in zip(batches, np.split(position, ends), strict=True)]
        if batches
        else []
    )
    return Messages(channel=channel[order], stamp_ns=stamp_ns[order], payloads=MergedPayloads(sources))
