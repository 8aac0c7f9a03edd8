"""Rows of *_eu.csv, and states of status and history files, become records in SI units; see docs/datasets/ida.md."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.ida.status_files import (
    ARM,
    SYSTEM,
    StatusRow,
    StatusRows,
)
from fieldplay.io.key_values import (
    NEXT_LINE,
    KeyLine,
    codes_of_value,
    numbers_of_value,
    plain_key,
)
from fieldplay.io.table_rows import TimedRows
from fieldplay.messages import records

JOINTS = ("shoulder_yaw", "shoulder_pitch", "elbow", "wrist")
A_PER_MA = 1e-3
BITS_PER_GROUP = 4
# The groups of four bits of `stat`, the lowest first, the lowest bit of each for joint 1: what 0 and 1 mean. The sense
# of the brake is the other way round in the status files.
STAT_GROUPS = {
    "motor": ("off", "on"),
    "direction": ("positive", "negative"),
    "over current": ("no", "yes"),
    "brake": ("on", "off"),
    "heater": ("off", "on"),
}
PHASES = ("launch-locked", "stowed", "OK to open", "SEIS grappled", "WTS grappled", "HP3 grappled")
FINE, WARNING, ERROR = 0, 1, 2
CODES = ("stat", "tool", "grapple_phase")
NO_CODE = -1
JOINT_KEYS = {  # the stream: what it is a state of, and the entry with its angles
    "status_joint_states": (ARM, "jnt.enc"),
    "status_joint_states_pot": (ARM, "jnt.pot"),
    "status_via_joints": (SYSTEM, "via.q"),
    "status_target_joints": (SYSTEM, "target.q"),
}
POSE_KEYS = {  # the entries with x, y, z, th, and with the angles
    "status_via_pose": (SYSTEM, "via.x", "via.q"),
    "status_target_pose": (SYSTEM, "target.x", "target.q"),
}
VECTORS = {key: len(JOINTS) for key in ("jnt.enc", "jnt.pot", "via.q", "via.x", "target.q", "target.x")}
ALARMS = {  # entries that are 0 where all is well, and how bad it is if one is not
    "ace.bus30v_err": ERROR,
    "ace.parity_err": ERROR,
    "ace.msg_err": ERROR,
    "mtr.over_current": WARNING,
    "fault_status": ERROR,
    "cool_down": WARNING,
    "col_status.has_collisions": WARNING,
}

HEXADECIMAL = ("fault_status",)  # whose numbers are hexadecimal codes, with or without 0x

Floats = NDArray[np.float64]
Convert = Callable[[TimedRows], records.Record]
ConvertStates = Callable[[StatusRows], records.Record]


def _of(name: str) -> list[str]:
    """The columns of one kind for all joints."""
    return [f"{name}{joint}" for joint in range(1, len(JOINTS) + 1)]


def _with(rows: TimedRows, *columns: str) -> TimedRows:
    """The rows that have a number in each of these columns."""
    return rows.only(np.flatnonzero(np.isfinite(rows.columns(*columns)).all(axis=1)))


@dataclass(frozen=True, kw_only=True)
class IdaConversions:
    """The conversions of one archive: its parameters, and the names of the tools by their number."""

    parameters: Mapping[str, Any]
    tools: tuple[str, ...]

    def streams(self) -> dict[str, tuple[tuple[str, ...], Convert]]:
        """For each stream the columns without any of which it is none, and what makes records of rows."""
        converters: dict[str, tuple[tuple[str, ...], Convert]] = {
            "joint_states": (tuple(_of("enc")), joint_states),
            "joint_states_pot": (tuple(_of("pot")), joint_states_pot),
            "motors": (tuple(_of("cur")), motors),
            "heater": (("htr_cur",), heater),
            "wrench": (("fr",), self.wrench),
            "grapple_temperature": (("tgrapple",), temperature("tgrapple")),
            "diagnostics": ((), self.diagnostics),
        }
        for kind, joint in {"enc": "enc1", "pot": "pot1", "enc_defl": "enc1", "pot_defl": "pot1"}.items():
            converters[f"archived_tool_{kind}"] = ((f"x_{kind}",), tool_pose(kind, joint))
        for number, joint in enumerate(JOINTS, start=1):
            converters[f"{joint}_case_temperature"] = ((f"tcase{number}",), temperature(f"tcase{number}"))
            converters[f"{joint}_rotor_temperature"] = ((f"trotor{number}",), temperature(f"trotor{number}"))
        return converters

    def wrench(self, rows: TimedRows) -> records.Wrench:
        """Fr, Ft, Fz with the signs that make a vector in tool_cylindrical; rows without a force are left out."""
        rows = _with(rows, "fr", "ft", "fz")
        force = rows.columns("fr", "ft", "fz") * force_signs(self.parameters)
        return records.Wrench(stamp_ns=rows.stamp_ns, force_n=force, torque_nm=np.zeros_like(force))

    def diagnostics(self, rows: TimedRows) -> records.Diagnostics:
        """The states of motors, grapple and tool where one changes, and once in each second of the clock.

        A row that lacks one of the three has the others.
        """
        rows = rows.only(np.flatnonzero(np.isfinite(rows.columns(*CODES)).any(axis=1)))
        codes = np.nan_to_num(rows.columns(*CODES), nan=NO_CODE)
        second = rows.stamp_ns // NS_PER_S
        changed = (np.diff(codes, axis=0, prepend=np.nan) != 0).any(axis=1) | (np.diff(second, prepend=-1) != 0)
        rows, codes = rows.only(changed), codes[changed]
        distinct, indices = np.unique(codes, axis=0, return_inverse=True)
        states = tuple(self._states(*map(int, row)) for row in distinct.tolist())
        state_index = indices.reshape(-1).astype(np.int64)
        return records.Diagnostics(stamp_ns=rows.stamp_ns, states=states, state_index=state_index)

    def _states(self, stat: int, tool: int, phase: int) -> tuple[records.State, ...]:
        joints = () if stat == NO_CODE else tuple(joint_state(stat, joint) for joint in range(len(JOINTS)))
        return (
            *joints,
            *_state_of_number("grapple", "phase", PHASES, phase),
            *_state_of_number("tool", "tool", self.tools, tool),
        )


def force_signs(parameters: Mapping[str, Any]) -> Floats:
    """The signs (3,) of radial, tangential and downward force in messages, by the parameters of the dataset."""
    return np.array([1.0, parameters["tangential_sign"], 1.0], np.float64) * float(parameters["force_sign"])


def _state_of_number(part: str, key: str, names: tuple[str, ...], number: int) -> tuple[records.State, ...]:
    """The state of a part by its number, nothing where there is none."""
    if number == NO_CODE:
        return ()
    name = names[number]
    return (records.State(f"ida: {part}", FINE, name, ((key, name), ("number", str(number)))),)


def joint_state(stat: int, joint: int) -> records.State:
    """What the bits of `stat` say of a joint, counted from 0."""
    bits = [stat >> (BITS_PER_GROUP * group + joint) & 1 for group in range(len(STAT_GROUPS))]
    meanings = {name: meaning[bit] for (name, meaning), bit in zip(STAT_GROUPS.items(), bits, strict=True)}
    is_over = meanings["over current"] == "yes"
    message = "over current" if is_over else f"motor {meanings['motor']}, brake {meanings['brake']}"
    return records.State(f"ida: {JOINTS[joint]}", WARNING if is_over else FINE, message, tuple(meanings.items()))


def _joints_with(rows: TimedRows, *kinds: str) -> tuple[TimedRows, tuple[str, ...], list[str]]:
    """The joints of which a block has all of some kinds of columns, and the rows that have a number in each of these.

    The numbers of the joints come as text. A file that lacks a column lacks that joint, not the others.
    """
    numbers = [str(joint) for joint in range(1, len(JOINTS) + 1)]
    there = [n for n in numbers if np.isfinite(rows.columns(*(kind + n for kind in kinds))).any(axis=0).all()]
    there = there or numbers  # of which there are no rows
    rows = _with(rows, *(kind + number for kind in kinds for number in there))
    return rows, tuple(JOINTS[int(number) - 1] for number in there), there


def joint_states(rows: TimedRows) -> records.Joints:
    """Angles of the encoders, the rates and the torques; a rate or torque that is none is NaN."""
    rows, names, there = _joints_with(rows, "enc")
    angles, rates, torques = (rows.columns(*(kind + n for n in there)) for kind in ("enc", "v", "tau"))
    return records.Joints(stamp_ns=rows.stamp_ns, names=names, position=angles, velocity=rates, effort=torques)


def joint_states_pot(rows: TimedRows) -> records.Joints:
    """Angles of the potentiometers."""
    rows, names, there = _joints_with(rows, "pot")
    return records.Joints(stamp_ns=rows.stamp_ns, names=names, position=rows.columns(*(f"pot{n}" for n in there)))


def motors(rows: TimedRows) -> records.Joints:
    """Currents in A as effort, voltages in V as velocity."""
    rows, names, there = _joints_with(rows, "cur", "volt")
    current_a, voltage_v = (rows.columns(*(kind + n for n in there)) for kind in ("cur", "volt"))
    return records.Joints(stamp_ns=rows.stamp_ns, names=names, velocity=voltage_v, effort=current_a * A_PER_MA)


def heater(rows: TimedRows) -> records.Joints:
    """The heaters' current as archived, as effort."""
    rows = _with(rows, "htr_cur")
    return records.Joints(stamp_ns=rows.stamp_ns, names=("heater",), effort=rows.columns("htr_cur"))


