"""What is known once all was read, which every panel may draw from; and what a panel is."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.decimation import Buckets, drawing_width_ns
from fieldplay.core.gaps import split_at_gaps
from fieldplay.core.number_text import Axis, is_dated, number_text, time_axis, time_axis_with_gaps
from fieldplay.core.timestamps import NS_PER_S, utc_text
from fieldplay.geometry.frames import Frames
from fieldplay.messages.message_batches import Topic
from fieldplay.recording.record_batches import Issues, RecordBatch
from fieldplay.recording.recording import RecordingInfo
from fieldplay.report.figures import Curve
from fieldplay.report.page import Section
from fieldplay.streams.stream_times import StreamTimes

Array = NDArray[np.float64]
Content = TypeVar("Content")
DRAWN = 256  # of points of a curve, gaps or not
LARGEST = 1e30  # no measurement is larger: it counts as infinite


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


class Panel:
    """One family of messages, of the types `msgtypes`. It keeps no more than it will draw."""

    msgtypes: Collection[str] = ()

    def add(self, batch: RecordBatch) -> None:
        """Further rows of a topic."""
        raise NotImplementedError

    def report_issues(self, issues: Issues) -> None:
        """Report what was wrong with the messages, once all were read; nothing unless a panel says so."""

    def sections(self, overview: Overview) -> list[Section]:
        """What to show; nothing where no message came."""
        raise NotImplementedError


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
        low, high = (np.where(np.isfinite(values), values, mean) for values in (low, high))
        columns = zip(self.labels, mean.T, low.T, high.T, strict=True)
        return [Curve(label, x, *values) for label, *values in columns]
