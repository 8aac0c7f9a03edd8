"""Forces and torques: the force at the tool by Appendix D of the specification, and the motors' torque constants.

For the force, gravity's moments are added to the motors' torques; the powered pitch joints give it by least squares.
`check` compares it with Fr, Ft, Fz, and the torques with the currents that they were computed from.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import Defect
from fieldplay.datasets.archive import Archive, Measurement, file_of_span, measure, sample_indices
from fieldplay.datasets.ida.calibration import ParameterFile, geometry_of_file
from fieldplay.datasets.ida.streams import JOINTS, force_signs
from fieldplay.io.table_rows import TimedRows
from fieldplay.kinematics.insight_arm import (
    ATTACH,
    HANGING,
    ON_FOREARM,
    gravity_moments,
    payload_from_phases,
    tool_force_from_moments,
)
from fieldplay.kinematics.insight_arm_computation import UNKNOWN, LanderModel, models_from_settings
from fieldplay.messages import records

WRENCH, COMPUTED = "wrench", "wrench_computed"
ENCODERS, TORQUES = (tuple(f"{name}{joint}" for joint in range(1, len(JOINTS) + 1)) for name in ("enc", "tau"))
POWER_BITS = np.arange(len(JOINTS))  # of `stat`
MAX_SPANS = 24
MIN_RATE_RAD_S, MIN_ROWS, MIN_SPREAD = 1e-4, 20, 1e-3
CLOSE_KA = 0.05
CLOSE_N, CLOSE_SHARE = 0.5, 0.05  # of the archive's force: more is reported

Array = NDArray[np.float64]


class ComputedForce:
    """Makes the wrenches of rows, with the arm's numbers that the parameter files have at each row's time."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        uploads: Sequence[tuple[int, ParameterFile]],
        parameters: Mapping[str, Any],
    ) -> None:
        """`uploads`: from when on (ns) each parameter file holds, in the order of time."""
        self._model_of = models_from_settings(settings)
        self._since_ns = np.array([stamp_ns for stamp_ns, _ in uploads], np.int64)
        self._numbers = [geometry_of_file(file) for _, file in uploads]
        self._signs = force_signs(parameters)

    def __call__(self, rows: TimedRows) -> records.Wrench:
        """The force of each row in tool_cylindrical, where the powered joints determine one."""
        needed = (*ENCODERS, *TORQUES, "stat", "tool")
        rows = rows.only(np.flatnonzero(np.isfinite(rows.columns(*needed)).all(axis=1)))
        force = self._forces(rows)
        good = np.isfinite(force).all(axis=1)
        force = force[good] * self._signs
        return records.Wrench(stamp_ns=rows.stamp_ns[good], force_n=force, torque_nm=np.zeros_like(force))

    def _forces(self, rows: TimedRows) -> Array:
        """Radial, tangential and downward force (n, 3) in N, NaN where there is none."""
        force = np.full((len(rows.stamp_ns), 3), np.nan)
        uploads = np.searchsorted(self._since_ns, rows.stamp_ns, side="right") - 1
        tools = rows["tool"].astype(np.int64)
        for upload in np.unique(uploads).tolist():
            model = self._model_of(None if upload < 0 else self._numbers[upload])
            for code in np.unique(tools[uploads == upload]).tolist():
                chosen = np.flatnonzero((uploads == upload) & (tools == code))
                tool = _rigid_tool(model, code)
                if tool:
                    force[chosen] = _force_of_tool(model, tool, rows.only(chosen))
        return force


def _rigid_tool(model: LanderModel, code: int) -> str:
    """The rigid tool whose lever arm counts: the grapple's attachment for hanging tools; "" for the camera."""
    tool = model.arm.numbering[code] if 0 <= code < len(model.arm.numbering) else ON_FOREARM
    return ATTACH if tool in HANGING else "" if tool == ON_FOREARM else tool


def _force_of_tool(model: LanderModel, tool: str, rows: TimedRows) -> Array:
    """Radial, tangential and downward force (n, 3) of rows with one tool."""
    angles, torques = rows.columns(*ENCODERS), rows.columns(*TORQUES)
    phases = np.nan_to_num(rows["grapple_phase"], nan=UNKNOWN).astype(np.uint8)
    payload = payload_from_phases(phases, model.payload_kg)
    moments = torques.copy()
    for mask, links in model.links_of_phases(phases):
        moments[mask] += gravity_moments(model.arm, links.masses, angles[mask], payload_kg=payload[mask])
    powered = (rows["stat"].astype(np.int64)[:, None] >> POWER_BITS & 1).astype(bool)
    return tool_force_from_moments(model.arm, tool, angles, moments=moments, powered=powered)


