"""Messages and rclpy's times, to and from the plain numbers of the frame graph."""

from builtin_interfaces.msg import Time as TimeMsg
from geometry_msgs.msg import TransformStamped
from rclpy.duration import Duration
from rclpy.time import Time

from ._pose import Pose, canonical

NS_PER_S = 1_000_000_000


def nanoseconds(span: Time | TimeMsg | Duration, what: str = "time") -> int:
    """Return the nanoseconds of a time or duration, be it rclpy's or a message's."""
    if hasattr(span, "nanosec"):
        return int(span.sec * NS_PER_S + span.nanosec)
    try:
        return int(span.nanoseconds)
    except AttributeError:
        raise TypeError(f"{what} must have sec and nanosec, or nanoseconds; got {type(span).__name__}") from None


def pose_of(message: TransformStamped) -> Pose:
    """Return the pose of a message as it stands, not normalised."""
    translation, rotation = message.transform.translation, message.transform.rotation
    return (translation.x, translation.y, translation.z, rotation.x, rotation.y, rotation.z, rotation.w)


def transform_message(target: str, source: str, pose: Pose, stamp_ns: int) -> TransformStamped:
    """Return target_T_source as a message, its quaternion of length 1."""
    message = TransformStamped()
    message.header.frame_id = target
    message.child_frame_id = source
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, NS_PER_S)
    translation, rotation = message.transform.translation, message.transform.rotation
    translation.x, translation.y, translation.z, rotation.x, rotation.y, rotation.z, rotation.w = canonical(pose)
    return message
