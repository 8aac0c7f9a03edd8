"""InSight's instrument deployment arm: its frames, its tools and where they are, from the angles of its four joints.

Standard Denavit-Hartenberg frames below the payload frame (z down): 1 after the yaw, 2 after the shoulder's pitch, 3
after the elbow, 4 the effector (x along the hand, y along the wrist's axis, z out of the scoop's side). Positive pitch
is down. The frame of a tool has its approach axis as z; its approach angle is that axis' elevation below the xy plane.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldplay.geometry.transforms import (
    Array,
    rotation_about_axis,
    rotation_from_quaternion,
    rotation_from_vector,
    transform_from_rotation,
)
from fieldplay.kinematics.denavit_hartenberg import DhRow, links_from_joints, steps_from_joints

AUTO, NAIF = "auto", "naif"
SETS = (AUTO, NAIF, "sis")  # where the lengths are taken from
MEASURED = ("a_m", "d_m")
LENGTHS = (*MEASURED, "alpha_rad")
RIGID = ("blade_1", "blade_2", "scoop", "idc", "wrist", "grapple_attach")
HANGING = ("grapple", "seis", "wts", "hp3")
COMPLIANCE = ("shift_by_force", "turn_by_force", "shift_by_moment", "turn_by_moment")
PER_LINK: Mapping[str, int] = {"link_kg": 1, "link_centres_m": 3, **dict.fromkeys(COMPLIANCE, 9)}
LINKS, FIRST_OF_TWO_FORMS = 4, 2
ALTERNATE = "alternate_"
BASE: Mapping[str, Sequence[float]] = {"base_m": (0.0, 0.0, 0.0), "base_wxyz": (1.0, 0.0, 0.0, 0.0)}
NUMBERS: Mapping[str, int] = {
    **dict.fromkeys(LENGTHS, 4),
    **dict.fromkeys(RIGID, 4),
    "hang_m": 4,
    "gravity_m_s2": 1,
    "gravity_direction": 3,
    "payload_kg": 3,
    "compliance_scale": 1,
    **{name: LINKS * count for name, count in PER_LINK.items()},
    **{ALTERNATE + name: (LINKS - FIRST_OF_TWO_FORMS) * count for name, count in PER_LINK.items()},
    **{name: len(numbers) for name, numbers in BASE.items()},
}
JOINTS = ("shoulder_yaw", "shoulder_pitch", "elbow", "wrist")
ATTACH = "grapple_attach"
ON_FOREARM = "idc"
TABLE_14, FLIGHT = "table14", "flight"
SCOOP_AND_IDC = {TABLE_14: ("scoop", "idc"), FLIGHT: ("idc", "scoop")}
Elbow = Literal["up", "down"]
LEAST_FRACTION = 1e-9  # a determinant smaller than this part of the squared trace is none: the levers are parallel
STOWED_ALTERNATE, UNSTOWED_ALTERNATE = 0, 1  # of the alternate forms: link 3 stowed, link 4 unstowed
STOWED_PHASES = (0, 1)  # launch-locked, stowed
SEIS, WTS, HP3 = 3, 4, 5  # the grapple's phases in which something hangs on it


# The numbers of InSight's arm: those of its dataset's description, and those of the archive's own parameter files.
#
# The archive's come as one list of numbers in the order of NUMBERS, NaN where a file does not say; it may end early.
# Links 3 and 4 have two forms, one for each state of the grapple: the main numbers are those of link 3 with the
# grapple unstowed and of link 4 with it stowed, which the specification prints; `alternate_` has link 3 stowed, link 4
# unstowed.


def resolve_settings(settings: Mapping[str, Any], archived: Sequence[float] | Array | None = None) -> dict[str, Any]:
    """Choose the numbers of the arm.

    The archive's own numbers are taken wherever it has them; its lengths only where the set is `auto` and it has all of
    them, as lengths of two sources make no arm that ever was. Else they are NAIF's.

    Args:
        settings: of the description; `dh_set` names a set of lengths.
        archived: the archive's numbers in the order of NUMBERS, NaN where it has none; it may end after any part.

    Returns:
        The settings, with arrays for the names in NUMBERS.

    Raises:
        ValueError: the set is unknown, or a list has another length.
    """
    chosen = settings["dh_set"]
    if chosen not in SETS:
        raise ValueError(f"dh_set: expected one of {', '.join(SETS)}, got '{chosen}'")
    name = NAIF if chosen == AUTO else chosen
    resolved = {**settings, "a_m": settings[f"{name}_a_m"], "d_m": settings[f"{name}_d_m"]}
    resolved = {**BASE, **{ALTERNATE + name: _second_forms(resolved[name]) for name in PER_LINK}, **resolved}
    known = {key: _numbers(key, resolved[key]) for key in NUMBERS}
    if archived is not None:
        parts = _with_both_forms(_parts(np.asarray(archived, float)))
        takes_lengths = chosen == AUTO and all(np.isfinite(parts.get(key, np.nan)).all() for key in MEASURED)
        for key, part in parts.items():
            if takes_lengths or key not in LENGTHS:
                known[key] = np.where(np.isfinite(part), part, known[key])
    return {**resolved, **known}


def _second_forms(main: Any) -> Array:
    """The numbers of the links that have two forms, of those of all links."""
    numbers = np.atleast_1d(np.asarray(main, float))
    return numbers[len(numbers) * FIRST_OF_TWO_FORMS // LINKS :]


def _with_both_forms(parts: Mapping[str, Array]) -> dict[str, Array]:
    """The parts, where a link of which the archive has one form alone has the same numbers in the other."""
    complete = dict(parts)
    for name in PER_LINK:
        if name not in parts:
            continue
        main = parts[name].copy()
        seconds = _second_forms(main)
        alternate = parts.get(ALTERNATE + name, np.full(len(seconds), np.nan))
        complete[ALTERNATE + name] = np.where(np.isfinite(alternate), alternate, seconds)
        main[len(main) - len(seconds) :] = np.where(np.isfinite(seconds), seconds, alternate)
        complete[name] = main
    return complete


def _numbers(key: str, value: Any) -> Array:
    numbers = np.atleast_1d(np.asarray(value, float))
    if numbers.shape != (NUMBERS[key],):
        raise ValueError(f"{key}: expected {NUMBERS[key]} numbers, got {numbers.size}")
    return numbers


def _parts(numbers: Array) -> dict[str, Array]:
    """The list cut into its parts, as far as it goes."""
    ends = np.cumsum(list(NUMBERS.values()))
    if numbers.ndim != 1 or len(numbers) not in ends:
        raise ValueError(f"expected some of {ends[-1]} numbers of the arm, whole parts of them, got {numbers.shape}")
    parts = np.split(numbers, ends[ends < len(numbers)])
    return dict(zip(NUMBERS, parts, strict=False))


@dataclass(frozen=True, kw_only=True, eq=False)
class Tool:
    """A rigid tool.

    Args:
        position_m: (3,) in the effector's frame.
        turn_rad: rotation of its z about its y from the effector's z.
    """

    position_m: Array
    turn_rad: float


@dataclass(frozen=True, kw_only=True, eq=False)
class InsightArm:
    """InSight's arm.

    Args:
        rows: of the joints, in the standard convention.
        tools: rigid tools by name.
        hang_m: how far below the grapple's attachment, along gravity, something hangs, by name.
        gravity_m_s2: (3,) in the payload frame.
        numbering: names of the tools by their numbers in the archive.
        base: payload_T_base (4, 4) of the frame in which the first joint rotates about z.
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
    """Read the arm of a description.

    Args:
        settings: of the description.
        archived: the archive's own numbers, or None; see `resolve_settings`.

    Returns:
        The arm.

    Raises:
        ValueError: a setting is unknown or has another length.
    """
    resolved = resolve_settings(settings, archived)
    rows = zip(*(resolved[name].tolist() for name in LENGTHS), strict=True)
    direction = resolved["gravity_direction"]
    return InsightArm(
        rows=tuple(DhRow(a=a, d=d, alpha=alpha) for a, d, alpha in rows),
        tools={name: Tool(position_m=resolved[name][:3], turn_rad=float(resolved[name][3])) for name in RIGID},
        hang_m=dict(zip(HANGING, resolved["hang_m"].tolist(), strict=True)),
        gravity_m_s2=direction / np.linalg.norm(direction) * resolved["gravity_m_s2"],
        numbering=tool_names(settings["tool_numbering"]),
        base=transform_from_rotation(rotation_from_quaternion(np.roll(resolved["base_wxyz"], -1)), resolved["base_m"]),
    )


