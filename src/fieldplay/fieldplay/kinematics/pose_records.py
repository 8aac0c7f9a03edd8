"""Poses, transforms and odometry as records, and joints of a record as arrays."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.transforms import Array, quaternion_from_rotation
from fieldplay.kinematics.path_thinning import PLANAR, PathThinner
from fieldplay.kinematics.planar_motion import quaternion_from_yaw
from fieldplay.kinematics.planar_odometry import PlanarOdometry
from fieldplay.messages import records

Stamps = NDArray[np.int64]
LEAST_VARIANCE = 1e-6  # of a pose, in m² and rad²


def with_floor(covariances: Array) -> Array:
    """Covariances (..., 6, 6) of poses, none of whose variances is below a millimetre's and a thousandth of a radian's.

    A pose is exactly known where the odometry starts, but filters take a variance of 0 for a mistake, or for certain.
    """
    found: Array = np.array(covariances, float)
    diagonal = found[..., range(6), range(6)]
    found[..., range(6), range(6)] = np.maximum(diagonal, LEAST_VARIANCE)
    return found


def pose_record(stamp_ns: Stamps, transforms: Array) -> records.Pose:
    """Poses from frame_T_pose (n, 4, 4)."""
    turns = quaternion_from_rotation(transforms[:, :3, :3])
    return records.Pose(stamp_ns=stamp_ns, position_m=transforms[:, :3, 3], orientation_xyzw=turns)


def poses_record(stamp_ns: Stamps, transforms: Array) -> records.Poses:
    """Several poses from frame_T_pose (n, k, 4, 4)."""
    turns = quaternion_from_rotation(transforms[..., :3, :3])
    return records.Poses(stamp_ns=stamp_ns, position_m=transforms[..., :3, 3], orientation_xyzw=turns)


def transforms_record(
    parents: Sequence[str], children: Sequence[str], stamp_ns: Stamps, transforms: Array
) -> records.Transforms:
    """Frames in their parents from parent_T_child (n, children, 4, 4)."""
    return records.Transforms(
        stamp_ns=stamp_ns,
        parents=tuple(parents),
        children=tuple(children),
        translation_m=transforms[..., :3, 3],
        rotation_xyzw=quaternion_from_rotation(transforms[..., :3, :3]),
    )


def odometry_record(found: PlanarOdometry[object]) -> records.Odometry:
    """Odometry in the plane."""
    zero, poses, twists = np.zeros(len(found.stamp_ns)), found.poses, found.twists
    return records.Odometry(
        stamp_ns=found.stamp_ns,
        position_m=np.stack([poses[:, 0], poses[:, 1], zero], axis=-1),
        orientation_xyzw=quaternion_from_yaw(poses[:, 2]),
        pose_covariance=with_floor(found.pose_covariances),
        linear_velocity_m_s=np.stack([twists[:, 0], twists[:, 1], zero], axis=-1),
        angular_velocity_rad_s=np.stack([zero, zero, twists[:, 2]], axis=-1),
        twist_covariance=found.twist_covariances,
    )


def paths_record(growths: Sequence[PathThinner]) -> records.Paths:
    """A trail as it grew: one row for each pose that came to it, at its time."""
    counts = [np.arange(growth.first, len(growth.kept.stamp_ns) + 1) for growth in growths]
    return records.Paths(
        stamp_ns=np.concatenate([np.zeros(0, np.int64), *(growth.stamp_ns for growth in growths)]),
        ways=tuple(_way(growth.kept.stamp_ns, growth.kept.poses) for growth in growths),
        place=np.repeat(np.arange(len(growths)), [len(count) for count in counts]),
        count=np.concatenate([np.zeros(0, np.int64), *counts]),
    )


def _way(stamp_ns: Stamps, poses: Array) -> records.Pose:
    """From x, y, yaw (k, 3), or from x, y, z and a quaternion (k, 7), which stays as it is."""
    if poses.shape[1] == PLANAR:
        level = np.zeros((len(poses), 1))
        poses = np.concatenate([poses[:, :2], level, quaternion_from_yaw(poses[:, 2])], axis=-1)
    return records.Pose(stamp_ns=stamp_ns, position_m=poses[:, :3], orientation_xyzw=poses[:, 3:])


def with_positions(record: records.Record, warn: Callable[[str], None]) -> tuple[records.Joints, Array]:
    """The joints in those rows that have a position for each of them, and these positions (n, k)."""
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
    """The joints, and their velocities (n, k)."""
    joints = joints_of(record)
    if joints.velocity is None:
        raise ValueError(f"expected a velocity for each of {len(joints.names)} joints, got none")
    return joints, joints.velocity


def joints_of(record: records.Record) -> records.Joints:
    """The record, which must be one of joints."""
    if not isinstance(record, records.Joints):
        raise TypeError(f"expected joints, got {type(record).__name__}")
    return record


def odometry_of(record: records.Record) -> records.Odometry:
    """The record, which must be one of odometry."""
    if not isinstance(record, records.Odometry):
        raise TypeError(f"expected odometry, got {type(record).__name__}")
    return record
