"""The bag of ROS 1 that the authors' program makes of the raw folder: one stream after the other, defects included."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from rosbags.rosbag1 import Writer
from rosbags.typesys import Stores

from fieldplay_samples.motion.rotations import (
    Floats,
    floats,
    inverse,
    quaternion_from_rotation,
)
from fieldplay_samples.robots.ackermann import Ackermann
from fieldplay_samples.writers.ros_messages import Message, messages_of, write_messages
from fieldplay_samples.writers.rosario.raw_logs import (
    KNOT_M_S,
    STANDARD_GRAVITY_M_S2,
    GpsRows,
    ImuRows,
    OdometryRows,
)
from fieldplay_samples.writers.rosario.scenario import CAMERAS, Rig, RosarioScenario, rigid
from fieldplay_samples.writers.text_tables import NS_PER_S

ABSENT = floats([-1.0] + [0.0] * 8)  # a covariance that says: there is no such value
FIXED, SERVICE_GPS, APPROXIMATED = 2, 1, 1
STEP_S = 0.1  # of their integration, whatever the stamps
HIGHEST_RPM = 70.0
DEG_PER_UNIT, SHARE = 0.20, 0.95  # of the steering, and of its effect


ROS = messages_of(Stores.ROS1_NOETIC)


def imu(stamp_ns: int, rates_rad_s: Floats, force_m_s2: Floats) -> Any:
    """Rates and force (3,) without their offsets."""
    none = np.zeros(9)
    values = (ABSENT, ROS.vector(rates_rad_s), none, ROS.vector(force_m_s2), none)
    return ROS.make("sensor_msgs/Imu", ROS.header(stamp_ns, "imu"), ROS.quaternion((0, 0, 0, 1)), *values)


def fix(stamp_ns: int, degrees_m: Floats, hdop: float) -> Any:
    """A fix from latitude, longitude in degrees and ellipsoidal altitude (3,)."""
    status = ROS.make("sensor_msgs/NavSatStatus", FIXED, SERVICE_GPS)
    covariance = np.diag([1.0, 1.0, 4.0]).reshape(-1) * hdop**2
    head = ROS.header(stamp_ns, "gps")
    return ROS.make("sensor_msgs/NavSatFix", head, status, *degrees_m.tolist(), covariance, APPROXIMATED)


def odometry(stamp_ns: int, pose: Floats, speed_m_s: float, turn_rad_s: float) -> Any:
    """A pose x, y in m and heading in rad (3,); the velocity is in the axes of odom, as in the published bags."""
    x, y, heading = pose.tolist()
    turned = (0.0, 0.0, np.sin(heading / 2.0), np.cos(heading / 2.0))
    linear = (speed_m_s * np.cos(heading), speed_m_s * np.sin(heading), 0.0)
    twist = ROS.twist(linear, (0.0, 0.0, turn_rad_s))
    return ROS.odometry(stamp_ns, ("odom", "base_link"), ((x, y, 0.0), turned), twist, np.zeros(2))


def write_bag(
    path: Path, scenario: RosarioScenario, *, imu: ImuRows, gps: GpsRows, odometry: OdometryRows, images: Path
) -> None:
    """Write all rows and the images of a folder, in the order of the authors' program."""
    writer = Writer(path)
    if scenario.settings["bag_compression"] == "bz2":
        writer.set_compression(Writer.CompressionFormat.BZ2)
    with writer:
        for part in (
            imu_messages(scenario.rig, imu),
            image_messages(scenario.rig, images),
            gps_messages(gps, scenario.numbers["hdop"]),
            odometry_messages(scenario, odometry),
            tree_messages(scenario.rig, odometry),
        ):
            write_messages(writer, ROS, part)


def imu_messages(rig: Rig, rows: ImuRows) -> Iterator[Message]:
    """The IMU without its offsets, in units of ROS."""
    offsets = rig.calibration["imu"]
    rates = np.radians(rows.gyro_deg_s - floats(offsets["gyro_offset"]))
    force = (rows.force_milli_g - floats(offsets["acc_offset"])) * STANDARD_GRAVITY_M_S2 / 1000.0
    for number, stamp in enumerate(rows.stamp_ns.tolist()):
        yield "/imu", stamp, imu(stamp, rates[number], force[number])


def image_messages(rig: Rig, folder: Path) -> Iterator[Message]:
    """All left images, then all right ones, each followed by what is known of its camera."""
    infos = rectification(rig)
    for path in sorted(folder.glob("*.png")):
        side, _, text = path.stem.partition("_")
        seconds, _, micro = text.partition(".")
        stamp = int(seconds) * NS_PER_S + int(micro) * 1000
        decoded = np.asarray(cv2.imdecode(np.frombuffer(path.read_bytes(), np.uint8), cv2.IMREAD_COLOR), np.uint8)
        size = (decoded.shape[1], decoded.shape[0])
        yield f"/stereo/{side}/image_raw", stamp, ROS.image(stamp, f"/stereo/{side}", decoded)
        info = ROS.camera_info(stamp, side, size=size, numbers=infos[side])
        yield f"/stereo/{side}/camera_info", stamp, info


