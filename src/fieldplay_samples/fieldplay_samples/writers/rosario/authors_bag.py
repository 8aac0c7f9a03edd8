"""The bag of ROS 1 that the authors' program makes of the raw folder: one stream after the other, defects included."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rosbags.rosbag1 import Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from fieldplay_samples.motion.rotations import (
    Floats,
    floats,
    inverse,
    quaternion_from_rotation,
)
from fieldplay_samples.robots.ackermann import Ackermann
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
Message = tuple[str, int, Any]  # topic, stamp in ns, message
STEP_S = 0.1  # of their integration, whatever the stamps
HIGHEST_RPM = 70.0
DEG_PER_UNIT, SHARE = 0.20, 0.95  # of the steering, and of its effect


# The messages of ROS 1 that the authors' program makes of a row of the logs.


@lru_cache(maxsize=1)
def types() -> Any:
    """Message types of ROS 1, with TFMessage, which rosbags does not bring."""
    store = get_typestore(Stores.ROS1_NOETIC)
    store.register(get_types_from_msg("geometry_msgs/TransformStamped[] transforms\n", "tf2_msgs/msg/TFMessage"))
    return store


def make(name: str, *values: Any) -> Any:
    """A message, or a part of one, of the type `package/name` from its fields in order."""
    package, _, short = name.partition("/")
    return types().types[f"{package}/msg/{short}"](*values)


def header(stamp_ns: int, frame: str) -> Any:
    """A header."""
    return make("std_msgs/Header", 0, make("builtin_interfaces/Time", stamp_ns // NS_PER_S, stamp_ns % NS_PER_S), frame)


def vector(values: ArrayLike) -> Any:
    """A vector (3,)."""
    return make("geometry_msgs/Vector3", *floats(values).tolist())


def quaternion(values: ArrayLike) -> Any:
    """A quaternion x y z w (4,)."""
    return make("geometry_msgs/Quaternion", *floats(values).tolist())


def twist(linear: ArrayLike, angular: ArrayLike = (0.0, 0.0, 0.0)) -> Any:
    """Velocities in m/s and rad/s."""
    return make("geometry_msgs/Twist", vector(linear), vector(angular))


def imu(stamp_ns: int, rates_rad_s: Floats, force_m_s2: Floats) -> Any:
    """Rates and force (3,) without their offsets."""
    none = np.zeros(9)
    values = (ABSENT, vector(rates_rad_s), none, vector(force_m_s2), none)
    return make("sensor_msgs/Imu", header(stamp_ns, "imu"), quaternion((0, 0, 0, 1)), *values)


def image(stamp_ns: int, side: str, image: NDArray[np.uint8]) -> Any:
    """A picture (h, w, 3), blue green red."""
    height, width = image.shape[:2]
    head = header(stamp_ns, f"/stereo/{side}")
    return make("sensor_msgs/Image", head, height, width, "bgr8", 0, 3 * width, image.reshape(-1))


def fix(stamp_ns: int, degrees_m: Floats, hdop: float) -> Any:
    """A fix from latitude, longitude in degrees and ellipsoidal altitude (3,)."""
    status = make("sensor_msgs/NavSatStatus", FIXED, SERVICE_GPS)
    covariance = np.diag([1.0, 1.0, 4.0]).reshape(-1) * hdop**2
    return make("sensor_msgs/NavSatFix", header(stamp_ns, "gps"), status, *degrees_m.tolist(), covariance, APPROXIMATED)


def velocity(stamp_ns: int, east_north_m_s: Floats) -> Any:
    """The antenna's velocity (2,), east and north whatever the frame says."""
    return make("geometry_msgs/TwistStamped", header(stamp_ns, "gps"), twist([*east_north_m_s, 0.0]))


def odometry(stamp_ns: int, pose: Floats, speed_m_s: float, turn_rad_s: float) -> Any:
    """A pose x, y in m and heading in rad (3,); the velocity is in the axes of odom, as in the published bags."""
    x, y, heading = pose.tolist()
    turned = quaternion((0.0, 0.0, np.sin(heading / 2.0), np.cos(heading / 2.0)))
    position = make("geometry_msgs/Pose", make("geometry_msgs/Point", x, y, 0.0), turned)
    linear = (speed_m_s * np.cos(heading), speed_m_s * np.sin(heading), 0.0)
    return make(
        "nav_msgs/Odometry",
        header(stamp_ns, "odom"),
        "base_link",
        make("geometry_msgs/PoseWithCovariance", position, np.zeros(36)),
        make("geometry_msgs/TwistWithCovariance", twist(linear, (0.0, 0.0, turn_rad_s)), np.zeros(36)),
    )


