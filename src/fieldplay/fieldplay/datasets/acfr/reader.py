"""The Marulan datasets of ACFR: one dataset or one calibration set, as a folder or a zip of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.acfr.acfr_cameras import open_cameras
from fieldplay.datasets.acfr.acfr_radar import open_radar, sweep_watcher
from fieldplay.datasets.acfr.checks import add_checks
from fieldplay.datasets.acfr.lasers import open_lasers, with_chosen_units
from fieldplay.datasets.acfr.navigation import open_navigation
from fieldplay.datasets.acfr.report_sets import (
    KnownSet,
    note_set,
    single_dataset_name,
    table_files,
)
from fieldplay.datasets.archive import (
    Archive,
    note_ignored_files,
    open_tables_of,
)
from fieldplay.datasets.base_reader import DatasetReader
from fieldplay.geometry.transforms import rotation_from_quaternion
from fieldplay.io.table import (
    GroupStream,
    Tables,
    TableStream,
    starts_of_rising,
)
from fieldplay.io.table_rows import TimedRows
from fieldplay.io.tagged_lines import TYPE
from fieldplay.messages import records
from fieldplay.messages.records import Markers, Odometry
from fieldplay.streams.stream import InMemoryStream, Stream

STREAM, ODOMETRY = "reference_objects", "nav_odom"
SHAPES = {"cube": 1, "sphere": 2, "cylinder": 3}  # types of visualization_msgs/Marker
THERE_RGBA, ABSENT_RGBA = (0.0, 0.62, 0.45, 0.8), (0.5, 0.5, 0.5, 0.25)
Floats = NDArray[np.float64]
PAYLOAD = "payload"
SERVO, VELOCITY, SENSOR = "SERVO_SETPOINT_DATA", "VELOCITY_TURN_RATE_DATA", "SENSOR_DATA"
BRAKE, ACTUATOR = "BRAKE_DATA", "ACTUATOR_SETPOINT_DATA"
ENGINE, GEARBOX, BATTERY_12V, BATTERY_24V, LEFT_WHEEL, RIGHT_WHEEL = range(6)  # the ids of SENSOR_DATA
RAD_S_PER_RPM = 2 * np.pi / 60
SPEED_M_S = {"m_s": 1.0, "km_h": 1 / 3.6}
RATE_RAD_S = {"rad_s": 1.0, "deg_s": np.pi / 180}
SETPOINTS = ("choke", "throttle", "left_brake", "right_brake")
Mask = NDArray[np.bool_]


# The objects of the static scene (Table 1 of the report) as markers in the map, placed by the vehicle's first pose.


def reference_objects(archive: Archive, known: KnownSet | None) -> InMemoryStream | None:
    """The markers of a set of the static scene, at the navigation's first time; None for other sets.

    Objects that other sets have are there too, grey and nearly transparent.
    """
    if known is None or not known.is_static:
        return None
    pose = _first_pose(archive)
    if pose is None:
        text = "there is no navigation to place the vehicle in the map"
        archive.notes.append(f"{STREAM}: the objects of the static scene are not published, as {text}")
        return None
    stamp_ns, position, yaw_rad = pose
    constants = archive.spec.constants
    entries: Mapping[str, Mapping[str, Any]] = constants["reference_objects"]
    vehicle = constants["scene_vehicle"]
    in_base = np.array([_in_base(entry, vehicle) for entry in entries.values()])
    cos, sin = np.cos(yaw_rad), np.sin(yaw_rad)
    rotation = np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])
    facing = np.array([0.0, 0.0, np.sin(yaw_rad / 2), np.cos(yaw_rad / 2)])
    is_there = [known.number in entry.get("sets", (known.number,)) for entry in entries.values()]
    markers = Markers(
        stamp_ns=np.array([stamp_ns], np.int64),
        names=tuple(entries),
        shapes=tuple(SHAPES[entry["shape"]] for entry in entries.values()),
        position_m=(in_base @ rotation.T + position)[None],
        orientation_xyzw=np.broadcast_to(facing, (1, len(entries), 4)),
        size_m=np.array([[_size(entry) for entry in entries.values()]]),
        colour_rgba=np.array([[THERE_RGBA if there else ABSENT_RGBA for there in is_there]]),
    )
    return InMemoryStream(markers)


def _in_base(entry: Mapping[str, Any], vehicle: Mapping[str, float]) -> tuple[float, float, float]:
    """The middle of an object in base_link, which is level and looks along the scene's y."""
    middle = (entry.get("bottom", 0.0) + entry["top"]) / 2
    return entry["y"] - vehicle["y"], vehicle["x"] - entry["x"], middle - vehicle["base_height"]


