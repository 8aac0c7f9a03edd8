"""What a buffer keeps, and for how long."""

import re

import pytest
from rclpy.parameter import Parameter
from rclpy.time import Time
from rosgraph_msgs.msg import Clock

from tf2_ros import Buffer, ConnectivityException, ExtrapolationException

LATEST = Time()


def at(seconds):
    return Time(nanoseconds=round(seconds * 1e9))


def x_of(buffer, time, child="base"):
    return buffer.lookup_transform("map", child, time).transform.translation.x


@pytest.fixture
def buffer():
    return Buffer()


@pytest.fixture
def put(buffer, stamped):
    """Store map_T_base with the time as its x."""
    return lambda seconds: buffer.set_transform(stamped("map", "base", seconds, (seconds, 0, 0)), "test")


def test_ten_seconds_are_kept_by_default(buffer, put):
    for seconds in range(1, 13):
        put(seconds)
    put(12.5)
    assert x_of(buffer, at(2)) == 2
    with pytest.raises(ExtrapolationException, match=r"earliest data is at time 2\.000000"):
        x_of(buffer, at(1.9))


def test_data_older_than_the_cache_are_ignored_with_a_warning(buffer, put, capfd):
    put(20)
    put(9.9)
    warning = capfd.readouterr().err
    assert "[WARN]" in warning
    assert "TF_OLD_DATA" in warning
    assert "frame base at time 9.900000 according to authority test" in warning
    assert not buffer.can_transform("map", "base", at(9.9))
    put(10)
    assert capfd.readouterr().err == ""
    assert x_of(buffer, at(15)) == 15


def test_of_two_samples_at_one_time_the_later_counts(buffer, put, stamped):
    put(4)
    for x in (1, 2, 2):
        buffer.set_transform(stamped("map", "base", 5, (x, 0, 0)), "test")
    buffer.set_transform(stamped("map", "base", 6, (4, 0, 0)), "test")
    assert x_of(buffer, at(5)) == 2
    assert x_of(buffer, at(5.5)) == 3


def test_a_static_transform_holds_at_all_times(buffer, stamped):
    buffer.set_transform_static(stamped("map", "base", 50, (1, 0, 0)), "test")
    assert [x_of(buffer, time) for time in (LATEST, at(1), at(1e9))] == [1, 1, 1]
    assert buffer.lookup_transform("map", "base", at(7)).header.stamp.sec == 7
    assert buffer.lookup_transform("map", "base", LATEST).header.stamp.sec == 0
    buffer.set_transform_static(stamped("map", "base", 40, (2, 0, 0)), "test")
    assert x_of(buffer, at(1)) == 2


def test_clearing_forgets_motion_and_keeps_names_and_static_transforms(buffer, stamped, put):
    put(3)
    put(4)
    buffer.set_transform_static(stamped("map", "beacon", 0, (7, 0, 0)), "test")
    buffer.clear()
    assert x_of(buffer, at(3), "beacon") == 7
    with pytest.raises(ConnectivityException):
        x_of(buffer, LATEST)
    with pytest.raises(ExtrapolationException, match=r"no data in the buffer|^, when looking up"):
        x_of(buffer, at(3))
    put(1)
    assert x_of(buffer, LATEST) == 1


NAN = float("nan")
DENORMALIZED = "TF_DENORMALIZED_QUATERNION"
NORMALIZES = pytest.mark.stand_in("upstream normalises it first, and takes it, or finds NaN")


@pytest.mark.parametrize("method", ["set_transform", "set_transform_static"])
@pytest.mark.parametrize(
    ("parts", "code"),
    [
        (("base", "base", 1), "TF_SELF_TRANSFORM"),
        (("/base", "base", 1), "TF_SELF_TRANSFORM"),
        (("map", "", 1), "TF_NO_CHILD_FRAME_ID"),
        (("", "base", 1), "TF_NO_FRAME_ID"),
        (("map", "base", 1, (0, NAN, 0)), "TF_NAN_INPUT"),
        (("map", "base", 1, (0, 0, 0), (0, 0, 0, NAN)), "TF_NAN_INPUT"),
        pytest.param(("map", "base", 1, (0, 0, 0), (0, 0, 0, 0)), DENORMALIZED, marks=NORMALIZES),
        pytest.param(("map", "base", 1, (0, 0, 0), (0, 0, 0, 1.006)), DENORMALIZED, marks=NORMALIZES),
        pytest.param(("map", "base", 1, (0, 0, 0), (0, 0, 0, 0.994)), DENORMALIZED, marks=NORMALIZES),
    ],
)
def test_unsound_transforms_are_logged_and_ignored(buffer, stamped, capfd, method, parts, code):
    getattr(buffer, method)(stamped(*parts), "the robot")
    log = capfd.readouterr().err
    assert "[ERROR]" in log
    assert code in log
    assert re.search("""authority ['"]the robot['"]""", log)
    assert buffer.all_frames_as_string() == ""


@NORMALIZES
def test_every_fault_of_a_transform_is_told(buffer, stamped, capfd):
    buffer.set_transform(stamped("", "", 1, (NAN, 0, 0), (0, 0, 0, 2)), "test")
    log = capfd.readouterr().err
    codes = "SELF_TRANSFORM", "NO_CHILD_FRAME_ID", "NO_FRAME_ID", "NAN_INPUT", "DENORMALIZED_QUATERNION"
    assert [code for code in codes if f"TF_{code}" in log] == list(codes)


@pytest.mark.parametrize("w", [1.004, 0.996])
def test_a_quaternion_that_is_nearly_normalised_is_taken_and_normalised(buffer, stamped, w):
    buffer.set_transform(stamped("map", "base", 1, (0, 0, 0), (0, 0, 0, w)), "test")
    assert buffer.lookup_transform("map", "base", Time()).transform.rotation.w == 1.0


def test_a_leading_slash_is_dropped_on_the_way_in(buffer, stamped):
    buffer.set_transform(stamped("/map", "/base", 1), "test")
    assert buffer.can_transform("map", "base", Time())


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
def clocked(node, jump, stamped):
    made = Buffer(node=node)
    made.set_transform(stamped("map", "base", 100), "test")
    made.set_transform_static(stamped("base", "camera", 0), "test")
    return made


def remembers_motion(buffer):
    return buffer.can_transform("map", "base", Time())


def test_a_second_back_clears_the_motion_and_keeps_static_transforms(clocked, jump, stamped, capfd):
    jump(99)
    assert not remembers_motion(clocked)
    assert clocked.can_transform("base", "camera", Time())
    assert "Detected jump back in time" in capfd.readouterr().err
    clocked.set_transform(stamped("map", "base", 50), "test")
    assert clocked.lookup_transform("map", "base", Time()).header.stamp.sec == 50


def test_less_than_a_second_back_changes_nothing(clocked, jump):
    jump(99.1)
    assert remembers_motion(clocked)


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
