"""From feeds to single messages: what is cheap is made at once, what is heavy is left to be made by a worker."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay.streams.payloads import Payloads, PiecePayloads
from fieldplay.streams.timeline import MergedSlice, SpanSlice
from fieldplay.streams.topic_batches import made_messages, message_stretches
from fieldplay.streams.topic_stream import SpanMessages, TopicStream

FIRST_PART, PER_PART = 64, 512  # messages that are made together: few at first, so that the first soon is there
LARGE_TYPES = {f"sensor_msgs/msg/{name}" for name in ("Image", "CompressedImage", "PointCloud2", "PointCloud")}


Data = bytes | memoryview  # of a message


class DueMessage(NamedTuple):
    """A message of a feed, by the feed's number; without data where its row proved defective."""

    feed: int
    stamp_ns: int
    data: Data | None


@dataclass(frozen=True)
class LazyMessage:
    """A message that is yet to be made: from a row that may prove defective, then there is none."""

    feed: int
    stamp_ns: int
    make: Callable[[], Data | None]


Run = list[DueMessage]
Work = Run | LazyMessage


def works(feeds: Sequence[TopicStream], first_ns: int, last_ns: int, check: Callable[[], None]) -> Iterator[Work]:
    """All messages with first_ns <= time <= last_ns in order, of feeds that are not standing.

    The numbers of the feeds are their places. At equal times pictures and clouds come last: small ones need not wait
    until these are copied. check is called before each span is loaded: it may raise to end this.
    """
    order = sorted(range(len(feeds)), key=lambda number: feeds[number].msgtype in LARGE_TYPES)
    moving = [replace(feed, spans=()) if feed.standing else feed for feed in (feeds[number] for number in order)]
    count = FIRST_PART
    for stretch in message_stretches(moving, first_ns, last_ns, before_span=check):
        pieces = [replace(piece, source=order[piece.source]) for piece in stretch.pieces]
        numbered, begin = replace(stretch, pieces=pieces), 0
        while begin < len(stretch.stamp_ns):
            yield from _works_of_part(numbered.part(begin, min(begin + count, len(stretch.stamp_ns))))
            begin, count = begin + count, min(2 * count, PER_PART)


def messages_of_span(feed: TopicStream, number: int, index: int) -> Run:
    """All messages of one span."""
    stamp_ns, loaded = feed.load(index)
    payloads, kept = loaded.payloads(np.arange(len(stamp_ns)))
    times = stamp_ns[kept].tolist()
    return [DueMessage(number, stamp, data) for stamp, data in zip(times, _bytes(payloads), strict=True)]


def _works_of_part(part: MergedSlice[SpanMessages]) -> Iterator[Work]:
    """The light messages in runs, between the heavy ones."""
    heavy = {
        int(position): _heavy(piece, row, int(part.stamp_ns[position]))
        for piece in part.pieces
        if piece.loaded.heavy
        for row, position in enumerate(piece.positions)
    }
    light, positions = _light(part)
    done = 0
    for position in sorted(heavy):
        cut = int(np.searchsorted(positions, position))
        if cut > done:
            yield light[done:cut]
        done = cut
        yield heavy[position]
    if done < len(light):
        yield light[done:]


def _heavy(piece: SpanSlice[SpanMessages], row: int, stamp_ns: int) -> LazyMessage:
    def make() -> Data | None:
        payloads, kept = piece.loaded.payloads(piece.rows[row : row + 1])
        return _bytes(payloads)[0] if kept.all() else None

    return LazyMessage(piece.source, stamp_ns, make)


def _light(part: MergedSlice[SpanMessages]) -> tuple[Run, NDArray[np.intp]]:
    """The light messages of a part, and their positions (n,) in it."""
    source, good, payloads = made_messages(part, [piece for piece in part.pieces if not piece.loaded.heavy])
    data = iter(_bytes(payloads))
    there = source >= 0
    columns = (column[there].tolist() for column in (source, part.stamp_ns, good))
    run = [
        DueMessage(number, stamp, next(data) if is_good else None)
        for number, stamp, is_good in zip(*columns, strict=True)
    ]
    return run, np.flatnonzero(there)


def _bytes(payloads: Payloads) -> Sequence[Data]:
    """The messages one by one, as they are or cut out of one buffer into which all are put."""
    if isinstance(payloads, PiecePayloads):
        return payloads.whole()
    ends = np.cumsum(payloads.size)
    buffer = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    payloads.place(buffer, ends - payloads.size)
    return [bytes(buffer.data[low:high]) for low, high in pairwise([0, *ends.tolist()])]
