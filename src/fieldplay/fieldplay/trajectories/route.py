"""Routes: where something went, how far and how fast, where its messages paused, and in which frame to show it."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.number_text import Axis
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.geometry.frames import Frames
from fieldplay.geometry.transforms import Array

SMOOTHED_S = 1.0
STANDS_M = 0.005
PAUSE = 10.0  # usual steps
WORLDS = ("map", "odom", "world", "earth", "local_level", "odometry")
BASES = ("base_link", "base_footprint", "base")


@dataclass(frozen=True, eq=False)
class Route:
    """Positions (n, 3) in a frame with reported speeds (n,), NaN where unknown; at times (n,) if they have any.

    The times are those of the log, and of the headers, for lookups in tf.
    """

    label: str
    frame: str
    points: Array
    speed: Array
    stamp_ns: NDArray[np.int64] | None = None
    tf_ns: NDArray[np.int64] | None = None
    is_fix: bool = False
    own_frame: str = ""
    segment: NDArray[np.intp] | None = None  # of the recording, by point: what lies between two pieces is not known

    @property
    def breaks(self) -> list[int]:
        """The points before which its messages paused."""
        if self.stamp_ns is None or len(self.stamp_ns) < 3:
            return []
        steps = np.diff(self.stamp_ns)
        breaks: list[int] = (np.flatnonzero(steps > max(PAUSE * float(np.median(steps)), NS_PER_S)) + 1).tolist()
        return breaks

    @property
    def is_pose(self) -> bool:
        return not self.is_fix and self.stamp_ns is not None


def is_moving(one: Route) -> bool:
    """Whether the positions change."""
    return float(np.ptp(one.points, axis=0).max()) > STANDS_M


def path_length_m(one: Route) -> float:
    """Path length of positions a second apart, so that noise does not count."""
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
    positions = one.points[coarse]
    steps = np.linalg.norm(np.diff(positions, axis=0, prepend=positions[:1]), axis=1)
    if one.segment is not None:
        steps[np.diff(one.segment[coarse], prepend=one.segment[0]) != 0] = 0.0
    distances: Array = np.interp(seconds, seconds[coarse], np.cumsum(steps))
    return distances


def speed_from_positions(one: Route, seconds: Array, grid: Array, *, axis: Axis) -> Array:
    """Speed from positions at times (n,), for each interval of the axis; NaN for a single time."""
    distances = np.interp(grid, seconds, distance_m(one))
    cuts = np.flatnonzero(np.diff(axis.segment_indices(grid))) + 1
    runs = zip(np.split(distances, cuts), np.split(grid, cuts), strict=True)
    return np.concatenate([np.gradient(*run) if len(run[0]) > 1 else np.full(len(run[0]), np.nan) for run in runs])


def without_pauses(one: Route, seconds: Array, grid: Array, *, values: Array) -> Array:
    """Values (n,) at the times of a grid (n,), NaN where the messages paused."""
    paused = np.zeros(len(grid), bool)
    for index in one.breaks:
        paused |= (grid > seconds[index - 1]) & (grid < seconds[index])
    return np.where(paused, np.nan, values)


def routes_of_tf(frames: Frames) -> list[Route]:
    """The motion of the base in the world by tf, if there is no other source."""
    names = frames.names
    base = next((name for name in BASES if name in frames.parents), None)
    world = next((name for name in WORLDS if name in names), None)
    if base is None or world is None:
        return []
    moving = [edge for edge in map(frames.parents.get, frames.path_to_root(base)) if edge and not edge.is_static]
    if not moving:
        return []
    stamp_ns, _ = moving[0].rows.rows()
    transform = frames.transform(world, base, stamp_ns)
    if transform is None or not transform[1].any():
        return []
    transforms, known = transform
    unknown = np.full(int(known.sum()), np.nan)
    return [Route(f"tf: {base}", world, transforms[known][:, :3, 3], unknown, stamp_ns=stamp_ns[known])]


def group_by_frame(routes: list[Route], frames: Frames) -> dict[str, list[Route]]:
    """Group trajectories by the frame they are drawn in: the world where their frame is connected to it."""
    world = _world(routes, frames)
    groups: dict[str, list[Route]] = {}
    for one in routes:
        in_world = None if one.is_fix or world is None else _in_world(one, world, frames)
        chosen = in_world or one
        groups.setdefault(chosen.frame, []).append(chosen)
    return groups


def _world(routes: list[Route], frames: Frames) -> str | None:
    used = Counter(route.frame for route in routes if not route.is_fix)
    for name in WORLDS:
        if name in used or (used and name in frames.names):
            return name
    return used.most_common(1)[0][0] if used else None


def _in_world(route: Route, world: str, frames: Frames) -> Route | None:
    """A route in the frame of the world, if its own frame stands there: fixed, or on the way from world to base."""
    if route.frame == world:
        return route
    base = next((name for name in BASES if name in frames.parents), None)
    stands = frames.are_fixed(world, route.frame) or (base is not None and route.frame in frames.path_to_root(base)[1:])
    if not stands:
        return None
    tf_ns = route.tf_ns if route.tf_ns is not None else np.zeros(len(route.points), np.int64)
    transform = frames.transform(world, route.frame, tf_ns)
    if transform is None or not transform[1].any():
        return None
    transforms, known = transform
    points = (transforms @ np.column_stack([route.points, np.ones(len(route.points))])[:, :, None])[:, :3, 0]
    times = None if route.stamp_ns is None else route.stamp_ns[known]
    return Route(route.label, world, points[known], route.speed[known], stamp_ns=times, own_frame=route.frame)
