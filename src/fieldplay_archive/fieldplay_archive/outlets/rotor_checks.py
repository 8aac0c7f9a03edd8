"""The temperatures of rotors that an archive holds beside those that their motors' currents give."""

from collections.abc import Iterator

import numpy as np

from fieldplay_archive.archive import Archive
from fieldplay_kinematics.rotor_temperature import STEP_S, Rotor, rotor_from_settings, rotor_temperatures
from fieldplay_kinematics.transforms import Array
from fieldplay_messages import records
from fieldplay_messages.errors import Defect
from fieldplay_messages.stamps import NS_PER_S
from fieldplay_messages.streams import Stream

MOTORS, CASE, ROTOR = "motors", "{}_case_temperature", "{}_rotor_temperature"
CLOSE_DEG_C = 1.0
LONGEST_S = 1.0  # after a longer gap it is not known what happened in it: the model begins anew
MOST_SPANS = 12


def check_rotors(archive: Archive) -> None:
    """Note how far the model of the rotors' temperature lies from the archive's, and report where that is far."""
    motors = archive.streams.get(MOTORS)
    if "rotor" not in archive.spec.constants or motors is None:
        return
    rotor = rotor_from_settings(archive.spec.constants["rotor"])
    places = np.unique(np.linspace(0, len(motors.spans) - 1, MOST_SPANS).astype(int)).tolist()
    found: dict[str, list[Array]] = {}
    for index in places:
        for joint, apart in _of_span(archive, rotor, motors, index=index):
            found.setdefault(joint, []).append(apart)
    for joint, parts in found.items():
        apart = np.abs(np.concatenate(parts))
        told = f"rotor of {joint} by its current: {np.median(apart):.2f} deg C ({apart.max():.2f} at most)"
        archive.notes.append(f"measured: {told} in {len(apart)} rows")
        if np.median(apart) > CLOSE_DEG_C:
            stream = ROTOR.format(joint)
            archive.defects(Defect(file=archive.root.name, kind="rotor_mismatch", stream=stream, message=told))


def _of_span(archive: Archive, rotor: Rotor, motors: Stream, *, index: int) -> Iterator[tuple[str, Array]]:
    record = motors.load(index)
    if not isinstance(record, records.Joints) or record.effort is None or record.velocity is None:
        raise TypeError(f"expected currents and voltages of motors, got {type(record).__name__}")
    for column, joint in enumerate(record.names):
        streams = [archive.streams.get(name.format(joint)) for name in (CASE, ROTOR)]
        temperatures = [stream.load(index) for stream in streams if stream is not None]
        case, theirs = (part for part in (*temperatures, None, None)[:2])
        if not isinstance(case, records.Temperature) or not isinstance(theirs, records.Temperature):
            continue
        table = _joined(record, case, theirs, column=column)
        for run in np.split(table, np.flatnonzero(np.diff(table[:, 0]) > LONGEST_S) + 1):
            if len(run) > 1:
                yield joint, _apart(rotor, run)


def _joined(motors: records.Joints, case: records.Temperature, theirs: records.Temperature, *, column: int) -> Array:
    """Rows with all there is: time in s, current, voltage, case, the archive's rotor (n, 5)."""
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


def _apart(rotor: Rotor, run: Array) -> Array:
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
