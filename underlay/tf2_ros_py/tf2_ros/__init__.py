"""Stand-in for upstream's tf2_ros: transform buffer, listener and broadcasters."""

from typing import NoReturn

from ._frame_graph import (
    ConnectivityException,
    ExtrapolationException,
    InvalidArgumentException,
    LookupException,
    TimeoutException,
    TransformException,
)
from .buffer import Buffer
from .static_transform_broadcaster import StaticTransformBroadcaster
from .transform_broadcaster import TransformBroadcaster
from .transform_listener import TransformListener

__all__ = [
    "Buffer",
    "ConnectivityException",
    "ExtrapolationException",
    "InvalidArgumentException",
    "LookupException",
    "StaticTransformBroadcaster",
    "TimeoutException",
    "TransformBroadcaster",
    "TransformException",
    "TransformListener",
]

_LEFT_OUT = frozenset(
    {
        "BufferClient",
        "BufferCore",
        "BufferInterface",
        "ConvertRegistration",
        "NotImplementedException",
        "Stamped",
        "TransformRegistration",
        "TypeException",
        "convert",
    }
)


def __getattr__(name: str) -> NoReturn:
    if name in _LEFT_OUT:
        # Not an AttributeError: "from tf2_ros import ..." would replace its message.
        raise ImportError(f"tf2_ros.{name} is not covered by this stand-in for upstream's tf2_ros_py")
    raise AttributeError(f"module 'tf2_ros' (a stand-in for upstream's tf2_ros_py) has no attribute {name!r}")
