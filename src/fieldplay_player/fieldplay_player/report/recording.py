"""What is known of a recording once it has been read: what every panel may draw from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.stamps import NS_PER_S
from fieldplay_player.report.findings import Findings
from fieldplay_player.report.frames import Frames
from fieldplay_player.report.source import Subject, Topic
from fieldplay_player.report.stream_times import StreamTimes

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

    def in_order(self, kept: Mapping[Topic, Kept]) -> list[tuple[Topic, Kept]]:
        """What a panel kept of topics, in the order of the source and not in that of the first messages."""
        places = {topic: place for place, topic in enumerate(self.streams)}
        return sorted(kept.items(), key=lambda item: places.get(item[0], len(places)))

    def seconds(self, stamp_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Times (n,) as seconds since the start."""
        seconds: NDArray[np.float64] = (stamp_ns - self.start_ns) / NS_PER_S
        return seconds
