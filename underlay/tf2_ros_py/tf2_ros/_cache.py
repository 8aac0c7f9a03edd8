"""What one child frame remembers about its parent."""

from bisect import bisect_left, bisect_right
from typing import Protocol, TypeAlias

from ._errors import ExtrapolationException
from ._pose import IDENTITY, Pose, interpolate

Sample: TypeAlias = tuple[str, Pose]
"""The parent's name and parent_T_child."""


def seconds(stamp_ns: int) -> str:
    """Write a stamp as lookup errors show it."""
    return f"{stamp_ns / 1e9:.6f}"


class FrameCache(Protocol):
    """The history of one child frame. All stamps are nanoseconds; 0 as a request means the latest."""

    def insert(self, stamp_ns: int, sample: Sample) -> bool:
        """Store a sample; False if it is too old to be kept."""

    def at(self, stamp_ns: int) -> Sample:
        """Return the sample at a stamp, or raise ExtrapolationException."""

    def span(self) -> tuple[int, int, int]:
        """Return the oldest stamp, the latest stamp and the number of samples; (0, 0, 0) if empty."""

    def newest(self) -> tuple[int, str | None]:
        """Return the latest stamp and its parent; no parent if empty."""

    def clear(self) -> None:
        """Forget what is not for ever."""


class StaticCache:
    """One sample, valid at all times, which survives clear()."""

    def __init__(self) -> None:
        self._sample: Sample = ("", IDENTITY)

    def insert(self, stamp_ns: int, sample: Sample) -> bool:
        """Replace the sample."""
        self._sample = sample
        return True

    def at(self, stamp_ns: int) -> Sample:
        """Return the sample, whatever the stamp."""
        return self._sample

    def span(self) -> tuple[int, int, int]:
        """Return no stamps and one sample."""
        return 0, 0, 1

    def newest(self) -> tuple[int, str | None]:
        """Return stamp 0, which sets no limit on a common time."""
        return 0, self._sample[0]

    def clear(self) -> None:
        """Keep the sample: static transforms survive a jump in time."""


class TimeCache:
    """Samples in order of stamp, for a limited duration."""

    def __init__(self, duration_ns: int) -> None:
        self._duration_ns = duration_ns
        self._stamps: list[int] = []
        self._samples: list[Sample] = []

    def insert(self, stamp_ns: int, sample: Sample) -> bool:
        """Store a sample; False if it is older than the latest one by more than the duration.

        As upstream does, old samples go when the next one comes: what a leap forward in time
        has made too old is still there until the insertion after it.
        """
        stamps, samples = self._stamps, self._samples
        if stamps:
            horizon = stamps[-1] - self._duration_ns
            if stamps[0] < horizon:
                stale = bisect_left(stamps, horizon)
                del stamps[:stale], samples[:stale]
            if stamp_ns < horizon:
                return False
        index = bisect_right(stamps, stamp_ns)
        if sample not in samples[bisect_left(stamps, stamp_ns) : index]:
            stamps.insert(index, stamp_ns)
            samples.insert(index, sample)
        return True

    def at(self, stamp_ns: int) -> Sample:
        """Return the sample at a stamp, interpolated unless the parent changed in between."""
        stamps, samples = self._stamps, self._samples
        if stamp_ns == 0 and stamps:
            return samples[-1]
        after = bisect_right(stamps, stamp_ns)
        if after and stamps[after - 1] == stamp_ns:
            return samples[after - 1]
        if after == 0 or after == len(stamps):
            raise ExtrapolationException(self._why_not(stamp_ns))
        (parent, start), (next_parent, end) = samples[after - 1], samples[after]
        if parent != next_parent:
            return parent, start
        begin = stamps[after - 1]
        return parent, interpolate(start, end, (stamp_ns - begin) / (stamps[after] - begin))

    def span(self) -> tuple[int, int, int]:
        """Return the oldest stamp, the latest stamp and the number of samples; (0, 0, 0) if empty."""
        stamps = self._stamps
        return (stamps[0], stamps[-1], len(stamps)) if stamps else (0, 0, 0)

    def newest(self) -> tuple[int, str | None]:
        """Return the latest stamp and its parent; no parent if empty."""
        return (self._stamps[-1], self._samples[-1][0]) if self._stamps else (0, None)

    def clear(self) -> None:
        """Forget everything."""
        self._stamps.clear()
        self._samples.clear()

    def _why_not(self, stamp_ns: int) -> str:
        stamps, prefix = self._stamps, "Lookup would require extrapolation"
        wanted = seconds(stamp_ns)
        if not stamps:
            return f"{prefix} at time {wanted}, but there is no data in the buffer"
        if len(stamps) == 1:
            return f"{prefix} at time {wanted}, but only time {seconds(stamps[0])} is in the buffer"
        if stamp_ns > stamps[-1]:
            limit = f"latest data is at time {seconds(stamps[-1])}"
            return f"{prefix} into the future.  Requested time {wanted} but the {limit}"
        limit = f"earliest data is at time {seconds(stamps[0])}"
        return f"{prefix} into the past.  Requested time {wanted} but the {limit}"
