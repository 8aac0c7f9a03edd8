"""Transforms to feed buffers with, and a ROS context per test that wants one."""

from collections.abc import Callable, Iterator
from time import monotonic
from types import SimpleNamespace

import pytest
import rclpy
from builtin_interfaces.msg import Time as TimeMsg
from geometry_msgs.msg import TransformStamped
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node


@pytest.fixture(scope="session")
def stamped() -> Callable[..., TransformStamped]:
    """Make parent_T_child at a time in seconds."""

    def make(parent, child, seconds, translation=(0.0, 0.0, 0.0), rotation=(0.0, 0.0, 0.0, 1.0)):
        message = TransformStamped()
        message.header.frame_id, message.child_frame_id = parent, child
        sec, nanosec = divmod(round(seconds * 1e9), 10**9)
        message.header.stamp = TimeMsg(sec=sec, nanosec=nanosec)
        for axis, value in zip("xyz", translation, strict=True):
            setattr(message.transform.translation, axis, float(value))
        for axis, value in zip("xyzw", rotation, strict=True):
            setattr(message.transform.rotation, axis, float(value))
        return message

    return make


@pytest.fixture
def ros() -> Iterator[SimpleNamespace]:
    """A context of its own: ``ros.node(name)`` makes a node, ``ros.spin_until(done)`` spins all of them."""
    context = Context()
    rclpy.init(context=context)
    executor = SingleThreadedExecutor(context=context)

    def node(name: str, **options) -> Node:
        made = Node(name, context=context, **options)
        executor.add_node(made)
        return made

    def spin_until(done: Callable[[], bool], *, within_s: float = 10.0) -> bool:
        deadline = monotonic() + within_s
        while not (reached := done()) and monotonic() < deadline:
            executor.spin_once(timeout_sec=0.05)
        return reached

    yield SimpleNamespace(context=context, executor=executor, node=node, spin_until=spin_until)
    executor.shutdown()
    context.try_shutdown()
