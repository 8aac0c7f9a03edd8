"""The tf tree of a recording: who hangs on whom, and where each frame was at a time."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.decimation import RowDecimator
from fieldplay.core.gaps import clip_intervals
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.geometry.transforms import (
    Array,
    inverse_from_transform,
    rotation_from_quaternion,
    transform_from_rotation,
)

MAX_TRANSFORMS = 8192  # of each moving frame
LEAST_REACH_NS = NS_PER_S  # a transform holds so long before and after its time


@dataclass(eq=False)
class FrameEdge:
    """A frame in its parent, over time.

    Args:
        parent: the parent frame.
        child: the child frame.
        is_static: whether all its transforms were static ones.
        rows: x y z in m and a quaternion x y z w over time, decimated where there are too many.
        first_ns: the earliest time.
        last_ns: the latest time.
    """

    parent: str
    child: str
    is_static: bool
    rows: RowDecimator = field(default_factory=lambda: RowDecimator(7, MAX_TRANSFORMS))
    first_ns: int = 0
    last_ns: int = 0

    def rate_hz(self, intervals_ns: NDArray[np.int64]) -> float | None:
        """Compute how often the transform was published.

        Args:
            intervals_ns: first and last times (k, 2) of the parts of a recording that has gaps.

        Returns:
            The rate in Hz within the parts, or from the first to the last time where there is one part; None of a
            single time.
        """
        spans = clip_intervals(intervals_ns, self.first_ns, self.last_ns)
        if len(intervals_ns) < 2 or not len(spans):
            spans = np.array([[self.first_ns, self.last_ns]])
        length_s = float(np.diff(spans).sum()) / NS_PER_S
        return (self.rows.seen - len(spans)) / length_s if length_s > 0 else None

    def add(self, stamp_ns: NDArray[np.int64], values: Array) -> None:
        """Add transforms.

        Args:
            stamp_ns: times (n,), n > 0.
            values: x y z in m and a quaternion x y z w (n, 7).
        """
        self.first_ns = int(stamp_ns[0]) if not self.rows.seen else min(self.first_ns, int(stamp_ns.min()))
        self.last_ns = max(self.last_ns, int(stamp_ns.max()))
        self.rows.add(stamp_ns, values)

    def at(self, stamp_ns: NDArray[np.int64]) -> tuple[Array, NDArray[np.bool_]]:
        """Interpolate the transform.

        Args:
            stamp_ns: times (n,).

        Returns:
            parent_T_child (n, 4, 4), and which of the times (n,) it is known at: near ones before and after the data
            count.
        """
        times, values = self.rows.rows()
        if self.is_static or len(times) == 1:
            values = np.repeat(values[-1:], len(stamp_ns), axis=0)
            near: NDArray[np.bool_] = np.ones(len(stamp_ns), bool)
            near &= self.is_static | (np.abs(stamp_ns - times[-1]) <= LEAST_REACH_NS)
        else:
            values, near = _between(times, values, stamp_ns)
        return transform_from_rotation(rotation_from_quaternion(values[:, 3:]), values[:, :3]), near


class Frames:
    """All transforms that were published. A frame with several parents hangs on the one that published most often."""

    def __init__(self) -> None:
        self.edges: dict[tuple[str, str], FrameEdge] = {}
        self.odometry: dict[str, FrameEdge] = {}  # by topic, what odometries say of a frame beside tf

    def add(self, parent: str, child: str, *, is_static: bool, stamp_ns: NDArray[np.int64], values: Array) -> None:
        """Add transforms of a child in its parent.

        Args:
            parent: the parent frame.
            child: the child frame.
            is_static: whether they are of /tf_static.
            stamp_ns: times (n,), n > 0.
            values: x y z in m and a quaternion x y z w (n, 7).
        """
        edge = self.edges.setdefault((parent, child), FrameEdge(parent, child, is_static))
        edge.is_static = edge.is_static and is_static
        edge.add(stamp_ns, values)

    @property
    def names(self) -> list[str]:
        """All frames, in the order in which they first occurred."""
        return list(dict.fromkeys(name for pair in self.edges for name in pair))

    @property
    def parents(self) -> dict[str, FrameEdge]:
        """The edge to its parent of each frame that has one."""
        chosen: dict[str, FrameEdge] = {}
        for edge in self.edges.values():
            other = chosen.get(edge.child)
            if other is None or edge.rows.seen > other.rows.seen:
                chosen[edge.child] = edge
        return chosen

    def rivals(self) -> dict[str, list[str]]:
        """Frames that have more than one parent, with their parents."""
        parents_by_child: dict[str, list[str]] = {}
        for parent, child in self.edges:
            parents_by_child.setdefault(child, []).append(parent)
        return {child: parents for child, parents in parents_by_child.items() if len(parents) > 1}

    def path_to_root(self, frame: str) -> list[str]:
        """List the ancestors of a frame.

        Args:
            frame: the name of a frame.

        Returns:
            The frame, its parent and so on; in a loop it ends before a frame comes again.
        """
        parents, path = self.parents, [frame]
        while path[-1] in parents and parents[path[-1]].parent not in path:
            path.append(parents[path[-1]].parent)
        return path

    def transform(
        self, target: str, source: str, stamp_ns: NDArray[np.int64]
    ) -> tuple[Array, NDArray[np.bool_]] | None:
        """Compute the transform between any two frames.

        Args:
            target: the frame to transform to.
            source: the frame to transform from.
            stamp_ns: times (n,).

        Returns:
            target_T_source (n, 4, 4), and which of the times (n,) it is known at; None where nothing connects the
            frames.
        """
        up, down = self.path_to_root(source), self.path_to_root(target)
        shared = next((frame for frame in up if frame in down), None)
        if shared is None:
            return None
        parents = self.parents
        of_source, known = self._chain([parents[name] for name in up[: up.index(shared)]], stamp_ns)
        of_target, known_too = self._chain([parents[name] for name in down[: down.index(shared)]], stamp_ns)
        return inverse_from_transform(of_target) @ of_source, known & known_too

    def are_fixed(self, one: str, other: str) -> bool:
        """Check whether two frames are the same or connected by static transforms alone.

        Args:
            one: the name of a frame.
            other: the name of another.

        Returns:
            Whether they never move against each other.
        """
        up, down = self.path_to_root(one), self.path_to_root(other)
        shared = next((frame for frame in up if frame in down), None)
        if shared is None:
            return False
        between = up[: up.index(shared)] + down[: down.index(shared)]
        return all(self.parents[name].is_static for name in between)

    @staticmethod
    def _chain(edges: list[FrameEdge], stamp_ns: NDArray[np.int64]) -> tuple[Array, NDArray[np.bool_]]:
        """ancestor_T_frame along the edges from the frame upwards."""
        chained: Array = np.tile(np.eye(4), (len(stamp_ns), 1, 1))
        known: NDArray[np.bool_] = np.ones(len(stamp_ns), bool)
        for edge in edges:
            transform, there = edge.at(stamp_ns)
            chained, known = transform @ chained, known & there
        return chained, known


def _between(times: NDArray[np.int64], values: Array, stamp_ns: NDArray[np.int64]) -> tuple[Array, NDArray[np.bool_]]:
    """Rows (n, 7) at the times wanted, by their neighbours among the rows that there are."""
    after = np.clip(np.searchsorted(times, stamp_ns), 1, len(times) - 1)
    before = after - 1
    step = np.maximum(times[after] - times[before], 1)
    fraction = np.clip((stamp_ns - times[before]) / step, 0.0, 1.0)[:, None]
    low, high = values[before].copy(), values[after].copy()
    # q and -q are the same rotation: take the sign that gives the shorter arc.
    high[:, 3:] *= np.where((low[:, 3:] * high[:, 3:]).sum(axis=1) < 0, -1.0, 1.0)[:, None]
    mixed = low + fraction * (high - low)
    opposite = np.linalg.norm(mixed[:, 3:], axis=1) < 1e-6
    mixed[opposite, 3:] = low[opposite, 3:]
    reach = max(LEAST_REACH_NS, 2 * int(np.median(np.diff(times))))
    away = np.minimum(np.abs(stamp_ns - times[before]), np.abs(times[after] - stamp_ns))
    return mixed, away <= reach
