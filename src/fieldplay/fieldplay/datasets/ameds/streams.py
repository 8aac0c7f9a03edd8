"""Rows of AMEDS tables become records: units to SI, bodies from FRD to FLU, the world from NED or NWU to ENU.

What each column holds, and what the paper leaves open, stands in docs/datasets/ameds.md.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.datasets.archive import Archive
from fieldplay.geometry import axes
from fieldplay.geometry.geodesy import enu_from_geodetic
from fieldplay.io.table import Tables, TableStream
from fieldplay.io.table_rows import TimedRows
from fieldplay.messages import records
from fieldplay.streams.stream import Stream

UNKNOWN_VARIANCE = 1e6
M_PER_MM = 1e-3
TWIST_NEEDS = "base_link is 81 mm off the INS, so its velocity takes GnssBodyVelocity and GnssBodyAngularVelocity, both"
NS_PER_MS = 1_000_000
TESLA_PER = {"G": 1e-4, "mG": 1e-7}
RADIANS_PER = {"deg/s": np.pi / 180, "rad/s": 1.0}
# NavSatStatus by the device's fix type: none, 2D, 3D, SBAS, differential, Omnistar, RTK float, RTK fixed
STATUS = np.array([-1, 0, 0, 1, 2, 1, 2, 2], np.int8)
WHEELS = (1, 2, 3, 4)

Floats = NDArray[np.float64]
Nearest = Callable[[NDArray[np.int64], int], tuple[TimedRows, NDArray[np.bool_]]]


@dataclass(frozen=True, kw_only=True)
class AmedsConversions:
    """The conversions of one archive: its parameters, and the constants of the dataset."""

    parameters: Mapping[str, Any]
    constants: Mapping[str, Any]
    base_in_ins_m: tuple[float, float, float]  # base_link seen from the INS, FLU

    def imu(self, rows: TimedRows) -> records.Imu:
        """GnssImu.csv: specific force and rates, FLU."""
        gyro = axes.flu_from_frd(rows.columns("gyro_x", "gyro_y", "gyro_z"))
        force = axes.flu_from_frd(rows.columns("acc_x", "acc_y", "acc_z"))
        return records.Imu(
            stamp_ns=rows.stamp_ns,
            angular_velocity_rad_s=gyro * RADIANS_PER[self.parameters["gyro_unit"]],
            linear_acceleration_m_s2=force * self.parameters["accelerometer_sign"],
        )

    def imu_with_attitude(self, rows: TimedRows, poses: Nearest) -> records.Imu:
        """The rows of GnssImu.csv that have a row of GnssPose.csv near in time, with its orientation."""
        pose, near = poses(rows.stamp_ns, self.constants["orientation_within_ms"] * NS_PER_MS)
        imu = self.imu(rows.only(near))
        variance = np.radians(self.parameters["attitude_std_deg"]) ** 2
        return records.Imu(
            stamp_ns=imu.stamp_ns,
            angular_velocity_rad_s=imu.angular_velocity_rad_s,
            linear_acceleration_m_s2=imu.linear_acceleration_m_s2,
            orientation_xyzw=attitude(pose.only(near)),
            orientation_covariance=np.broadcast_to(np.eye(3) * variance, (len(imu), 3, 3)),
        )

    def magnetic_field(self, rows: TimedRows) -> records.MagneticField:
        """GnssImu.csv: the magnetometer, FLU."""
        field = axes.flu_from_frd(rows.columns("mag_x", "mag_y", "mag_z"))
        factor = TESLA_PER[self.parameters["magnetometer_unit"]]
        return records.MagneticField(stamp_ns=rows.stamp_ns, magnetic_field_t=field * factor)

    def fix(self, rows: TimedRows) -> records.Fix:
        """GnssPose.csv: the place, at the INS."""
        return records.Fix(
            stamp_ns=rows.stamp_ns,
            latitude_deg=np.degrees(rows["latitude"]),
            longitude_deg=longitude_deg(rows["longitude"]),
            altitude_m=rows["altitude"],
            status=status(rows["fix_type"]),
            covariance_m2=axes.diagonal(_variances(rows.columns("std_e", "std_n", "std_d"))),
        )

    def odometry(self, rows: TimedRows, velocities: Nearest | None, rates: Nearest | None) -> records.Odometry:
        """GnssPose.csv: base_link in the map, with the twist of the velocities near in time, else an unknown one."""
        origin = lander_geodetic(self.constants)
        orientation = attitude(rows)
        ins = enu_from_geodetic(rows.columns("latitude", "longitude", "altitude"), origin)
        variances = np.full((len(rows), 6), np.radians(self.parameters["attitude_std_deg"]) ** 2)
        variances[:, :3] = _variances(rows.columns("std_e", "std_n", "std_d"))
        linear, angular, twist_variances = self._twist(rows.stamp_ns, velocities, rates)
        return records.Odometry(
            stamp_ns=rows.stamp_ns,
            position_m=ins + axes.rotate_vectors(orientation, self.base_in_ins_m),
            orientation_xyzw=orientation,
            pose_covariance=axes.diagonal(variances),
            linear_velocity_m_s=linear,
            angular_velocity_rad_s=angular,
            twist_covariance=axes.diagonal(twist_variances),
        )

    def _twist(
        self, stamp_ns: NDArray[np.int64], velocities: Nearest | None, rates: Nearest | None
    ) -> tuple[Floats, Floats, Floats]:
        """Velocity and rates of base_link (n, 3) and their variances (n, 6)."""
        linear, angular = np.zeros((len(stamp_ns), 3)), np.zeros((len(stamp_ns), 3))
        variances = np.full((len(stamp_ns), 6), UNKNOWN_VARIANCE)
        if velocities is None or rates is None:
            return linear, angular, variances
        within = self.constants["velocity_within_ms"] * NS_PER_MS
        (velocity, has_velocity), (rate, has_rate) = velocities(stamp_ns, within), rates(stamp_ns, within)
        known = has_velocity & has_rate
        angular[known] = axes.flu_from_frd(rate.columns("x", "y", "z"))[known]
        at_ins = axes.flu_from_frd(velocity.columns("x", "y", "z"))
        linear[known] = at_ins[known] + np.cross(angular[known], self.base_in_ins_m)
        variances[known, :3] = _variances(velocity.columns("std_x", "std_y", "std_z")[known])
        variances[known, 3:] = self.parameters["rate_std_rad_s"] ** 2
        return linear, angular, variances

    def wheel_joints(self, rows: TimedRows) -> records.Joints:
        """PlatformMotorEncoders.csv: ticks as angles of driving and steering, in rad."""
        drive = rows.columns(*(f"drive_{wheel}_ticks" for wheel in WHEELS))
        steer = rows.columns(*(f"steer_{wheel}_ticks" for wheel in WHEELS))
        rotations = drive / self.constants["drive_ticks_per_turn"]
        millimetres = steer * self.constants["steer_signs"] / self.constants["steer_ticks_per_mm"]
        angles = np.concatenate(
            [2 * np.pi * rotations, np.radians(millimetres / self.constants["steer_mm_per_deg"])], axis=1
        )
        return records.Joints(stamp_ns=rows.stamp_ns, names=DRIVES + STEERS, position=angles)

    def platform_twist(self, rows: TimedRows) -> records.Twist:
        """Platform2DVelocity.csv and Platform2DTwistEstimate.csv: a twist in the plane, of base_link.

        Of five columns, as the paper prints them, the last is the deviation of the turn rate alone.
        """
        direction = -1.0 if self.parameters["platform_axes"] == "frd" else 1.0
        zero = np.zeros(len(rows))
        variances = np.full((len(rows), 6), UNKNOWN_VARIANCE)
        variances[:, 5] = _variances(rows["std_yaw_rate"])
        if rows.has("std_x", "std_y"):
            variances[:, :2] = _variances(rows.columns("std_x", "std_y"))
        return records.Twist(
            stamp_ns=rows.stamp_ns,
            linear_velocity_m_s=np.stack([rows["x"], direction * rows["y"], zero], axis=1),
            angular_velocity_rad_s=np.stack([zero, zero, direction * rows["yaw_rate"]], axis=1),
            covariance=axes.diagonal(variances),
        )

    def camera_pose(self, rows: TimedRows) -> records.Pose:
        """*CamPoseEstimate.csv: the camera in the INS frame, as archived."""
        conversions = {"fixed_xyz": axes.quaternion_from_fixed_xyz, "moving_xyz": axes.quaternion_from_moving_xyz}
        return records.Pose(
            stamp_ns=rows.stamp_ns,
            position_m=rows.columns("x", "y", "z"),
            orientation_xyzw=conversions[self.parameters["camera_pose_angles"]](rows.columns("roll", "pitch", "yaw")),
        )


def _variances(deviations: Floats) -> Floats:
    """Squares of standard deviations; one that is beyond all measure is as good as unknown."""
    variances: Floats = np.minimum(np.abs(deviations), np.sqrt(UNKNOWN_VARIANCE)) ** 2
    return variances


DRIVES = tuple(f"drive_{wheel}" for wheel in WHEELS)
STEERS = tuple(f"steer_{wheel}" for wheel in WHEELS)


def lander_geodetic(constants: Mapping[str, Any]) -> Floats:
    """The map's origin as latitude, longitude (rad) and altitude (m) above the ellipsoid."""
    lander = constants["lander"]
    degrees = (lander["latitude_deg"], lander["longitude_deg"])
    return np.array([*np.radians(degrees), lander["altitude_m"]], np.float64)


