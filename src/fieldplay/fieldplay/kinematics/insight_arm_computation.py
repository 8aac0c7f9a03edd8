"""InSight's arm with what holds beside its joints: the active tool, the grapple's phase, the arm's own numbers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.transforms import Array
from fieldplay.kinematics import insight_arm_outputs as outputs
from fieldplay.kinematics.computation import (
    ON_TF,
    Computation,
    ExactTimeSync,
    Input,
    LatchedValue,
    Made,
    Output,
    Setting,
)
from fieldplay.kinematics.pose_records import pose_record, transforms_record, with_positions
from fieldplay.messages import records

TOOL_NUMBERS = "x, y, z in the effector and the turn of its approach axis"
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
JOINTS, POTS, TOOL, PHASE, GEOMETRY = "joint_states", "joint_states_pot", "tool", "grapple_phase", "arm_geometry"
ARCHIVED = "archived_tool_enc"
JOINT_STATE, POSE, CODE = "sensor_msgs/msg/JointState", "geometry_msgs/msg/PoseStamped", "std_msgs/msg/UInt8"
POSE_SHAPE = (4, 4)

Stamps = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmRows:
    """Times (n,), joint angles (n, 4), numbers of tool and phase (n,), and the place (n,) of the numbers that hold."""

    stamp_ns: Stamps
    angles: Array
    tools: outputs.Codes
    phases: outputs.Codes
    geometry: NDArray[np.intp]

    def only(self, chosen: NDArray[np.bool_]) -> "ArmRows":
        """The rows chosen by a mask (n,)."""
        return ArmRows(**{column.name: getattr(self, column.name)[chosen] for column in fields(self)})


Compute = Callable[[outputs.LanderModel, ArmRows], Array]


class ArmReading:
    """Takes joints, and computes with the tool, the phase and the numbers of the arm that hold in each row."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.states = {name: LatchedValue() for name in (TOOL, PHASE, GEOMETRY)}
        self._model = outputs.models_from_settings(settings)

    def rows(self, record: records.Record, warn: Callable[[str], None] = lambda text: None) -> ArmRows:
        """The rows of joints, those with all four angles."""
        joints, positions = with_positions(record, warn)
        try:
            angles = outputs.angles_of_joints(joints.names, positions)
        except ValueError as error:
            warn(f"{len(joints)} rows are left out: {error}")
            joints, angles = joints.only(np.zeros(len(joints), bool)), np.zeros((0, 4))
        leaves_ns = joints.leaves_ns
        return ArmRows(
            stamp_ns=joints.stamp_ns,
            angles=angles,
            tools=self._codes(TOOL, leaves_ns),
            phases=self._codes(PHASE, leaves_ns),
            geometry=self.states[GEOMETRY].places(leaves_ns),
        )

    def computed(self, rows: ArmRows, compute: Compute, shape: tuple[int, ...] = POSE_SHAPE) -> Array:
        """What is computed of all rows (n, *shape), by the model that holds in each."""
        found = np.zeros((len(rows.stamp_ns), *shape))
        for place in np.unique(rows.geometry).tolist():
            chosen = rows.geometry == place
            found[chosen] = compute(self.model(place), rows.only(chosen))
        return found

    def model(self, place: int) -> outputs.LanderModel:
        """The arm with the archive's own numbers of that place; -1 is that of the settings alone."""
        return self._model(None if place < 0 else self.states[GEOMETRY].values[place])

    def _codes(self, name: str, leaves_ns: Stamps) -> outputs.Codes:
        """The number (n,) that holds in each row."""
        values = np.array([*self.states[name].values, outputs.UNKNOWN], np.uint8)
        return values[self.states[name].places(leaves_ns)]


def straight(model: outputs.LanderModel, rows: ArmRows) -> Array:
    """The active tool (n, 4, 4), the arm not bent."""
    return outputs.tcp_from_joints(model, rows.angles, rows.tools)


def bent(model: outputs.LanderModel, rows: ArmRows) -> Array:
    """The active tool (n, 4, 4) of the arm that bends."""
    return outputs.bent_tcp_from_joints(model, rows.angles, rows.tools, phases=rows.phases)


