"""Messages of ROS as rosbags makes them, of ROS 1 and ROS 2 alike, and bags of them."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from fieldplay_samples.motion.rotations import Floats, floats
from fieldplay_samples.writers.text_tables import NS_PER_S

Message = tuple[str, int, Any]  # topic, stamp in ns, message


class RosMessages:
    """Messages, and parts of them, of one version of ROS; stamps are in ns."""

    def __init__(self, store: Stores) -> None:
        self.types = get_typestore(store)
        if "tf2_msgs/msg/TFMessage" not in self.types.types:
            definition = "geometry_msgs/TransformStamped[] transforms\n"
            self.types.register(get_types_from_msg(definition, "tf2_msgs/msg/TFMessage"))
        self.sequence = (0,) if store is Stores.ROS1_NOETIC else ()  # the header of ROS 1 counts messages

    def make(self, name: str, *values: Any) -> Any:
        """A message, or a part of one, of the type `package/name` from its fields in order."""
        package, _, short = name.partition("/")
        return self.types.types[f"{package}/msg/{short}"](*values)

    def header(self, stamp_ns: int, frame: str) -> Any:
        """A header."""
        time = self.make("builtin_interfaces/Time", *divmod(stamp_ns, NS_PER_S))
        return self.make("std_msgs/Header", *self.sequence, time, frame)

    def vector(self, values: ArrayLike) -> Any:
        """A vector (3,)."""
        return self.make("geometry_msgs/Vector3", *floats(values).tolist())

    def quaternion(self, xyzw: ArrayLike) -> Any:
        """A quaternion (4,)."""
        return self.make("geometry_msgs/Quaternion", *floats(xyzw).tolist())

    def twist(self, linear: ArrayLike, angular: ArrayLike = (0.0, 0.0, 0.0)) -> Any:
        """Velocities in m/s and rad/s."""
        return self.make("geometry_msgs/Twist", self.vector(linear), self.vector(angular))

    def image(self, stamp_ns: int, frame: str, image: NDArray[np.uint8]) -> Any:
        """An image: grey (h, w), or blue green red (h, w, 3)."""
        height, width = image.shape[:2]
        kind = "mono8" if image.ndim == 2 else "bgr8"
        row = image.nbytes // height
        head = self.header(stamp_ns, frame)
        return self.make("sensor_msgs/Image", head, height, width, kind, 0, row, image.reshape(-1))

    def camera_info(self, stamp_ns: int, frame: str, *, size: tuple[int, int], numbers: dict[str, Floats]) -> Any:
        """What CameraInfo says of an image (width, height): matrix, distortion, rotation, projection by K, D, R, P."""
        roi = self.make("sensor_msgs/RegionOfInterest", 0, 0, 0, 0, False)
        values = [np.ascontiguousarray(numbers[name].reshape(-1)) for name in ("D", "K", "R", "P")]
        head = self.header(stamp_ns, frame)
        return self.make("sensor_msgs/CameraInfo", head, size[1], size[0], "plumb_bob", *values, 0, 0, roi)

    def odometry(
        self, stamp_ns: int, frames: tuple[str, str], pose: tuple[ArrayLike, ArrayLike], twist: Any, variances: Floats
    ) -> Any:
        """The pose of a child in its parent: position (3,), quaternion; diagonal covariances of pose and twist (2,)."""
        position, xyzw = pose
        place = self.make(
            "geometry_msgs/Pose",
            self.make("geometry_msgs/Point", *floats(position).tolist()),
            self.quaternion(xyzw),
        )
        of_pose, of_twist = (np.diag(np.full(6, variance)).reshape(-1) for variance in variances)
        return self.make(
            "nav_msgs/Odometry",
            self.header(stamp_ns, frames[0]),
            frames[1],
            self.make("geometry_msgs/PoseWithCovariance", place, of_pose),
            self.make("geometry_msgs/TwistWithCovariance", twist, of_twist),
        )

    def transforms(self, stamp_ns: int, links: Iterable[tuple[str, str, ArrayLike, ArrayLike]]) -> Any:
        """Transforms of the tree: parent, child, position (3,) of the child in the parent, and its quaternion."""
        stamped = [
            self.make(
                "geometry_msgs/TransformStamped",
                self.header(stamp_ns, parent),
                child,
                self.make("geometry_msgs/Transform", self.vector(position), self.quaternion(xyzw)),
            )
            for parent, child, position, xyzw in links
        ]
        return self.make("tf2_msgs/TFMessage", stamped)


@lru_cache(maxsize=2)
def messages_of(store: Stores) -> RosMessages:
    """The messages of a version of ROS."""
    return RosMessages(store)


def write_messages(
    writer: Any,
    ros: RosMessages,
    messages: Iterable[Message],
    *,
    offered: Callable[[str], dict[str, Any]] | None = None,
) -> None:
    """Write messages with an open writer of rosbags; `offered` has more of a topic's connection."""
    is_ros1, connections = bool(ros.sequence), dict[str, Any]()
    for topic, stamp_ns, message in messages:
        kind = message.__msgtype__
        if topic not in connections:
            further = offered(topic) if offered else {}
            connections[topic] = writer.add_connection(topic, kind, typestore=ros.types, **further)
        data = ros.types.serialize_ros1(message, kind) if is_ros1 else ros.types.serialize_cdr(message, kind)
        writer.write(connections[topic], stamp_ns, bytes(data))
