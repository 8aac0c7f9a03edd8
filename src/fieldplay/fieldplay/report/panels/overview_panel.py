"""What is known once all was read, which every panel may draw from; and what a panel is."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.gaps import GapFinder, clip_intervals, split_at_gaps
from fieldplay.core.number_text import Axis, number_text, time_axis
from fieldplay.core.timestamps import NS_PER_S, utc_text
from fieldplay.geometry.frames import Frames
from fieldplay.messages.message_batches import Topic
from fieldplay.recording.record_batches import Issues, RecordBatch
from fieldplay.recording.recording import RecordingInfo
from fieldplay.report.html.charts import Curve, is_dated, time_axis_with_gaps
from fieldplay.report.html.html_page import Section

FIRST_WIDTH_NS = 1_000_000
Array = NDArray[np.float64]
Integers = NDArray[np.int64]
MAX_GAPS = 200
MAX_BUCKETS = 2048
MAX_STAMPS = 96
TAKEN_IN = 256
Content = TypeVar("Content")
DRAWN = 256  # of points of a curve, gaps or not
LARGEST = 1e30  # no measurement is larger: it counts as infinite


# Numbers over time in a bounded number of buckets, whose width doubles when there are more.


@dataclass(frozen=True, eq=False)
class _Rows:
    """Of each bucket (n,) its number, rows, first and last time; of each column in it (n, columns) what it adds up."""

    number: Integers
    count: Integers
    first: Integers
    last: Integers
    finite: Integers
    total: Array
    low: Array
    high: Array

    def put(self, to: NDArray[np.intp], rows: "_Rows") -> None:
        """Add rows (m,) into the buckets at these indices (m,)."""
        operations = (None, np.add, np.minimum, np.maximum, np.add, np.add, np.minimum, np.maximum)
        for operation, entry in zip(operations, fields(self), strict=True):
            if operation is not None:
                operation.at(getattr(self, entry.name), to, getattr(rows, entry.name))


def _empty(number: Integers, columns: int) -> _Rows:
    n, extremes = len(number), np.iinfo(np.int64)
    return _Rows(
        number,
        np.zeros(n, np.int64),
        np.full(n, extremes.max, np.int64),
        np.full(n, extremes.min, np.int64),
        np.zeros((n, columns), np.int64),
        np.zeros((n, columns)),
        np.full((n, columns), np.inf),
        np.full((n, columns), -np.inf),
    )


class Buckets:
    """How many rows, and the lowest, highest and mean of each column, in up to `limit` equal stretches of time.

    The buckets lie on multiples of their width, so that two of them make one of the double width. There are only those
    that have rows: stretches without any cost nothing, however long they are.
    """

    def __init__(self, columns: int = 0, limit: int = 256) -> None:
        self._columns, self._limit, self.width_ns = columns, limit, FIRST_WIDTH_NS
        self._rows = _empty(np.zeros(0, np.int64), columns)

    @property
    def number(self) -> Integers:
        """The number of each bucket (buckets,), in order: it begins at so many times the width."""
        return self._rows.number

    @property
    def count(self) -> Integers:
        """Rows of each bucket (buckets,), at least 1."""
        return self._rows.count

    @property
    def span_ns(self) -> Integers:
        """The first and the last time of a row in each bucket (buckets, 2)."""
        return np.stack([self._rows.first, self._rows.last], axis=-1)

    @property
    def stamp_ns(self) -> Integers:
        """The middle of each bucket (buckets,), or the nearest to it between its first and its last row."""
        middle = self._rows.number * self.width_ns + self.width_ns // 2
        return np.asarray(np.clip(middle, self._rows.first, self._rows.last), np.int64)

    @property
    def low(self) -> Array:
        """The lowest of each column (buckets, columns), infinite where there is no finite number."""
        return self._rows.low

    @property
    def high(self) -> Array:
        """The highest of each column, minus infinite where there is no finite number."""
        return self._rows.high

    @property
    def mean(self) -> Array:
        """The mean of each column, NaN where there is no finite number."""
        total, finite = self._rows.total, self._rows.finite
        mean: Array = np.divide(total, finite, out=np.full(total.shape, np.nan), where=finite > 0)
        return mean

    def add(self, stamp_ns: Integers, values: Array | None = None) -> None:
        """Further rows: times (n,) and numbers (n, columns). What is not finite is left out."""
        if not len(stamp_ns):
            return
        self._make_room(stamp_ns)
        to = np.searchsorted(self._rows.number, stamp_ns // self.width_ns)
        if values is None:
            values = np.zeros((len(stamp_ns), 0))
        finite = np.isfinite(values)
        self._rows.put(
            to,
            _Rows(
                to,
                np.ones(len(stamp_ns), np.int64),
                stamp_ns,
                stamp_ns,
                finite.astype(np.int64),
                np.where(finite, values, 0.0),
                np.where(finite, values, np.inf),
                np.where(finite, values, -np.inf),
            ),
        )

    def widen(self, width_ns: int) -> "Buckets":
        """The same rows in buckets that are as wide as these, or a power of two wider."""
        wider = Buckets(self._columns, self._limit)
        wider.width_ns, wider._rows = self.width_ns, self._rows
        wider._move(width_ns, np.unique(self._rows.number // (width_ns // self.width_ns)))
        return wider

    def _make_room(self, stamp_ns: Integers) -> None:
        """See to it that there are buckets for the times, by further ones or by doubling their width."""
        width, new = self.width_ns, np.unique(stamp_ns // self.width_ns)
        near = np.searchsorted(self._rows.number, new)
        if near[-1] < len(self._rows.number) and (self._rows.number[near] == new).all():
            return
        numbers = np.union1d(self._rows.number, new)
        while len(numbers) > self._limit:
            width, numbers = 2 * width, np.unique(numbers // 2)
        self._move(width, numbers)

    def _move(self, width_ns: int, numbers: Integers) -> None:
        """Put the rows into the buckets of these numbers, which are as wide or wider."""
        rows, ratio = _empty(numbers, self._columns), width_ns // self.width_ns
        rows.put(np.searchsorted(numbers, self._rows.number // ratio), self._rows)
        self.width_ns, self._rows = width_ns, rows


def drawing_width_ns(buckets: Buckets, intervals_ns: Integers, limit: int) -> int:
    """The least bucket width at which `limit` buckets hold the intervals (k, 2) between first and last row.

    However few rows there are, a curve then has points that are as far apart as its picture can show.
    """
    width, span = buckets.width_ns, buckets.span_ns
    if not len(span):
        return width
    intervals = clip_intervals(intervals_ns, int(span[0, 0]), int(span[-1, 1]))
    while int((intervals[:, 1] // width - intervals[:, 0] // width + 1).sum()) > max(limit, 2 * len(intervals)):
        width *= 2
    return width


class StreamTimes:
    """The times of one topic, batch by batch. What is added in small pieces counts once it is taken in."""

    def __init__(self) -> None:
        self.count = 0
        self.first_ns: int | None = None
        self.last_ns: int | None = None
        self.longest_gap_ns = 0
        self.gaps: list[tuple[int, int]] = []  # when the pause ended, and how long it was; the longest of them
        self.gap_count = 0
        self.longest_step_ns = 0  # that is no pause
        self._in_gaps_ns = 0
        self.buckets = Buckets(limit=MAX_BUCKETS)
        self.few_stamps: list[int] = []
        self._gap_finder = GapFinder()
        self._waiting: list[NDArray[np.int64]] = []
        self._waiting_count = 0

    def add(self, stamp_ns: NDArray[np.int64]) -> None:
        """Further times (n,), in order; they are taken in some hundred at a time, which is quicker."""
        self._waiting.append(stamp_ns)
        self._waiting_count += len(stamp_ns)
        if self._waiting_count >= TAKEN_IN:
            self.flush_pending()

    def flush_pending(self) -> None:
        """Let all that was added count."""
        if not self._waiting_count:
            return
        stamp_ns = np.concatenate(self._waiting)
        self._waiting, self._waiting_count = [], 0
        steps = np.diff(stamp_ns, prepend=stamp_ns[:1] if self.last_ns is None else self.last_ns)
        self.longest_gap_ns = max(self.longest_gap_ns, int(steps.max()))
        first, last = int(stamp_ns[0]), int(stamp_ns[-1])
        self.first_ns = first if self.first_ns is None else min(self.first_ns, first)
        self.last_ns = last if self.last_ns is None else max(self.last_ns, last)
        self.count += len(stamp_ns)
        self.buckets.add(stamp_ns)
        if len(self.few_stamps) < MAX_STAMPS:
            self.few_stamps += stamp_ns[: MAX_STAMPS - len(self.few_stamps)].tolist()
        self._note_gaps(stamp_ns, steps)

    @property
    def duration_s(self) -> float:
        return ((self.last_ns or 0) - (self.first_ns or 0)) / NS_PER_S

    @property
    def rate_hz(self) -> float | None:
        """The mean rate, where there is one."""
        return (self.count - 1) / self.duration_s if self.count > 1 and self.duration_s > 0 else None

    @property
    def usual_ns(self) -> float:
        """The mean step from message to message, pauses aside."""
        steps = max(self.count - 1 - self.gap_count, 1)
        return max((self.last_ns or 0) - (self.first_ns or 0) - self._in_gaps_ns, 0) / steps

    @property
    def stamps(self) -> NDArray[np.int64] | None:
        """All times, where they are few."""
        return np.array(self.few_stamps, np.int64) if self.count <= MAX_STAMPS else None

    def _note_gaps(self, stamp_ns: NDArray[np.int64], steps: NDArray[np.int64]) -> None:
        rows = self._gap_finder.gaps(stamp_ns)
        steps[[row for row, _ in rows]] = 0
        self.longest_step_ns = max(self.longest_step_ns, int(steps.max()))
        if rows:
            self.gap_count += len(rows)
            self._in_gaps_ns += sum(length for _, length in rows)
            gaps = [(int(stamp_ns[row]), length) for row, length in rows]
            self.gaps = sorted(self.gaps + gaps, key=lambda gap: -gap[1])[:MAX_GAPS]


@dataclass(kw_only=True, eq=False)
class Overview:
    """The times of all topics, the tf tree, and what was found wrong."""

    subject: RecordingInfo
    streams: dict[Topic, StreamTimes] = field(default_factory=dict)
    frames: Frames = field(default_factory=Frames)
    issues: Issues = field(default_factory=Issues)

    @property
    def start_ns(self) -> int:
        """The time of the very first message."""
        return min((times.first_ns for times in self.streams.values() if times.first_ns is not None), default=0)

    @property
    def end_ns(self) -> int:
        """The time of the very last message."""
        return max((times.last_ns for times in self.streams.values() if times.last_ns is not None), default=0)

    @property
    def duration_s(self) -> float:
        return (self.end_ns - self.start_ns) / NS_PER_S

    @property
    def message_count(self) -> int:
        return sum(times.count for times in self.streams.values())

    @cached_property
    def intervals_ns(self) -> NDArray[np.int64]:
        """From when to when it has messages (k, 2), gaps aside that axes of time pass over; once all is read."""
        received = [times for times in self.streams.values() if times.count]
        busiest = max(received, key=lambda times: times.count, default=StreamTimes())
        intervals = [np.zeros((0, 2), np.int64), *(times.buckets.span_ns for times in received)]
        skip_ns = round(self.subject.skip_gaps_s * NS_PER_S)
        return split_at_gaps(np.concatenate(intervals), skip_gaps_ns=skip_ns, usual_ns=busiest.usual_ns)

    @property
    def recorded_s(self) -> float:
        """How long its pieces are together."""
        return float(np.diff(self.intervals_ns).sum()) / NS_PER_S

    def time_axis(self, *, most: int = 4, most_dates: int = 4) -> Axis:
        """The axis of seconds since the start, with up to so many labels; those of dates are wider."""
        if len(self.intervals_ns) < 2:
            return time_axis(self.duration_s, max_labels=most)
        return time_axis_with_gaps(self.seconds(self.intervals_ns), start_ns=self.start_ns, most=most_dates)

    def moment_text(self, stamp_ns: int) -> str:
        """A time as seconds since the start, or in UTC where axes of time have dates."""
        axis = self.time_axis()
        if axis.breaks and is_dated(axis.high, self.start_ns):
            return f"{utc_text(stamp_ns)} UTC"
        return f"{number_text(round((stamp_ns - self.start_ns) / NS_PER_S, 3), 4)} s"

    def in_order(self, by_topic: Mapping[Topic, Content]) -> list[tuple[Topic, Content]]:
        """What a panel kept of topics, in the order of the source and not in that of the first messages."""
        positions = {topic: position for position, topic in enumerate(self.streams)}
        return sorted(by_topic.items(), key=lambda item: positions.get(item[0], len(positions)))

    def seconds(self, stamp_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Times of any shape as seconds since the start."""
        seconds: NDArray[np.float64] = (stamp_ns - self.start_ns) / NS_PER_S
        return seconds


