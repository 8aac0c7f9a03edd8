"""Arms as products of exponentials: each joint turns all that is beyond it about its axis as it lies at angles zero."""

from dataclasses import dataclass

import numpy as np

from fieldplay_samples.motion.frames import Floats, floats, rotation_about, transform


@dataclass(frozen=True, eq=False, kw_only=True)
class Arm:
    """An arm at angles zero, in its base's frame: axes (n, 3), points on them in m, its end's pose (4, 4)."""

    axes: Floats
    points_m: Floats
    base_T_end_at_zero: Floats


def arm_from_rows(axes: list[list[float]], points_m: list[list[float]], end_m: list[float]) -> Arm:
    """The arm with these axes and points, whose end at angles zero is turned as its base."""
    end = transform(np.eye(3), end_m)
    return Arm(axes=floats(axes), points_m=floats(points_m), base_T_end_at_zero=end)


def base_T_end_from_joints(arm: Arm, joints_rad: Floats) -> Floats:
    """Poses (..., 4, 4) of the end in the base, for joint angles (..., n)."""
    return base_T_carried_from_joints(arm, joints_rad, len(arm.axes)) @ arm.base_T_end_at_zero


def base_T_carried_from_joints(arm: Arm, joints_rad: Floats, joints: int) -> Floats:
    """What the first so many joints do: transforms (..., 4, 4) of what they carry, from its place at angles zero."""
    result = np.broadcast_to(np.eye(4), (*joints_rad.shape[:-1], 4, 4))
    for joint in range(joints):
        rotation = rotation_about(arm.axes[joint], joints_rad[..., joint])
        point = arm.points_m[joint]
        result = result @ transform(rotation, point - rotation @ point)
    return floats(result)
