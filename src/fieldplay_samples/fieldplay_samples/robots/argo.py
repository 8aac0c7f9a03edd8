"""The vehicle Argo: where its lasers, radar and cameras are, and what its wheels do, as data/argo.yaml has the numbers.

The body's frame is base_link, forward left up at the IMU; a laser and the radar have frames forward right down, as
printed. A wheel of one side turns as all of that side: it steers by skidding.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from fieldplay_samples.data import numbers_of
from fieldplay_samples.motion.ride import Stance
from fieldplay_samples.motion.rotations import (
    Floats,
    floats,
    inverse,
    rotation_about,
    rotation_from_fixed_angles,
    transform,
)
from fieldplay_samples.sensors.camera import Intrinsics, camera_from_numbers

FLU_T_FRD = transform(np.diag([1.0, -1.0, -1.0]), [0.0, 0.0, 0.0])
OPTICAL_T_FRD = transform(floats([[0, 1, 0], [0, 0, 1], [1, 0, 0]]), [0.0, 0.0, 0.0])  # x right, y down, z forward


@dataclass(frozen=True, eq=False, kw_only=True)
class Argo:
    """The vehicle; poses (4, 4) on base_link by name: sensors forward right down, cameras as images are."""

    base_T_sensor: dict[str, Floats]
    base_T_camera: dict[str, Floats]
    wheel_radius_m: float
    track_m: float
    stance: Stance
    intrinsics: dict[str, Any]


@lru_cache(maxsize=1)
def load_argo() -> Argo:
    """The vehicle as its YAML describes it."""
    numbers = numbers_of("argo")
    published, assumed = numbers["published"], numbers["assumed"]
    sensors = {name: FLU_T_FRD @ body_T_sensor_from_row(row) for name, row in published["mountings"].items()}
    laser = sensors["laser_horizontal"]
    return Argo(
        base_T_sensor=sensors,
        base_T_camera={
            name: laser @ inverse(camera_T_laser_from_row(row)) for name, row in published["cameras"].items()
        },
        wheel_radius_m=assumed["wheels"]["radius_m"],
        track_m=assumed["wheels"]["track_m"],
        stance=Stance(
            half_base_m=assumed["half_base_m"],
            half_track_m=assumed["half_track_m"],
            base_height_m=assumed["imu_height_m"],
        ),
        intrinsics=published["intrinsics"],
    )


def body_T_sensor_from_row(row: list[float]) -> Floats:
    """The pose (4, 4) of a sensor in the body, both forward right down, from roll, pitch, yaw in degrees and x y z."""
    return transform(rotation_from_fixed_angles(np.radians(row[:3])), row[3:])


def camera_T_laser_from_row(row: list[float]) -> Floats:
    """The pose (4, 4) of a laser (forward right down) in a camera: `p_camera = Phi^T p_laser - delta`."""
    about_x, about_y, about_z = (
        rotation_about(axis, np.radians(angle))
        for axis, angle in zip(((1, 0, 0), (0, 1, 0), (0, 0, 1)), row[3:], strict=True)
    )
    phi = about_x @ about_y @ about_z
    return floats(transform(phi.T, -floats(row[:3])) @ OPTICAL_T_FRD)


def camera_of(robot: Argo, name: str, *, left_px: int = 0, top_px: int = 0) -> Intrinsics:
    """The camera `visual` or `ir`, whose stored image begins so many pixels right of and below the whole one's."""
    entry = robot.intrinsics[name]
    width, height = entry.get("stored_size", entry["size"])
    fx, fy, cx, cy = entry["fx_fy_cx_cy"]
    return camera_from_numbers(width, height, (fx, fy, cx - left_px, cy - top_px), tuple(entry["k1_k2_p1_p2_k3"]))


def wheel_rates(robot: Argo, speed_m_s: Floats, turn_rad_s: Floats) -> Floats:
    """What the left and the right wheels turn with (n, 2) in rad/s, from speed and turn (left positive), both (n,)."""
    aside = 0.5 * robot.track_m * floats([-1.0, 1.0])
    return floats((speed_m_s[:, None] + turn_rad_s[:, None] * aside) / robot.wheel_radius_m)
