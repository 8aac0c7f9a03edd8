"""Rows of the OXTS unit, and true poses of odometry sequences, as records: x forward, y left, z up in east north up."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry import axes
from fieldplay.geometry.extrinsics import OPTICAL_FROM_FLU
from fieldplay.geometry.geodesy import enu_from_geodetic
from fieldplay.geometry.transforms import quaternion_from_rotation, transform_from_rotation
from fieldplay.io.table_rows import TimedRows
from fieldplay.messages import records

Floats = NDArray[np.float64]

UNKNOWN_VARIANCE = 1e6
POSE_COLUMNS = tuple(f"{row}{column}" for row in "xyz" for column in "xyzt")
# NavSatStatus by the unit's position mode: none, search, Doppler, autonomous, differential, RTK float and integer,
# WAAS, Omnistar twice; then no data, blanked, and Doppler to RTK integer after processing.
STATUS = np.array([-1, -1, 0, 0, 2, 2, 2, 1, 1, 1, 0, 0, 0, 0, 2, 2, 2], np.int8)
AUTONOMOUS = 3  # what a mode counts as that is not known


@dataclass(frozen=True, kw_only=True)
class OxtsConversions:
    """The conversions of one drive: its parameters, and the first fix, where its map lies (rad, rad, m)."""

    parameters: Mapping[str, Any]
    origin: Floats

    def imu(self, rows: TimedRows) -> records.Imu:
        """Specific force and turn rates with the orientation in east north up."""
        names = "flu" if self.parameters["imu_axes"] == "level" else "xyz"
        variance = np.radians(self.parameters["attitude_std_deg"]) ** 2
        return records.Imu(
            stamp_ns=rows.stamp_ns,
            angular_velocity_rad_s=rows.columns(*(f"w{axis}" for axis in names)),
            linear_acceleration_m_s2=rows.columns(*(f"a{axis}" for axis in names)),
            orientation_xyzw=_orientation(rows),
            orientation_covariance=axes.diagonal(np.full((len(rows), 3), variance)),
        )

    def fix(self, rows: TimedRows) -> records.Fix:
        """Positions of the unit; the height counts as half as accurate as the plane."""
        mode = rows["posmode"]
        mode = np.where((mode >= 0) & (mode < len(STATUS)), mode, AUTONOMOUS).astype(int)
        return records.Fix(
            stamp_ns=rows.stamp_ns,
            latitude_deg=rows["latitude"],
            longitude_deg=rows["longitude"],
            altitude_m=rows["altitude"],
            status=STATUS[mode],
            covariance_m2=axes.diagonal(_position_variances(rows)),
        )

    def velocity(self, rows: TimedRows) -> records.Twist:
        """The velocity in east north up."""
        variances = np.full((len(rows), 6), UNKNOWN_VARIANCE)
        variances[:, :3] = rows["vel_accuracy"][:, None] ** 2
        linear = rows.columns("ve", "vn", "vu")
        return records.Twist(
            stamp_ns=rows.stamp_ns,
            linear_velocity_m_s=linear,
            angular_velocity_rad_s=np.zeros_like(linear),
            covariance=axes.diagonal(variances),
        )

    def odometry(self, rows: TimedRows) -> records.Odometry:
        """The pose about the first fix, and the twist in base_link."""
        orientation = _orientation(rows)
        pose_variances = np.full((len(rows), 6), np.radians(self.parameters["attitude_std_deg"]) ** 2)
        pose_variances[:, :3] = _position_variances(rows)
        twist_variances = np.full((len(rows), 6), self.parameters["rate_std_rad_s"] ** 2)
        twist_variances[:, :3] = rows["vel_accuracy"][:, None] ** 2
        conjugate = orientation * [-1.0, -1.0, -1.0, 1.0]
        return records.Odometry(
            stamp_ns=rows.stamp_ns,
            position_m=enu_from_geodetic(geodetic_from_rows(rows), self.origin),
            orientation_xyzw=orientation,
            pose_covariance=axes.diagonal(pose_variances),
            linear_velocity_m_s=axes.rotate_vectors(conjugate, rows.columns("ve", "vn", "vu")),
            angular_velocity_rad_s=rows.columns("wx", "wy", "wz"),
            twist_covariance=axes.diagonal(twist_variances),
        )


def geodetic_from_rows(rows: TimedRows) -> Floats:
    """Latitude and longitude in rad and height in m (n, 3)."""
    geodetic: Floats = np.column_stack([np.radians(rows.columns("latitude", "longitude")), rows["altitude"]])
    return geodetic


def _orientation(rows: TimedRows) -> Floats:
    """Quaternions (n, 4): yaw counter-clockwise from east, pitch positive front down, roll positive left side up."""
    return axes.quaternion_from_fixed_xyz(rows.columns("roll", "pitch", "yaw"))


def _position_variances(rows: TimedRows) -> Floats:
    """Of east, north and up (n, 3)."""
    deviations: Floats = rows["pos_accuracy"][:, None] * [1.0, 1.0, 2.0]
    return deviations**2


def odometry_from_poses(rows: TimedRows, camera_t_base: Floats) -> records.Odometry:
    """Convert poses of the left camera to those of base_link in the map, the first camera turned to x forward, z up.

    Args:
        rows: of POSE_COLUMNS, the camera in the frame of the first one, three rows of four.
        camera_t_base: camera_T_base_link (4, 4) in m.

    Returns:
        The odometry; its twist and its covariances are not known.
    """
    matrices = rows.columns(*POSE_COLUMNS).reshape(-1, 3, 4)
    map_t_first = transform_from_rotation(OPTICAL_FROM_FLU.T, np.zeros(3))
    base = map_t_first @ transform_from_rotation(matrices[:, :, :3], matrices[:, :, 3]) @ camera_t_base
    quaternions, zero = quaternion_from_rotation(base[:, :3, :3]), np.zeros((len(rows), 3))
    return records.Odometry(
        stamp_ns=rows.stamp_ns,
        position_m=base[:, :3, 3],
        orientation_xyzw=quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True),
        pose_covariance=np.zeros((len(rows), 6, 6)),
        linear_velocity_m_s=zero,
        angular_velocity_rad_s=zero,
        twist_covariance=axes.diagonal(np.full((len(rows), 6), UNKNOWN_VARIANCE)),
    )
