"""Broadcasters and listeners over real topics."""

import subprocess
import sys

import pytest
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, HistoryPolicy, ReliabilityPolicy
from rclpy.time import Time

from tf2_ros import Buffer, StaticTransformBroadcaster, TransformBroadcaster, TransformListener


def x_of(buffer, child):
    return buffer.lookup_transform("map", child, Time()).transform.translation.x


@pytest.fixture
def nodes(ros):
    return ros.node("sender"), ros.node("receiver")


def test_moving_transforms_reach_the_listener(ros, nodes, stamped):
    buffer = Buffer()
    listener = TransformListener(buffer, nodes[1])
    broadcaster = TransformBroadcaster(nodes[0])
    one, two, three = (stamped("map", child, 1, (x, 0, 0)) for x, child in enumerate(("a", "b", "c"), start=1))

    def arrived():
        broadcaster.sendTransform(one)
        broadcaster.sendTransform((two, three))
        return all(buffer.can_transform("map", child, Time()) for child in "abc")

    assert ros.spin_until(arrived)
    assert [x_of(buffer, child) for child in "abc"] == [1, 2, 3]
    assert listener.buffer is buffer


def test_a_late_listener_hears_all_static_transforms_sent_so_far(ros, nodes, stamped):
    broadcaster = StaticTransformBroadcaster(nodes[0])
    broadcaster.sendTransform(stamped("map", "a", 0, (1, 0, 0)))
    broadcaster.sendTransform([stamped("map", "b", 0, (2, 0, 0)), stamped("map", "c", 0, (3, 0, 0))])
    assert [t.child_frame_id for t in broadcaster.net_message.transforms] == ["a", "b", "c"]

    buffer = Buffer()
    listener = TransformListener(buffer, nodes[1])
    assert ros.spin_until(lambda: buffer.can_transform("map", "c", Time()))
    assert [x_of(buffer, child) for child in "abc"] == [1, 2, 3]
    assert buffer.can_transform("map", "a", Time(seconds=12345))
    listener.unregister()


@pytest.mark.stand_in("upstream goes on sending the first, and what its sender makes of that message")
def test_of_static_transforms_of_a_child_the_last_is_sent_as_it_was(ros, nodes, stamped):
    broadcaster = StaticTransformBroadcaster(nodes[0])
    reused = stamped("map", "a", 0, (1, 0, 0))
    broadcaster.sendTransform(reused)
    reused.transform.translation.x = 666.0
    broadcaster.sendTransform(stamped("map", "b", 0, (2, 0, 0)))
    broadcaster.sendTransform(stamped("map", "b", 0, (20, 0, 0)))
    assert [t.child_frame_id for t in broadcaster.net_message.transforms] == ["a", "b"]

    buffer = Buffer()
    listener = TransformListener(buffer, nodes[1])
    assert ros.spin_until(lambda: buffer.can_transform("map", "b", Time()))
    assert [x_of(buffer, child) for child in "ab"] == [1, 20]
    listener.unregister()


def test_a_listener_with_a_thread_needs_no_spinning():
    program = """
import rclpy, tf2_ros
from geometry_msgs.msg import TransformStamped
from rclpy.duration import Duration
from rclpy.time import Time
rclpy.init()
sender, receiver = rclpy.create_node("sender"), rclpy.create_node("receiver")
message = TransformStamped(child_frame_id="base")
message.header.frame_id, message.transform.translation.x = "map", 1.0
broadcaster = tf2_ros.StaticTransformBroadcaster(sender)
broadcaster.sendTransform(message)
buffer = tf2_ros.Buffer()
listener = tf2_ros.TransformListener(buffer, receiver, spin_thread=True)
print(buffer.lookup_transform("map", "base", Time(), Duration(seconds=20)).transform.translation.x)
rclpy.shutdown()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (0, "1.0\n")


ANY_CONTEXT = pytest.mark.stand_in("upstream's thread knows the default context alone")


@ANY_CONTEXT
def test_a_listener_with_a_thread_may_be_of_any_context(ros, stamped):
    sender, receiver = ros.node("sender"), ros.node("receiver")
    ros.executor.remove_node(receiver)
    StaticTransformBroadcaster(sender).sendTransform(stamped("map", "base", 0, (1, 0, 0)))
    buffer = Buffer()
    listener = TransformListener(buffer, receiver, spin_thread=True)
    found = buffer.lookup_transform("map", "base", Time(), Duration(seconds=10))
    assert found.transform.translation.x == 1
    ros.context.shutdown()
    listener.dedicated_listener_thread.join(10.0)
    assert not listener.dedicated_listener_thread.is_alive()


@ANY_CONTEXT
@pytest.mark.parametrize("is_shut_down", [True, False])
def test_a_thread_ends_where_the_context_goes_while_it_prepares_to_wait(ros, monkeypatch, is_shut_down):
    node = ros.node("receiver")
    faults = []

    def spin_once(executor, patience_s):
        if is_shut_down:
            ros.context.shutdown()
        raise RuntimeError("failed to initialize wait set")

    monkeypatch.setattr(SingleThreadedExecutor, "spin_once", spin_once)
    monkeypatch.setattr("threading.excepthook", lambda told: faults.append(told.exc_type))
    listener = TransformListener(Buffer(), node, spin_thread=True)
    listener.dedicated_listener_thread.join(10.0)
    assert faults == ([] if is_shut_down else [RuntimeError])


@pytest.mark.stand_in("upstream's ends with the traceback of its thread")
def test_a_program_with_a_listening_thread_ends_well():
    program = """
import rclpy, tf2_ros
rclpy.init()
node = rclpy.create_node("listener")
listener = tf2_ros.TransformListener(tf2_ros.Buffer(node=node), node, spin_thread=True)
rclpy.shutdown()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_topics_and_qualities_are_the_customary_ones(nodes):
    sender, receiver = nodes
    listener = TransformListener(Buffer(), receiver)
    found = {
        "tf out": TransformBroadcaster(sender).pub_tf,
        "tf in": listener.tf_sub,
        "static out": StaticTransformBroadcaster(sender).pub_tf,
        "static in": listener.tf_static_sub,
    }
    volatile, transient = DurabilityPolicy.VOLATILE, DurabilityPolicy.TRANSIENT_LOCAL
    described = {
        role: (end.topic_name, end.qos_profile.depth, end.qos_profile.durability) for role, end in found.items()
    }
    assert described == {
        "tf out": ("/tf", 100, volatile),
        "tf in": ("/tf", 100, volatile),
        "static out": ("/tf_static", 1, transient),
        "static in": ("/tf_static", 100, transient),
    }
    for end in found.values():
        assert end.qos_profile.history == HistoryPolicy.KEEP_LAST
        assert end.qos_profile.reliability == ReliabilityPolicy.RELIABLE
