"""The force at the lander arm's tool, from the moments about its joints.

Radial, across and down at the tool: cylindrical about the payload's z. It is the force of the tool on its surroundings.
The three pitch joints overdetermine the two parts in the arm's plane: least squares over those with power.
"""

import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.transforms import Array
from fieldplay.kinematics.insight_arm import ON_FOREARM, InsightArm
from fieldplay.kinematics.insight_arm_inverse import levers_from_joints

LEAST_SHARE = 1e-9  # a determinant smaller than this part of the squared trace is none: the levers are parallel


def tool_force_from_moments(
    arm: InsightArm, tool: str, angles: Array, *, moments: Array, powered: NDArray[np.bool_]
) -> Array:
    """Radial force, force across and force down (n, 3) in N; NaN where the powered joints do not determine it.

    From joint angles (n, 4) and moments (n, 4) in N m: what the motors and gravity together do about each joint.
    """
    if tool not in arm.tools or tool == ON_FOREARM:
        raise ValueError(f"expected a rigid tool of the effector, got '{tool}'")
    levers = levers_from_joints(arm, tool, angles)
    out, down = levers[..., 0], levers[..., 1]
    m = np.where(powered[:, 1:], moments[:, 1:], 0.0)
    p = powered[:, 1:].astype(float)
    zz, rz, rr = ((p * product).sum(axis=-1) for product in (down**2, out * down, out**2))
    by_z, by_r = -(m * down).sum(axis=-1), (m * out).sum(axis=-1)
    determinant = zz * rr - rz**2
    is_good = determinant > LEAST_SHARE * (zz + rr) ** 2
    divisor = np.where(is_good, determinant, np.nan)
    radial, axial = (rr * by_z + rz * by_r) / divisor, (rz * by_z + zz * by_r) / divisor
    across_m = arm.rows[1].d + arm.tools[tool].place_m[1]
    across = (radial * across_m + moments[:, 0]) / (arm.rows[0].a + out[:, 0])
    return np.stack([radial, across, axial], axis=-1)
