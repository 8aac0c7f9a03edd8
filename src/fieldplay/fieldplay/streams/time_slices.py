"""Slices of time of many feeds: together they give the very messages that the feeds give as a whole, in their order.

What an archive holds is loaded slice by slice. What is computed of it may have a state: a slice computes all that lies
before it too, and makes no messages of that.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay.messages.point_clouds import CLOUD
from fieldplay.messages.records import Record
from fieldplay.streams.image_topics import COMPRESSED, RAW
from fieldplay.streams.payloads import Payloads
from fieldplay.streams.topic_batches import Window
from fieldplay.streams.topic_stream import DERIVED, SpanMessages, TopicStream

WEIGHTS = {RAW: 400, COMPRESSED: 50, CLOUD: 50}  # what a message costs, beside one of a few numbers
POINTS = 8  # of a span at which its cost is put


class TimeSlice(NamedTuple):
    """The messages from one time up to another, that included; None is to the end."""

    from_ns: int
    last_ns: int | None


def time_slices(feeds: Sequence[TopicStream], window: Window, count: int) -> list[TimeSlice]:
    """The window in so many slices, or fewer, that cost about the same."""
    points, costs = [np.zeros(0)], [np.zeros(0)]
    for feed in feeds:
        for span in feed.spans:
            points.append(np.linspace(span.first_ns, span.last_ns, POINTS))
            costs.append(np.full(POINTS, span.count * WEIGHTS.get(feed.msgtype, 1) / POINTS))
    times, cost = np.concatenate(points), np.concatenate(costs)
    inside = (times > window.first_ns) & (times <= (np.inf if window.last_ns is None else window.last_ns))
    order = np.argsort(times[inside], kind="stable")
    times, summed = times[inside][order], np.cumsum(cost[inside][order])
    shares = summed[-1] * np.arange(1, count) / count if len(summed) else np.zeros(0)
    borders = {int(times[place]) for place in np.searchsorted(summed, shares).tolist()}
    ends = [*sorted(border for border in borders if border > window.first_ns)]
    begins = [window.first_ns, *ends]
    return [
        *(TimeSlice(begin, end - 1) for begin, end in pairwise(begins)),
        TimeSlice(begins[-1], window.last_ns),
    ]


def feeds_of_slice(feeds: Sequence[TopicStream], part: TimeSlice) -> list[TopicStream]:
    """The feeds as far as a slice needs them: without the spans before it, but for what is computed or kept."""
    return [_computed(feed) if feed.stream == DERIVED else _late(feed, part.from_ns) for feed in feeds]


def _late(feed: TopicStream, from_ns: int) -> TopicStream:
    places = [place for place, span in enumerate(feed.spans) if span.last_ns >= from_ns or feed.latched]
    spans = [feed.spans[place] for place in places]
    return replace(feed, spans=spans, records=lambda index: feed.records(places[index]))


def _computed(feed: TopicStream) -> TopicStream:
    return replace(feed, messages=lambda record: _LateMessages(feed, record))


@dataclass(eq=False)
class _LateMessages:
    """SpanMessages that are made when the first of them is wanted."""

    feed: TopicStream
    record: Record
    heavy: bool = False
    made: SpanMessages | None = None

    def payloads(self, rows: NDArray[np.intp]) -> tuple[Payloads, NDArray[np.bool_]]:
        if self.made is None:
            self.made = self.feed.messages(self.record)
        return self.made.payloads(rows)
