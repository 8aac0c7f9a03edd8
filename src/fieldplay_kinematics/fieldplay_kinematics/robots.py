"""What is computed of a robot's joints, with the settings of its dataset's description. Nodes and batch share this."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay_kinematics.dead_reckoning import Reckoning, Stepping, reckoned
from fieldplay_kinematics.dh import DhRow, end_from_joints, steps_from_joints
from fieldplay_kinematics.planar_motion import covariance_from_planar
from fieldplay_kinematics.steered_wheels import (
    SteeredBase,
    symmetric_base,
    twist_from_wheels,
    wheel_poses_from_angles,
    wheels_from_twist,
)
from fieldplay_kinematics.transforms import Array, rotation_about_axis, transform_from_rotation

WHEELS = (1, 2, 3, 4)
DRIVES = tuple(f"drive_{wheel}" for wheel in WHEELS)
STEERS = tuple(f"steer_{wheel}" for wheel in WHEELS)
UNKNOWN_VARIANCE = 1e6
LENGTHS = ("length_m", "width_m", "swivel_m", "wheel_drop_m")
LONGEST_STEP_S = 1.0  # where a description does not tell


def base_from_settings(settings: Mapping[str, Any]) -> SteeredBase:
    """The wheeled base of a description."""
    return symmetric_base(**{name: float(settings[name]) for name in LENGTHS})


def stepping_from_settings(settings: Mapping[str, Any]) -> Stepping:
    """How the odometry of a description goes over time: a longer step than `longest_step_s` is not driven through."""
    return Stepping(longest_s=float(settings.get("longest_step_s", LONGEST_STEP_S)))


def arm_from_settings(settings: Mapping[str, Any]) -> list[DhRow]:
    """The arm of a description: alpha_deg, a_m and d_m by joint, modified Denavit-Hartenberg."""
    rows = zip(settings["alpha_deg"], settings["a_m"], settings["d_m"], strict=True)
    return [DhRow(alpha=float(np.radians(alpha)), a=float(a), d=float(d)) for alpha, a, d in rows]


def of_joints(names: Sequence[str], values: Array, wanted: Sequence[str]) -> Array:
    """The values (..., len(wanted)) of some joints among all (..., k), by their names."""
    missing = [name for name in wanted if name not in names]
    if missing:
        raise ValueError(f"expected the joints {list(wanted)}, got none of the name {missing[0]}")
    return values[..., [list(names).index(name) for name in wanted]]


def wheel_poses_from_joints(base: SteeredBase, names: Sequence[str], positions: Array) -> Array:
    """base_T_wheel (..., 4, 4, 4) from the joints drive_1..4 and steer_1..4."""
    return wheel_poses_from_angles(base, of_joints(names, positions, STEERS), of_joints(names, positions, DRIVES))


@dataclass(frozen=True, kw_only=True, eq=False)
class WheelOdometry:
    """Odometry of n rows: poses x, y, yaw and twists vx, vy, turn rate (n, 3), covariances (n, 6, 6), and its end."""

    poses: Array
    twists: Array
    pose_covariances: Array
    twist_covariances: Array
    last: Reckoning


def wheel_odometry_from_wheels(
    base: SteeredBase,
    before: Reckoning | None,
    stamp_ns: NDArray[np.int64],
    *,
    steering: Array,
    rim_speeds: Array,
    stepping: Stepping,
) -> WheelOdometry:
    """Odometry from steering angles (n, 4) and rim speeds (n, 4) at times (n,), going on from where it stood."""
    twists, covariances = twist_from_wheels(base, steering, rim_speeds)
    found = reckoned(before, stamp_ns, twists, covariances, stepping=stepping)
    return WheelOdometry(
        poses=found.poses,
        twists=twists,
        pose_covariances=covariance_from_planar(found.covariances, UNKNOWN_VARIANCE),
        twist_covariances=covariance_from_planar(covariances, UNKNOWN_VARIANCE),
        last=found.last,
    )


def expected_wheels_from_twist(base: SteeredBase, twists: Array) -> tuple[tuple[str, ...], Array, Array]:
    """Joint names, positions and velocities (..., 8) that twists (..., 3) need: angles in rad, rim speeds in m/s.

    A steering joint has no velocity here and a driving joint no position: NaN stands there.
    """
    steering, speeds = wheels_from_twist(base, twists)
    none = np.full_like(steering, np.nan)
    return STEERS + DRIVES, np.concatenate([steering, none], axis=-1), np.concatenate([none, speeds], axis=-1)


def arm_from_joints(rows: Sequence[DhRow], positions: Array) -> tuple[Array, Array]:
    """The links one in the other (..., joints + 1, 4, 4), the last the end on the last link, and base_T_end."""
    steps = steps_from_joints(rows, positions)
    end = np.broadcast_to(np.eye(4), (*steps.shape[:-3], 1, 4, 4))
    return np.concatenate([steps, end], axis=-3), end_from_joints(rows, positions)


def planar_transforms(poses: Array) -> Array:
    """Transforms (..., 4, 4) of poses in the plane (..., 3) as x, y, yaw."""
    zero = np.zeros(poses.shape[:-1])
    place = np.stack([poses[..., 0], poses[..., 1], zero], axis=-1)
    return transform_from_rotation(rotation_about_axis(2, poses[..., 2]), place)
