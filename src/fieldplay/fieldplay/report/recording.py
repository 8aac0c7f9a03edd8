"""What is known of a recording once it has been read: what every panel may draw from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldplay.dates import utc_text
from fieldplay.report.findings import Findings
from fieldplay.report.html.cut_axis import cut_time_axis, is_dated
from fieldplay.report.html.ticks import Axis, number_text, time_axis
from fieldplay.report.source import Subject
from fieldplay.report.stream_times import StreamTimes
from fieldplay_kinematics.frames import Frames
from fieldplay_messages.batches import Topic
from fieldplay_messages.pieces import pieces_of_intervals
from fieldplay_messages.stamps import NS_PER_S

Kept = TypeVar("Kept")


@dataclass(kw_only=True, eq=False)
class Recording:
    """The times of all topics, the tf tree, and what was found wrong."""

    subject: Subject
    streams: dict[Topic, StreamTimes] = field(default_factory=dict)
    frames: Frames = field(default_factory=Frames)
    findings: Findings = field(default_factory=Findings)

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
    def pieces_ns(self) -> NDArray[np.int64]:
        """From when to when it has messages (k, 2), gaps aside that axes of time pass over; once all is read."""
        heard = [times for times in self.streams.values() if times.count]
        busiest = max(heard, key=lambda times: times.count, default=StreamTimes())
        intervals = [np.zeros((0, 2), np.int64), *(times.buckets.span_ns for times in heard)]
        skip_ns = round(self.subject.skip_gaps_s * NS_PER_S)
        return pieces_of_intervals(np.concatenate(intervals), skip_gaps_ns=skip_ns, usual_ns=busiest.usual_ns)

    @property
    def recorded_s(self) -> float:
        """How long its pieces are together."""
        return float(np.diff(self.pieces_ns).sum()) / NS_PER_S

    def time_axis(self, *, most: int = 4, most_dates: int = 4) -> Axis:
        """The axis of seconds since the start, with up to so many labels; those of dates are wider."""
        if len(self.pieces_ns) < 2:
            return time_axis(self.duration_s, most=most)
        return cut_time_axis(self.seconds(self.pieces_ns), start_ns=self.start_ns, most=most_dates)

    def moment_text(self, stamp_ns: int) -> str:
        """A time as seconds since the start, or in UTC where axes of time have dates."""
        axis = self.time_axis()
        if axis.breaks and is_dated(axis.high, self.start_ns):
            return f"{utc_text(stamp_ns)} UTC"
        return f"{number_text(round((stamp_ns - self.start_ns) / NS_PER_S, 3), 4)} s"

    def in_order(self, kept: Mapping[Topic, Kept]) -> list[tuple[Topic, Kept]]:
        """What a panel kept of topics, in the order of the source and not in that of the first messages."""
        places = {topic: place for place, topic in enumerate(self.streams)}
        return sorted(kept.items(), key=lambda item: places.get(item[0], len(places)))

    def seconds(self, stamp_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Times of any shape as seconds since the start."""
        seconds: NDArray[np.float64] = (stamp_ns - self.start_ns) / NS_PER_S
        return seconds