def _size(entry: Mapping[str, Any]) -> tuple[float, float, float]:
    """The extents along the vehicle's axes: the scene's y is ahead, its x across."""
    across, ahead = entry["size"]
    return ahead, across, entry["top"] - entry.get("bottom", 0.0)


def _first_pose(archive: Archive) -> tuple[int, Floats, float] | None:
    """Time, position (3,) and yaw of base_link in the map in the first row of the navigation."""
    stream = archive.streams.get(ODOMETRY)
    if stream is None or not stream.spans:
        return None
    record = stream.load(min(range(len(stream.spans)), key=lambda index: stream.spans[index].first_ns))
    if not isinstance(record, Odometry) or not len(record):
        return None
    ahead = rotation_from_quaternion(record.orientation_xyzw[0])[:, 0]
    return int(record.stamp_ns[0]), record.position_m[0], float(np.arctan2(ahead[1], ahead[0]))


# The vehicle's own lines, PayloadData*.txt: each type of line becomes its topic, in SI units.


@dataclass(frozen=True, kw_only=True)
class SensorPair:
    """Two sensors whose lines become one message: their ids and joints, and what their unit is in rad/s."""

    ids: tuple[int, int]
    names: tuple[str, str]
    rad_s: float = 1.0


PAIRS = {
    "payload_wheels": SensorPair(ids=(LEFT_WHEEL, RIGHT_WHEEL), names=("left_wheel", "right_wheel")),
    "payload_engine": SensorPair(ids=(ENGINE, GEARBOX), names=("engine", "gearbox"), rad_s=RAD_S_PER_RPM),
}
BATTERIES = {"payload_battery_12v": BATTERY_12V, "payload_battery_24v": BATTERY_24V}


@dataclass(frozen=True, kw_only=True)
class Payload:
    """How the lines of one archive are meant: the types in their order, and the parameters."""

    types: tuple[str, ...]
    parameters: Mapping[str, Any]

    def of_types(self, rows: TimedRows, *types: str) -> Mask:
        """Which rows (n,) are of these types."""
        mask: Mask = np.isin(rows[TYPE], [self.types.index(name) for name in types])
        return mask

    def of_sensors(self, rows: TimedRows, *ids: int) -> Mask:
        """Which rows (n,) are of these sensors."""
        return self.of_types(rows, SENSOR) & np.isin(rows["id"], ids)

    def sensors(self, rows: TimedRows, *ids: int) -> TimedRows:
        """The rows of some sensors, those of one time by their ids."""
        chosen = rows.only(self.of_sensors(rows, *ids))
        return chosen.only(np.lexsort((chosen["id"], chosen.stamp_ns)))

    def starts(self, rows: TimedRows) -> Mask:
        """Which lines of sensors begin a message: in it the ids rise, and no step is longer than the parameter."""
        within_ns = round(self.parameters["sensors_within_s"] * NS_PER_S)
        return starts_of_rising(rows.stamp_ns, rows["id"].astype(np.int64), within_ns)

    def twist(self, rows: TimedRows) -> records.Twist:
        """The vehicle's velocity ahead and its rate of turn, to the left positive."""
        rows = rows.only(self.of_types(rows, VELOCITY))
        linear, angular = np.zeros((len(rows), 3)), np.zeros((len(rows), 3))
        linear[:, 0] = rows["velocity"] * SPEED_M_S[self.parameters["velocity_unit"]]
        sense = -1.0 if self.parameters["turn_rate_sense"] == "starboard" else 1.0
        angular[:, 2] = rows["turn_rate"] * (sense * RATE_RAD_S[self.parameters["turn_rate_unit"]])
        return records.Twist(stamp_ns=rows.stamp_ns, linear_velocity_m_s=linear, angular_velocity_rad_s=angular)

    def brakes(self, rows: TimedRows) -> records.Joints:
        """Positions and pressures, in units that are not published."""
        rows = rows.only(self.of_types(rows, BRAKE))
        return records.Joints(
            stamp_ns=rows.stamp_ns,
            names=("left_brake", "right_brake"),
            position=rows.columns("left_brake", "right_brake"),
            effort=rows.columns("left_pressure", "right_pressure"),
        )

    def setpoints(self, rows: TimedRows) -> records.Joints:
        """What is asked of choke, throttle and brakes, NaN where a line does not say; the units are not published."""
        rows = rows.only(self.of_types(rows, SERVO, ACTUATOR))
        return records.Joints(stamp_ns=rows.stamp_ns, names=SETPOINTS, position=rows.columns(*SETPOINTS))

    def battery(self, sensor: int, rows: TimedRows) -> records.Batteries:
        """The voltage of one battery."""
        rows = rows.only(self.of_sensors(rows, sensor))
        return records.Batteries(stamp_ns=rows.stamp_ns, voltage_v=rows["value"])


