"""What an IDA archive holds beside what its joints and motors give: the poses of tools, the rotors' temperatures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import Defect
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.archive import Archive, Measurement, file_of_span, measure, sample_indices
from fieldplay.geometry.transforms import Array, rotation_from_quaternion
from fieldplay.kinematics.computation import LatchedValue
from fieldplay.kinematics.insight_arm import HANGING, RIGID, SCOOP_AND_IDC, SETS, tool_names
from fieldplay.kinematics.insight_arm_computation import JOINT_STATES as JOINTS
from fieldplay.kinematics.insight_arm_computation import POTS, TOOL, ArmReading, Compute, bent_tcp, straight_tcp
from fieldplay.kinematics.rotor_temperature import (
    STEP_S,
    Rotor,
    rotor_from_settings,
    rotor_temperatures,
)
from fieldplay.messages import records
from fieldplay.streams.stream import Stream

ARM_KIND = "lander_arm"
CLOSE_MM = 1.0  # places and angles are printed with four decimals: that is 0.2 mm at the end of the arm
FITS_MM = 0.5  # lengths that lie farther off are not those of the archive
BETTER_MM = 0.5
NUMBERED_MM = 50.0  # scoop and camera are some 0.5 m apart, the wrong lengths only some millimetres
SPANS_PER_TOOL = 4
TOOLS = len(RIGID) + len(HANGING)
UNSURE_CODES = (2, 3)
UNSURE_HANGING = (7, 8, 9)  # how far SEIS, WTS and HP3 hang is not known
VARIANTS: Mapping[str, tuple[str, Compute]] = {
    "tool_enc": (JOINTS, straight_tcp),
    "tool_pot": (POTS, straight_tcp),
    "tool_enc_defl": (JOINTS, bent_tcp),
    "tool_pot_defl": (POTS, bent_tcp),
}
MOTORS, CASE, ROTOR = "motors", "{}_case_temperature", "{}_rotor_temperature"
CLOSE_DEG_C = 1.0
LONGEST_S = 1.0  # after a longer gap it is not known what happened in it: the model begins anew
MAX_SPANS = 12


@dataclass(frozen=True, kw_only=True, eq=False)
class Deviation:
    """Of rows with a pose of the archive: ours less the archive's in mm (n, 3), between the approach axes in mrad (n,).

    The tools' numbers are `tools` (n,), the spans that rows are of `span` (n,); the way down by gravity is `down` (3,).
    """

    tools: NDArray[np.uint8]
    span: NDArray[np.intp]
    position_mm: Array
    axis_mrad: Array
    down: Array

    def of(self, codes: Sequence[int]) -> "Deviation":
        """The rows with these tools."""
        mask = np.isin(self.tools, codes)
        return Deviation(
            tools=self.tools[mask],
            span=self.span[mask],
            position_mm=self.position_mm[mask],
            axis_mrad=self.axis_mrad[mask],
            down=self.down,
        )

    @property
    def worst_span(self) -> int:
        """The span of the row that lies farthest apart."""
        return int(self.span[np.argmax(np.linalg.norm(self.position_mm, axis=1))])

    @property
    def median_mm(self) -> float:
        return float(np.median(np.linalg.norm(self.position_mm, axis=1)))

    def __str__(self) -> str:
        far = np.linalg.norm(self.position_mm, axis=1)
        mean = ", ".join(f"{value:.2f}" for value in self.position_mm.mean(axis=0) + 0.0)
        return f"{self.median_mm:.2f} mm (mean {mean}; {far.max():.2f} at most), {np.median(self.axis_mrad):.2f} mrad"


def check_lander_arm(archive: Archive) -> None:
    """Note how well each tool fits, and report where it does not, or where another reading fits better."""
    for spec in archive.spec.derived:
        requested = {JOINTS, TOOL, "archived_tool_enc"}
        if spec.kind == ARM_KIND and requested <= set(archive.streams):
            settings = spec.with_parameters(archive.parameters).settings
            numbering = _check_numbering(archive, settings)
            _check_lengths(archive, settings, numbering)
            _check_tools(archive, settings)


def measure_deviation(archive: Archive, settings: Mapping[str, Any], variant: str) -> Deviation | None:
    """Deviation of computed from archived poses in one variant; None where the archive lacks it."""
    (name, compute), archived = VARIANTS[variant], f"archived_{variant}"
    if name not in archive.streams or archived not in archive.streams:
        return None
    reading, streams = reading_of(settings, archive.streams), (archive.streams[name], archive.streams[archived])
    chosen = spans_of_tools(streams[0], reading.states[TOOL])
    parts = [part for index in chosen for part in _of_span(reading, compute, streams, index=index)]
    if not parts:
        return None
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    down = reading.model(-1).arm.down
    return Deviation(tools=columns[0], position_mm=columns[1], axis_mrad=columns[2], span=columns[3], down=down)


def reading_of(settings: Mapping[str, Any], streams: Mapping[str, Stream]) -> ArmReading:
    """A computation of the arm with all of its states, which are few."""
    reading = ArmReading(settings)
    for name, state in reading.states.items():
        for index in range(len(streams[name].spans) if name in streams else 0):
            state.update(streams[name].load(index))
    return reading


def spans_of_tools(stream: Stream, tools: LatchedValue) -> list[int]:
    """Some spans for each tool in which it is active, spread over the archive."""
    chosen: set[int] = set()
    values, stops = np.array(tools.values), np.append(tools.since_ns[1:], np.iinfo(np.int64).max)
    for code in np.unique(values):
        active = values == code
        start, end = tools.since_ns[active], stops[active]
        span_indices = [
            index for index, span in enumerate(stream.spans) if ((start <= span.last_ns) & (end > span.first_ns)).any()
        ]
        chosen |= {span_indices[position] for position in sample_indices(len(span_indices), SPANS_PER_TOOL)}
    return sorted(chosen)


def _of_span(
    reading: ArmReading, compute: Compute, streams: tuple[Stream, Stream], *, index: int
) -> Iterator[tuple[NDArray[np.uint8], Array, Array, NDArray[np.intp]]]:
    """Of the joints and the archive's poses: the tools' numbers, how far they lie apart in place and axis, the span."""
    rows, poses = reading.rows(streams[0].load(index)), streams[1].load(index)
    if not isinstance(poses, records.Pose):
        raise TypeError(f"expected poses, got {type(poses).__name__}")
    computed = reading.compute_rows(rows, compute)
    _, ours, theirs = np.intersect1d(rows.stamp_ns, poses.stamp_ns, return_indices=True)
    known = np.isfinite(computed[ours]).all(axis=(1, 2))
    ours, theirs = ours[known], theirs[known]
    if len(ours):
        axes = rotation_from_quaternion(poses.orientation_xyzw[theirs])[:, :, 2]
        across = np.linalg.norm(np.cross(axes, computed[ours, :3, 2]), axis=1)
        angle = np.arctan2(across, (axes * computed[ours, :3, 2]).sum(axis=1))
        difference_mm = (computed[ours, :3, 3] - poses.position_m[theirs]) * 1e3
        yield rows.tools[ours], difference_mm, angle * 1e3, np.full(len(ours), index)


def _check_numbering(archive: Archive, settings: Mapping[str, Any]) -> str | None:
    """Which numbering of scoop and camera fits the numbers 2 and 3; None where neither does, or no row has them."""
    deviations = {}
    for numbering in SCOOP_AND_IDC:
        deviation = measure_deviation(archive, {**settings, "tool_numbering": numbering}, "tool_enc")
        if deviation is None or not len(unsure := deviation.of(UNSURE_CODES).tools):
            return None
        deviations[numbering] = deviation.of(UNSURE_CODES)
    best, other = sorted(deviations, key=lambda name: deviations[name].median_mm)
    if deviations[best].median_mm > NUMBERED_MM:
        text = " nor ".join(f"{name}, {deviations[name].median_mm:.1f} mm" for name in (best, other))
        measure(archive, Measurement(f"in {len(unsure)} rows the tools 2 and 3 fit neither {text}"))
        return None
    text = (
        f"in {len(unsure)} rows the tools 2 and 3 are {' and '.join(SCOOP_AND_IDC[best])} ({best}), "
        f"{deviations[best]}; the other way round {deviations[other].median_mm:.1f} mm"
    )
    measure(archive, Measurement(text))
    if best != settings["tool_numbering"]:
        message = f"tools 2 and 3 fit tool_numbering={best}, chosen is {settings['tool_numbering']}"
        _report(archive, "tool_numbering_mismatch", message, deviations[best])
    return best


def _check_lengths(archive: Archive, settings: Mapping[str, Any], numbering: str | None) -> None:
    """Which set of lengths fits, by the tools of which all else is known; the numbering is that which fits, if any."""
    settings = settings if numbering is None else {**settings, "tool_numbering": numbering}
    unsure = UNSURE_HANGING if numbering else (*UNSURE_CODES, *UNSURE_HANGING)
    deviations = {name: measure_deviation(archive, {**settings, "dh_set": name}, "tool_enc") for name in SETS}
    known = {
        name: deviation.of(sorted({*range(TOOLS)} - {*unsure}))
        for name, deviation in deviations.items()
        if deviation is not None
    }
    far = {name: deviation.median_mm for name, deviation in known.items() if len(deviation.tools)}
    if not far:
        return
    best, chosen = min(far, key=lambda name: far[name]), settings["dh_set"]
    text = ", ".join(f"{name} {millimetres:.2f} mm" for name, millimetres in far.items())
    fits = far[best] <= FITS_MM
    how = "" if fits else "; none of them fits"
    measure(archive, Measurement(f"error of known tool positions by the arm lengths of {text}{how}"))
    if fits and far[chosen] > far[best] + BETTER_MM:
        message = f"the tools' positions fit dh_set={best} ({text}), chosen is {chosen}"
        _report(archive, "arm_lengths_mismatch", message, known[chosen])


def _check_tools(archive: Archive, settings: Mapping[str, Any]) -> None:
    names = tool_names(settings["tool_numbering"])
    for variant in VARIANTS:
        deviation = measure_deviation(archive, settings, variant)
        for code in () if deviation is None else np.unique(deviation.tools).tolist():
            assert deviation is not None
            of_tool, tool = deviation.of([code]), names[code]
            text = f"{tool} by its joints, {variant}: {of_tool} in {len(of_tool.tools)} rows"
            if tool in HANGING:
                along = float(np.median(of_tool.position_mm @ deviation.down))
                text += f"; {along:.2f} mm higher in the archive"
            measure(archive, Measurement(text))
            if of_tool.median_mm > CLOSE_MM:
                _report(archive, "pose_mismatch", text, of_tool, stream=f"archived_{variant}")


def _report(
    archive: Archive, kind: str, message: str, deviation: Deviation, *, stream: str = "archived_tool_enc"
) -> None:
    """Report what is measured in several files, of the one where it is worst."""
    file = file_of_span(archive, stream, deviation.worst_span)
    archive.defects(Defect(file=file, kind=kind, stream=stream, message=message))


def check_rotors(archive: Archive) -> None:
    """Note how far the model of the rotors' temperature lies from the archive's, and report where that is far."""
    motors = archive.streams.get(MOTORS)
    if "rotor" not in archive.spec.constants or motors is None:
        return
    rotor = rotor_from_settings(archive.spec.constants["rotor"])
    differences: dict[str, list[tuple[int, Array]]] = {}
    for index in sample_indices(len(motors.spans), MAX_SPANS):
        for joint, difference in _rotors_of_span(archive, rotor, motors, index=index):
            differences.setdefault(joint, []).append((index, np.abs(difference)))
    for joint, parts in differences.items():
        difference = np.concatenate([part for _, part in parts])
        text = f"rotor of {joint} by its current: {np.median(difference):.2f} deg C ({difference.max():.2f} at most)"
        measure(archive, Measurement(f"{text} in {len(difference)} rows"))
        if np.median(difference) > CLOSE_DEG_C:
            stream, worst = ROTOR.format(joint), max(parts, key=lambda part: float(np.max(part[1])))[0]
            file = file_of_span(archive, MOTORS, worst)
            archive.defects(Defect(file=file, kind="rotor_mismatch", stream=stream, message=text))


def _rotors_of_span(archive: Archive, rotor: Rotor, motors: Stream, *, index: int) -> Iterator[tuple[str, Array]]:
    record = motors.load(index)
    if not isinstance(record, records.Joints) or record.effort is None or record.velocity is None:
        raise TypeError(f"expected currents and voltages of motors, got {type(record).__name__}")
    for column, joint in enumerate(record.names):
        streams = [archive.streams.get(name.format(joint)) for name in (CASE, ROTOR)]
        temperatures = [stream.load(index) for stream in streams if stream is not None]
        case, theirs = (part for part in (*temperatures, None, None)[:2])
        if not isinstance(case, records.Temperature) or not isinstance(theirs, records.Temperature):
            continue
        table = _join_rows(record, case, theirs, column=column)
        for run in np.split(table, np.flatnonzero(np.diff(table[:, 0]) > LONGEST_S) + 1):
            if len(run) > 1:
                yield joint, _difference_deg_c(rotor, run)


def _join_rows(motors: records.Joints, case: records.Temperature, theirs: records.Temperature, *, column: int) -> Array:
    """Join rows that have all of: time in s, current, voltage, case, the archive's rotor (n, 5)."""
    assert motors.effort is not None and motors.velocity is not None
    shared = np.intersect1d(np.intersect1d(motors.stamp_ns, case.stamp_ns), theirs.stamp_ns)
    at = np.searchsorted(motors.stamp_ns, shared)
    columns = (
        (shared - (shared[0] if len(shared) else 0)) / NS_PER_S,
        motors.effort[at, column],
        motors.velocity[at, column],
        case.temperature_deg_c[np.searchsorted(case.stamp_ns, shared)],
        theirs.temperature_deg_c[np.searchsorted(theirs.stamp_ns, shared)],
    )
    table = np.stack(columns, axis=-1)
    return np.asarray(table[np.isfinite(table).all(axis=1)], float)


def _difference_deg_c(rotor: Rotor, run: Array) -> Array:
    """The model less the archive, from the archive's first value on: each row's values hold for the step to it."""
    duration_s = np.maximum(np.diff(run[:, 0]), STEP_S / 2)
    modelled = rotor_temperatures(
        rotor,
        duration_s,
        current_a=run[1:, 1],
        voltage_v=run[1:, 2],
        case_deg_c=run[1:, 3],
        start_deg_c=run[0, 4],
    )
    return np.asarray(modelled - run[1:, 4], float)
