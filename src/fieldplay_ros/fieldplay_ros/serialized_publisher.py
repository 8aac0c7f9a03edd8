"""Messages handed to the middleware as the bytes that they are, the large ones while other threads go on.

rclpy's publish copies the bytes first, and keeps the lock of Python while the middleware copies them again. rcl itself
takes them where they lie. For small ones rclpy's is the faster, and does where rcl's library has no such function.
"""

import ctypes
from collections.abc import Callable

import numpy as np
from rclpy.publisher import Publisher

LIBRARY, FUNCTION = "librcl.so", "rcl_publish_serialized_message"

Send = Callable[[bytes], None]
SendLarge = Callable[[bytes | memoryview], None]


class _Allocator(ctypes.Structure):
    """rcutils_allocator_t: nothing is allocated, as the bytes are Python's."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("allocate", "deallocate", "reallocate", "zero_allocate", "state")]


class _Message(ctypes.Structure):
    """rcl_serialized_message_t."""

    _fields_ = [
        ("buffer", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("capacity", ctypes.c_size_t),
        ("allocator", _Allocator),
    ]


def sender_of(publisher: Publisher) -> Send:
    """What sends the bytes of a small message, without rclpy's questions whether it is one and is still there.

    The publisher's handle is to be held meanwhile.
    """
    send: Send = getattr(publisher.handle, "publish_raw", publisher.publish)
    return send


def sender_of_large(publisher: Publisher) -> SendLarge:
    """What sends the bytes of a large message, copied once; called by one thread at a time."""

    def copying(data: bytes | memoryview) -> None:
        publisher.publish(bytes(data))

    try:
        function = ctypes.CDLL(LIBRARY)[FUNCTION]
    except (OSError, AttributeError):
        return copying
    function.argtypes, function.restype = (ctypes.c_void_p, ctypes.POINTER(_Message), ctypes.c_void_p), ctypes.c_int
    message = _Message()
    place = ctypes.byref(message)

    def send(data: bytes | memoryview) -> None:
        message.buffer = np.frombuffer(data, np.uint8).ctypes.data
        message.length = message.capacity = len(data)
        with publisher.handle:
            failed = function(publisher.handle.pointer, place, None) != 0
        if failed:
            copying(data)  # which says why where it cannot

    return send
