"""A way that something went, its length, and where its messages paused."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay_messages.stamps import NS_PER_S

SMOOTHED_S = 1.0
STANDS_M = 0.005
PAUSE = 10.0  # usual steps

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Route:
    """Positions (n, 3) in a frame with speeds (n,) as told, NaN where they are not; at times (n,) if they have any.

    The times are those of the log, beside them those of the headers, by which tf tells where the frame was.
    """

    label: str
    frame: str
    points: Array
    speed: Array
    stamp_ns: NDArray[np.int64] | None = None
    tf_ns: NDArray[np.int64] | None = None
    is_fix: bool = False
    own_frame: str = ""
    piece: NDArray[np.intp] | None = None  # of the recording, by point: what lies between two pieces is not known

    @property
    def breaks(self) -> list[int]:
        """The points before which its messages paused."""
        if self.stamp_ns is None or len(self.stamp_ns) < 3:
            return []
        steps = np.diff(self.stamp_ns)
        found: list[int] = (np.flatnonzero(steps > max(PAUSE * float(np.median(steps)), NS_PER_S)) + 1).tolist()
        return found

    @property
    def is_pose(self) -> bool:
        return not self.is_fix and self.stamp_ns is not None


def moves(one: Route) -> bool:
    """Whether it goes anywhere."""
    return float(np.ptp(one.points, axis=0).max()) > STANDS_M


def way_m(one: Route) -> float:
    """The length of the way, of places a second apart so that what trembles does not count."""
    return float(distance_m(one)[-1])


def distance_m(one: Route) -> Array:
    """The way so far (n,)."""
    if one.stamp_ns is None or len(one.points) < 3:
        steps = np.linalg.norm(np.diff(one.points, axis=0, prepend=one.points[:1]), axis=1)
        return np.cumsum(steps)
    seconds = (one.stamp_ns - one.stamp_ns[0]) / NS_PER_S
    number = np.floor(seconds / SMOOTHED_S)
    coarse = np.flatnonzero(np.r_[True, np.diff(number) > 0])  # the first place of each second
    coarse = np.unique(np.r_[coarse, len(seconds) - 1]) if len(coarse) > 2 else np.arange(len(seconds))
    places = one.points[coarse]
    steps = np.linalg.norm(np.diff(places, axis=0, prepend=places[:1]), axis=1)
    if one.piece is not None:
        steps[np.diff(one.piece[coarse], prepend=one.piece[0]) != 0] = 0.0
    way: Array = np.interp(seconds, seconds[coarse], np.cumsum(steps))
    return way