def check_forces(archive: Archive) -> None:
    """Note how far Fr, Ft, Fz lie from the force by Appendix D, and report where that is far."""
    archived, computed = (archive.streams.get(name) for name in (WRENCH, COMPUTED))
    if archived is None or computed is None:
        return
    distances, size, worst, alone = [], [], (0.0, 0), np.zeros(2, np.int64)
    for index in sample_indices(len(archived.spans), MAX_SPANS):
        theirs, ours = archived.load(index), computed.load(index)
        if not isinstance(theirs, records.Wrench) or not isinstance(ours, records.Wrench):
            raise TypeError("expected wrenches")
        shared, left, right = np.intersect1d(theirs.stamp_ns, ours.stamp_ns, return_indices=True)
        alone += len(theirs.stamp_ns) - len(shared), len(ours.stamp_ns) - len(shared)
        if len(shared):
            far = np.linalg.norm(ours.force_n[right] - theirs.force_n[left], axis=1)
            distances.append(far)
            size.append(np.linalg.norm(theirs.force_n[left], axis=1))
            worst = max(worst, (float(far.max()), index))
    if not distances:
        rows = f"{alone[0]} rows have only the archived force, {alone[1]} only the computed one"
        measure(archive, Measurement(f"no row has both Fr, Ft, Fz and a force by torques (Appendix D): {rows}"))
        return
    far, median_n = np.concatenate(distances), float(np.median(np.concatenate(distances)))
    text = f"Fr, Ft, Fz by torques (Appendix D): {median_n:.3f} N apart ({far.max():.3f} at most) in {len(far)} rows"
    others = f"{alone[0]} rows have only the archived force, {alone[1]} only the computed one"
    measure(archive, Measurement(f"{text}; {others}"))
    if median_n > max(CLOSE_N, CLOSE_SHARE * float(np.median(np.concatenate(size)))):
        file = file_of_span(archive, WRENCH, worst[1])
        archive.defects(Defect(file=file, kind="force_mismatch", stream=COMPUTED, message=text))


def check_torques(archive: Archive) -> None:
    """Note the torque constant Ka and the no-load current of each joint, as torques and currents have them.

    Torque is sign (I - I_nl) Ka. Ka of RA_TAU_PARAMS2 is a number, the form of the no-load fit is not published.
    """
    joints, motors = (archive.streams.get(name) for name in ("joint_states", "motors"))
    constants = archive.spec.constants["torque"]
    if joints is None or motors is None:
        return
    rows = [
        _torque_rows(joints.load(index), motors.load(index)) for index in sample_indices(len(joints.spans), MAX_SPANS)
    ]
    for number, name in enumerate(JOINTS):
        parts = [part for own_rows in rows for joint, part in own_rows if joint == name]
        table = np.concatenate(parts) if parts else np.zeros((0, 3))
        fit = _torque_fit(table)
        if fit is None:
            continue
        ka, no_load_a = fit
        expected = constants["sign"][number] * constants["nm_per_a"][number]
        text = f"{name}: Ka is {ka:.2f} Nm/A, {expected:.2f} by RA_TAU_PARAMS2"
        text = f"{text}, no-load current {no_load_a * 1e3:.1f} mA"
        fits = abs(ka - expected) <= CLOSE_KA * abs(expected)
        archive.notes.append(f"{'measured' if fits else 'warning'}: {text}, in {len(table)} rows")


def _torque_rows(joints: records.Record, motors: records.Record) -> list[tuple[str, Array]]:
    """By joint, the rows in which its motor turns it: torque in Nm, current in A, sign of the rate (n, 3)."""
    if not isinstance(joints, records.Joints) or not isinstance(motors, records.Joints):
        raise TypeError("expected joints")
    if joints.effort is None or joints.velocity is None or motors.effort is None:
        return []
    _, left, right = np.intersect1d(joints.stamp_ns, motors.stamp_ns, return_indices=True)
    tables = []
    for name in set(joints.names) & set(motors.names):
        of_joint, of_motor = joints.names.index(name), motors.names.index(name)
        columns = (joints.effort[left, of_joint], motors.effort[right, of_motor], joints.velocity[left, of_joint])
        table = np.stack(columns, axis=-1)
        is_turning = np.isfinite(table).all(axis=1) & (table[:, 0] != 0) & (np.abs(table[:, 2]) > MIN_RATE_RAD_S)
        tables.append((name, np.column_stack([table[is_turning, :2], np.sign(table[is_turning, 2])])))
    return tables


def _torque_fit(table: Array) -> tuple[float, float] | None:
    """Ka with its sign in Nm/A and the no-load current in A of I = torque / Ka + I_nl sign(rate); None without both."""
    if len(table) < MIN_ROWS:
        return None
    matrix = table[:, [0, 2]] / (np.abs(table[:, 0]).max(), 1.0)
    (slope, no_load_a), _, rank, values = np.linalg.lstsq(matrix, table[:, 1], rcond=None)
    if rank < 2 or values[1] < MIN_SPREAD * values[0] or slope == 0:
        return None
    return float(np.abs(table[:, 0]).max() / slope), float(no_load_a)
