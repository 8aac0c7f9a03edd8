"""States of IDA's status and history files become records."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.readers.ida.rows import JOINTS, orientation_from_approach
from fieldplay_archive.readers.ida.status import ARM, SYSTEM, StatusRow, StatusRows
from fieldplay_archive.tables.key_values import NEXT_LINE, Line, numbers_of_value, plain_key
from fieldplay_messages import records

Convert = Callable[[StatusRows], records.Record]
FINE, WARNING, ERROR = 0, 1, 2
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


def status_streams() -> dict[str, tuple[str, Convert]]:
    """For each stream the kind of its states, and what makes records of them."""
    made: dict[str, tuple[str, Convert]] = {name: (kind, _joints(key)) for name, (kind, key) in JOINT_KEYS.items()}
    return made | {name: (kind, _poses(place, angles)) for name, (kind, place, angles) in POSE_KEYS.items()}


def _columns(rows: StatusRows, *keys: str) -> tuple[StatusRows, list[NDArray[np.float64]]]:
    """The rows that have all of these entries as four numbers, and these (n, 4)."""
    found = [[row.numbers(key, VECTORS[key]) for key in keys] for row in rows.rows]
    whole = np.array([all(value is not None for value in values) for values in found], bool)
    kept = [values for values, good in zip(found, whole.tolist(), strict=True) if good]
    arrays = [np.array([values[place] for values in kept], float).reshape(-1, 4) for place in range(len(keys))]
    return rows.only(whole), arrays


def _joints(key: str) -> Convert:
    def convert(rows: StatusRows) -> records.Joints:
        rows, (angles,) = _columns(rows, key)
        return records.Joints(stamp_ns=rows.stamp_ns, names=JOINTS, position=angles)

    return convert


def _poses(place: str, angles: str) -> Convert:
    def convert(rows: StatusRows) -> records.Pose:
        rows, (places, joints) = _columns(rows, place, angles)
        turned = orientation_from_approach(joints[:, 0], places[:, 3])
        return records.Pose(stamp_ns=rows.stamp_ns, position_m=places[:, :3], orientation_xyzw=turned)

    return convert


def status_diagnostics(rows: StatusRows) -> records.Diagnostics:
    """Each state with all its entries as they stand in the file."""
    states = tuple((_state(row),) for row in rows.rows)
    return records.Diagnostics(stamp_ns=rows.stamp_ns, states=states, place=np.arange(len(states), dtype=np.int64))


def _state(row: StatusRow) -> records.State:
    alarms = {key: level for key, level in ALARMS.items() if _is_on(row.entries.get(plain_key(key)))}
    values = tuple((_shown_key(line.key), _shown(line.value)) for line in row.entries.values())
    name = "ida: arm status" if row.kind == ARM else "ida: system status"
    message = ", ".join(alarms) or "no fault"
    return records.State(name, max(alarms.values(), default=FINE), message, values)


def _is_on(entry: Line | None) -> bool:
    """Whether an entry is there with a number that is not 0; of an enumeration, the one before its name."""
    if entry is None:
        return False
    numbers = numbers_of_value(entry.value)
    if numbers is None:
        numbers = numbers_of_value(entry.value.split()[0]) if entry.value.split() else None
    return numbers is not None and bool(np.any(numbers != 0))


def _shown_key(key: str) -> str:
    return "_".join(key.split())


def _shown(value: str) -> str:
    return " ".join(value.replace(NEXT_LINE, " ").split())