def frames(model: outputs.LanderModel, rows: ArmRows) -> Array:
    """All frames in their parents (n, frames, 4, 4)."""
    return outputs.frames_from_joints(model, rows.angles, rows.tools)


class InsightArmTcp(Computation):
    """InSight's arm: its tool on tcp, tcp_pot (by potentiometers) and tcp_deflected, and all its frames on tf.

    tcp_error says how far tcp lies from the archive's own place. One output for each row of joints, at its time.
    """

    name = "lander_arm"
    places_joints = True
    settings = (
        Setting("frame_prefix", "", "put before the name of each frame"),
        Setting("frame", "payload", "frame of the arm's base"),
        Setting("child_frames", list(outputs.FRAMES), "frames of parts, links and tools, in this order"),
        *(Setting(name, [0.0], meaning) for name, meaning in ARM.items()),
        Setting("gravity_m_s2", 0.0, "how strong it is"),
        Setting("compliance_scale", 1.0, "by which all compliance is multiplied"),
        Setting("dh_set", "auto", "the lengths: 'auto' is the archive's own, else 'naif' or 'sis'"),
        Setting("tool_numbering", "table14", "tools 2 and 3: scoop and IDC as in 'table14', or the order of 'flight'"),
    )
    inputs = (
        Input(name=JOINTS, topic="joint_states", msgtype=JOINT_STATE),
        Input(name=POTS, topic="joint_states_pot", msgtype=JOINT_STATE),
        Input(name=TOOL, topic="tool", msgtype=CODE, latched=True),
        Input(name=PHASE, topic="grapple/phase", msgtype=CODE, latched=True),
        Input(name=ARCHIVED, topic="archived/tool_enc", msgtype=POSE, beside=JOINTS),
        Input(name=GEOMETRY, topic="arm/geometry", msgtype="std_msgs/msg/Float64MultiArray", latched=True),
    )

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        base = self.frame_of("frame")
        self._edges = outputs.parents_of_frames(base, self.children), self.children
        self._reading, self._pairs = ArmReading(self.given), ExactTimeSync()
        self._tcp = Output(topic="tcp", type=POSE, frame=base)
        self._pot = Output(topic="tcp_pot", type=POSE, frame=base, of=POTS)
        self._bent = Output(topic="tcp_deflected", type=POSE, frame=base)
        self._error = Output(topic="tcp_error", type="geometry_msgs/msg/Vector3Stamped", frame=base)
        self.outputs = (self._tcp, self._pot, self._bent, self._error, ON_TF)

    def step(self, name: str, record: records.Record) -> Made:
        if name in self._reading.states:
            self._reading.states[name].hear(record)
        elif name == ARCHIVED:
            yield from self._compared(1, record)
        else:
            rows = self._reading.rows(record, self.warn)
            if name == POTS:
                yield from self._poses(self._pot, rows, straight)
            else:
                yield from self._by_encoders(rows)

    def _by_encoders(self, rows: ArmRows) -> Made:
        for output, made in self._poses(self._tcp, rows, straight):
            yield output, made
            yield from self._poses(self._bent, rows, bent)
            yield from self._compared(0, made)
        transforms = self._reading.computed(rows, frames, (len(self.children), *POSE_SHAPE))
        yield ON_TF, transforms_record(*self._edges, rows.stamp_ns, transforms)

    def _poses(self, output: Output, rows: ArmRows, compute: Compute) -> Made:
        """The poses of the rows in which a tool is known."""
        found = self._reading.computed(rows, compute)
        known = np.isfinite(found).all(axis=(1, 2))
        if known.any():
            yield output, pose_record(rows.stamp_ns[known], found[known])

    def _compared(self, side: int, record: records.Record) -> Made:
        """Where the archive's own place has the time of one that is computed: by how much this lies beside it."""
        for computed, archived in self._pairs.add(side, record):
            apart = computed.position_m - archived.position_m
            yield self._error, records.Vector(stamp_ns=computed.stamp_ns, vector=apart)
