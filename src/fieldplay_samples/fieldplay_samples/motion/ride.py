"""The ride of a robot over the terrain: height, pitch and roll from where its wheels stand.

The height is the ground's mean under both tracks along the wheel base. Its derivative along the way is the slope from
rear to front contacts, and the pitch: so base_link moves along its own x axis, as on wheels that do not slip.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BSpline, make_interp_spline

from fieldplay_samples.motion.plan import DrivePlan
from fieldplay_samples.motion.rotations import (
    Floats,
    floats,
    rotate_vectors,
    rotation_from_fixed_angles,
    transform,
)

DEGREE = 5
KNOT_S = 0.025
PATH_NODES, PATH_WEIGHTS = np.polynomial.legendre.leggauss(4)  # on -1..1
Height = Callable[[Floats, Floats], Floats]  # of the ground in m, at x, y (...) in m
NODES, WEIGHTS = np.polynomial.legendre.leggauss(6)  # along the wheel base
CONTACT_NODES, CONTACT_WEIGHTS = np.polynomial.legendre.leggauss(3)
STEP_M = 1e-3  # to differentiate along the way


# Splines of degree five through samples, with their derivatives; the one place that asks SciPy for them.


@dataclass(frozen=True, eq=False, kw_only=True)
class Spline:
    """Values over time with four continuous derivatives; before its first and after its last time it stands still."""

    first_s: float
    last_s: float
    curves: tuple[BSpline, ...]  # the function and its derivatives

    def at(self, time_s: Floats, order: int = 0) -> Floats:
        """The function at the times (n,), or its derivative of an order up to 3: (n,) or (n, m) as the samples were."""
        inside = np.clip(time_s, self.first_s, self.last_s)
        value = floats(self.curves[order](inside))
        if order:
            value[(time_s < self.first_s) | (time_s > self.last_s)] = 0.0
        return value


def spline_through(time_s: Floats, values: Floats) -> Spline:
    """The spline through the samples (n,) or (n, m) at n increasing times (n,), at least six."""
    curve = make_interp_spline(time_s, values, k=DEGREE)
    curves = (curve, *(curve.derivative(order) for order in (1, 2, 3)))
    return Spline(first_s=float(time_s[0]), last_s=float(time_s[-1]), curves=curves)


def integral_of(spline: Spline) -> Spline:
    """The integral of a spline from its first time on; the spline is its first derivative."""
    return Spline(
        first_s=spline.first_s, last_s=spline.last_s, curves=(spline.curves[0].antiderivative(), *spline.curves[:3])
    )


# A rigid body's motion in the world: pose, velocity, acceleration and rates, all derivatives of the same splines.


@dataclass(frozen=True, eq=False, kw_only=True)
class RigidMotion:
    """The motion of base_link (forward left up) in the world (east north up), from 0 to `seconds`; at rest outside."""

    seconds: float
    coordinates: Spline  # x y z in m; roll, pitch, yaw about fixed axes in rad

    def pose_at(self, time_s: Floats) -> Floats:
        """Poses world_T_base (n, 4, 4) at the times (n,)."""
        coordinates = self.coordinates.at(time_s)
        return transform(rotation_from_fixed_angles(coordinates[:, 3:]), coordinates[:, :3])

    def velocity(self, time_s: Floats, point_m: ArrayLike = (0, 0, 0)) -> Floats:
        """Velocity (n, 3) in m/s, in the world, of a point fixed to the body (3,)."""
        arm = floats(np.cross(self.body_rate(time_s), floats(point_m)))
        return self.coordinates.at(time_s, 1)[:, :3] + rotate_vectors(self._rotation(time_s), arm)

    def acceleration(self, time_s: Floats, point_m: ArrayLike = (0, 0, 0)) -> Floats:
        """Acceleration (n, 3) in m/s2, in the world, of a point fixed to the body (3,)."""
        point, rate = floats(point_m), self.body_rate(time_s)
        arm = floats(np.cross(self.body_rate_change(time_s), point) + np.cross(rate, np.cross(rate, point)))
        return self.coordinates.at(time_s, 2)[:, :3] + rotate_vectors(self._rotation(time_s), arm)

    def body_rate(self, time_s: Floats) -> Floats:
        """Turn rates (n, 3) in rad/s about the body's own axes."""
        angles, change = self.coordinates.at(time_s)[:, 3:], self.coordinates.at(time_s, 1)[:, 3:]
        return floats((_rate_from_angle_change(angles) @ change[..., None])[..., 0])

    def body_rate_change(self, time_s: Floats) -> Floats:
        """Derivative (n, 3) of `body_rate` in rad/s2."""
        angles = self.coordinates.at(time_s)[:, 3:]
        first, second = self.coordinates.at(time_s, 1)[:, 3:], self.coordinates.at(time_s, 2)[:, 3:]
        steady = _rate_from_angle_change(angles) @ second[..., None]
        return floats((steady + _derivative_of_rate_matrix(angles, first) @ first[..., None])[..., 0])

    def body_velocity(self, time_s: Floats, point_m: ArrayLike = (0, 0, 0)) -> Floats:
        """Velocity (n, 3) of a point fixed to the body (3,), in the body's axes."""
        return rotate_vectors(np.swapaxes(self._rotation(time_s), -1, -2), self.velocity(time_s, point_m))

    def _rotation(self, time_s: Floats) -> Floats:
        return rotation_from_fixed_angles(self.coordinates.at(time_s)[:, 3:])


def motion_through(time_s: Floats, coordinates: Floats) -> RigidMotion:
    """Motion through samples (n, 6), x y z in m and roll, pitch, yaw (unwrapped) in rad, at times (n,) from zero."""
    return RigidMotion(seconds=float(time_s[-1]), coordinates=spline_through(time_s, coordinates))