def tool_names(numbering: str) -> tuple[str, ...]:
    """List the tools by their numbers.

    Args:
        numbering: as in the archive's Table 14, or with 2 and 3 as the flight software orders them.

    Returns:
        Their names.

    Raises:
        ValueError: the numbering is unknown.
    """
    if numbering not in SCOOP_AND_IDC:
        raise ValueError(f"tool_numbering: expected one of {', '.join(SCOOP_AND_IDC)}, got '{numbering}'")
    return ("blade_1", "blade_2", *SCOOP_AND_IDC[numbering], "wrist", "grapple", ATTACH, "seis", "wts", "hp3")


def renumber(arm: InsightArm, numbering: str) -> InsightArm:
    """Copy the arm with another numbering of the tools.

    Args:
        arm: the arm.
        numbering: see `tool_names`.

    Returns:
        The arm.
    """
    return replace(arm, numbering=tool_names(numbering))


def links_of_arm(arm: InsightArm, angles: ArrayLike) -> Array:
    """Compute the frames of the straight arm.

    Args:
        arm: the arm.
        angles: joint angles (..., 4) in rad.

    Returns:
        payload_T_link (..., 4, 4, 4).
    """
    return np.asarray(arm.base @ links_from_joints(arm.rows, angles, "standard"), float)


