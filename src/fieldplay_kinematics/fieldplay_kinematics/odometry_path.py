"""The way that odometry tells of, as a trail of its poses."""

from dataclasses import dataclass

import numpy as np

from fieldplay_kinematics.trail import Growth, Indices, Trail, TrailLimits, grown
from fieldplay_kinematics.transforms import Array


@dataclass(frozen=True, kw_only=True, eq=False)
class PathState:
    """The trail so far, and the last place (3,) and its time."""

    trail: Trail
    stamp_ns: int
    place: Array


def path_from_poses(
    limits: TrailLimits, before: PathState | None, stamp_ns: Indices, poses: Array
) -> tuple[list[Growth], PathState]:
    """How the trail grows by poses (n, 7), n > 0, as x, y, z and a quaternion, and what to go on from.

    A place that is no number is refused.
    """
    places = poses[:, :3]
    if not np.isfinite(poses).all():
        raise ValueError(f"expected finite poses, got {poses[~np.isfinite(poses).all(axis=1)][0].tolist()}")
    earlier = places[:1] if before is None else before.place[None]
    lengths = np.linalg.norm(np.diff(places, axis=0, prepend=earlier), axis=1)
    trail = None if before is None else before.trail
    growths, trail = grown(trail, limits, stamp_ns=stamp_ns, poses=poses, lengths_m=lengths)
    return growths, PathState(trail=trail, stamp_ns=int(stamp_ns[-1]), place=places[-1])
