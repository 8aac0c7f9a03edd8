"""The time of a message."""

from typing import Any

from rclpy.clock import ROSClock
from rclpy.logging import get_logger
from rclpy.time import Time


def stamp_of(message: Any, *, allow_headerless: bool) -> Time | None:
    """Return the time in its header, or now where it has none and that is allowed; else None, which is logged."""
    if hasattr(message, "header") and hasattr(message.header, "stamp"):
        return Time.from_msg(message.header.stamp)
    if allow_headerless:
        return ROSClock().now()
    get_logger("message_filters").warning(
        f"a {type(message).__name__} has no header and is left out; allow_headerless=True takes the time of its arrival"
    )
    return None
