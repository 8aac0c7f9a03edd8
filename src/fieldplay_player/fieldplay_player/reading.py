"""From feeds to single messages: what is cheap is made at once, what is heavy is left to be made by a worker."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay_messages.feeds.feed import Feed, SpanMessages
from fieldplay_messages.feeds.payloads import MergedPayloads, Payloads
from fieldplay_messages.feeds.timeline import Source, Stretch, Timeline

PER_PART = 512


class Message(NamedTuple):
    """A message of a feed, by the feed's number; without data where its row proved defective."""

    feed: int
    stamp_ns: int
    data: bytes | None


@dataclass(frozen=True)
class Heavy:
    """A message that is yet to be made: from a row that may prove defective, then there is none."""

    feed: int
    stamp_ns: int
    make: Callable[[], bytes | None]


Run = list[Message]
Work = Run | Heavy


def works(feeds: Sequence[Feed], first_ns: int, last_ns: int, check: Callable[[], None]) -> Iterator[Work]:
    """All messages with first_ns <= time <= last_ns in order, of feeds that are not standing.

    The numbers of the feeds are their places. check is called before each span is loaded: it may raise to end this.
    """

    def source_of(feed: Feed) -> Source[SpanMessages]:
        def load(index: int) -> tuple[NDArray[np.int64], SpanMessages]:
            check()
            return feed.load(index)

        return Source(() if feed.standing else feed.spans, load, carries=feed.latched)

    for stretch in Timeline([source_of(feed) for feed in feeds]).stretches(first_ns, last_ns):
        for begin in range(0, len(stretch.stamp_ns), PER_PART):
            yield from _works_of_part(stretch, begin, min(begin + PER_PART, len(stretch.stamp_ns)))


def messages_of_span(feed: Feed, number: int, index: int) -> Run:
    """All messages of one span."""
    stamp_ns, loaded = feed.load(index)
    payloads, kept = loaded.payloads(np.arange(len(stamp_ns)))
    times = stamp_ns[kept].tolist()
    return [Message(number, stamp, data) for stamp, data in zip(times, _bytes(payloads), strict=True)]


def _works_of_part(stretch: Stretch[SpanMessages], begin: int, end: int) -> Iterator[Work]:
    """The light messages in runs, between the heavy ones."""
    heavy = _heavy(stretch, begin, end)
    light, positions = _light(stretch, begin, end)
    done = 0
    for position in sorted(heavy):
        cut = int(np.searchsorted(positions, position))
        if cut > done:
            yield light[done:cut]
        done = cut
        yield heavy[position]
    if done < len(light):
        yield light[done:]


def _heavy(stretch: Stretch[SpanMessages], begin: int, end: int) -> dict[int, Heavy]:
    found = {}
    for piece in stretch.pieces:
        if piece.loaded.heavy:
            low, high = np.searchsorted(piece.positions, (begin, end))
            for k in range(low, high):
                position = int(piece.positions[k])
                make = _maker(piece.loaded, piece.rows[k : k + 1])
                found[position] = Heavy(piece.source, int(stretch.stamp_ns[position]), make)
    return found


def _maker(loaded: SpanMessages, row: NDArray[np.intp]) -> Callable[[], bytes | None]:
    def make() -> bytes | None:
        payloads, kept = loaded.payloads(row)
        return _bytes(payloads)[0] if kept.all() else None

    return make


def _light(stretch: Stretch[SpanMessages], begin: int, end: int) -> tuple[Run, NDArray[np.intp]]:
    """The light messages of a part, and their positions (n,) in the stretch."""
    made: list[tuple[Payloads, NDArray[np.intp]]] = []
    feed = np.full(end - begin, -1, np.int64)
    is_good = np.zeros(end - begin, bool)
    for piece in stretch.pieces:
        low, high = np.searchsorted(piece.positions, (begin, end))
        if low < high and not piece.loaded.heavy:
            positions = piece.positions[low:high] - begin
            payloads, kept = piece.loaded.payloads(piece.rows[low:high])
            feed[positions], is_good[positions] = piece.source, kept
            made.append((payloads, positions[kept]))
    place = np.cumsum(is_good) - 1
    data = iter(_bytes(MergedPayloads([(payloads, place[positions]) for payloads, positions in made])))
    there = feed >= 0
    columns = (column[there].tolist() for column in (feed, stretch.stamp_ns[begin:end], is_good))
    run = [Message(number, stamp, next(data) if good else None) for number, stamp, good in zip(*columns, strict=True)]
    return run, np.flatnonzero(there) + begin


def _bytes(payloads: Payloads) -> list[bytes]:
    """The messages one by one, cut out of one buffer into which all are put."""
    ends = np.cumsum(payloads.size)
    buffer = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    payloads.place(buffer, ends - payloads.size)
    return [bytes(buffer.data[low:high]) for low, high in pairwise([0, *ends.tolist()])]
