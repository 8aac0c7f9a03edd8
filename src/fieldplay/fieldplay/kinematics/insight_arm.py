"""InSight's instrument deployment arm: its frames, its tools and where they are, from the angles of its four joints.

Standard Denavit-Hartenberg frames below the payload frame (z down): 1 after the yaw, 2 after the shoulder's pitch, 3
after the elbow, 4 the effector (x along the hand, y along the wrist's axis, z out of the scoop's side). Positive pitch
is down. The frame of a tool has its approach axis as z; its approach angle is that axis' elevation below the xy plane.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldplay.geometry.transforms import (
    Array,
    rotation_about_axis,
    rotation_from_quaternion,
    transform_from_rotation,
)
from fieldplay.kinematics.denavit_hartenberg import DhRow, links_from_joints
from fieldplay.kinematics.insight_arm_settings import (
    HANGING,
    LENGTHS,
    RIGID,
    resolved_settings,
)

JOINTS = ("shoulder_yaw", "shoulder_pitch", "elbow", "wrist")
ATTACH = "grapple_attach"
ON_FOREARM = "idc"
TABLE_14, FLIGHT = "table14", "flight"
SCOOP_AND_IDC = {TABLE_14: ("scoop", "idc"), FLIGHT: ("idc", "scoop")}


@dataclass(frozen=True, kw_only=True, eq=False)
class Tool:
    """Place (3,) in the effector in m, and by how much its z is turned about its y from the effector's z in rad."""

    place_m: Array
    turn_rad: float


@dataclass(frozen=True, kw_only=True, eq=False)
class InsightArm:
    """The arm: rows of Denavit and Hartenberg, rigid tools, and what hangs so far along gravity below the grapple.

    `numbering` has the tools' names by their numbers in the archive; `gravity_m_s2` (3,) stands in the payload frame.
    `base` is payload_T_base (4, 4) of the frame in which the first joint turns about z.
    """

    rows: tuple[DhRow, ...]
    tools: Mapping[str, Tool]
    hang_m: Mapping[str, float]
    gravity_m_s2: Array
    numbering: tuple[str, ...]
    base: Array = field(default_factory=lambda: np.eye(4))

    @property
    def down(self) -> Array:
        """The direction of gravity (3,)."""
        return np.asarray(self.gravity_m_s2 / np.linalg.norm(self.gravity_m_s2), float)


def lander_arm_from_settings(
    settings: Mapping[str, Any], archived: Sequence[float] | Array | None = None
) -> InsightArm:
    """The arm of a description, and of the archive's own numbers where there are such: see resolved_settings."""
    found = resolved_settings(settings, archived)
    rows = zip(*(found[name].tolist() for name in LENGTHS), strict=True)
    direction = found["gravity_direction"]
    return InsightArm(
        rows=tuple(DhRow(a=a, d=d, alpha=alpha) for a, d, alpha in rows),
        tools={name: Tool(place_m=found[name][:3], turn_rad=float(found[name][3])) for name in RIGID},
        hang_m=dict(zip(HANGING, found["hang_m"].tolist(), strict=True)),
        gravity_m_s2=direction / np.linalg.norm(direction) * found["gravity_m_s2"],
        numbering=tool_names(settings["tool_numbering"]),
        base=transform_from_rotation(rotation_from_quaternion(np.roll(found["base_wxyz"], -1)), found["base_m"]),
    )


def tool_names(numbering: str) -> tuple[str, ...]:
    """The tools by their numbers: as in the archive's Table 14, or with 2 and 3 as the flight software orders them."""
    if numbering not in SCOOP_AND_IDC:
        raise ValueError(f"tool_numbering: expected one of {', '.join(SCOOP_AND_IDC)}, got '{numbering}'")
    return ("blade_1", "blade_2", *SCOOP_AND_IDC[numbering], "wrist", "grapple", ATTACH, "seis", "wts", "hp3")


def renumbered(arm: InsightArm, numbering: str) -> InsightArm:
    """The same arm with the tools numbered so."""
    return replace(arm, numbering=tool_names(numbering))


