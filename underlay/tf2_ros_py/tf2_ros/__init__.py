"""Stand-in for upstream's tf2_ros: transform buffer, listener and broadcasters."""

from typing import NoReturn

from ._buffer_core import BufferCore
from ._errors import (
    ConnectivityException,
    ExtrapolationException,
    InvalidArgumentException,
    LookupException,
    TimeoutException,
    TransformException,
)
from .buffer import Buffer
from .buffer_interface import (
    BufferInterface,
    ConvertRegistration,
    NotImplementedException,
    Stamped,
    TransformRegistration,
    TypeException,
    convert,
)
from .static_transform_broadcaster import StaticTransformBroadcaster
from .transform_broadcaster import TransformBroadcaster
from .transform_listener import TransformListener

__all__ = [
    "Buffer",
    "BufferCore",
    "BufferInterface",
    "ConnectivityException",
    "ConvertRegistration",
    "ExtrapolationException",
    "InvalidArgumentException",
    "LookupException",
    "NotImplementedException",
    "Stamped",
    "StaticTransformBroadcaster",
    "TimeoutException",
    "TransformBroadcaster",
    "TransformException",
    "TransformListener",
    "TransformRegistration",
    "TypeException",
    "convert",
]

_LEFT_OUT = frozenset({"BufferClient", "StaticTransformListener"})


def __getattr__(name: str) -> NoReturn:
    if name in _LEFT_OUT:
        # Not an AttributeError: "from tf2_ros import ..." would replace its message.
        raise ImportError(f"tf2_ros.{name} is not covered by this stand-in for upstream's tf2_ros_py")
    raise AttributeError(f"module 'tf2_ros' (a stand-in for upstream's tf2_ros_py) has no attribute {name!r}")