def tool_pose(arm: InsightArm, tool: str, links: Array, *, angles: ArrayLike) -> Array:
    """Compute the pose of a tool on links that may be bent.

    What hangs is carried by the grapple's attachment; its z is along gravity, its y level and across the arm.

    Args:
        arm: the arm.
        tool: its name.
        links: payload_T_link (..., 4, 4, 4) in the posture of the tool, see `posture_of_tool`.
        angles: joint angles (..., 4) in rad in the same posture.

    Returns:
        payload_T_tool (..., 4, 4).
    """
    if tool in HANGING:
        attached = tool_pose(arm, ATTACH, links, angles=angles)[..., :3, 3]
        return transform_from_rotation(hanging_rotation(arm, angles), attached + arm.hang_m[tool] * arm.down)
    return np.asarray(links[..., 3, :, :] @ effector_t_tool(arm.tools[tool]), float)


def posture_of_tool(tool: str, angles: ArrayLike) -> Array:
    """Compute the joint angles by which a tool is placed: for the camera, on the forearm, the wrist is at zero.

    Args:
        tool: its name.
        angles: joint angles (..., 4) in rad.

    Returns:
        Joint angles (..., 4) in rad.
    """
    return np.asarray(angles, float) * ([1.0, 1.0, 1.0, 0.0] if tool == ON_FOREARM else 1.0)


def pose_of_tool(arm: InsightArm, tool: str, angles: ArrayLike) -> Array:
    """Compute the pose of a tool on the straight arm.

    Args:
        arm: the arm.
        tool: its name.
        angles: joint angles (..., 4) in rad.

    Returns:
        payload_T_tool (..., 4, 4).
    """
    posture = posture_of_tool(tool, angles)
    return tool_pose(arm, tool, links_of_arm(arm, posture), angles=posture)


def effector_t_tool(tool: Tool) -> Array:
    """Compute the pose of a tool in the effector.

    Args:
        tool: the tool.

    Returns:
        effector_T_tool (4, 4).
    """
    return transform_from_rotation(rotation_about_axis(1, tool.turn_rad), tool.position_m)


def forearm_t_idc(arm: InsightArm) -> Array:
    """Compute the pose of the camera on the forearm; its numbers hold for a wrist at zero.

    Args:
        arm: the arm.

    Returns:
        forearm_T_camera (4, 4), in frame 3.
    """
    straight = links_from_joints(arm.rows[3:], [0.0], "standard")[0]
    return np.asarray(straight @ effector_t_tool(arm.tools[ON_FOREARM]), float)


def hanging_rotation(arm: InsightArm, angles: ArrayLike) -> Array:
    """Compute the orientation of what hangs: z along gravity, y level and across the arm, as the wrist's axis.

    Args:
        arm: the arm.
        angles: joint angles (..., 4) in rad.

    Returns:
        Rotations (..., 3, 3) in the payload frame.
    """
    yaw = np.asarray(angles, float)[..., 0]
    across = np.stack([np.sin(yaw), -np.cos(yaw), np.zeros_like(yaw)], axis=-1) @ arm.base[:3, :3].T
    x = np.cross(across, arm.down)
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    z = np.broadcast_to(arm.down, x.shape)
    return np.stack([x, np.cross(z, x), z], axis=-1)