def links_of_arm(arm: InsightArm, angles: ArrayLike) -> Array:
    """payload_T_link of the frames 1 to 4 (..., 4, 4, 4) from joint angles (..., 4) in rad."""
    return np.asarray(arm.base @ links_from_joints(arm.rows, angles, "standard"), float)


def tool_pose(arm: InsightArm, tool: str, links: Array, *, angles: ArrayLike) -> Array:
    """payload_T_tool (..., 4, 4) from the links' frames (..., 4, 4, 4), which may be bent, and the joints' angles.

    Both in the posture of the tool, see `posture_of_tool`. What hangs has gravity as its z and its y level and across
    the arm, and is carried along by the grapple's attachment.
    """
    if tool in HANGING:
        attached = tool_pose(arm, ATTACH, links, angles=angles)[..., :3, 3]
        return transform_from_rotation(hanging_rotation(arm, angles), attached + arm.hang_m[tool] * arm.down)
    return np.asarray(links[..., 3, :, :] @ effector_t_tool(arm.tools[tool]), float)


def posture_of_tool(tool: str, angles: ArrayLike) -> Array:
    """The joint angles (..., 4) by which a tool is placed: for the camera, on the forearm, the wrist is at zero."""
    return np.asarray(angles, float) * ([1.0, 1.0, 1.0, 0.0] if tool == ON_FOREARM else 1.0)


def pose_of_tool(arm: InsightArm, tool: str, angles: ArrayLike) -> Array:
    """payload_T_tool (..., 4, 4) of the straight arm from joint angles (..., 4)."""
    posture = posture_of_tool(tool, angles)
    return tool_pose(arm, tool, links_of_arm(arm, posture), angles=posture)


def effector_t_tool(tool: Tool) -> Array:
    """The tool in the effector (4, 4)."""
    return transform_from_rotation(rotation_about_axis(1, tool.turn_rad), tool.place_m)


def forearm_t_idc(arm: InsightArm) -> Array:
    """The camera in frame 3 (4, 4), that of the forearm, on which it sits: its numbers hold for a wrist at zero."""
    straight = links_from_joints(arm.rows[3:], [0.0], "standard")[0]
    return np.asarray(straight @ effector_t_tool(arm.tools[ON_FOREARM]), float)


def hanging_rotation(arm: InsightArm, angles: ArrayLike) -> Array:
    """Rotations (..., 3, 3) of what hangs: z along gravity, y level and across the arm as the wrist's axis is."""
    yaw = np.asarray(angles, float)[..., 0]
    across = np.stack([np.sin(yaw), -np.cos(yaw), np.zeros_like(yaw)], axis=-1) @ arm.base[:3, :3].T
    x = np.cross(across, arm.down)
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    z = np.broadcast_to(arm.down, x.shape)
    return np.stack([x, np.cross(z, x), z], axis=-1)


def approach_angle(arm: InsightArm, tool: str, angles: ArrayLike) -> Array:
    """The elevation (...) of a tool's approach axis below the xy plane of the arm's base, in rad, not wrapped."""
    angles = np.asarray(angles, float)
    if tool in HANGING:
        return np.full(angles.shape[:-1], np.arcsin(arm.down[2]))
    pitches = posture_of_tool(tool, angles)[..., 1:].sum(axis=-1)
    return np.asarray(pitches + arm.tools[tool].turn_rad - np.pi / 2, float)


def active_tool_poses(
    arm: InsightArm, codes: NDArray[np.uint8], angles: Array, *, links_of: Callable[[Array, NDArray[np.bool_]], Array]
) -> Array:
    """payload_T_tool (n, 4, 4) of the tool whose number (n,) is active in each row; NaN where there is no such tool.

    `links_of` gives the links' frames (k, 4, 4, 4) from angles (k, 4) for some of the rows, told by a mask (n,).
    """
    poses = np.full((len(codes), 4, 4), np.nan)
    for code in np.unique(codes):
        if code < len(arm.numbering):
            tool, rows = arm.numbering[code], codes == code
            posture = posture_of_tool(tool, angles[rows])
            poses[rows] = tool_pose(arm, tool, links_of(posture, rows), angles=posture)
    return poses