def gps_messages(rows: GpsRows, hdop: float) -> Iterator[Message]:
    """A fix and a velocity of each epoch."""
    degrees_m = np.hstack([np.degrees(rows.geodetic[:, :2]), rows.geodetic[:, 2:]])
    course = np.radians(rows.course_deg)
    east_north = (rows.knots * KNOT_M_S)[:, None] * np.stack([np.sin(course), np.cos(course)], axis=1)
    for number, (of_fix, of_velocity) in enumerate(zip(rows.gga_ns.tolist(), rows.rmc_ns.tolist(), strict=True)):
        yield "/gps/fix", of_fix, fix(of_fix, degrees_m[number], hdop)
        moves = ROS.twist([*east_north[number], 0.0])  # east and north, whatever the frame says
        yield "/gps/vel", of_velocity, ROS.make("geometry_msgs/TwistStamped", ROS.header(of_velocity, "gps"), moves)


def odometry_messages(scenario: RosarioScenario, rows: OdometryRows) -> Iterator[Message]:
    """Their own odometry; a message holds the pose before its row's step."""
    speed, turn, poses = authors_odometry(scenario.robot, rows)
    for number, stamp in enumerate(rows.stamp_ns.tolist()):
        yield "/odom", stamp, odometry(stamp, poses[number], float(speed[number]), float(turn[number]))


def authors_odometry(robot: Ackermann, rows: OdometryRows) -> tuple[Floats, Floats, Floats]:
    """Speeds in m/s and turn rates in rad/s (n,), and poses x, y, heading (n, 3) before each step."""
    right, left = rows.rpm[:, 3], rows.rpm[:, 2]
    rpm = np.where(np.maximum(right, left) < HIGHEST_RPM, 0.5 * (right + left), np.minimum(right, left))
    believed = np.where(np.minimum(right, left) < HIGHEST_RPM, np.arange(len(rpm)), 0)
    rpm = rpm[np.maximum.accumulate(believed)]  # where both are false: the last one before
    speed = np.where(rows.digit == 0, 1.0, -1.0) * rpm * np.pi * robot.wheel_diameter_m / 60.0
    steering = -np.radians(DEG_PER_UNIT * (rows.steering + robot.steering_zero_units))
    turn = speed / robot.wheelbase_m * np.tan(SHARE * steering)
    heading = _before(turn)
    return (
        floats(speed),
        floats(turn),
        np.stack([_before(speed * np.cos(heading)), _before(speed * np.sin(heading)), heading], axis=1),
    )


def _before(rates: Floats) -> Floats:
    """The sums (n,) of the steps before each row."""
    return np.concatenate([[0.0], np.cumsum(rates)[:-1]]) * STEP_S


def tree_messages(rig: Rig, rows: OdometryRows) -> Iterator[Message]:
    """The tree, again at each stamp of the odometry; the right camera by the IMU, as their program has it."""
    imu_T_camera = {side: inverse(rigid(rig.calibration[name]["T_cam_imu"])) for side, name in CAMERAS.items()}
    links = [
        ("base_link", "imu", rig.base_T_imu),
        ("imu", "left", imu_T_camera["left"]),
        ("imu", "right", imu_T_camera["right"]),
        ("base_link", "gps", rig.base_T_gps),
    ]
    turns = quaternion_from_rotation(np.stack([pose[:3, :3] for _, _, pose in links]))
    rows_of_tree = [
        (parent, child, pose[:3, 3], turn) for (parent, child, pose), turn in zip(links, turns, strict=True)
    ]
    for stamp in rows.stamp_ns.tolist():
        yield "tf_static", stamp, ROS.transforms(stamp, rows_of_tree)


def rectification(rig: Rig) -> dict[str, dict[str, Floats]]:
    """K, D, R, P of both cameras, from where T_cn_cnm1 has the right one."""
    left, right = (rig.cameras[side] for side in ("left", "right"))
    right_T_left = floats(rig.calibration["cam1"]["T_cn_cnm1"])
    rotations_and_projections = cv2.stereoRectify(
        floats(left.matrix),
        floats(left.distortion),
        floats(right.matrix),
        floats(right.distortion),
        (left.width, left.height),
        right_T_left[:3, :3],
        right_T_left[:3, 3:],
        flags=cv2.CALIB_ZERO_DISPARITY,
        alpha=0,
    )
    matrices = [floats(values) for values in rotations_and_projections[:4]]
    return {
        side: {
            "K": floats(camera.matrix),
            "D": floats(camera.distortion),
            "R": matrices[number],
            "P": matrices[number + 2],
        }
        for number, (side, camera) in enumerate((("left", left), ("right", right)))
    }
