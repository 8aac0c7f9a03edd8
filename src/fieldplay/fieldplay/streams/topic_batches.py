"""Many feeds as one sequence in the order of time: rows for those who compute, messages for bags and players."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fieldplay.messages.records import Record
from fieldplay.streams.message_block import Messages
from fieldplay.streams.payloads import MergedPayloads, Payloads
from fieldplay.streams.timeline import (
    MergedSlice,
    SpanSlice,
    Timeline,
    TimelineSource,
)
from fieldplay.streams.topic_stream import SpanMessages, TopicStream

HEAVY_PER_BATCH = 16  # messages that are read on their own, as pictures


@dataclass(frozen=True)
class Window:
    """The part of an archive's time that is wanted, and where the archive begins; without a last time, to its end."""

    archive_ns: int
    first_ns: int
    last_ns: int | None


def batches(
    feeds: Sequence[TopicStream], channels: Sequence[int], window: Window, *, from_ns: int | None = None
) -> Iterator[Messages]:
    """All messages of the window by the channels of their feeds; what is standing comes first, wherever it begins.

    Those before `from_ns` are passed over, and not made.
    """
    for stretch in message_stretches(feeds, window.first_ns, window.last_ns):
        if from_ns is not None:
            stretch = stretch.part(int(np.searchsorted(stretch.stamp_ns, from_ns)), len(stretch.stamp_ns))
        for begin, end in _cuts(stretch):
            part = stretch.part(begin, end)
            source, good, payloads = made_messages(part, part.pieces)
            if good.any():
                channel = np.asarray(channels)[source[good]]
                yield Messages(channel=channel, stamp_ns=part.stamp_ns[good], payloads=payloads)


def message_stretches(
    feeds: Sequence[TopicStream], first_ns: int, last_ns: int | None, *, before_span: Callable[[], None] = lambda: None
) -> Iterator[MergedSlice[SpanMessages]]:
    """The messages of the feeds, by their places; `before_span` is called before each span is read: it may raise."""

    def source_of(feed: TopicStream) -> TimelineSource[SpanMessages]:
        def load(index: int) -> tuple[NDArray[np.int64], SpanMessages]:
            before_span()
            return feed.load(index)

        return TimelineSource(feed.spans, load, carries=feed.carries)

    return Timeline([source_of(feed) for feed in feeds]).stretches(first_ns, last_ns)


def record_stretches(
    feeds: Sequence[TopicStream], first_ns: int | None = None, last_ns: int | None = None
) -> Iterator[MergedSlice[Record]]:
    """The rows of the feeds, by their places: no message is made."""

    def source_of(feed: TopicStream) -> TimelineSource[Record]:
        def load(index: int) -> tuple[NDArray[np.int64], Record]:
            record = feed.records(index)
            return record.leaves_ns, record

        return TimelineSource(feed.spans, load, carries=feed.carries)

    return Timeline([source_of(feed) for feed in feeds]).stretches(first_ns, last_ns)


def made_messages(
    stretch: MergedSlice[SpanMessages], pieces: Sequence[SpanSlice[SpanMessages]]
) -> tuple[NDArray[np.int64], NDArray[np.bool_], Payloads]:
    """Of some pieces of a stretch: whose each event is (n,), -1 of another piece; which have a message; the messages.

    A row that proves defective has none.
    """
    source = np.full(len(stretch.stamp_ns), -1, np.int64)
    good = np.zeros(len(stretch.stamp_ns), bool)
    made: list[tuple[Payloads, NDArray[np.intp]]] = []
    for piece in pieces:
        payloads, kept = piece.loaded.payloads(piece.rows)
        source[piece.positions], good[piece.positions] = piece.source, kept
        made.append((payloads, piece.positions[kept]))
    place = np.cumsum(good) - 1
    return source, good, MergedPayloads([(payloads, place[positions]) for payloads, positions in made])


def _cuts(stretch: MergedSlice[SpanMessages]) -> Iterator[tuple[int, int]]:
    """Parts of a stretch that hold only so many messages that are read on their own."""
    heavy = [piece.positions for piece in stretch.pieces if piece.loaded.heavy]
    inner = np.sort(np.concatenate(heavy))[HEAVY_PER_BATCH::HEAVY_PER_BATCH] if heavy else np.zeros(0, np.intp)
    yield from pairwise([0, *inner.tolist(), len(stretch.stamp_ns)])
