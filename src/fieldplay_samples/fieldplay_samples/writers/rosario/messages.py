"""The messages of ROS 1 that the authors' program makes of a row of the logs."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from fieldplay_samples.motion.frames import Floats, floats
from fieldplay_samples.writers.tables import NS_PER_S

ABSENT = floats([-1.0] + [0.0] * 8)  # a covariance that says: there is no such value
FIXED, SERVICE_GPS, APPROXIMATED = 2, 1, 1


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


def image(stamp_ns: int, side: str, picture: NDArray[np.uint8]) -> Any:
    """A picture (h, w, 3), blue green red."""
    height, width = picture.shape[:2]
    head = header(stamp_ns, f"/stereo/{side}")
    return make("sensor_msgs/Image", head, height, width, "bgr8", 0, 3 * width, picture.reshape(-1))


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
    place = make("geometry_msgs/Pose", make("geometry_msgs/Point", x, y, 0.0), turned)
    linear = (speed_m_s * np.cos(heading), speed_m_s * np.sin(heading), 0.0)
    return make(
        "nav_msgs/Odometry",
        header(stamp_ns, "odom"),
        "base_link",
        make("geometry_msgs/PoseWithCovariance", place, np.zeros(36)),
        make("geometry_msgs/TwistWithCovariance", twist(linear, (0.0, 0.0, turn_rad_s)), np.zeros(36)),
    )


def transform(stamp_ns: int, parent: str, child: str, *, place_m: Floats, xyzw: Floats) -> Any:
    """A transform of the tree: where the child is in the parent."""
    value = make("geometry_msgs/Transform", vector(place_m), quaternion(xyzw))
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
