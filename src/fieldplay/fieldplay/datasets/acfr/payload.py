"""The vehicle's own lines, PayloadData*.txt: each type of line becomes its topic, in SI units."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.archive import Archive
from fieldplay.io.row_cache import TableRows
from fieldplay.io.table_streams import (
    GroupStream,
    Tables,
    TableStream,
    begins_of_rising,
)
from fieldplay.io.tagged_lines import TYPE
from fieldplay.messages import records
from fieldplay.streams.stream import Stream

PAYLOAD = "payload"
SERVO, VELOCITY, SENSOR = "SERVO_SETPOINT_DATA", "VELOCITY_TURN_RATE_DATA", "SENSOR_DATA"
BRAKE, ACTUATOR = "BRAKE_DATA", "ACTUATOR_SETPOINT_DATA"
ENGINE, GEARBOX, BATTERY_12V, BATTERY_24V, LEFT_WHEEL, RIGHT_WHEEL = range(6)  # the ids of SENSOR_DATA
RAD_S_PER_RPM = 2 * np.pi / 60
SPEED_M_S = {"m_s": 1.0, "km_h": 1 / 3.6}
RATE_RAD_S = {"rad_s": 1.0, "deg_s": np.pi / 180}
SETPOINTS = ("choke", "throttle", "left_brake", "right_brake")

Mask = NDArray[np.bool_]


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

    def of_types(self, rows: TableRows, *types: str) -> Mask:
        """Which rows (n,) are of these types."""
        found: Mask = np.isin(rows[TYPE], [self.types.index(name) for name in types])
        return found

    def of_sensors(self, rows: TableRows, *ids: int) -> Mask:
        """Which rows (n,) are of these sensors."""
        return self.of_types(rows, SENSOR) & np.isin(rows["id"], ids)

    def sensors(self, rows: TableRows, *ids: int) -> TableRows:
        """The rows of some sensors, those of one time by their ids."""
        chosen = rows.only(self.of_sensors(rows, *ids))
        return chosen.only(np.lexsort((chosen["id"], chosen.stamp_ns)))

    def begins(self, rows: TableRows) -> Mask:
        """Which lines of sensors begin a message: in it the ids rise, and no step is longer than the parameter."""
        within_ns = round(self.parameters["sensors_within_s"] * NS_PER_S)
        return begins_of_rising(rows.stamp_ns, rows["id"].astype(np.int64), within_ns)

    def twist(self, rows: TableRows) -> records.Twist:
        """The vehicle's velocity ahead and its rate of turn, to the left positive."""
        rows = rows.only(self.of_types(rows, VELOCITY))
        linear, angular = np.zeros((len(rows), 3)), np.zeros((len(rows), 3))
        linear[:, 0] = rows["velocity"] * SPEED_M_S[self.parameters["velocity_unit"]]
        sense = -1.0 if self.parameters["turn_rate_sense"] == "starboard" else 1.0
        angular[:, 2] = rows["turn_rate"] * (sense * RATE_RAD_S[self.parameters["turn_rate_unit"]])
        return records.Twist(stamp_ns=rows.stamp_ns, linear_velocity_m_s=linear, angular_velocity_rad_s=angular)

    def brakes(self, rows: TableRows) -> records.Joints:
        """Positions and pressures, in units that are not published."""
        rows = rows.only(self.of_types(rows, BRAKE))
        return records.Joints(
            stamp_ns=rows.stamp_ns,
            names=("left_brake", "right_brake"),
            position=rows.columns("left_brake", "right_brake"),
            effort=rows.columns("left_pressure", "right_pressure"),
        )

    def setpoints(self, rows: TableRows) -> records.Joints:
        """What is asked of choke, throttle and brakes, NaN where a line does not say; the units are not published."""
        rows = rows.only(self.of_types(rows, SERVO, ACTUATOR))
        return records.Joints(stamp_ns=rows.stamp_ns, names=SETPOINTS, position=rows.columns(*SETPOINTS))

    def battery(self, sensor: int, rows: TableRows) -> records.Batteries:
        """The voltage of one battery."""
        rows = rows.only(self.of_sensors(rows, sensor))
        return records.Batteries(stamp_ns=rows.stamp_ns, voltage_v=rows["value"])


def pair_joints(pair: SensorPair, rows: TableRows, group: NDArray[np.int64]) -> records.Joints:
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
                begins=payload.begins,
                convert=partial(pair_joints, pair),
            )
    for name, sensor in BATTERIES.items():
        if _has(table, partial(_chosen, payload, (sensor,))):
            streams[name] = TableStream(table, partial(payload.battery, sensor))
    others: dict[str, tuple[tuple[str, ...], Callable[[TableRows], records.Record]]] = {
        "payload_twist": ((VELOCITY,), payload.twist),
        "payload_brakes": ((BRAKE,), payload.brakes),
        "payload_setpoints": ((SERVO, ACTUATOR), payload.setpoints),
    }
    for name, (types, convert) in others.items():
        if _has(table, partial(_typed, payload, types)):
            streams[name] = TableStream(table, convert)
    return streams


def _sensors(payload: Payload, ids: tuple[int, ...], rows: TableRows) -> TableRows:
    return payload.sensors(rows, *ids)


def _chosen(payload: Payload, ids: tuple[int, ...], rows: TableRows) -> Mask:
    return payload.of_sensors(rows, *ids)


def _typed(payload: Payload, types: tuple[str, ...], rows: TableRows) -> Mask:
    return payload.of_types(rows, *types)


def _has(tables: Tables, wanted: Callable[[TableRows], Mask]) -> bool:
    return any(bool(wanted(tables.rows(index)).any()) for index in range(len(tables.blocks)))