def temperature(column: str) -> Callable[[TimedRows], records.Temperature]:
    """A temperature in degrees Celsius."""

    def convert(rows: TimedRows) -> records.Temperature:
        rows = _with(rows, column)
        return records.Temperature(stamp_ns=rows.stamp_ns, temperature_deg_c=rows[column])

    return convert


def tool_pose(kind: str, joint: str) -> Callable[[TimedRows], records.Pose]:
    """The tool in the payload frame by x, y, z, th of one kind, its heading by the first joint."""

    def convert(rows: TimedRows) -> records.Pose:
        names = [f"{axis}_{kind}" for axis in ("x", "y", "z", "th")]
        rows = _with(rows, *names, joint)
        orientations = orientation_from_approach(rows[joint], rows[names[3]])
        return records.Pose(stamp_ns=rows.stamp_ns, position_m=rows.columns(*names[:3]), orientation_xyzw=orientations)

    return convert


def orientation_from_approach(yaw_rad: Floats, th_rad: Floats) -> Floats:
    """Quaternions (n, 4) in the payload frame (z down) of tools with z downwards by th and y along the wrist's axis.

    They are Rz(yaw) Rx(pi/2) Rz(th + pi/2) Rx(pi/2), multiplied out.
    """
    half_yaw, half = yaw_rad / 2, (th_rad + np.pi / 2) / 2
    cos, sin = np.cos(half), np.sin(half)
    parts = (np.cos(half_yaw) * cos, np.sin(half_yaw) * cos, np.cos(half_yaw) * sin, -np.sin(half_yaw) * sin)
    return np.stack(parts, axis=-1)