def pair_joints(pair: SensorPair, rows: TimedRows, group: NDArray[np.int64]) -> records.Joints:
    """The rates of two joints at the time of the first of their lines, NaN where one has none."""
    firsts = np.flatnonzero(np.diff(group, prepend=-1))
    velocity = np.full((len(firsts), len(pair.names)), np.nan)
    velocity[group, (rows["id"] == pair.ids[1]).astype(np.int64)] = rows["value"] * pair.rad_s
    return records.Joints(stamp_ns=rows.stamp_ns[firsts], names=pair.names, velocity=velocity)


def open_payload(archive: Archive, tables: Mapping[str, Tables]) -> dict[str, Stream]:
    """The streams of PayloadData*.txt that have lines in it; it is there where the vehicle drives."""
    marked = archive.spec.tables[PAYLOAD].tagged_lines
    if PAYLOAD not in tables or marked is None:
        return {}
    table, payload = tables[PAYLOAD], Payload(types=tuple(marked.types), parameters=archive.parameters)
    streams: dict[str, Stream] = {}
    for name, pair in PAIRS.items():
        if _has(table, partial(_chosen, payload, pair.ids)):
            streams[name] = GroupStream(
                table,
                choose=partial(_sensors, payload, pair.ids),
                starts=payload.starts,
                convert=partial(pair_joints, pair),
            )
    for name, sensor in BATTERIES.items():
        if _has(table, partial(_chosen, payload, (sensor,))):
            streams[name] = TableStream(table, partial(payload.battery, sensor))
    others: dict[str, tuple[tuple[str, ...], Callable[[TimedRows], records.Record]]] = {
        "payload_twist": ((VELOCITY,), payload.twist),
        "payload_brakes": ((BRAKE,), payload.brakes),
        "payload_setpoints": ((SERVO, ACTUATOR), payload.setpoints),
    }
    for name, (types, convert) in others.items():
        if _has(table, partial(_of_types, payload, types)):
            streams[name] = TableStream(table, convert)
    return streams


def _sensors(payload: Payload, ids: tuple[int, ...], rows: TimedRows) -> TimedRows:
    return payload.sensors(rows, *ids)


def _chosen(payload: Payload, ids: tuple[int, ...], rows: TimedRows) -> Mask:
    return payload.of_sensors(rows, *ids)


def _of_types(payload: Payload, types: tuple[str, ...], rows: TimedRows) -> Mask:
    return payload.of_types(rows, *types)


def _has(tables: Tables, requested: Callable[[TimedRows], Mask]) -> bool:
    return any(bool(requested(tables.rows(index)).any()) for index in range(len(tables.blocks)))


class Reader(DatasetReader):
    """One dataset of the Marulan report, or one of its calibration sets."""

    def make_streams(self) -> Mapping[str, Stream]:
        archive, files = self.archive, self.files
        with_chosen_units(archive)
        name = single_dataset_name(archive.root, files)
        names = table_files(archive, files, name)
        file_lists = {key: [(files, file) for file in own_names] for key, own_names in names.items()}
        tables = open_tables_of(archive, file_lists, watch=partial(sweep_watcher, archive))
        streams = open_lasers(archive, tables) | open_payload(archive, tables) | open_navigation(archive, tables)
        streams |= open_radar(archive, tables) | open_cameras(archive, files, name)
        note_ignored_files(archive, files)
        archive.streams = streams
        known = note_set(archive)
        if (objects := reference_objects(archive, known)) is not None:
            streams[STREAM] = objects
        add_checks(archive, tables, known)
        return streams


open_archive = Reader.open
