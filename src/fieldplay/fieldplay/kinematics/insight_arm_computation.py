"""InSight's arm with what holds beside its joints: the active tool, the grapple's phase, the arm's own numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.transforms import (
    Array,
    inverse_from_transform,
    rotation_about_axis,
    transform_from_rotation,
)
from fieldplay.kinematics.computation import (
    ON_TF,
    Computation,
    ExactTimeSync,
    Input,
    LatchedValue,
    Output,
    OutputRecords,
    Setting,
)
from fieldplay.kinematics.denavit_hartenberg import steps_from_joints
from fieldplay.kinematics.insight_arm import (
    HANGING,
    JOINTS,
    ON_FOREARM,
    RIGID,
    ArmLinks,
    InsightArm,
    active_tool_poses,
    bent_links,
    effector_t_tool,
    forearm_t_idc,
    is_stowed,
    lander_arm_from_settings,
    links_from_settings,
    links_of_arm,
    payload_from_phases,
    resolve_settings,
    tool_pose,
)
from fieldplay.kinematics.pose_records import pose_record, transforms_record, with_positions
from fieldplay.kinematics.robots import joint_values
from fieldplay.messages import records

Codes = NDArray[np.uint8]
UNKNOWN = 255  # the number of no tool, and of no phase
# Each part in its own joint, before it the link's frame that it ends in: both have the link before as their parent.
PARTS = ("turret", "link_1", "upper_arm", "link_2", "forearm", "link_3", "hand", "effector")
# SEIS, WTS and HP3 as they hang in the grapple: the frames of their own names are those on the deck.
HELD = ("grapple", "seis_held", "wts_held", "hp3_held")
FRAMES = (*PARTS, *RIGID, *HELD, "tool_cylindrical")
_BASE, _LINK_3, _EFFECTOR, _ATTACH = -1, PARTS.index("link_3"), PARTS.index("effector"), FRAMES.index("grapple_attach")
PARENTS = (  # by frame, the place of its parent among the frames
    *(max(part - 1 - part % 2, _BASE) for part in range(len(PARTS))),
    *(_LINK_3 if tool == ON_FOREARM else _EFFECTOR for tool in RIGID),
    *(_ATTACH for _ in HELD),
    _BASE,
)
TOOL_NUMBERS = "x, y, z in the effector and the rotation of its approach axis"
ARM = {
    "naif_a_m": "NAIF's lengths along x, by joint",
    "naif_d_m": "NAIF's lengths along z",
    "sis_a_m": "the archive's document's lengths along x",
    "sis_d_m": "its lengths along z",
    "alpha_rad": "twists, by joint",
    "blade_1": TOOL_NUMBERS,
    "blade_2": TOOL_NUMBERS,
    "scoop": TOOL_NUMBERS,
    "idc": f"{TOOL_NUMBERS}, for a wrist at zero: it sits on the forearm",
    "wrist": TOOL_NUMBERS,
    "grapple_attach": TOOL_NUMBERS,
    "hang_m": "how far grapple, SEIS, WTS and HP3 hang below the grapple's attachment",
    "gravity_direction": "in the payload frame",
    "payload_kg": "masses of SEIS, WTS and HP3",
    "link_kg": "masses of the links",
    "link_centres_m": "their centres x, y, z, link by link, in their joints",
    "shift_by_force": "compliance: matrices of the links, row by row, in m/N",
    "turn_by_force": "compliance in rad/N",
    "shift_by_moment": "compliance in m/(N m)",
    "turn_by_moment": "compliance in rad/(N m)",
}
JOINT_STATES, POTS, TOOL, PHASE, GEOMETRY = "joint_states", "joint_states_pot", "tool", "grapple_phase", "arm_geometry"
ARCHIVED = "archived_tool_enc"
JOINT_STATE, POSE, CODE = "sensor_msgs/msg/JointState", "geometry_msgs/msg/PoseStamped", "std_msgs/msg/UInt8"
POSE_SHAPE = (4, 4)
Stamps = NDArray[np.int64]


# What is published of InSight's arm, row by row or all at once: the active tool, straight and bent, and the frames.


@dataclass(frozen=True, kw_only=True, eq=False)
class LanderModel:
    """The arm with its links.

    Args:
        arm: the arm.
        unstowed: its links with the grapple unstowed.
        stowed: its links with the grapple stowed.
        payload_kg: masses (3,) that it may carry: SEIS, WTS and HP3.
    """

    arm: InsightArm
    unstowed: ArmLinks
    stowed: ArmLinks
    payload_kg: Array

    def links_of_phases(self, phases: Codes) -> list[tuple[NDArray[np.bool_], ArmLinks]]:
        """Choose the links that hold in each row.

        Args:
            phases: phases of the grapple (n,).

        Returns:
            Masks (n,) of rows, each with the links in these.
        """
        stowed = is_stowed(phases)
        return [(mask, links) for mask, links in ((stowed, self.stowed), (~stowed, self.unstowed)) if mask.any()]


def lander_model_from_settings(
    settings: Mapping[str, Any], archived: Sequence[float] | Array | None = None
) -> LanderModel:
    """Read the arm of a description.

    Args:
        settings: of the description.
        archived: the archive's own numbers, or None; see `resolve_settings`.

    Returns:
        The arm with its links.
    """
    resolved = resolve_settings(settings, archived)
    return LanderModel(
        arm=lander_arm_from_settings(settings, archived),
        unstowed=links_from_settings(resolved, stowed=False),
        stowed=links_from_settings(resolved, stowed=True),
        payload_kg=resolved["payload_kg"],
    )


def models_from_settings(settings: Mapping[str, Any]) -> Callable[[Sequence[float] | Array | None], LanderModel]:
    """Prepare the arms that an archive's own numbers make.

    The arm of the settings alone is made at once, to check these.

    Args:
        settings: of the description.

    Returns:
        A function from an archive's own numbers, or None, to the arm; each arm is made once.
    """

    @cache
    def build(numbers: bytes) -> LanderModel:
        return lander_model_from_settings(settings, np.frombuffer(numbers) if numbers else None)

    def model(archived: Sequence[float] | Array | None) -> LanderModel:
        return build(b"" if archived is None else np.asarray(archived, float).tobytes())

    model(None)
    return model


def codes_of_states(*states: int | None) -> Codes:
    """Collect the numbers of tools or phases.

    Args:
        states: the numbers, None where there is none yet.

    Returns:
        Codes (states,), UNKNOWN where there is none.
    """
    return np.array([UNKNOWN if state is None else state for state in states], np.uint8)


def angles_of_joints(names: Sequence[str], positions: Array) -> Array:
    """Select the arm's joints.

    Args:
        names: of k joints.
        positions: (..., k) in rad.

    Returns:
        Joint angles (..., 4) in rad.

    Raises:
        ValueError: a joint is missing.
    """
    return joint_values(names, positions, JOINTS)


def tcp_from_joints(model: LanderModel, angles: Array, codes: Codes) -> Array:
    """Compute the poses of the active tools on the straight arm.

    Args:
        model: the arm.
        angles: joint angles (n, 4) in rad.
        codes: numbers of the tools (n,).

    Returns:
        payload_T_tool (n, 4, 4), NaN where there is no such tool.
    """
    return active_tool_poses(model.arm, codes, angles, links_of=lambda posture, _: links_of_arm(model.arm, posture))


def bent_tcp_from_joints(model: LanderModel, angles: Array, codes: Codes, *, phases: Codes) -> Array:
    """Compute the poses of the active tools on the arm that bends under its weight and what it carries.

    Args:
        model: the arm.
        angles: joint angles (n, 4) in rad.
        codes: numbers of the tools (n,).
        phases: phases of the grapple (n,).

    Returns:
        payload_T_tool (n, 4, 4), NaN where there is no such tool.
    """
    payload = payload_from_phases(phases, model.payload_kg)

    def links_of(posture: Array, rows: NDArray[np.bool_]) -> Array:
        links, carried = np.zeros((len(posture), 4, 4, 4)), payload[rows]
        for mask, of_phase in model.links_of_phases(phases[rows]):
            links[mask] = bent_links(model.arm, of_phase, angles=posture[mask], payload_kg=carried[mask])
        return links

    return active_tool_poses(model.arm, codes, angles, links_of=links_of)


def parents_of_frames(base: str, frames: Sequence[str]) -> list[str]:
    """List the parents of the arm's frames.

    Args:
        base: the frame that the arm is in.
        frames: names of all frames, in the order of FRAMES; they may be other names.

    Returns:
        The parent of each.

    Raises:
        ValueError: there are more or fewer frames.
    """
    if len(frames) != len(FRAMES):
        raise ValueError(f"child_frames: expected {len(FRAMES)}, got {len(frames)}")
    return [base if parent == _BASE else frames[parent] for parent in PARENTS]


def frames_from_joints(model: LanderModel, angles: Array, codes: Codes) -> Array:
    """Compute all frames of the straight arm. The cylindrical one is at the active tool, or at the wrist without one.

    Args:
        model: the arm.
        angles: joint angles (n, 4) in rad.
        codes: numbers of the tools (n,).

    Returns:
        parent_T_frame (n, 19, 4, 4).
    """
    arm, count = model.arm, len(angles)
    turned = transform_from_rotation(rotation_about_axis(2, angles), np.zeros(3))
    parts = np.stack([turned, steps_from_joints(arm.rows, angles, "standard")], axis=2).reshape(count, len(PARTS), 4, 4)
    parts[:, :2] = arm.base @ parts[:, :2]  # turret and link_1
    links = links_of_arm(arm, angles)
    rigid = np.stack([forearm_t_idc(arm) if tool == ON_FOREARM else effector_t_tool(arm.tools[tool]) for tool in RIGID])
    into_attach = inverse_from_transform(tool_pose(arm, "grapple_attach", links, angles=angles))
    hanging = np.stack([into_attach @ tool_pose(arm, tool, links, angles=angles) for tool in HANGING], axis=1)
    tcp, effector = tcp_from_joints(model, angles, codes)[:, :3, 3], links[:, 3, :3, 3]
    cylinder = transform_from_rotation(parts[:, 0, :3, :3], np.where(np.isfinite(tcp), tcp, effector))
    return np.concatenate([parts, np.broadcast_to(rigid, (count, *rigid.shape)), hanging, cylinder[:, None]], axis=1)


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmRows:
    """Rows of joints with the states that hold in each.

    Args:
        stamp_ns: times (n,).
        angles: joint angles (n, 4) in rad.
        tools: numbers of the tools (n,).
        phases: phases of the grapple (n,).
        geometry: indices (n,) of the archive's own numbers; -1 for none.
    """

    stamp_ns: Stamps
    angles: Array
    tools: Codes
    phases: Codes
    geometry: NDArray[np.intp]

    def only(self, chosen: NDArray[np.bool_]) -> "ArmRows":
        """Select rows.

        Args:
            chosen: a mask (n,).

        Returns:
            The selected rows.
        """
        return ArmRows(**{column.name: getattr(self, column.name)[chosen] for column in fields(self)})


Compute = Callable[[LanderModel, ArmRows], Array]


class ArmReading:
    """Computes for rows of joints with the tool, the phase and the numbers of the arm that hold in each.

    Args:
        settings: of the description.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.states = {name: LatchedValue() for name in (TOOL, PHASE, GEOMETRY)}
        self._model = models_from_settings(settings)

    def rows(self, record: records.Record, warn: Callable[[str], None] = lambda text: None) -> ArmRows:
        """Read rows of joints; those without all four angles are left out.

        Args:
            record: of Joints.
            warn: called with a line for people where rows are left out.

        Returns:
            The rows with their states.
        """
        joints, positions = with_positions(record, warn)
        try:
            angles = angles_of_joints(joints.names, positions)
        except ValueError as error:
            warn(f"{len(joints)} rows are left out: {error}")
            joints, angles = joints.only(np.zeros(len(joints), bool)), np.zeros((0, 4))
        leaves_ns = joints.leaves_ns
        return ArmRows(
            stamp_ns=joints.stamp_ns,
            angles=angles,
            tools=self._codes(TOOL, leaves_ns),
            phases=self._codes(PHASE, leaves_ns),
            geometry=self.states[GEOMETRY].indices_at(leaves_ns),
        )

    def compute_rows(self, rows: ArmRows, compute: Compute, shape: tuple[int, ...] = POSE_SHAPE) -> Array:
        """Compute a value for each row, with the arm that holds in it.

        Args:
            rows: n rows.
            compute: makes values (k, *shape) of an arm and the k rows in which it holds.
            shape: of a value.

        Returns:
            Values (n, *shape).
        """
        result = np.zeros((len(rows.stamp_ns), *shape))
        for index in np.unique(rows.geometry).tolist():
            chosen = rows.geometry == index
            result[chosen] = compute(self.model(index), rows.only(chosen))
        return result

    def model(self, index: int) -> LanderModel:
        """Get an arm.

        Args:
            index: of the archive's own numbers; -1 for the settings alone.

        Returns:
            The arm.
        """
        return self._model(None if index < 0 else self.states[GEOMETRY].values[index])

    def _codes(self, name: str, leaves_ns: Stamps) -> Codes:
        """The number (n,) that holds in each row."""
        values = np.array([*self.states[name].values, UNKNOWN], np.uint8)
        return values[self.states[name].indices_at(leaves_ns)]


