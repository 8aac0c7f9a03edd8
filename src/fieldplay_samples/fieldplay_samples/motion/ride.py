"""The ride of a robot over the terrain: height, pitch and roll from where its wheels stand.

The height is the ground's mean under both tracks along the wheel base. Its derivative along the way is the slope from
rear to front contacts, and the pitch: so base_link moves along its own x axis, as on wheels that do not slip.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fieldplay_samples.motion.frames import Floats, floats
from fieldplay_samples.motion.path import Path, path_of_plan
from fieldplay_samples.motion.plan import DrivePlan
from fieldplay_samples.motion.rigid import RigidMotion, motion_through
from fieldplay_samples.motion.splines import Spline, spline_through

Height = Callable[[Floats, Floats], Floats]  # of the ground in m, at x, y (...) in m
NODES, WEIGHTS = np.polynomial.legendre.leggauss(6)  # along the wheel base
CONTACT_NODES, CONTACT_WEIGHTS = np.polynomial.legendre.leggauss(3)
STEP_M = 1e-3  # to differentiate along the way


@dataclass(frozen=True, kw_only=True)
class Stance:
    """How a robot stands, in m: half its wheel base and track, base_link above the ground, half a contact's length."""

    half_base_m: float
    half_track_m: float
    base_height_m: float
    half_contact_m: float = 0.1


@dataclass(frozen=True, eq=False, kw_only=True)
class GroundDrive:
    """What a robot does: its motion, beside it the planned curvature of its path (1/m) and its travelled way (m)."""

    motion: RigidMotion
    curvature_1_m: Spline
    travelled_m: Spline


def drive_over(
    plan: DrivePlan,
    height_m: Height,
    stance: Stance,
    *,
    start_xy_m: tuple[float, float] = (0.0, 0.0),
    start_heading_rad: float = 0.0,
) -> GroundDrive:
    """Drive a plan over the ground, from a start in the world (east north; heading from east to north)."""
    path = path_of_plan(plan, start_xy_m=start_xy_m, start_heading_rad=start_heading_rad)
    return GroundDrive(
        motion=motion_through(path.time_s, ride(path, height_m, stance)),
        curvature_1_m=spline_through(path.time_s, path.curvature_1_m),
        travelled_m=spline_through(path.time_s, path.travelled_m),
    )


def ride(path: Path, height_m: Height, stance: Stance) -> Floats:
    """Coordinates (n, 6) of base_link along a path: x y z in m, roll, pitch, yaw in rad about fixed axes."""
    before, here, after = (_tracks_m(path, height_m, stance, way_m=way_m) for way_m in (-STEP_M, 0.0, STEP_M))
    climb = (after.mean(axis=0) - before.mean(axis=0)) / (2.0 * STEP_M)
    across = (here[0] - here[1]) / (2.0 * stance.half_track_m)
    roll = np.arctan(across / np.hypot(1.0, climb))
    height = here.mean(axis=0) + stance.base_height_m * np.sqrt(1.0 + climb**2 + across**2)
    return np.stack([path.x_m, path.y_m, height, roll, -np.arctan(climb), path.heading_rad], axis=1)


def _tracks_m(path: Path, height_m: Height, stance: Stance, *, way_m: float) -> Floats:
    """Mean heights (2, n) of the ground under the left and the right track, so far further on the way."""
    heading = path.heading_rad + way_m * path.curvature_1_m
    middle = path.heading_rad + 0.5 * way_m * path.curvature_1_m
    x, y = path.x_m + way_m * np.cos(middle), path.y_m + way_m * np.sin(middle)
    along, weights = _places(stance)
    forward = np.stack([np.cos(heading), np.sin(heading)])[..., None] * along
    left = np.stack([-np.sin(heading), np.cos(heading)])[..., None] * stance.half_track_m
    tracks = [height_m(*(np.stack([x, y])[..., None] + forward + side * left)) @ weights for side in (1.0, -1.0)]
    return floats(tracks)


def _places(stance: Stance) -> tuple[Floats, Floats]:
    """Where along a track to ask for the ground's height, in m, and the weights of the answers."""
    along = stance.half_base_m * NODES[:, None] + stance.half_contact_m * CONTACT_NODES
    weights = 0.25 * WEIGHTS[:, None] * CONTACT_WEIGHTS
    return along.ravel(), weights.ravel()