def attitude(rows: TimedRows) -> Floats:
    """Quaternions of the FLU body in ENU, from roll, pitch, yaw of the FRD body in NED."""
    return axes.quaternion_from_fixed_xyz(axes.enu_rpy_from_ned_rpy(rows.columns("roll", "pitch", "yaw")))


def longitude_deg(longitude_rad: Floats) -> Floats:
    """Degrees within 180 to either side, of longitudes that may run to a whole turn."""
    degrees = np.degrees(longitude_rad)
    return np.where((degrees > 180) & (degrees <= 360), degrees - 360, degrees)


def status(fix_type: Floats) -> NDArray[np.int8]:
    """NavSatStatus of the device's fix types; one that it does not know counts as no fix."""
    known = (fix_type >= 0) & (fix_type < len(STATUS))
    codes: NDArray[np.int8] = STATUS[np.where(known, fix_type, 0).astype(int)]
    return np.where(known, codes, np.int8(-1)).astype(np.int8)


def velocity(rows: TimedRows) -> records.Twist:
    """GnssNedVelocity.csv: the velocity of the INS in the world, ENU."""
    variances = np.full((len(rows), 6), UNKNOWN_VARIANCE)
    variances[:, :3] = _variances(rows.columns("std_y", "std_x", "std_z"))
    linear = axes.enu_from_ned(rows.columns("x", "y", "z"))
    return records.Twist(
        stamp_ns=rows.stamp_ns,
        linear_velocity_m_s=linear,
        angular_velocity_rad_s=np.zeros_like(linear),
        covariance=axes.diagonal(variances),
    )