def straight_tcp(model: LanderModel, rows: ArmRows) -> Array:
    """Compute the poses of the active tools on the straight arm.

    Args:
        model: the arm.
        rows: n rows.

    Returns:
        payload_T_tool (n, 4, 4).
    """
    return tcp_from_joints(model, rows.angles, rows.tools)


def bent_tcp(model: LanderModel, rows: ArmRows) -> Array:
    """Compute the poses of the active tools on the arm that bends.

    Args:
        model: the arm.
        rows: n rows.

    Returns:
        payload_T_tool (n, 4, 4).
    """
    return bent_tcp_from_joints(model, rows.angles, rows.tools, phases=rows.phases)


def arm_frames(model: LanderModel, rows: ArmRows) -> Array:
    """Compute all frames of the straight arm.

    Args:
        model: the arm.
        rows: n rows.

    Returns:
        parent_T_frame (n, 19, 4, 4).
    """
    return frames_from_joints(model, rows.angles, rows.tools)


class InsightArmTcp(Computation):
    """InSight's arm: its tool on tcp, tcp_pot (by potentiometers) and tcp_deflected, and all its frames on tf.

    tcp_error says how far tcp lies from the archive's own place. One output for each row of joints, at its time.
    """

    name = "lander_arm"
    publishes_joint_tf = True
    settings = (
        Setting("frame_prefix", "", "put before the name of each frame"),
        Setting("frame", "payload", "frame of the arm's base"),
        Setting("child_frames", list(FRAMES), "frames of parts, links and tools, in this order"),
        *(Setting(name, [0.0], meaning) for name, meaning in ARM.items()),
        Setting("gravity_m_s2", 0.0, "how strong it is"),
        Setting("compliance_scale", 1.0, "by which all compliance is multiplied"),
        Setting("dh_set", "auto", "the lengths: 'auto' is the archive's own, else 'naif' or 'sis'"),
        Setting("tool_numbering", "table14", "tools 2 and 3: scoop and IDC as in 'table14', or the order of 'flight'"),
    )
    inputs = (
        Input(name=JOINT_STATES, topic="joint_states", msgtype=JOINT_STATE),
        Input(name=POTS, topic="joint_states_pot", msgtype=JOINT_STATE),
        Input(name=TOOL, topic="tool", msgtype=CODE, latched=True),
        Input(name=PHASE, topic="grapple/phase", msgtype=CODE, latched=True),
        Input(name=ARCHIVED, topic="archived/tool_enc", msgtype=POSE, sync_with=JOINT_STATES),
        Input(name=GEOMETRY, topic="arm/geometry", msgtype="std_msgs/msg/Float64MultiArray", latched=True),
    )

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        base = self.frame_of("frame")
        self._edges = parents_of_frames(base, self.children), self.children
        self._reading, self._pairs = ArmReading(self.setting_values), ExactTimeSync()
        self._tcp = Output(topic="tcp", type=POSE, frame=base)
        self._pot = Output(topic="tcp_pot", type=POSE, frame=base, of=POTS)
        self._bent = Output(topic="tcp_deflected", type=POSE, frame=base)
        self._error = Output(topic="tcp_error", type="geometry_msgs/msg/Vector3Stamped", frame=base)
        self.outputs = (self._tcp, self._pot, self._bent, self._error, ON_TF)

    def step(self, name: str, record: records.Record) -> OutputRecords:
        if name in self._reading.states:
            self._reading.states[name].update(record)
        elif name == ARCHIVED:
            yield from self._compare(1, record)
        else:
            rows = self._reading.rows(record, self.warn)
            if name == POTS:
                yield from self._poses(self._pot, rows, straight_tcp)
            else:
                yield from self._by_encoders(rows)

    def _by_encoders(self, rows: ArmRows) -> OutputRecords:
        for output, poses in self._poses(self._tcp, rows, straight_tcp):
            yield output, poses
            yield from self._poses(self._bent, rows, bent_tcp)
            yield from self._compare(0, poses)
        transforms = self._reading.compute_rows(rows, arm_frames, (len(self.children), *POSE_SHAPE))
        yield ON_TF, transforms_record(*self._edges, rows.stamp_ns, transforms)

    def _poses(self, output: Output, rows: ArmRows, compute: Compute) -> OutputRecords:
        """The poses of the rows in which a tool is known."""
        poses = self._reading.compute_rows(rows, compute)
        known = np.isfinite(poses).all(axis=(1, 2))
        if known.any():
            yield output, pose_record(rows.stamp_ns[known], poses[known])

    def _compare(self, side: int, record: records.Record) -> OutputRecords:
        """The difference of computed positions to the archive's own ones of the same time."""
        for computed, archived in self._pairs.add(side, record):
            difference = computed.position_m - archived.position_m
            yield self._error, records.Vector(stamp_ns=computed.stamp_ns, vector=difference)
