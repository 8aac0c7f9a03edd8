"""The lander arm's tools in closed form, and the joints that bring a tool to a place.

All is done in the plane of the arm, outwards from the yaw axis and down. The twists of the axes are taken as exact
quarter turns, which the printed ones are to some microns; the lengths that the arm does not have are taken as zero.
"""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldplay.geometry.transforms import Array
from fieldplay.kinematics.insight_arm import (
    ATTACH,
    ON_FOREARM,
    InsightArm,
    posture_of_tool,
)
from fieldplay.kinematics.insight_arm_settings import HANGING

Elbow = Literal["up", "down"]


def tool_place_from_joints(arm: InsightArm, tool: str, angles: ArrayLike) -> Array:
    """The place of a tool (..., 3) in the payload frame from joint angles (..., 4)."""
    if tool in HANGING:
        return np.asarray(tool_place_from_joints(arm, ATTACH, angles) + arm.hang_m[tool] * arm.down, float)
    angles = posture_of_tool(tool, angles)
    first, second = arm.rows[:2]
    lever, across = levers_from_joints(arm, tool, angles)[..., 0, :], second.d + arm.tools[tool].place_m[1]
    out, down = first.a + lever[..., 0], first.d + lever[..., 1]
    cos, sin = np.cos(angles[..., 0]), np.sin(angles[..., 0])
    place = np.stack([out * cos + across * sin, out * sin - across * cos, down], axis=-1)
    return np.asarray(place @ arm.base[:3, :3].T + arm.base[:3, 3], float)


def levers_from_joints(arm: InsightArm, tool: str, angles: ArrayLike) -> Array:
    """From the three pitch axes to the tool, outwards and down (..., 3, 2), in m."""
    angles = np.asarray(angles, float)
    pitch = np.cumsum(angles[..., 1:], axis=-1)
    cos, sin = np.cos(pitch), np.sin(pitch)
    x, _, z = arm.tools[tool].place_m
    hand = np.stack([x * cos[..., 2] + z * sin[..., 2], x * sin[..., 2] - z * cos[..., 2]], axis=-1)
    along = np.stack([cos[..., :2], sin[..., :2]], axis=-1)
    from_elbow = hand + arm.rows[2].a * along[..., 1, :]
    return np.stack([from_elbow + arm.rows[1].a * along[..., 0, :], from_elbow, hand], axis=-2)


def joints_from_tool(
    arm: InsightArm, tool: str, places: ArrayLike, *, approach: ArrayLike, elbow: Elbow = "up"
) -> Array:
    """Joint angles (..., 4) that bring a tool to places (..., 3) under approach angles (...); NaN out of reach.

    The elbow is up where its angle is positive. For what hangs, the approach angle is that of the grapple's attachment,
    which may be chosen. The camera on the forearm has no choice of it: its wrist is given as 0.
    """
    places, approach = np.asarray(places, float), np.asarray(approach, float)
    if tool in HANGING:
        return joints_from_tool(arm, ATTACH, places - arm.hang_m[tool] * arm.down, approach=approach, elbow=elbow)
    (x, y, z), turn = arm.tools[tool].place_m, arm.tools[tool].turn_rad
    in_base = (places - arm.base[:3, 3]) @ arm.base[:3, :3]
    yaw, out, down = _in_plane(arm, in_base, float(y))
    if tool == ON_FOREARM:
        reach = arm.rows[2].a + x
        shoulder, bend = _two_links((arm.rows[1].a, float(np.hypot(reach, z))), out, down, elbow=elbow)
        pitch, level = bend + np.arctan2(z, reach), np.zeros_like(bend)
        return np.stack([yaw, shoulder, pitch, level], axis=-1)
    hand = approach - turn + np.pi / 2
    out = out - x * np.cos(hand) - z * np.sin(hand)
    down = down - x * np.sin(hand) + z * np.cos(hand)
    shoulder, bend = _two_links((arm.rows[1].a, arm.rows[2].a), out, down, elbow=elbow)
    return np.stack([yaw, shoulder, bend, hand - shoulder - bend], axis=-1)


def within_limits(angles: ArrayLike, least_rad: ArrayLike, most_rad: ArrayLike) -> NDArray[np.bool_]:
    """Whether all joints (..., 4) stand within their limits (4,), each of them perhaps some full turns away."""
    turned = nearest_turns(angles, least_rad, most_rad)
    return np.asarray(((turned >= np.asarray(least_rad)) & (turned <= np.asarray(most_rad))).all(axis=-1), bool)


def nearest_turns(angles: ArrayLike, least_rad: ArrayLike, most_rad: ArrayLike) -> Array:
    """The same postures (..., 4) with each joint turned fully so often that it comes nearest to its limits' middle."""
    angles, middle = np.asarray(angles, float), (np.asarray(least_rad, float) + np.asarray(most_rad, float)) / 2
    return np.asarray(angles - 2 * np.pi * np.round((angles - middle) / (2 * np.pi)), float)


def _in_plane(arm: InsightArm, places: Array, y: float) -> tuple[Array, Array, Array]:
    """The yaw (...), and from the first pitch axis outwards and down to the places (..., 3)."""
    first, second = arm.rows[:2]
    across = second.d + y
    squared = places[..., 0] ** 2 + places[..., 1] ** 2 - across**2
    reach = np.sqrt(np.where(squared >= 0, squared, np.nan))
    yaw = np.arctan2(places[..., 1], places[..., 0]) + np.arctan2(across, reach)
    return yaw, reach - first.a, places[..., 2] - first.d


def _two_links(lengths_m: tuple[float, float], out: Array, down: Array, *, elbow: Elbow) -> tuple[Array, Array]:
    """The angles (...) of two links, one on the other, that end at a point; NaN where it is too far or too near."""
    upper_m, lower_m = lengths_m
    cos = (out**2 + down**2 - upper_m**2 - lower_m**2) / (2 * upper_m * lower_m)
    bend = np.arccos(np.where(np.abs(cos) <= 1, cos, np.nan)) * (1 if elbow == "up" else -1)
    shoulder = np.arctan2(down, out) - np.arctan2(lower_m * np.sin(bend), upper_m + lower_m * np.cos(bend))
    return shoulder, bend
