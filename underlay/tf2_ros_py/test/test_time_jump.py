"""What a jump of the node's clock does to its buffer."""

import pytest
from rclpy.parameter import Parameter
from rclpy.time import Time
from rosgraph_msgs.msg import Clock

from tf2_ros import Buffer


@pytest.fixture
def node(ros):
    return ros.node("listener")


@pytest.fixture
def jump(node):
    """Set the ROS clock of the node, which starts under simulated time at 100 s."""
    clock = node.get_clock()
    clock._set_ros_time_is_active(True)

    def to(seconds):
        clock.set_ros_time_override(Time(nanoseconds=round(seconds * 1e9), clock_type=clock.clock_type))

    to(100)
    return to


@pytest.fixture
def buffer(node, jump, stamped):
    made = Buffer(node=node)
    made.set_transform(stamped("map", "base", 100), "test")
    made.set_transform_static(stamped("base", "camera", 0), "test")
    return made


def remembers_motion(buffer):
    return buffer.can_transform("map", "base", Time())


def test_a_second_back_clears_the_motion_and_keeps_static_transforms(buffer, jump, stamped, capfd):
    jump(99)
    assert not remembers_motion(buffer)
    assert buffer.can_transform("base", "camera", Time())
    assert "Detected jump back in time" in capfd.readouterr().err
    buffer.set_transform(stamped("map", "base", 50), "test")
    assert buffer.lookup_transform("map", "base", Time()).header.stamp.sec == 50


def test_less_than_a_second_back_changes_nothing(buffer, jump):
    jump(99.1)
    assert remembers_motion(buffer)


def test_forward_changes_nothing(buffer, jump):
    jump(100_000)
    assert remembers_motion(buffer)


def test_another_source_of_time_clears_the_motion(buffer, node):
    node.get_clock()._set_ros_time_is_active(False)
    assert not remembers_motion(buffer)


def test_a_buffer_without_a_node_follows_no_clock(jump, stamped):
    buffer = Buffer()
    buffer.set_transform(stamped("map", "base", 100), "test")
    jump(1)
    assert remembers_motion(buffer)


def test_a_clock_topic_that_goes_back_clears_the_motion(ros, stamped):
    node = ros.node("simulated", parameter_overrides=[Parameter("use_sim_time", value=True)])
    buffer, publisher = Buffer(node=node), node.create_publisher(Clock, "/clock", 10)
    message = Clock()

    def clock_shows(seconds):
        message.clock.sec = seconds
        publisher.publish(message)
        return node.get_clock().now().nanoseconds == seconds * 10**9

    assert ros.spin_until(lambda: clock_shows(100))
    buffer.set_transform(stamped("map", "base", 100), "test")
    assert ros.spin_until(lambda: clock_shows(50))
    assert not remembers_motion(buffer)