def status_streams() -> dict[str, tuple[str, ConvertStates]]:
    """For each stream the kind of its states, and what makes records of them."""
    converters: dict[str, tuple[str, ConvertStates]] = {
        name: (kind, _joints(key)) for name, (kind, key) in JOINT_KEYS.items()
    }
    return converters | {name: (kind, _poses(position, angles)) for name, (kind, position, angles) in POSE_KEYS.items()}


def _columns(rows: StatusRows, *keys: str) -> tuple[StatusRows, list[NDArray[np.float64]]]:
    """The rows that have all of these entries as four numbers, and these (n, 4)."""
    values_by_row = [[row.numbers(key, VECTORS[key]) for key in keys] for row in rows.rows]
    whole = np.array([all(value is not None for value in values) for values in values_by_row], bool)
    complete = [values for values, good in zip(values_by_row, whole.tolist(), strict=True) if good]
    arrays = [np.array([values[index] for values in complete], float).reshape(-1, 4) for index in range(len(keys))]
    return rows.only(whole), arrays


def _joints(key: str) -> ConvertStates:
    def convert(rows: StatusRows) -> records.Joints:
        rows, (angles,) = _columns(rows, key)
        return records.Joints(stamp_ns=rows.stamp_ns, names=JOINTS, position=angles)

    return convert


def _poses(position: str, angles: str) -> ConvertStates:
    def convert(rows: StatusRows) -> records.Pose:
        rows, (positions, joints) = _columns(rows, position, angles)
        orientations = orientation_from_approach(joints[:, 0], positions[:, 3])
        return records.Pose(stamp_ns=rows.stamp_ns, position_m=positions[:, :3], orientation_xyzw=orientations)

    return convert


def status_diagnostics(rows: StatusRows) -> records.Diagnostics:
    """Each state with all its entries as they stand in the file."""
    states = tuple((_state(row),) for row in rows.rows)
    state_index = np.arange(len(states), dtype=np.int64)
    return records.Diagnostics(stamp_ns=rows.stamp_ns, states=states, state_index=state_index)


def _state(row: StatusRow) -> records.State:
    alarms: dict[str, int] = {}
    for key, level in ALARMS.items():
        entry = row.entries.get(plain_key(key))
        is_on = False if entry is None else _is_on(entry, hexadecimal=key in HEXADECIMAL)
        if is_on is None:
            alarms[f"{key} is not readable"] = WARNING
        elif is_on:
            alarms[key] = level
    values = tuple((_key_text(line.key), _value_text(line.value)) for line in row.entries.values())
    name = "ida: arm status" if row.kind == ARM else "ida: system status"
    message = ", ".join(alarms) or "no fault"
    return records.State(name, max(alarms.values(), default=FINE), message, values)


def _is_on(entry: KeyLine, *, hexadecimal: bool) -> bool | None:
    """Whether an entry's number is not 0, None where it has none; of an enumeration, the one before its name."""
    if hexadecimal:
        codes = codes_of_value(entry.value)
        return None if codes is None else any(codes)
    numbers = numbers_of_value(entry.value)
    if numbers is None:
        numbers = numbers_of_value(entry.value.split()[0]) if entry.value.split() else None
    return None if numbers is None else bool(np.any(numbers != 0))


def _key_text(key: str) -> str:
    return "_".join(key.split())


def _value_text(value: str) -> str:
    return " ".join(value.replace(NEXT_LINE, " ").split())