class Panel(Protocol):
    """One family of messages. It keeps no more than it will draw."""

    @property
    def msgtypes(self) -> Collection[str]:
        """The types whose messages it wants."""

    def add(self, batch: RecordBatch) -> None:
        """Further rows of a topic."""

    def report_issues(self, issues: Issues) -> None:
        """Say what was wrong with the messages, once all were heard."""

    def sections(self, overview: Overview) -> list[Section]:
        """What to show; nothing where there was nothing to hear."""


# Numbers of a topic over time, in buckets, as curves of a chart.


class Numbers:
    """Columns of numbers over time, in bounded memory; what is not finite is counted and left out."""

    def __init__(self, labels: Sequence[str], *, period: float | None = None) -> None:
        self.labels = tuple(labels)
        self._turn = period
        self._last: Array = np.zeros((0, len(labels)))
        self._buckets = Buckets(len(labels))
        self.not_a_number: Counter[str] = Counter()
        self.infinite: Counter[str] = Counter()
        self.is_zero = True

    def add(self, stamp_ns: NDArray[np.int64], values: Array) -> None:
        """Further rows: times (n,) and numbers (n, labels)."""
        self.is_zero = self.is_zero and not values.any()
        values = np.where(np.abs(values) > LARGEST, np.inf, values)
        for counter, is_bad in ((self.not_a_number, np.isnan(values)), (self.infinite, np.isinf(values))):
            for label, count in zip(self.labels, is_bad.sum(axis=0).tolist(), strict=True):
                if count:
                    counter[label] += count
        self._buckets.add(stamp_ns, values if self._turn is None else self._unwrap(values, self._turn))

    def _unwrap(self, values: Array, period: float) -> Array:
        """Angles (n, labels) without the steps of a whole turn, going on from those before."""
        there = np.isfinite(values).all(axis=1)
        joined = np.unwrap(np.concatenate([self._last, values[there]]), axis=0, period=period)
        whole = np.full(values.shape, np.nan)
        whole[there] = joined[len(self._last) :]
        self._last = joined[-1:]
        return whole

    def curves(self, overview: Overview) -> list[Curve]:
        """A curve of means for each column that has any, and the band between lowest and highest."""
        buckets = self._buckets.widen(drawing_width_ns(self._buckets, overview.intervals_ns, DRAWN))
        x = np.clip(overview.seconds(buckets.stamp_ns), 0.0, overview.duration_s)
        low, high, mean = buckets.low, buckets.high, buckets.mean
        return [
            Curve(
                label,
                x,
                mean[:, index],
                _finite(low[:, index], mean[:, index]),
                _finite(high[:, index], mean[:, index]),
            )
            for index, label in enumerate(self.labels)
        ]


def _finite(values: Array, instead: Array) -> Array:
    return np.where(np.isfinite(values), values, instead)
