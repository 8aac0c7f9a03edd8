"""The wheel poses that PlatformWheelPoseEstimate.csv holds, beside those that its own angles give.

The paper calls the three angles of a wheel roll, pitch, yaw in its list of files and z-x-z in a table: all are tried.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.tables.table import Rows
from fieldplay_kinematics.axes import quaternion_from_fixed_xyz, quaternion_from_moving_xyz

Floats = NDArray[np.float64]

WHEELS = (1, 2, 3, 4)
STEERING_ZEROS_DEG = (0.0, 90.0)
LEFT = np.array([1.0, 1.0, -1.0, -1.0])  # the side of wheels 1 to 4: left +1, right -1
FRONT = np.array([1.0, -1.0, -1.0, 1.0])


def _moving_zxz(angles: Floats) -> Floats:
    """Quaternions of turns about z, then the turned x, then the turned z."""
    first, tilt, second = np.moveaxis(angles / 2, -1, 0)
    along, across = first + second, first - second
    return np.stack(
        [
            np.sin(tilt) * np.cos(across),
            np.sin(tilt) * np.sin(across),
            np.cos(tilt) * np.sin(along),
            np.cos(tilt) * np.cos(along),
        ],
        axis=-1,
    )


READINGS: Mapping[str, Callable[[Floats], Floats]] = {
    "fixed x y z": quaternion_from_fixed_xyz,
    "moving x y z": quaternion_from_moving_xyz,
    "fixed z x z": lambda angles: _moving_zxz(angles[..., ::-1]),
    "moving z x z": _moving_zxz,
}


@dataclass(frozen=True)
class WheelReading:
    """How the angles are read, and the median angle in degrees to the pose that drive and steering angles give."""

    name: str
    steering_zero_deg: float
    degrees: float

    def __str__(self) -> str:
        return f"{self.name}, steering from {self.steering_zero_deg:g} deg: {self.degrees:.2f} deg"


def orientation_readings(rows: Rows) -> list[WheelReading]:
    """Every reading of the wheels' roll, pitch, yaw columns, the best one first."""
    drive = rows.columns(*(f"drive_{wheel}" for wheel in WHEELS))
    angles = np.stack([rows.columns(f"roll_{wheel}", f"pitch_{wheel}", f"yaw_{wheel}") for wheel in WHEELS], axis=1)
    found = []
    for (name, quaternion_from), zero_deg in product(READINGS.items(), STEERING_ZEROS_DEG):
        yaw = _steering(rows, zero_deg) + LEFT * np.pi / 2
        expected = quaternion_from_fixed_xyz(np.stack([LEFT * drive, np.zeros_like(drive), yaw], axis=-1))
        cosines = np.abs((quaternion_from(angles) * expected).sum(axis=-1))
        apart_rad = float(np.median(2 * np.arccos(np.minimum(cosines, 1))))
        found.append(WheelReading(name, zero_deg, float(np.degrees(apart_rad))))
    return sorted(found, key=lambda reading: reading.degrees)


def place_mm(rows: Rows, steering_zero_deg: float, lengths: Mapping[str, float]) -> float:
    """The median distance in mm between the wheels' places, where the rows have them, and those of the steering."""
    steering = _steering(rows, steering_zero_deg)
    swivel = lengths["swivel_m"]
    x = FRONT * lengths["length_m"] - LEFT * swivel * np.sin(steering)
    y = LEFT * (lengths["width_m"] + swivel * np.cos(steering))
    expected = np.stack([x, y, np.full_like(x, -lengths["wheel_drop_m"])], axis=-1)
    places = np.stack([rows.columns(f"x_{wheel}", f"y_{wheel}", f"z_{wheel}") for wheel in WHEELS], axis=1)
    return float(np.median(np.linalg.norm(places - expected, axis=-1))) * 1e3


def _steering(rows: Rows, zero_deg: float) -> Floats:
    steering: Floats = rows.columns(*(f"steer_{wheel}" for wheel in WHEELS)) - np.radians(zero_deg)
    return steering
