"""A rover on four legs with steered wheels, its legs held still: where the wheels stand, how they turn and roll."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldplay_samples.motion.ride import GroundDrive, Stance
from fieldplay_samples.motion.rotations import Floats, floats

STILL_M_S = 0.01  # slower, the wheels keep the direction that the plan's curvature gives


@dataclass(frozen=True, eq=False, kw_only=True)
class Legs:
    """Wheels in the body: contact points' x, y (4, 2) and depth in m, directions of the legs (4,) in rad; angles."""

    suffixes: tuple[str, ...]
    positions_m: Floats
    depth_m: float
    yaw_rad: Floats
    beta_rad: float
    gamma_rad: float
    wheel_radius_m: float

    def stance(self) -> Stance:
        """How it stands."""
        half_base, half_track = np.abs(self.positions_m[0]).tolist()
        return Stance(half_base_m=half_base, half_track_m=half_track, base_height_m=self.depth_m)


def legs_from_numbers(numbers: dict[str, Any]) -> Legs:
    """The legs at rest: two parallelograms, of which the inner one goes up by beta, the outer one down by gamma."""
    lengths, yaw = numbers["lengths"], floats(numbers["yaw"])
    slope = numbers["gamma"] + numbers["knee_turn"]
    out = lengths["pan"] + lengths["strut"] * (np.cos(numbers["beta"]) + np.cos(slope))
    out += lengths["knee"] + lengths["wheel_out"]
    down = (
        lengths["strut"] * (np.sin(numbers["beta"]) + np.sin(slope)) + lengths["wheel_down"] + lengths["wheel_radius"]
    )
    corner = numbers["corner"] * np.sign(np.column_stack([np.cos(yaw), np.sin(yaw)]))
    return Legs(
        suffixes=tuple(numbers["suffixes"]),
        positions_m=floats(corner + out * np.column_stack([np.cos(yaw), np.sin(yaw)])),
        depth_m=float(down),
        yaw_rad=yaw,
        beta_rad=numbers["beta"],
        gamma_rad=numbers["gamma"],
        wheel_radius_m=lengths["wheel_radius"],
    )


def wheels_at(legs: Legs, drive: GroundDrive, time_s: Floats) -> tuple[Floats, Floats]:
    """Directions (n, 4) of the wheels about the body's z, in -pi/2 to pi/2, and their rolling speeds (n, 4) in m/s."""
    forward = drive.motion.body_velocity(time_s)[:, :1]
    turn = drive.motion.body_rate(time_s)[:, 2:]
    curvature = drive.curvature_1_m.at(time_s)[:, None]
    x, y = legs.positions_m.T
    moving = np.abs(forward) > STILL_M_S
    ratio = np.where(moving, turn / np.where(moving, forward, 1.0), curvature)
    along, across = 1.0 - ratio * y, ratio * x
    direction = np.arctan2(across * np.sign(along), np.abs(along))
    return floats(direction), floats(forward * np.hypot(along, across) * np.sign(along))