def approach_angle(arm: InsightArm, tool: str, angles: ArrayLike) -> Array:
    """Compute the elevation of a tool's approach axis below the xy plane of the arm's base.

    Args:
        arm: the arm.
        tool: its name.
        angles: joint angles (..., 4) in rad.

    Returns:
        Angles (...) in rad, not wrapped.
    """
    angles = np.asarray(angles, float)
    if tool in HANGING:
        return np.full(angles.shape[:-1], np.arcsin(arm.down[2]))
    pitches = posture_of_tool(tool, angles)[..., 1:].sum(axis=-1)
    return np.asarray(pitches + arm.tools[tool].turn_rad - np.pi / 2, float)


def active_tool_poses(
    arm: InsightArm, codes: NDArray[np.uint8], angles: Array, *, links_of: Callable[[Array, NDArray[np.bool_]], Array]
) -> Array:
    """Compute the pose of the tool that is active in each row.

    Args:
        arm: the arm.
        codes: numbers of the tools (n,).
        angles: joint angles (n, 4) in rad.
        links_of: gives payload_T_link (k, 4, 4, 4) from angles (k, 4) and the mask (n,) of the rows they are of.

    Returns:
        payload_T_tool (n, 4, 4), NaN where there is no such tool.
    """
    poses = np.full((len(codes), 4, 4), np.nan)
    for code in np.unique(codes):
        if code < len(arm.numbering):
            tool, rows = arm.numbering[code], codes == code
            posture = posture_of_tool(tool, angles[rows])
            poses[rows] = tool_pose(arm, tool, links_of(posture, rows), angles=posture)
    return poses


# The lander arm's tools in closed form, and the joints that bring a tool to a place.
#
# All is done in the plane of the arm, outwards from the yaw axis and down. The twists of the axes are taken as exact
# quarter turns, which the printed ones are to some microns; the lengths that the arm does not have are taken as zero.


def tool_position_from_joints(arm: InsightArm, tool: str, angles: ArrayLike) -> Array:
    """Compute the position of a tool in closed form.

    Args:
        arm: the arm.
        tool: its name.
        angles: joint angles (..., 4) in rad.

    Returns:
        Positions (..., 3) in m in the payload frame.
    """
    if tool in HANGING:
        return np.asarray(tool_position_from_joints(arm, ATTACH, angles) + arm.hang_m[tool] * arm.down, float)
    angles = posture_of_tool(tool, angles)
    first, second = arm.rows[:2]
    lever_arm, across = levers_from_joints(arm, tool, angles)[..., 0, :], second.d + arm.tools[tool].position_m[1]
    out, down = first.a + lever_arm[..., 0], first.d + lever_arm[..., 1]
    cos, sin = np.cos(angles[..., 0]), np.sin(angles[..., 0])
    position = np.stack([out * cos + across * sin, out * sin - across * cos, down], axis=-1)
    return np.asarray(position @ arm.base[:3, :3].T + arm.base[:3, 3], float)


def levers_from_joints(arm: InsightArm, tool: str, angles: ArrayLike) -> Array:
    """Compute the lever arms from the three pitch axes to a tool.

    Args:
        arm: the arm.
        tool: the name of a rigid tool.
        angles: joint angles (..., 4) in rad.

    Returns:
        Distances outwards and down (..., 3, 2) in m.
    """
    angles = np.asarray(angles, float)
    pitch = np.cumsum(angles[..., 1:], axis=-1)
    cos, sin = np.cos(pitch), np.sin(pitch)
    x, _, z = arm.tools[tool].position_m
    hand = np.stack([x * cos[..., 2] + z * sin[..., 2], x * sin[..., 2] - z * cos[..., 2]], axis=-1)
    along = np.stack([cos[..., :2], sin[..., :2]], axis=-1)
    from_elbow = hand + arm.rows[2].a * along[..., 1, :]
    return np.stack([from_elbow + arm.rows[1].a * along[..., 0, :], from_elbow, hand], axis=-2)