def body_velocity(rows: TimedRows) -> records.Twist:
    """GnssBodyVelocity.csv: the velocity of the INS in its own axes, FLU."""
    variances = np.full((len(rows), 6), UNKNOWN_VARIANCE)
    variances[:, :3] = _variances(rows.columns("std_x", "std_y", "std_z"))
    linear = axes.flu_from_frd(rows.columns("x", "y", "z"))
    return records.Twist(
        stamp_ns=rows.stamp_ns,
        linear_velocity_m_s=linear,
        angular_velocity_rad_s=np.zeros_like(linear),
        covariance=axes.diagonal(variances),
    )


def body_rates(rows: TimedRows) -> records.Vector:
    """GnssBodyAngularVelocity.csv: turn rates in rad/s, FLU."""
    return records.Vector(stamp_ns=rows.stamp_ns, vector=axes.flu_from_frd(rows.columns("x", "y", "z")))


def fix_type(rows: TimedRows) -> records.Code:
    """GnssPose.csv: the device's own number, 0 to 7; one that it does not know is 0, no fix."""
    known = (rows["fix_type"] >= 0) & (rows["fix_type"] < len(STATUS))
    return records.Code(stamp_ns=rows.stamp_ns, code=np.where(known, rows["fix_type"], 0).astype(np.uint8))


def acceleration(rows: TimedRows) -> records.Acceleration:
    """GnssBodyAcceleration.csv: without gravity, FLU."""
    linear = axes.flu_from_frd(rows.columns("x", "y", "z"))
    return records.Acceleration(stamp_ns=rows.stamp_ns, linear_m_s2=linear, angular_rad_s2=np.zeros_like(linear))


def pose_in_map(rows: TimedRows) -> records.Pose:
    """Platform2DPoseEstimate.csv: from north west up, in the plane."""
    zero = np.zeros(len(rows))
    variances = np.full((len(rows), 6), UNKNOWN_VARIANCE)
    variances[:, [0, 1, 5]] = _variances(rows.columns("std_y", "std_x", "std_yaw"))
    return records.Pose(
        stamp_ns=rows.stamp_ns,
        position_m=np.stack([-rows["y"], rows["x"], zero], axis=1),
        orientation_xyzw=axes.quaternion_from_fixed_xyz(np.stack([zero, zero, rows["yaw"] + np.pi / 2], axis=1)),
        covariance=axes.diagonal(variances),
    )


def temperature(column: str) -> Callable[[TimedRows], records.Temperature]:
    """Temperatures of one column, in degrees Celsius."""
    return lambda rows: records.Temperature(stamp_ns=rows.stamp_ns, temperature_deg_c=rows[column])


def pressure(rows: TimedRows) -> records.Pressure:
    """The outside pressure."""
    return records.Pressure(stamp_ns=rows.stamp_ns, pressure_pa=rows["air_pressure"])


def device_clock(rows: TimedRows) -> records.ClockReading:
    """GnssPose.csv: the clock of the INS."""
    return records.ClockReading(stamp_ns=rows.stamp_ns, time_ns=rows.clock("device_time"), source="ins")


