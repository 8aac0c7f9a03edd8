import argparse

import pytest
from geometry_msgs.msg import TwistStamped
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.topic_endpoint_info import TopicEndpointInfo
from sensor_msgs.msg import PointCloud2
from std_msgs.msg import String

from ros2cli.qos import chosen_profile, qos_arguments
from ros2cli.verbs.topic_verbs import VERBS, Echo, RateWindow


@pytest.fixture
def echo(capsys):
    """What is written of a message with the given options."""

    def write(message, *words):
        parser = argparse.ArgumentParser()
        VERBS["echo"].fill(parser)
        Echo(parser.parse_args(["/topic", *words])).write(message)
        return capsys.readouterr().out

    return write


def test_a_message_is_a_yaml_document(echo):
    assert echo(String(data="word")) == "data: word\n---\n"


def test_a_field_is_written_as_what_it_is(echo):
    message = TwistStamped()
    message.header.frame_id = "base"
    assert echo(message, "--field", "twist.angular") == "x: 0.0\ny: 0.0\nz: 0.0\n---\n"
    assert echo(message, "--field", "header.frame_id") == "base\n---\n"
    assert echo(message, "--field", "twist.linear.x") == "0.0\n---\n"


def test_long_arrays_are_cut_unless_told_otherwise(echo):
    cloud = PointCloud2(data=[7] * 200)
    assert echo(cloud).count("- 7\n") == 128
    assert "- 7\n- '...'\nis_dense" in echo(cloud)
    assert echo(cloud, "-l", "3").count("- 7\n") == 3
    assert echo(cloud, "--full-length").count("- 7\n") == 200


def test_arrays_can_be_left_out(echo):
    assert "data: '<sequence type: uint8, length: 2>'\n" in echo(PointCloud2(data=[7, 7]), "--no-arr")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--field", "."], "Invalid field value '.'"),
        (["--field", "data.nope"], "Invalid field 'data.nope': 'str' object has no attribute 'nope'"),
    ],
)
def test_options_that_make_no_sense_are_refused(echo, words, error):
    with pytest.raises(RuntimeError) as caught:
        echo(String(), *words)
    assert str(caught.value) == error


MS = 1_000_000


def reports(window, times_ms):
    found = []
    for time_ms in times_ms:
        window.arrived(time_ms * MS)
        found.append(window.report())
    return [report for report in found if report is not None]


def test_reports_come_once_a_second_as_upstream_writes_them():
    assert reports(RateWindow(10_000), range(1000, 3301, 100)) == [
        f"average rate: 10.000\n\tmin: 0.100s max: 0.100s std dev: 0.00000s window: {count}\n" for count in (11, 21)
    ]


def test_the_window_keeps_the_last_intervals_only():
    times_ms = [*range(1000, 2000, 500), *range(2000, 4000, 100)]
    assert "max: 0.100s" in reports(RateWindow(5), times_ms)[-1]


def test_a_time_that_goes_back_starts_anew():
    window = RateWindow(10_000)
    reports(window, range(5000, 7000, 100))
    (report,) = reports(window, range(1000, 2300, 200))
    assert "max: 0.200s" in report and "window: 6" in report


RELIABLE, BEST_EFFORT = ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT
LASTING, VOLATILE = DurabilityPolicy.TRANSIENT_LOCAL, DurabilityPolicy.VOLATILE


def options(*words):
    parser = argparse.ArgumentParser()
    for argument in qos_arguments():
        parser.add_argument(*argument.names, **argument.options)
    return parser.parse_args(words)


def publisher(reliability, durability):
    return TopicEndpointInfo(qos_profile=QoSProfile(depth=1, reliability=reliability, durability=durability))


@pytest.mark.parametrize("reliability", [RELIABLE, BEST_EFFORT])
@pytest.mark.parametrize("durability", [LASTING, VOLATILE])
def test_what_all_publishers_offer_is_asked_for(reliability, durability):
    profile, notices = chosen_profile(options(), [publisher(reliability, durability)] * 2)
    assert (profile.reliability, profile.durability, profile.depth, notices) == (reliability, durability, 5, [])


def test_what_only_some_offer_is_not_asked_for_and_that_is_said():
    profile, notices = chosen_profile(options(), [publisher(RELIABLE, VOLATILE), publisher(BEST_EFFORT, LASTING)])
    assert (profile.reliability, profile.durability) == (BEST_EFFORT, VOLATILE)
    assert notices == [
        "Some, but not all, publishers are offering QoSReliabilityPolicy.RELIABLE. Falling back to "
        "QoSReliabilityPolicy.BEST_EFFORT as it will connect to all publishers\n",
        "Some, but not all, publishers are offering QoSDurabilityPolicy.TRANSIENT_LOCAL. Falling back to "
        "QoSDurabilityPolicy.VOLATILE as it will connect to all publishers\n",
    ]


def test_every_policy_can_be_overridden():
    words = (
        "--qos-profile default --qos-reliability best_effort --qos-durability transient_local --qos-history keep_all"
    )
    profile, _ = chosen_profile(options(*words.split()), [])
    assert (profile.reliability, profile.durability) == (BEST_EFFORT, LASTING)
    assert profile.history.short_key == "keep_all"