def joints_from_tool(
    arm: InsightArm, tool: str, positions: ArrayLike, *, approach: ArrayLike, elbow: Elbow = "up"
) -> Array:
    """Compute joint angles that bring a tool to a position.

    Args:
        arm: the arm.
        tool: its name.
        positions: (..., 3) in m in the payload frame.
        approach: approach angles (...) in rad; of what hangs that of the grapple's attachment. The camera on the
            forearm ignores it: its wrist is given as 0.
        elbow: `up`, where the elbow's angle is positive, or `down`.

    Returns:
        Joint angles (..., 4) in rad, NaN out of reach. Joint limits are not considered: see `within_limits`.
    """
    positions, approach = np.asarray(positions, float), np.asarray(approach, float)
    if tool in HANGING:
        return joints_from_tool(arm, ATTACH, positions - arm.hang_m[tool] * arm.down, approach=approach, elbow=elbow)
    (x, y, z), tool_angle = arm.tools[tool].position_m, arm.tools[tool].turn_rad
    in_base = (positions - arm.base[:3, 3]) @ arm.base[:3, :3]
    yaw, out, down = _in_plane(arm, in_base, float(y))
    if tool == ON_FOREARM:
        reach = arm.rows[2].a + x
        shoulder, bend = _two_links((arm.rows[1].a, float(np.hypot(reach, z))), out, down, elbow=elbow)
        pitch, level = bend + np.arctan2(z, reach), np.zeros_like(bend)
        return np.stack([yaw, shoulder, pitch, level], axis=-1)
    hand = approach - tool_angle + np.pi / 2
    out = out - x * np.cos(hand) - z * np.sin(hand)
    down = down - x * np.sin(hand) + z * np.cos(hand)
    shoulder, bend = _two_links((arm.rows[1].a, arm.rows[2].a), out, down, elbow=elbow)
    return np.stack([yaw, shoulder, bend, hand - shoulder - bend], axis=-1)


def within_limits(angles: ArrayLike, min_rad: ArrayLike, max_rad: ArrayLike) -> NDArray[np.bool_]:
    """Check joint limits.

    Args:
        angles: joint angles (..., 4) in rad, which may be some full turns off.
        min_rad: (4,).
        max_rad: (4,).

    Returns:
        Whether all joints (...) are within their limits.
    """
    turned = nearest_turns(angles, min_rad, max_rad)
    return np.asarray(((turned >= np.asarray(min_rad)) & (turned <= np.asarray(max_rad))).all(axis=-1), bool)


def nearest_turns(angles: ArrayLike, min_rad: ArrayLike, max_rad: ArrayLike) -> Array:
    """Add full turns to joint angles so that they are nearest to the middle of their limits.

    Args:
        angles: joint angles (..., 4) in rad.
        min_rad: (4,).
        max_rad: (4,).

    Returns:
        Joint angles (..., 4) of the same postures.
    """
    angles, middle = np.asarray(angles, float), (np.asarray(min_rad, float) + np.asarray(max_rad, float)) / 2
    return np.asarray(angles - 2 * np.pi * np.round((angles - middle) / (2 * np.pi)), float)


def _in_plane(arm: InsightArm, positions: Array, y: float) -> tuple[Array, Array, Array]:
    """The yaw (...), and the distances outwards and down from the first pitch axis to the positions (..., 3)."""
    first, second = arm.rows[:2]
    across = second.d + y
    squared = positions[..., 0] ** 2 + positions[..., 1] ** 2 - across**2
    reach = np.sqrt(np.where(squared >= 0, squared, np.nan))
    yaw = np.arctan2(positions[..., 1], positions[..., 0]) + np.arctan2(across, reach)
    return yaw, reach - first.a, positions[..., 2] - first.d


def _two_links(lengths_m: tuple[float, float], out: Array, down: Array, *, elbow: Elbow) -> tuple[Array, Array]:
    """The angles (...) of two links, one on the other, that end at a point; NaN where it is too far or too near."""
    upper_m, lower_m = lengths_m
    cos = (out**2 + down**2 - upper_m**2 - lower_m**2) / (2 * upper_m * lower_m)
    bend = np.arccos(np.where(np.abs(cos) <= 1, cos, np.nan)) * (1 if elbow == "up" else -1)
    shoulder = np.arctan2(down, out) - np.arctan2(lower_m * np.sin(bend), upper_m + lower_m * np.cos(bend))
    return shoulder, bend


# The force at the lander arm's tool, from the moments about its joints.
#
# Radial, across and down at the tool: cylindrical about the payload's z. It is the force of the tool on its
# surroundings. The three pitch joints overdetermine the two parts in the arm's plane: least squares over those with
# power.


