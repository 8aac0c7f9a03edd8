import argparse

import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.topic_endpoint_info import TopicEndpointInfo

from ros2cli.qos import chosen_profile, qos_arguments

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


def test_one_override_and_the_publishers_do_not_count():
    profile, notices = chosen_profile(options("--qos-depth", "9"), [publisher(RELIABLE, LASTING)])
    assert (profile.reliability, profile.durability, profile.depth, notices) == (BEST_EFFORT, VOLATILE, 9, [])


def test_every_policy_can_be_overridden():
    words = (
        "--qos-profile default --qos-reliability best_effort --qos-durability transient_local --qos-history keep_all"
    )
    profile, _ = chosen_profile(options(*words.split()), [])
    assert (profile.reliability, profile.durability) == (BEST_EFFORT, LASTING)
    assert profile.history.short_key == "keep_all"
