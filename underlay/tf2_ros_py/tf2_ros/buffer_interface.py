"""What every source of transforms offers, and the registry of types that can be transformed."""

from typing import Any

from geometry_msgs.msg import TransformStamped
from rclpy.duration import Duration
from rclpy.time import Time
from std_msgs.msg import Header

from ._registries import ConvertRegistration, NotImplementedException, TransformRegistration, TypeException, convert

__all__ = [
    "BufferInterface",
    "ConvertRegistration",
    "NotImplementedException",
    "Stamped",
    "TransformRegistration",
    "TypeException",
    "convert",
]

NO_WAIT = Duration()


class BufferInterface:
    """Lookups to implement, and the transformation of stamped objects on top of them."""

    def __init__(self) -> None:
        """Attach the registry that all buffers share."""
        self.registration = TransformRegistration()

    def transform(
        self, object_stamped: Any, target_frame: str, timeout: Duration = NO_WAIT, new_type: type | None = None
    ) -> Any:
        """Return the object in another frame at its own stamp, converted to ``new_type`` if given.

        Its type must be registered with ``TransformRegistration``; a TypeException says if it is not.
        """
        apply = self.registration.get(type(object_stamped))
        header = object_stamped.header
        moved = apply(object_stamped, self.lookup_transform(target_frame, header.frame_id, header.stamp, timeout))
        return moved if new_type is None else convert(moved, new_type)

    def transform_full(
        self,
        object_stamped: Any,
        target_frame: str,
        target_time: Time,
        fixed_frame: str,
        timeout: Duration = NO_WAIT,
        new_type: type | None = None,
    ) -> Any:
        """Return the object in another frame at another time, through a frame fixed in time."""
        apply = self.registration.get(type(object_stamped))
        header = object_stamped.header
        transform = self.lookup_transform_full(
            target_frame, target_time, header.frame_id, header.stamp, fixed_frame, timeout
        )
        moved = apply(object_stamped, transform)
        return moved if new_type is None else convert(moved, new_type)

    def lookup_transform(
        self, target_frame: str, source_frame: str, time: Time, timeout: Duration = NO_WAIT
    ) -> TransformStamped:
        """To be implemented: target_T_source at a time."""
        raise NotImplementedException()

    def lookup_transform_full(
        self,
        target_frame: str,
        target_time: Time,
        source_frame: str,
        source_time: Time,
        fixed_frame: str,
        timeout: Duration = NO_WAIT,
    ) -> TransformStamped:
        """To be implemented: a transform between two times through a fixed frame."""
        raise NotImplementedException()

    def can_transform(
        self, target_frame: str, source_frame: str, time: Time, timeout: Duration = NO_WAIT
    ) -> bool | tuple[bool, str]:
        """To be implemented: whether lookup_transform would succeed."""
        raise NotImplementedException()

    def can_transform_full(
        self,
        target_frame: str,
        target_time: Time,
        source_frame: str,
        source_time: Time,
        fixed_frame: str,
        timeout: Duration = NO_WAIT,
    ) -> bool | tuple[bool, str]:
        """To be implemented: whether lookup_transform_full would succeed."""
        raise NotImplementedException()


def Stamped(obj: Any, stamp: Any, frame_id: str) -> Any:
    """Give an object a header of this stamp (a message) and frame, and return it."""
    obj.header = Header(stamp=stamp, frame_id=frame_id)
    return obj