def _rate_from_angle_change(angles_rad: Floats) -> Floats:
    """Matrices (n, 3, 3) from the changes of roll, pitch, yaw to the rates about the body's axes."""
    roll, pitch = angles_rad[:, 0], angles_rad[:, 1]
    matrix = np.zeros((len(angles_rad), 3, 3))
    matrix[:, 0, 0] = 1.0
    matrix[:, 0, 2] = -np.sin(pitch)
    matrix[:, 1, 1] = np.cos(roll)
    matrix[:, 1, 2] = np.sin(roll) * np.cos(pitch)
    matrix[:, 2, 1] = -np.sin(roll)
    matrix[:, 2, 2] = np.cos(roll) * np.cos(pitch)
    return matrix


def _derivative_of_rate_matrix(angles_rad: Floats, change: Floats) -> Floats:
    roll, pitch, d_roll, d_pitch = angles_rad[:, 0], angles_rad[:, 1], change[:, 0], change[:, 1]
    matrix = np.zeros((len(angles_rad), 3, 3))
    matrix[:, 0, 2] = -np.cos(pitch) * d_pitch
    matrix[:, 1, 1] = -np.sin(roll) * d_roll
    matrix[:, 1, 2] = np.cos(roll) * np.cos(pitch) * d_roll - np.sin(roll) * np.sin(pitch) * d_pitch
    matrix[:, 2, 1] = -np.cos(roll) * d_roll
    matrix[:, 2, 2] = -np.sin(roll) * np.cos(pitch) * d_roll - np.cos(roll) * np.sin(pitch) * d_pitch
    return matrix


# The planar path of a plan: where a robot is that follows speed and curvature without slipping.


@dataclass(frozen=True, eq=False, kw_only=True)
class Path:
    """Knots of a planar path, all (n,): times, position (m) and heading (rad) in the world, travelled way (m)."""

    time_s: Floats
    x_m: Floats
    y_m: Floats
    heading_rad: Floats
    travelled_m: Floats
    curvature_1_m: Floats


def path_of_plan(plan: DrivePlan, *, start_xy_m: tuple[float, float], start_heading_rad: float) -> Path:
    """Integrate speed and curvature over time, from a start in the world's plane."""
    time = knots_s(plan.seconds)
    nodes = _nodes(time)
    speed, curvature = plan.speed_m_s.at(nodes), plan.curvature_1_m.at(nodes)
    heading = start_heading_rad + _integral(time, speed * curvature)
    along = spline_through(time, heading).at(nodes)
    return Path(
        time_s=time,
        x_m=start_xy_m[0] + _integral(time, speed * np.cos(along)),
        y_m=start_xy_m[1] + _integral(time, speed * np.sin(along)),
        heading_rad=heading,
        travelled_m=_integral(time, np.abs(speed)),
        curvature_1_m=plan.curvature_1_m.at(time),
    )


def knots_s(seconds: float) -> Floats:
    """The times (n,) at which what happens in so many seconds is computed; splines are between them."""
    return floats(np.linspace(0.0, seconds, max(8, round(seconds / KNOT_S)) + 1))


def _nodes(time_s: Floats) -> Floats:
    """The times (4 (n - 1),) of Gauss and Legendre's rule between n times."""
    middle, half = 0.5 * (time_s[1:] + time_s[:-1]), 0.5 * np.diff(time_s)
    return floats((middle[:, None] + half[:, None] * PATH_NODES).ravel())


def _integral(time_s: Floats, at_nodes: Floats) -> Floats:
    steps = 0.5 * np.diff(time_s) * (at_nodes.reshape(-1, len(PATH_NODES)) @ PATH_WEIGHTS)
    return np.concatenate([[0.0], np.cumsum(steps)])


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
    before, here, after = (_tracks_m(path, height_m, stance, offset_m=offset_m) for offset_m in (-STEP_M, 0.0, STEP_M))
    climb = (after.mean(axis=0) - before.mean(axis=0)) / (2.0 * STEP_M)
    across = (here[0] - here[1]) / (2.0 * stance.half_track_m)
    roll = np.arctan(across / np.hypot(1.0, climb))
    height = here.mean(axis=0) + stance.base_height_m * np.sqrt(1.0 + climb**2 + across**2)
    return np.stack([path.x_m, path.y_m, height, roll, -np.arctan(climb), path.heading_rad], axis=1)


def _tracks_m(path: Path, height_m: Height, stance: Stance, *, offset_m: float) -> Floats:
    """Mean heights (2, n) of the ground under the left and the right track, so far further on the way."""
    heading = path.heading_rad + offset_m * path.curvature_1_m
    middle = path.heading_rad + 0.5 * offset_m * path.curvature_1_m
    x, y = path.x_m + offset_m * np.cos(middle), path.y_m + offset_m * np.sin(middle)
    along, weights = _support_points(stance)
    forward = np.stack([np.cos(heading), np.sin(heading)])[..., None] * along
    left = np.stack([-np.sin(heading), np.cos(heading)])[..., None] * stance.half_track_m
    tracks = [height_m(*(np.stack([x, y])[..., None] + forward + side * left)) @ weights for side in (1.0, -1.0)]
    return floats(tracks)


def _support_points(stance: Stance) -> tuple[Floats, Floats]:
    """Positions along a track where the ground's height is sampled, in m, and the weights of the samples."""
    along = stance.half_base_m * NODES[:, None] + stance.half_contact_m * CONTACT_NODES
    weights = 0.25 * WEIGHTS[:, None] * CONTACT_WEIGHTS
    return along.ravel(), weights.ravel()
