"""The tables of wheels and arms: Platform*.csv, *ArmJointAngles.csv, *CamPoseEstimate.csv."""

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from fieldplay_samples.motion.rotations import (
    Floats,
    fixed_angles_from_rotation,
    flip_axes,
    floats,
    rotate_vectors,
)
from fieldplay_samples.robots.interact import base_T_wheels, origin_T_camera
from fieldplay_samples.sensors import inertial
from fieldplay_samples.sensors.gnss import Fixes, FixQuality, fixes, geodetic_from_enu
from fieldplay_samples.sensors.inertial import wandering
from fieldplay_samples.writers.ameds.scenario import AmedsScenario
from fieldplay_samples.writers.text_tables import TextColumn, columns, time_column

NED_FROM_ENU = floats([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
BODY, NED = ("x", "y", "z"), ("north", "east", "down")
FEEDS = {"main_cam": ("MainCam_*.jpg", "MainCamVideoFeed.mp4"), "aux_cam": ("AuxCam_*.jpg", "AuxCamVideoFeed.mp4")}
WHEELS = (1, 2, 3, 4)
ANGLES = ("roll", "pitch", "yaw")
PRINTED_TWIST_COLUMNS = 5  # with the time: of the deviations only that of the turn rate


# The tables of the INS (forward right down, at its own place): Gnss*.csv.


@dataclass(frozen=True, eq=False, kw_only=True)
class InsTimes:
    """When the INS measures, and how many times a second."""

    scenario: AmedsScenario
    time_s: Floats
    rate_hz: float

    def noise(self, of: str) -> Floats:
        """The errors (n, 3) of what data/ameds.yaml names so."""
        numbers = inertial.InertialNoise(**self.scenario.numbers[of])
        return inertial.noise_of(numbers, self.scenario.rng(of), count=len(self.time_s), rate_hz=self.rate_hz)

    def wandering(self, of: str) -> Floats:
        """Errors (n, 3) of deviation one, that change as slowly as the filter's."""
        over = self.scenario.numbers["ins_wander_s"]
        return inertial.wandering(self.scenario.rng(of), count=len(self.time_s), rate_hz=self.rate_hz, over_s=over)


def ins_tables(scenario: AmedsScenario) -> dict[str, list[TextColumn]]:
    """The tables by the names of their files."""
    measured = InsTimes(scenario=scenario, time_s=scenario.times("ins"), rate_hz=scenario.numbers["rates_hz"]["ins"])
    tables = {
        "GnssImu": _imu(measured),
        "GnssPose": _ins_pose(measured),
        "GnssBodyAcceleration": _acceleration(measured),
        "GnssBodyAngularVelocity": _rates(measured),
        **_velocities(measured),
    }
    return {
        f"{name}.csv": [time_column("time_s", scenario.stamps(measured.time_s, "ins", name)), *table]
        for name, table in tables.items()
    }


def _imu(measured: InsTimes) -> list[TextColumn]:
    scenario, time = measured.scenario, measured.time_s
    motion, point = scenario.drive.motion, scenario.robot.ins_point_m
    gravity = inertial.normal_gravity_m_s2(scenario.lander.latitude_rad, scenario.lander.altitude_m)
    force = inertial.specific_force(motion, time, gravity_m_s2=gravity, point_m=point)
    field = inertial.EarthField(**scenario.numbers["magnetic_field"])
    magnetic = inertial.in_body(motion, time, field.in_enu())
    return [
        *columns(
            [f"accelerometer_{axis}_m_s2" for axis in BODY], flip_axes(force) + measured.noise("accelerometer_m_s2"), 6
        ),
        *columns(
            [f"gyroscope_{axis}_deg_s" for axis in BODY],
            np.degrees(flip_axes(motion.body_rate(time)) + measured.noise("gyroscope_rad_s")),
            6,
        ),
        *columns(
            [f"magnetometer_{axis}_g" for axis in BODY], flip_axes(magnetic) + measured.noise("magnetometer_gauss"), 6
        ),
        *_air(measured),
    ]


def _air(measured: InsTimes) -> list[TextColumn]:
    scenario, time, air = measured.scenario, measured.time_s, measured.scenario.numbers["air"]
    altitude = scenario.lander.altitude_m + scenario.drive.motion.pose_at(time)[:, 2, 3]
    outside = inertial.air_temperature_c(altitude, air["sea_level_c"])
    noise = scenario.rng("air").standard_normal((3, len(time)))
    warming = air["unit_above_air_c"] - air["unit_warms_k"] * np.exp(-time / air["warming_s"])
    return [
        TextColumn(name="imu_temperature_c", values=outside + warming + air["noise_k"] * noise[0], decimals=3),
        TextColumn(name="pressure_pa", values=inertial.pressure_pa(altitude) + air["noise_pa"] * noise[1], decimals=2),
        TextColumn(name="temperature_c", values=outside + air["noise_k"] * noise[2], decimals=3),
    ]


def _acceleration(measured: InsTimes) -> list[TextColumn]:
    scenario = measured.scenario
    true = inertial.body_acceleration(scenario.drive.motion, measured.time_s, scenario.robot.ins_point_m)
    return columns([f"{axis}_m_s2" for axis in BODY], flip_axes(true) + measured.noise("ins_acceleration_m_s2"), 6)


def _rates(measured: InsTimes) -> list[TextColumn]:
    true = measured.scenario.drive.motion.body_rate(measured.time_s)
    return columns([f"{axis}_rad_s" for axis in BODY], flip_axes(true) + measured.noise("ins_rate_rad_s"), 9)


def _velocities(measured: InsTimes) -> dict[str, list[TextColumn]]:
    """The same velocity, and error, in the body's axes and in north east down."""
    scenario, time = measured.scenario, measured.time_s
    deviation = floats(scenario.numbers["ins_velocity_std_m_s"])
    true = scenario.drive.motion.velocity(time, scenario.robot.ins_point_m)
    moving = np.tanh(np.linalg.norm(true, axis=1, keepdims=True) / 0.05)  # at rest the filter knows that it is
    error = 0.5 * deviation * moving * measured.wandering("ins velocity")
    in_body = flip_axes(inertial.in_body(scenario.drive.motion, time, true + error))
    std = np.broadcast_to(deviation, true.shape)
    return {
        "GnssBodyVelocity": [
            *columns([f"{axis}_m_s" for axis in BODY], in_body, 6),
            *columns([f"std_{axis}_m_s" for axis in BODY], std, 6),
        ],
        "GnssNedVelocity": [
            *columns([f"{axis}_m_s" for axis in NED], (true + error) @ NED_FROM_ENU.T, 6),
            *columns([f"std_{axis}_m_s" for axis in NED], std, 6),
        ],
    }


def _ins_pose(measured: InsTimes) -> list[TextColumn]:
    scenario, time = measured.scenario, measured.time_s
    quality = fixes(time, scenario.rng("fixes"), FixQuality(), outages_s=_outages(scenario))
    poses = scenario.drive.motion.pose_at(time)
    position = poses[:, :3, 3] + rotate_vectors(
        poses[:, :3, :3], np.broadcast_to(scenario.robot.ins_point_m, (len(time), 3))
    )
    geodetic = geodetic_from_enu(scenario.lander, position + quality.error_m)
    return [
        time_column("device_time_s", scenario.unix_ns(time)),
        *columns(["latitude_rad", "longitude_rad"], geodetic[:, :2], 13),
        TextColumn(name="altitude_m", values=geodetic[:, 2], decimals=5),
        *columns([f"std_{axis}_m" for axis in NED], quality.std_m[:, [1, 0, 2]], 5),
        *columns(["roll_rad", "pitch_rad", "yaw_rad"], _attitude(measured, poses[:, :3, :3]), 9),
        _fix_type(quality),
    ]


def _attitude(measured: InsTimes, map_R_base: Floats) -> Floats:
    """Roll, pitch, and heading from north to east in 0..2 pi (n, 3), as the INS estimates them."""
    ned_R_frd = NED_FROM_ENU @ map_R_base @ np.diag([1.0, -1.0, -1.0])
    deviation = np.radians(measured.scenario.numbers["ins_attitude_std_deg"])
    angles = fixed_angles_from_rotation(ned_R_frd) + 0.5 * deviation * measured.wandering("ins attitude")
    angles[:, 2] %= 2.0 * np.pi
    return floats(angles)


def _outages(scenario: AmedsScenario) -> list[tuple[float, float]]:
    outage, seconds = scenario.numbers["outage"], scenario.seconds
    if seconds < outage["from_seconds"]:
        return []
    start = outage["begin"] * seconds
    return [(start, start + min(outage["longest_s"], outage["length"] * seconds))]


def _fix_type(quality: Fixes) -> TextColumn:
    return TextColumn(name="fix_type", values=quality.fix_type)


# The videos of AMEDS, made from the images, small and without times.


def write_feeds(scenario: AmedsScenario, folder: Path) -> None:
    """Write both videos beside their images, at the images' rate."""
    for camera, (pattern, name) in FEEDS.items():
        width, height = scenario.numbers["mp4"]["sizes"][camera]
        _write_video(scenario, folder / name, sorted(folder.glob(pattern)), size=(width, height))


def _write_video(scenario: AmedsScenario, path: Path, images: list[Path], *, size: tuple[int, int]) -> None:
    codec = cv2.VideoWriter.fourcc(*scenario.numbers["mp4"]["codec"])
    video = cv2.VideoWriter(str(path), codec, float(scenario.settings["image_rate_hz"]), size)
    try:
        for image in images:
            small = cv2.imdecode(np.frombuffer(image.read_bytes(), np.uint8), cv2.IMREAD_REDUCED_COLOR_4)
            video.write(cv2.resize(np.asarray(small), size, interpolation=cv2.INTER_AREA))
    finally:
        video.release()


def platform_tables(scenario: AmedsScenario) -> dict[str, list[TextColumn]]:
    """The tables by the names of their files."""
    often, encoders, seldom = (scenario.times(rate) for rate in ("estimates", "encoders", "arms"))
    tables = {
        "PlatformMotorEncoders": (encoders, _encoders(scenario, encoders)),
        "Platform2DVelocity": (encoders, _twist(scenario, encoders, "platform_velocity_std")),
        "Platform2DTwistEstimate": (often, _twist(scenario, often, "platform_twist_std")),
        "Platform2DPoseEstimate": (often, _pose(scenario, often)),
        "PlatformWheelPoseEstimate": (often, _wheel_poses(scenario, often)),
        "MainArmJointAngles": (seldom, _joints(scenario, "main", _main_arm(scenario, seldom))),
        "AuxArmJointAngles": (seldom, _joints(scenario, "aux", scenario.aux_arm(seldom))),
        "MainCamPoseEstimate": (seldom, _camera_pose(scenario, "main_cam", _main_arm(scenario, seldom))),
        "AuxCamPoseEstimate": (seldom, _camera_pose(scenario, "aux_cam", scenario.aux_arm(seldom))),
    }
    return {
        f"{name}.csv": [time_column("time_s", scenario.stamps(time, _device(name), name)), *table]
        for name, (time, table) in tables.items()
    }


def _device(table: str) -> str:
    return "platform" if table.startswith("Platform") else "arms"


def _encoders(scenario: AmedsScenario, time_s: Floats) -> list[TextColumn]:
    """Measured speeds lag behind the commanded ones; ticks are whole."""
    published, assumed = scenario.robot.numbers["published"]["wheels"], scenario.robot.numbers["assumed"]
    noise = scenario.numbers["wheel_speed_noise_m_s"] * scenario.rng("wheels").standard_normal((len(time_s), 4))
    speed = scenario.wheels.rolled_m.at(time_s, 1)
    command = scenario.wheels.rolled_m.at(time_s + assumed["command_ahead_s"], 1)
    drive_ticks = scenario.drive_angles(time_s) * published["drive_ticks_per_turn"] / (2.0 * np.pi)
    steer_deg = np.degrees(scenario.wheels.steer_rad.at(time_s))
    steer_ticks = floats(published["steer_signs"]) * published["steer_ticks_per_deg"] * steer_deg
    return [
        *columns([f"drive_{wheel}_velocity_m_s" for wheel in WHEELS], speed + noise, 6),
        *columns([f"drive_{wheel}_commanded_velocity_m_s" for wheel in WHEELS], command, 6),
        *columns([f"drive_{wheel}_position_ticks" for wheel in WHEELS], np.round(drive_ticks).astype(np.int64)),
        *columns([f"steer_{wheel}_position_ticks" for wheel in WHEELS], np.round(steer_ticks).astype(np.int64)),
    ]


def _twist(scenario: AmedsScenario, time_s: Floats, deviations: str) -> list[TextColumn]:
    """The platform's own idea of its twist: forward, left, and turn to the left."""
    motion, std = scenario.drive.motion, floats(scenario.numbers[deviations])
    velocity, rate = motion.body_velocity(time_s), motion.body_rate(time_s)
    true = np.stack([velocity[:, 0], velocity[:, 1], rate[:, 2]], axis=1)
    measured = true + std * scenario.rng(deviations).standard_normal(true.shape)
    reported = columns(["std_x_m_s", "std_y_m_s", "std_z_rad_s"], np.broadcast_to(std, true.shape), 6)
    options = reported[2:] if scenario.settings["twist_columns"] == PRINTED_TWIST_COLUMNS else reported
    return [*columns(["x_m_s", "y_m_s", "z_rad_s"], measured, 6), *options]


def _pose(scenario: AmedsScenario, time_s: Floats) -> list[TextColumn]:
    """Where the platform is, north and west of the lander, and its yaw from north to west in -pi..pi."""
    coordinates, numbers = scenario.drive.motion.coordinates.at(time_s), scenario.numbers
    true = np.stack([coordinates[:, 1], -coordinates[:, 0], coordinates[:, 5] - 0.5 * np.pi], axis=1)
    std, rate = floats(numbers["platform_pose_std"]), numbers["rates_hz"]["estimates"]
    rng, over = scenario.rng("platform pose"), numbers["platform_wander_s"]
    measured = true + 0.5 * std * wandering(rng, count=len(time_s), rate_hz=rate, over_s=over)
    measured[:, 2] = _wrap(measured[:, 2])
    return [
        *columns(["x_m", "y_m", "yaw_rad"], measured, 6),
        *columns(["std_x_m", "std_y_m", "std_yaw_rad"], np.broadcast_to(std, true.shape), 6),
    ]


def _wheel_poses(scenario: AmedsScenario, time_s: Floats) -> list[TextColumn]:
    steer, turned_rad = scenario.wheels.steer_rad.at(time_s), scenario.drive_angles(time_s)
    poses = base_T_wheels(scenario.robot.wheels, steer, turned_rad)
    angles = fixed_angles_from_rotation(poses[..., :3, :3]).reshape(len(time_s), -1)
    return [
        *columns([f"wheel_{wheel}_{angle}_rad" for wheel in WHEELS for angle in ANGLES], angles, 9),
        *columns([f"drive_{wheel}_angle_rad" for wheel in WHEELS], turned_rad, 9),
        *columns([f"steering_{wheel}_angle_rad" for wheel in WHEELS], steer, 9),
    ]


def _main_arm(scenario: AmedsScenario, time_s: Floats) -> Floats:
    return np.tile(scenario.robot.main_arm_rad, (len(time_s), 1))


def _joints(scenario: AmedsScenario, arm: str, joints_rad: Floats) -> list[TextColumn]:
    noise = scenario.numbers["joint_noise_rad"] * scenario.rng(f"{arm} arm").standard_normal(joints_rad.shape)
    return columns([f"joint_{joint}_rad" for joint in range(1, 8)], joints_rad + noise, 7)


def _camera_pose(scenario: AmedsScenario, camera: str, joints_rad: Floats) -> list[TextColumn]:
    """The camera's optical frame in the INS's; roll, pitch and yaw about fixed axes."""
    pose = origin_T_camera(scenario.robot, camera, joints_rad)
    return [
        *columns(["x_m", "y_m", "z_m"], pose[:, :3, 3], 7),
        *columns([f"{angle}_rad" for angle in ANGLES], fixed_angles_from_rotation(pose[:, :3, :3]), 8),
    ]


def _wrap(angle_rad: Floats) -> Floats:
    return floats(np.pi - np.mod(np.pi - angle_rad, 2.0 * np.pi))
