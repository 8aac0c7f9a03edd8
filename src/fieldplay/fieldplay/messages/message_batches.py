"""Batches of messages of a topic, in parts of one length each."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Topic:
    """A topic with its type; a bag may hold one name with two types."""

    name: str
    msgtype: str


def full_type(msgtype: str) -> str:
    """The name of a message type in three parts; bags of Crystal, and some writers, have package and name alone."""
    package, slash, name = msgtype.partition("/")
    return f"{package}/msg/{name}" if slash and name and "/" not in name else msgtype


@dataclass(frozen=True, eq=False)
class Part:
    """Messages of one length: their times (n,) and their CDR bytes (n, size)."""

    stamp_ns: NDArray[np.int64]
    data: NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Batch:
    """The next messages of a topic: all their times in order (n,), and the messages by their length."""

    topic: Topic
    stamp_ns: NDArray[np.int64]
    parts: tuple[Part, ...]

    def messages(self) -> Iterator[tuple[int, NDArray[np.uint8]]]:
        """The messages one by one, in the order of time: their time and their bytes (size,)."""
        entries = [
            (int(stamp), number, row)
            for number, part in enumerate(self.parts)
            for row, stamp in enumerate(part.stamp_ns)
        ]
        for stamp_ns, number, row in sorted(entries):
            yield stamp_ns, self.parts[number].data[row]


def batch_of_messages(topic: Topic, stamp_ns: NDArray[np.int64], parts: list[Part]) -> Batch:
    """A batch with its times in order, and in each part too."""
    ordered = []
    for part in parts:
        if len(part.stamp_ns) > 1 and (np.diff(part.stamp_ns) < 0).any():
            order = np.argsort(part.stamp_ns, kind="stable")
            part = Part(part.stamp_ns[order], part.data[order])
        ordered.append(part)
    return Batch(topic, np.sort(stamp_ns), tuple(ordered))


def parts_of_lengths(stamp_ns: NDArray[np.int64], messages: list[bytes]) -> list[Part]:
    """Messages of any lengths (n) sorted into parts of one length each."""
    sizes = np.array([len(message) for message in messages])
    parts = []
    for size in np.unique(sizes):
        indices = np.flatnonzero(sizes == size)
        joined = b"".join(messages[index] for index in indices)
        parts.append(Part(stamp_ns[indices], np.frombuffer(joined, np.uint8).reshape(len(indices), int(size))))
    return parts