def tool_force_from_moments(
    arm: InsightArm, tool: str, angles: Array, *, moments: Array, powered: NDArray[np.bool_]
) -> Array:
    """Compute the force of a tool on its surroundings from the moments about the joints.

    Three pitch joints overdetermine two components: least squares over those that are powered.

    Args:
        arm: the arm.
        tool: the name of a rigid tool on the effector.
        angles: joint angles (n, 4) in rad.
        moments: (n, 4) in N m: what motors and gravity together exert about each joint.
        powered: which joints (n, 4) have power.

    Returns:
        Radial force, force across and force down (n, 3) in N; NaN where the powered joints do not determine it.

    Raises:
        ValueError: the tool is not rigid, or not on the effector.
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
    is_good = determinant > LEAST_FRACTION * (zz + rr) ** 2
    divisor = np.where(is_good, determinant, np.nan)
    radial, axial = (rr * by_z + rz * by_r) / divisor, (rz * by_z + zz * by_r) / divisor
    across_m = arm.rows[1].d + arm.tools[tool].position_m[1]
    across = (radial * across_m + moments[:, 0]) / (arm.rows[0].a + out[:, 0])
    return np.stack([radial, across, axial], axis=-1)


# How the lander arm bends under its own weight and a payload's: gravity's moments, and the frames of the bent links.
#
# Each link yields at its far end to the force and the moment there, by its compliance; what lies beyond is carried
# along.


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkMasses:
    """Masses of the links.

    Args:
        mass_kg: (4,).
        centre_m: centres of mass (4, 3) from each joint's axis, rotating with the joint.
    """

    mass_kg: Array
    centre_m: Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Compliance:
    """How each link's end yields to a force and a moment there, in its frame.

    Args:
        shift_by_force: (4, 3, 3) in m/N.
        turn_by_force: (4, 3, 3) in rad/N.
        shift_by_moment: (4, 3, 3) in m/(N m).
        turn_by_moment: (4, 3, 3) in rad/(N m).
        scale: multiplies all of them.
    """

    shift_by_force: Array
    turn_by_force: Array
    shift_by_moment: Array
    turn_by_moment: Array
    scale: float


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmLinks:
    """The links in one state of the grapple.

    Args:
        masses: of the links.
        compliance: of the links.
    """

    masses: LinkMasses
    compliance: Compliance


def links_from_settings(settings: Mapping[str, Any], *, stowed: bool) -> ArmLinks:
    """Read the links of a description.

    Args:
        settings: of the description.
        stowed: whether the grapple is stowed: links 3 and 4 have numbers for each state.

    Returns:
        The links.
    """
    masses = LinkMasses(
        mass_kg=_of_links(settings, "link_kg", stowed=stowed)[:, 0],
        centre_m=_of_links(settings, "link_centres_m", stowed=stowed),
    )
    matrices = {name: _of_links(settings, name, stowed=stowed).reshape(LINKS, 3, 3) for name in COMPLIANCE}
    scale = np.asarray(settings["compliance_scale"], float).item()
    return ArmLinks(masses=masses, compliance=Compliance(**matrices, scale=scale))


def _of_links(settings: Mapping[str, Any], name: str, *, stowed: bool) -> Array:
    """The numbers (4, k) of one kind: of the links 3 and 4 in the form that they have in this state of the grapple."""
    numbers = np.array(settings[name], float).reshape(LINKS, -1)
    alternate = np.asarray(settings[ALTERNATE + name], float).reshape(LINKS - FIRST_OF_TWO_FORMS, -1)
    columns = STOWED_ALTERNATE if stowed else UNSTOWED_ALTERNATE
    numbers[FIRST_OF_TWO_FORMS + columns] = alternate[columns]
    return numbers


def is_stowed(phases: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Check whether the grapple is stowed.

    Args:
        phases: phases of the grapple (n,).

    Returns:
        A mask (n,); an unknown phase counts as unstowed.
    """
    return np.isin(phases, STOWED_PHASES)


def payload_from_phases(phases: NDArray[np.uint8], payload_kg: Array) -> Array:
    """Look up what hangs on the grapple.

    Args:
        phases: phases of the grapple (n,).
        payload_kg: masses (3,) of SEIS, WTS and HP3.

    Returns:
        Masses (n,) in kg, 0 where nothing hangs.
    """
    payload = np.zeros(len(phases))
    for phase, mass in zip((SEIS, WTS, HP3), payload_kg, strict=True):
        payload[phases == phase] = mass
    return payload


