"""The tables of wheels and arms: Platform*.csv, *ArmJointAngles.csv, *CamPoseEstimate.csv."""

import numpy as np

from fieldplay_samples.motion.frames import Floats, fixed_angles_from_rotation, floats
from fieldplay_samples.robots.interact import origin_T_camera
from fieldplay_samples.robots.swivel import base_T_wheels
from fieldplay_samples.sensors.inertial import wandering
from fieldplay_samples.writers.ameds.scenario import AmedsScenario
from fieldplay_samples.writers.tables import TextColumn, columns, time_column

WHEELS = (1, 2, 3, 4)
ANGLES = ("roll", "pitch", "yaw")
PRINTED_TWIST_COLUMNS = 5  # with the time: of the deviations only that of the turn rate


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
    told = columns(["std_x_m_s", "std_y_m_s", "std_z_rad_s"], np.broadcast_to(std, true.shape), 6)
    own = told[2:] if scenario.settings["twist_columns"] == PRINTED_TWIST_COLUMNS else told
    return [*columns(["x_m_s", "y_m_s", "z_rad_s"], measured, 6), *own]


def _pose(scenario: AmedsScenario, time_s: Floats) -> list[TextColumn]:
    """Where the platform is, north and west of the lander, and its yaw from north to west in -pi..pi."""
    coordinates, numbers = scenario.drive.motion.coordinates.at(time_s), scenario.numbers
    true = np.stack([coordinates[:, 1], -coordinates[:, 0], coordinates[:, 5] - 0.5 * np.pi], axis=1)
    std, rate = floats(numbers["platform_pose_std"]), numbers["rates_hz"]["estimates"]
    rng, over = scenario.rng("platform pose"), numbers["platform_wander_s"]
    measured = true + 0.5 * std * wandering(rng, count=len(time_s), rate_hz=rate, over_s=over)
    measured[:, 2] = _wrapped(measured[:, 2])
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


def _wrapped(angle_rad: Floats) -> Floats:
    return floats(np.pi - np.mod(np.pi - angle_rad, 2.0 * np.pi))