def transform(stamp_ns: int, parent: str, child: str, *, position_m: Floats, xyzw: Floats) -> Any:
    """A transform of the tree: where the child is in the parent."""
    value = make("geometry_msgs/Transform", vector(position_m), quaternion(xyzw))
    return make("geometry_msgs/TransformStamped", header(stamp_ns, parent), child, value)


def tree(transforms: list[Any]) -> Any:
    """Transforms together."""
    return make("tf2_msgs/TFMessage", transforms)


def camera_info(stamp_ns: int, side: str, *, size: tuple[int, int], numbers: dict[str, Floats]) -> Any:
    """What CameraInfo says of a picture: matrix, distortion, rotation, projection by K, D, R, P."""
    roi = make("sensor_msgs/RegionOfInterest", 0, 0, 0, 0, False)
    values = [np.ascontiguousarray(numbers[name].reshape(-1)) for name in ("D", "K", "R", "P")]
    head = header(stamp_ns, side)
    return make("sensor_msgs/CameraInfo", head, size[1], size[0], "plumb_bob", *values, 0, 0, roi)


def write_bag(
    path: Path, scenario: RosarioScenario, *, imu: ImuRows, gps: GpsRows, odometry: OdometryRows, images: Path
) -> None:
    """Write all rows and the pictures of a folder, in the order of the authors' program."""
    writer = Writer(path)
    if scenario.settings["bag_compression"] == "bz2":
        writer.set_compression(Writer.CompressionFormat.BZ2)
    connections: dict[str, Any] = {}
    with writer:
        for part in (
            imu_messages(scenario.rig, imu),
            image_messages(scenario.rig, images),
            gps_messages(gps, scenario.numbers["hdop"]),
            odometry_messages(scenario, odometry),
            tree_messages(scenario.rig, odometry),
        ):
            for topic, stamp_ns, message in part:
                kind = message.__msgtype__
                if topic not in connections:
                    connections[topic] = writer.add_connection(topic, kind, typestore=types())
                writer.write(connections[topic], stamp_ns, types().serialize_ros1(message, kind))


def imu_messages(rig: Rig, rows: ImuRows) -> Iterator[Message]:
    """The IMU without its offsets, in units of ROS."""
    offsets = rig.calibration["imu"]
    rates = np.radians(rows.gyro_deg_s - floats(offsets["gyro_offset"]))
    force = (rows.force_milli_g - floats(offsets["acc_offset"])) * STANDARD_GRAVITY_M_S2 / 1000.0
    for number, stamp in enumerate(rows.stamp_ns.tolist()):
        yield "/imu", stamp, imu(stamp, rates[number], force[number])


def image_messages(rig: Rig, folder: Path) -> Iterator[Message]:
    """All left pictures, then all right ones, each followed by what is known of its camera."""
    infos = rectification(rig)
    for path in sorted(folder.glob("*.png")):
        side, _, text = path.stem.partition("_")
        seconds, _, micro = text.partition(".")
        stamp = int(seconds) * NS_PER_S + int(micro) * 1000
        decoded = np.asarray(cv2.imdecode(np.frombuffer(path.read_bytes(), np.uint8), cv2.IMREAD_COLOR), np.uint8)
        size = (decoded.shape[1], decoded.shape[0])
        yield f"/stereo/{side}/image_raw", stamp, image(stamp, side, decoded)
        info = camera_info(stamp, side, size=size, numbers=infos[side])
        yield f"/stereo/{side}/camera_info", stamp, info


def gps_messages(rows: GpsRows, hdop: float) -> Iterator[Message]:
    """A fix and a velocity of each epoch."""
    degrees_m = np.hstack([np.degrees(rows.geodetic[:, :2]), rows.geodetic[:, 2:]])
    course = np.radians(rows.course_deg)
    east_north = (rows.knots * KNOT_M_S)[:, None] * np.stack([np.sin(course), np.cos(course)], axis=1)
    for number, (of_fix, of_velocity) in enumerate(zip(rows.gga_ns.tolist(), rows.rmc_ns.tolist(), strict=True)):
        yield "/gps/fix", of_fix, fix(of_fix, degrees_m[number], hdop)
        yield "/gps/vel", of_velocity, velocity(of_velocity, east_north[number])


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
    for stamp in rows.stamp_ns.tolist():
        transforms = [
            transform(stamp, parent, child, position_m=pose[:3, 3], xyzw=turn)
            for (parent, child, pose), turn in zip(links, turns, strict=True)
        ]
        yield "tf_static", stamp, tree(transforms)


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
