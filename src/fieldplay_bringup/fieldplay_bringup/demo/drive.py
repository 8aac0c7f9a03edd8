"""What the demo draws and measures: the drive as the bag has it beside the truth of the sample."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

Array = NDArray[np.float64]

WHEELS = tuple(f"{kind}_{wheel}" for kind in ("steer", "drive") for wheel in (1, 2, 3, 4))


@dataclass(frozen=True, eq=False)
class Series:
    """Rows (n, k) at times (n,) in seconds of the clock of the archive."""

    time_s: Array
    rows: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class DemoDrive:
    """Positions x y z in the map, and angles and speeds of the wheels (steer_1..4 in rad, drive_1..4)."""

    truth: Series
    ins: Series
    wheels: Series
    joints: Series
    speeds: Series
    expected: Series

    @property
    def begin_s(self) -> float:
        return float(self.truth.time_s[0])


def drive_of_bag(bag: Path, truth: Path, namespace: str = "/ameds") -> DemoDrive:
    """Read both."""
    found: dict[str, list[tuple[float, list[float]]]] = {}
    rows = {
        "gnss/odom": lambda m: _position(m.pose.pose.position),
        "wheels/odom": lambda m: _position(m.pose.pose.position),
        "platform/joint_states": lambda m: _named(m.name, m.position, WHEELS),
        "platform/wheel_speeds": lambda m: _named(m.name, m.velocity, WHEELS[4:]),
        "wheels/expected": lambda m: [*_named(m.name, m.position, WHEELS[:4]), *_named(m.name, m.velocity, WHEELS[4:])],
    }
    with AnyReader([bag], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
        wanted = {f"{namespace}/{name}": name for name in rows}
        for link, _, raw in reader.messages([link for link in reader.connections if link.topic in wanted]):
            message: Any = reader.deserialize(raw, link.msgtype)
            stamp = message.header.stamp
            name = wanted[link.topic]
            found.setdefault(name, []).append((stamp.sec + stamp.nanosec * 1e-9, rows[name](message)))
        odom = _odom_in_map(reader)
    series = {
        name: Series(np.array([t for t, _ in got]), np.array([row for _, row in got])) for name, got in found.items()
    }
    wheels = series["wheels/odom"]
    placed = wheels.rows @ odom[:3, :3].T + odom[:3, 3]
    return DemoDrive(
        truth=_truth(truth),
        ins=series["gnss/odom"],
        wheels=Series(wheels.time_s, placed),
        joints=series["platform/joint_states"],
        speeds=series["platform/wheel_speeds"],
        expected=series["wheels/expected"],
    )


def _position(point: Any) -> list[float]:
    return [point.x, point.y, point.z]


def _named(names: Sequence[str], values: Sequence[float], wanted: Sequence[str]) -> list[float]:
    places = list(names)
    return [float(values[places.index(name)]) for name in wanted]


def _odom_in_map(reader: AnyReader) -> Array:
    """map_T_odom (4, 4) of the static tree."""
    links = [link for link in reader.connections if link.topic == "/tf_static"]
    for link, _, raw in reader.messages(links):
        message: Any = reader.deserialize(raw, link.msgtype)
        for transform in message.transforms:
            if transform.child_frame_id == "odom":
                return _matrix(transform.transform)
    return np.eye(4)


def _matrix(transform: Any) -> Array:
    """(4, 4) of a level transform."""
    turn = 2 * np.arctan2(transform.rotation.z, transform.rotation.w)
    matrix = np.eye(4)
    matrix[:2, :2] = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    matrix[:3, 3] = _position(transform.translation)
    return matrix


def _truth(path: Path) -> Series:
    with path.open() as lines:
        names = lines.readline().strip().split(",")
        columns = dict(zip(names, np.loadtxt(lines, delimiter=",", ndmin=2).T, strict=True))
    return Series(columns["stamp_ns"] * 1e-9, np.stack([columns[f"{axis}_m"] for axis in "xyz"], axis=1))


def errors_m(found: Series, truth: Series, axes: int) -> Array:
    """Distances (n,) from the truth at the same times, in the first so many axes."""
    there = np.stack([np.interp(found.time_s, truth.time_s, truth.rows[:, axis]) for axis in range(axes)], axis=1)
    return np.asarray(np.linalg.norm(found.rows[:, :axes] - there, axis=1))


def length_m(positions: Array) -> float:
    """How long a way through positions (n, k) is."""
    return float(np.linalg.norm(np.diff(positions, axis=0), axis=1).sum())