def wheel_speeds(suffix: str) -> Callable[[TimedRows], records.Joints]:
    """Rim speeds in m/s, as archived, of drive_1..4."""
    columns = tuple(f"{name}_{suffix}" for name in DRIVES)
    return lambda rows: records.Joints(stamp_ns=rows.stamp_ns, names=DRIVES, velocity=rows.columns(*columns))


def wheel_estimate(rows: TimedRows) -> records.Joints:
    """PlatformWheelPoseEstimate.csv: angles of driving and steering as archived."""
    return records.Joints(stamp_ns=rows.stamp_ns, names=DRIVES + STEERS, position=rows.columns(*DRIVES, *STEERS))


def wheel_attitudes(rows: TimedRows) -> records.Joints:
    """PlatformWheelPoseEstimate.csv: roll, pitch and yaw of the wheels in rad, as archived."""
    columns = tuple(f"{angle}_{wheel}" for wheel in WHEELS for angle in ("roll", "pitch", "yaw"))
    names = tuple(f"wheel_{column[-1]}_{column[:-2]}" for column in columns)
    return records.Joints(stamp_ns=rows.stamp_ns, names=names, position=rows.columns(*columns))


def arm_joints(arm: str) -> Callable[[TimedRows], records.Joints]:
    """The seven joint angles of an arm."""
    columns = tuple(f"joint_{joint}" for joint in range(1, 8))
    names = tuple(f"{arm}_{column}" for column in columns)
    return lambda rows: records.Joints(stamp_ns=rows.stamp_ns, names=names, position=rows.columns(*columns))


def table_streams(archive: Archive, tables: dict[str, Tables]) -> dict[str, Stream]:
    """The streams that are made of tables, as far as these are there."""
    conversions = _conversions(archive)
    makers: dict[str, tuple[str, Callable[[TimedRows], records.Record]]] = {
        "imu_raw": ("gnss_imu", conversions.imu),
        "magnetic_field": ("gnss_imu", conversions.magnetic_field),
        "imu_temperature": ("gnss_imu", temperature("imu_temperature")),
        "air_pressure": ("gnss_imu", pressure),
        "air_temperature": ("gnss_imu", temperature("air_temperature")),
        "fix": ("gnss_pose", conversions.fix),
        "device_clock": ("gnss_pose", device_clock),
        "velocity": ("gnss_ned_velocity", velocity),
        "body_velocity": ("gnss_body_velocity", body_velocity),
        "body_rates": ("gnss_body_angular_velocity", body_rates),
        "fix_type": ("gnss_pose", fix_type),
        "acceleration": ("gnss_body_acceleration", acceleration),
        "wheel_joints": ("motor_encoders", conversions.wheel_joints),
        "wheel_speeds": ("motor_encoders", wheel_speeds("velocity")),
        "wheel_commands": ("motor_encoders", wheel_speeds("command")),
        "platform_velocity": ("platform_velocity", conversions.platform_twist),
        "twist_estimate": ("platform_twist_estimate", conversions.platform_twist),
        "pose_estimate": ("platform_pose_estimate", pose_in_map),
        "wheel_estimate": ("wheel_pose_estimate", wheel_estimate),
        "wheel_attitudes": ("wheel_pose_estimate", wheel_attitudes),
        "main_arm": ("main_arm", arm_joints("main_arm")),
        "aux_arm": ("aux_arm", arm_joints("aux_arm")),
        "main_cam_pose": ("main_cam_pose", conversions.camera_pose),
        "aux_cam_pose": ("aux_cam_pose", conversions.camera_pose),
    }
    poses, velocities, rates = (
        tables[key].nearest if key in tables else None
        for key in ("gnss_pose", "gnss_body_velocity", "gnss_body_angular_velocity")
    )
    if poses is not None and (velocities is None) != (rates is None):
        archive.notes.append(f"gnss/odom has no twist: {TWIST_NEEDS}")
    estimates = tables["wheel_pose_estimate"].tables if "wheel_pose_estimate" in tables else []
    if any("x_1" in table.format.dialect.numbers for table in estimates):
        archive.notes.append(f"{estimates[0].name}: the wheels' positions have no topic; `check` compares them")
    makers["odometry"] = ("gnss_pose", lambda rows: conversions.odometry(rows, velocities, rates))
    if poses is not None:
        makers["imu"] = ("gnss_imu", lambda rows: conversions.imu_with_attitude(rows, poses))
    return {name: TableStream(tables[key], make) for name, (key, make) in makers.items() if key in tables}


def _conversions(archive: Archive) -> AmedsConversions:
    (row,) = (row for row in archive.spec.extrinsics if (row.parent, row.child) == ("origin", "base_link"))
    x, y, z = (float(value) for value in axes.flu_from_frd(np.array(row.translation) * M_PER_MM))
    return AmedsConversions(parameters=archive.parameters, constants=archive.spec.constants, base_in_ins_m=(x, y, z))