def link_centres(arm: InsightArm, masses: LinkMasses, links: Array, *, angles: Array) -> Array:
    """Compute the links' centres of mass.

    Args:
        arm: the arm.
        masses: of the links.
        links: payload_T_link (n, 4, 4, 4).
        angles: joint angles (n, 4) in rad.

    Returns:
        Positions (n, 4, 3) in m in the payload frame.
    """
    base = np.broadcast_to(arm.base, (len(angles), 1, 4, 4))
    before = np.concatenate([base, links[:, :-1]], axis=1)
    turned = before[..., :3, :3] @ rotation_about_axis(2, angles)
    return np.asarray((turned @ masses.centre_m[:, :, None])[..., 0] + before[..., :3, 3], float)


def weight_moments(
    arm: InsightArm, masses: LinkMasses, links: Array, *, angles: Array, payload_kg: Array, about: Array
) -> tuple[Array, Array]:
    """Compute the weight of each link and all beyond it, and its moment about a point.

    Args:
        arm: the arm.
        masses: of the links.
        links: payload_T_link (n, 4, 4, 4).
        angles: joint angles (n, 4) in rad.
        payload_kg: what hangs below the grapple's attachment (n,).
        about: a point for each link (n, 4, 3) in m in the payload frame.

    Returns:
        Forces (n, 4, 3) in N and moments (n, 4, 3) in N m in the payload frame.
    """
    hook = tool_pose(arm, ATTACH, links, angles=angles)[:, None, :3, 3]
    centres = np.concatenate([link_centres(arm, masses, links, angles=angles), hook], axis=1)
    mass = np.concatenate([np.broadcast_to(masses.mass_kg, (len(angles), LINKS)), payload_kg[:, None]], axis=1)
    carried = np.cumsum(mass[:, ::-1], axis=1)[:, ::-1][:, :LINKS]
    lever_arm = np.cumsum((mass[..., None] * centres)[:, ::-1], axis=1)[:, ::-1][:, :LINKS]  # kg m beyond each joint
    force = carried[..., None] * arm.gravity_m_s2
    return force, np.cross(lever_arm - carried[..., None] * about, arm.gravity_m_s2)


def gravity_moments(arm: InsightArm, masses: LinkMasses, angles: Array, *, payload_kg: Array) -> Array:
    """Compute what gravity exerts about each joint's axis.

    Args:
        arm: the arm.
        masses: of the links.
        angles: joint angles (n, 4) in rad.
        payload_kg: what hangs on the grapple (n,).

    Returns:
        Moments (n, 4) in N m, positive in the sense of the joint's angle.
    """
    links = links_of_arm(arm, angles)
    base = np.broadcast_to(arm.base, (len(angles), 1, 4, 4))
    before = np.concatenate([base, links[:, :-1]], axis=1)
    origins, axes = before[..., :3, 3], before[..., :3, 2]
    _, moments = weight_moments(arm, masses, links, angles=angles, payload_kg=payload_kg, about=origins)
    return np.asarray((moments * axes).sum(axis=-1), float)


def bent_links(arm: InsightArm, parts: ArmLinks, *, angles: Array, payload_kg: Array) -> Array:
    """Compute the frames of the arm that bends under its weight and its payload.

    Args:
        arm: the arm.
        parts: masses and compliance of the links.
        angles: joint angles (n, 4) in rad.
        payload_kg: what hangs on the grapple (n,).

    Returns:
        payload_T_link (n, 4, 4, 4).
    """
    masses, compliance = parts.masses, parts.compliance
    straight = links_of_arm(arm, angles)
    tips = straight[..., :3, 3]
    forces, moments = weight_moments(arm, masses, straight, angles=angles, payload_kg=payload_kg, about=tips)
    into_link = np.swapaxes(straight[..., :3, :3], -1, -2)
    force, moment = into_link @ forces[..., None], into_link @ moments[..., None]
    shift = compliance.scale * (compliance.shift_by_force @ force + compliance.shift_by_moment @ moment)
    rotation_vector = compliance.scale * (compliance.turn_by_force @ force + compliance.turn_by_moment @ moment)
    yielding = transform_from_rotation(rotation_from_vector(rotation_vector[..., 0]), shift[..., 0])
    steps = steps_from_joints(arm.rows, angles, "standard") @ yielding
    frames = [arm.base @ steps[:, 0]]
    for link in range(1, LINKS):
        frames.append(frames[-1] @ steps[:, link])
    return np.stack(frames, axis=1)
