"""The way that a robot has come, as few poses as are needed to see it: one for each metre or so, and never too many.

The way is cut into cells of equal length; a pose that is the first in its cell is kept. When there are too many, the
cells are doubled: every other pose goes. So the trail reaches back to the start however long the way is, in bounded
memory. It depends on the rows alone, not on how many of them come at a time.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.transforms import Array

Indices = NDArray[np.int64]
PLANAR = 3  # numbers of a pose in a plane
NOWHERE = -1  # the cell before the start


@dataclass(frozen=True, kw_only=True)
class TrailLimits:
    """The length of a cell as long as there are few, and how many poses are kept at most."""

    step_m: float
    poses: int

    def __post_init__(self) -> None:
        if not self.step_m > 0 or self.poses < 2:
            raise ValueError(f"expected a step of more than 0 m and 2 poses or more, got {self.step_m}, {self.poses}")


@dataclass(frozen=True, kw_only=True, eq=False)
class Kept:
    """Poses at times (k,), and the cells (k, 2) that the way was in before and is in with them.

    Poses are (k, 3), x, y, yaw in a plane, or (k, 7), x, y, z and the quaternion x y z w.
    """

    stamp_ns: Indices
    poses: Array
    cells: Indices

    def only(self, which: NDArray[np.bool_] | Indices | slice) -> "Kept":
        return Kept(stamp_ns=self.stamp_ns[which], poses=self.poses[which], cells=self.cells[which])

    def and_then(self, other: "Kept") -> "Kept":
        return Kept(
            stamp_ns=np.concatenate([self.stamp_ns, other.stamp_ns]),
            poses=np.concatenate([self.poses, other.poses]),
            cells=np.concatenate([self.cells, other.cells]),
        )

    def enters(self, level: int) -> NDArray[np.bool_]:
        """Which of the poses (k,) are the first in their cells, after so many doublings."""
        before, now = (self.cells >> level).T
        entered: NDArray[np.bool_] = now > before
        return entered


NOTHING = Kept(stamp_ns=np.zeros(0, np.int64), poses=np.zeros((0, 3)), cells=np.zeros((0, 2), np.int64))


@dataclass(frozen=True, kw_only=True, eq=False)
class Trail:
    """What is kept, how far the way was, its cell, and how often the cells were doubled."""

    kept: Kept = field(default_factory=lambda: NOTHING)
    travelled_m: float = 0.0
    cell: int = NOWHERE
    level: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class PathThinner:
    """States of a trail, one for each pose that came to it: the poses of `kept` as far as `first`, then one more each.

    `first` is a count of poses, from 1 on.
    """

    kept: Kept
    first: int

    @property
    def stamp_ns(self) -> Indices:
        """The times (m,) of the poses that came."""
        return self.kept.stamp_ns[self.first - 1 :]


def grown(
    before: Trail | None, limits: TrailLimits, *, stamp_ns: Indices, poses: Array, lengths_m: Array
) -> tuple[list[PathThinner], Trail]:
    """A trail after rows at times (n,), with poses (n, 3 or 7) and the ways (n,) that led to each; and how it grew."""
    trail = before or Trail()
    travelled = np.cumsum(np.concatenate([[trail.travelled_m], lengths_m]))[1:]
    cells = np.floor(travelled / limits.step_m).astype(np.int64)
    pairs = np.stack([np.concatenate([[trail.cell], cells[:-1]]), cells], axis=-1)
    fresh = Kept(stamp_ns=stamp_ns, poses=poses, cells=pairs)
    kept, level = trail.kept if len(trail.kept.stamp_ns) else fresh.only(slice(0)), trail.level
    fresh = fresh.only(fresh.enters(level))
    growths = []
    while len(fresh.stamp_ns):
        room = limits.poses - len(kept.stamp_ns)
        if room <= 0:
            level += 1
            kept, fresh = kept.only(kept.enters(level)), fresh.only(fresh.enters(level))
            continue
        first = len(kept.stamp_ns) + 1
        kept, fresh = kept.and_then(fresh.only(slice(room))), fresh.only(slice(room, None))
        growths.append(PathThinner(kept=kept, first=first))
    return growths, Trail(kept=kept, travelled_m=float(travelled[-1]), cell=int(cells[-1]), level=level)
