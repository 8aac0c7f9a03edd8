"""Poses, transforms and odometry as records, and joints of a record as arrays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.transforms import Array, quaternion_from_rotation
from fieldplay.kinematics.planar_odometry import PlanarOdometry, quaternion_from_yaw
from fieldplay.messages import records

Indices = NDArray[np.int64]
PLANAR = 3  # numbers of a pose in a plane
NOWHERE = -1  # the cell before the start
Stamps = NDArray[np.int64]
LEAST_VARIANCE = 1e-6  # of a pose, in m² and rad²


# The path of a robot, with as few poses as are needed to see it: one for each metre or so, and never too many.
#
# The path is cut into cells of equal length; a pose that is the first in its cell is kept. When there are too many, the
# cells are doubled: every other pose goes. So it reaches back to the start however long the path is, in bounded
# memory. It depends on the rows alone, not on how many of them come at a time.


@dataclass(frozen=True, kw_only=True)
class PathLimits:
    """How dense a path is.

    Args:
        step_m: from pose to pose, as long as there are few.
        poses: the most poses that are kept; then every other one is dropped and the step doubled.

    Raises:
        ValueError: the step is not positive, or fewer than 2 poses are to be kept.
    """

    step_m: float
    poses: int

    def __post_init__(self) -> None:
        if not self.step_m > 0 or self.poses < 2:
            raise ValueError(f"expected a step of more than 0 m and 2 poses or more, got {self.step_m}, {self.poses}")


@dataclass(frozen=True, kw_only=True, eq=False)
class PathPoints:
    """Poses of a path.

    Args:
        stamp_ns: times (k,).
        poses: x, y, yaw (k, 3), or x, y, z and a quaternion x y z w (k, 7).
        cells: cells (k, 2) that the path was in before, and is in with them.
    """

    stamp_ns: Indices
    poses: Array
    cells: Indices

    def only(self, which: NDArray[np.bool_] | Indices | slice) -> "PathPoints":
        """Select poses.

        Args:
            which: a mask (k,), indices, or a slice.

        Returns:
            The selected poses.
        """
        return PathPoints(stamp_ns=self.stamp_ns[which], poses=self.poses[which], cells=self.cells[which])

    def and_then(self, other: "PathPoints") -> "PathPoints":
        """Append poses.

        Args:
            other: later poses.

        Returns:
            All poses.
        """
        return PathPoints(
            stamp_ns=np.concatenate([self.stamp_ns, other.stamp_ns]),
            poses=np.concatenate([self.poses, other.poses]),
            cells=np.concatenate([self.cells, other.cells]),
        )

    def enters(self, level: int) -> NDArray[np.bool_]:
        """Find the poses that are the first in their cells.

        Args:
            level: how often the cells were doubled.

        Returns:
            A mask (k,).
        """
        before, now = (self.cells >> level).T
        entered: NDArray[np.bool_] = now > before
        return entered


NO_POINTS = PathPoints(stamp_ns=np.zeros(0, np.int64), poses=np.zeros((0, 3)), cells=np.zeros((0, 2), np.int64))


@dataclass(frozen=True, kw_only=True, eq=False)
class ThinnedPath:
    """The state of a path.

    Args:
        points: the poses that are kept.
        travelled_m: the path length.
        cell: the cell of the last row.
        level: how often the cells were doubled.
    """

    points: PathPoints = field(default_factory=lambda: NO_POINTS)
    travelled_m: float = 0.0
    cell: int = NOWHERE
    level: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class PathGrowth:
    """States of a path, one for each pose added to it.

    Args:
        points: all poses; the first state has `first` of them, each further one has one more.
        first: a count of poses, from 1 on.
    """

    points: PathPoints
    first: int

    @property
    def stamp_ns(self) -> Indices:
        """The times (m,) of the poses that came."""
        return self.points.stamp_ns[self.first - 1 :]


def extend_path(
    before: ThinnedPath | None, limits: PathLimits, *, stamp_ns: Indices, poses: Array, lengths_m: Array
) -> tuple[list[PathGrowth], ThinnedPath]:
    """Extend a path, keeping few poses: one in each cell of equal length along it.

    Args:
        before: the path so far, or None.
        limits: how dense it is.
        stamp_ns: times (n,), n > 0.
        poses: x, y, yaw (n, 3), or x, y, z and a quaternion (n, 7).
        lengths_m: distance to each pose from the one before (n,).

    Returns:
        The growth, several where the path was thinned meanwhile, and the path.
    """
    path = before or ThinnedPath()
    travelled = np.cumsum(np.concatenate([[path.travelled_m], lengths_m]))[1:]
    cells = np.floor(travelled / limits.step_m).astype(np.int64)
    pairs = np.stack([np.concatenate([[path.cell], cells[:-1]]), cells], axis=-1)
    new_points = PathPoints(stamp_ns=stamp_ns, poses=poses, cells=pairs)
    points, level = path.points if len(path.points.stamp_ns) else new_points.only(slice(0)), path.level
    new_points = new_points.only(new_points.enters(level))
    growths = []
    while len(new_points.stamp_ns):
        room = limits.poses - len(points.stamp_ns)
        # No room: double the cells, which drops about every other pose, of the new ones too, and go on.
        if room <= 0:
            level += 1
            points, new_points = points.only(points.enters(level)), new_points.only(new_points.enters(level))
            continue
        first = len(points.stamp_ns) + 1
        points, new_points = points.and_then(new_points.only(slice(room))), new_points.only(slice(room, None))
        growths.append(PathGrowth(points=points, first=first))
    return growths, ThinnedPath(points=points, travelled_m=float(travelled[-1]), cell=int(cells[-1]), level=level)


def with_floor(covariances: Array) -> Array:
    """Raise the variances of poses to at least a square millimetre's and a square milliradian's.

    A pose is exactly known where the odometry starts, but filters take a variance of 0 for a mistake, or for certain.

    Args:
        covariances: (..., 6, 6).

    Returns:
        Covariances (..., 6, 6).
    """
    result: Array = np.array(covariances, float)
    diagonal = result[..., range(6), range(6)]
    result[..., range(6), range(6)] = np.maximum(diagonal, LEAST_VARIANCE)
    return result


def pose_record(stamp_ns: Stamps, transforms: Array) -> records.Pose:
    """Make a record of poses.

    Args:
        stamp_ns: times (n,).
        transforms: frame_T_pose (n, 4, 4).

    Returns:
        The record.
    """
    quaternions = quaternion_from_rotation(transforms[:, :3, :3])
    return records.Pose(stamp_ns=stamp_ns, position_m=transforms[:, :3, 3], orientation_xyzw=quaternions)


def poses_record(stamp_ns: Stamps, transforms: Array) -> records.Poses:
    """Make a record of several poses in each row.

    Args:
        stamp_ns: times (n,).
        transforms: frame_T_pose (n, k, 4, 4).

    Returns:
        The record.
    """
    quaternions = quaternion_from_rotation(transforms[..., :3, :3])
    return records.Poses(stamp_ns=stamp_ns, position_m=transforms[..., :3, 3], orientation_xyzw=quaternions)


def transforms_record(
    parents: Sequence[str], children: Sequence[str], stamp_ns: Stamps, transforms: Array
) -> records.Transforms:
    """Make a record of transforms.

    Args:
        parents: the parent of each child.
        children: names of k frames.
        stamp_ns: times (n,).
        transforms: parent_T_child (n, k, 4, 4).

    Returns:
        The record.
    """
    return records.Transforms(
        stamp_ns=stamp_ns,
        parents=tuple(parents),
        children=tuple(children),
        translation_m=transforms[..., :3, 3],
        rotation_xyzw=quaternion_from_rotation(transforms[..., :3, :3]),
    )


def odometry_record(odometry: PlanarOdometry[object]) -> records.Odometry:
    """Make a record of odometry in the plane.

    Args:
        odometry: n rows.

    Returns:
        The record; no pose variance is below that of `with_floor`.
    """
    zero, poses, twists = np.zeros(len(odometry.stamp_ns)), odometry.poses, odometry.twists
    return records.Odometry(
        stamp_ns=odometry.stamp_ns,
        position_m=np.stack([poses[:, 0], poses[:, 1], zero], axis=-1),
        orientation_xyzw=quaternion_from_yaw(poses[:, 2]),
        pose_covariance=with_floor(odometry.pose_covariances),
        linear_velocity_m_s=np.stack([twists[:, 0], twists[:, 1], zero], axis=-1),
        angular_velocity_rad_s=np.stack([zero, zero, twists[:, 2]], axis=-1),
        twist_covariance=odometry.twist_covariances,
    )


def paths_record(growths: Sequence[PathGrowth]) -> records.Paths:
    """Make a record of a path's growth.

    Args:
        growths: of one call of `extend_path`.

    Returns:
        The record: a row for each pose that was added, at its time.
    """
    counts = [np.arange(growth.first, len(growth.points.stamp_ns) + 1) for growth in growths]
    return records.Paths(
        stamp_ns=np.concatenate([np.zeros(0, np.int64), *(growth.stamp_ns for growth in growths)]),
        paths=tuple(_path_record(growth.points.stamp_ns, growth.points.poses) for growth in growths),
        path_index=np.repeat(np.arange(len(growths)), [len(count) for count in counts]),
        count=np.concatenate([np.zeros(0, np.int64), *counts]),
    )


def _path_record(stamp_ns: Stamps, poses: Array) -> records.Pose:
    """From x, y, yaw (k, 3), or from x, y, z and a quaternion (k, 7), which stays as it is."""
    if poses.shape[1] == PLANAR:
        level = np.zeros((len(poses), 1))
        poses = np.concatenate([poses[:, :2], level, quaternion_from_yaw(poses[:, 2])], axis=-1)
    return records.Pose(stamp_ns=stamp_ns, position_m=poses[:, :3], orientation_xyzw=poses[:, 3:])


def with_positions(record: records.Record, warn: Callable[[str], None]) -> tuple[records.Joints, Array]:
    """Read positions of joints; rows in which one is missing are left out.

    Args:
        record: of Joints.
        warn: called with a line for people where rows are left out.

    Returns:
        The joints in the remaining rows, and their positions (n, k).

    Raises:
        TypeError: the record is of another kind.
        ValueError: there are no positions at all.
    """
    joints = joints_of(record)
    if joints.position is None:
        raise ValueError(f"expected a position for each of {len(joints.names)} joints, got none")
    good: NDArray[np.bool_] = np.asarray(np.isfinite(joints.position).all(axis=1))
    if good.all():
        return joints, joints.position
    wrong = joints.position[~good][0].tolist()
    warn(f"a message is left out: expected a position for each of {len(joints.names)} joints, got {wrong}")
    return joints.only(good), joints.position[good]


def with_velocities(record: records.Record) -> tuple[records.Joints, Array]:
    """Read velocities of joints.

    Args:
        record: of Joints.

    Returns:
        The joints, and their velocities (n, k), which may be NaN.

    Raises:
        TypeError: the record is of another kind.
        ValueError: there are no velocities.
    """
    joints = joints_of(record)
    if joints.velocity is None:
        raise ValueError(f"expected a velocity for each of {len(joints.names)} joints, got none")
    return joints, joints.velocity


def joints_of(record: records.Record) -> records.Joints:
    """Narrow a record to joints.

    Args:
        record: any record.

    Returns:
        The same record.

    Raises:
        TypeError: it is of another kind.
    """
    if not isinstance(record, records.Joints):
        raise TypeError(f"expected joints, got {type(record).__name__}")
    return record


def odometry_of(record: records.Record) -> records.Odometry:
    """Narrow a record to odometry.

    Args:
        record: any record.

    Returns:
        The same record.

    Raises:
        TypeError: it is of another kind.
    """
    if not isinstance(record, records.Odometry):
        raise TypeError(f"expected odometry, got {type(record).__name__}")
    return record
