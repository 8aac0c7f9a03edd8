"""A rigid body's motion in the world: pose, velocity, acceleration and rates, all derivatives of the same splines."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fieldplay_samples.motion.frames import Floats, floats, rotation_from_fixed_angles, transform, turned
from fieldplay_samples.motion.splines import Spline, spline_through


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
        return self.coordinates.at(time_s, 1)[:, :3] + turned(self._rotation(time_s), arm)

    def acceleration(self, time_s: Floats, point_m: ArrayLike = (0, 0, 0)) -> Floats:
        """Acceleration (n, 3) in m/s2, in the world, of a point fixed to the body (3,)."""
        point, rate = floats(point_m), self.body_rate(time_s)
        arm = floats(np.cross(self.body_rate_change(time_s), point) + np.cross(rate, np.cross(rate, point)))
        return self.coordinates.at(time_s, 2)[:, :3] + turned(self._rotation(time_s), arm)

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
        return turned(np.swapaxes(self._rotation(time_s), -1, -2), self.velocity(time_s, point_m))

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
