"""Bags recorded of a node in this process, told of, and played to it."""

import threading
import time
from collections import defaultdict
from types import SimpleNamespace

import pytest
import rclpy
from rclpy.context import Context
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosbag2_interfaces.srv import Resume
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String

PATIENCE_S, NOTICE_S = 120.0, 0.1
LASTING = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
MANY = 20


@pytest.fixture(scope="module")
def world(spinning):
    """A talker, what it hears, and a condition that is told of each message."""
    context = Context()
    rclpy.init(args=[], context=context)
    node = rclpy.create_node("talker", context=context, start_parameter_services=False)
    changed, heard = threading.Condition(), defaultdict(list)
    latched = node.create_publisher(String, "/latched", LASTING)
    latched.publish(String(data="said once"))
    chatter = node.create_publisher(String, "/chatter", 10)
    sent = []

    def talk():
        with changed:
            if chatter.get_subscription_count():
                sent.append(f"number {len(sent)}")
                chatter.publish(String(data=sent[-1]))
            changed.notify_all()

    def hear(topic, kind, qos=50):
        def take(message):
            with changed:
                heard[topic].append(message)
                changed.notify_all()

        node.create_subscription(kind, topic, take, qos)

    def wait(condition):  # of what nobody is told, such as publishers that are found, too
        end = time.monotonic() + PATIENCE_S
        with changed:
            while not condition():
                assert time.monotonic() < end
                changed.wait(NOTICE_S)

    timer = node.create_timer(0.01, talk)
    with spinning(node):
        yield SimpleNamespace(node=node, sent=sent, heard=heard, hear=hear, wait=wait, timer=timer, chatter=chatter)
    node.destroy_node()
    rclpy.shutdown(context=context)


@pytest.fixture(scope="module")
def recorded(world, start_many, tmp_path_factory):
    """A bag of each storage, recorded at the same time, and what was sent."""
    folder = tmp_path_factory.mktemp("bags")
    running = {
        "mcap": start_many("bag", "record", "-b", "800", "-o", str(folder / "mcap"), "/chatter", "latched"),
        "sqlite3": start_many("bag", "record", "-s", "sqlite3", "-o", str(folder / "sqlite3"), "-e", "^/(cha|lat)"),
    }
    outputs = {name: [process.read_until("Subscribed to topic") for _ in range(2)] for name, process in running.items()}
    assert all("Subscribed to topic '/" in output for both in outputs.values() for output in both), outputs
    world.wait(lambda: world.chatter.get_subscription_count() >= len(running))
    begin = len(world.sent)
    world.wait(lambda: len(world.sent) > begin + 5 * MANY)  # they may know of the talker a little later than it of them
    ends = {}
    for name, process in running.items():
        process.interrupt_group()
        ends[name] = process.finish()
    world.timer.cancel()
    return folder, ends


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_what_was_recorded_is_told(recorded, ros2, storage):
    folder, ends = recorded
    code, out = ends[storage]
    assert code == 0, out
    assert "Recording stopped" in out
    outcome = ros2("bag", "info", str(folder / storage))
    lines = {line[:19].strip(): line[19:].strip() for line in outcome.out.splitlines()}
    assert outcome.code == 0
    assert (lines["Storage id:"], lines["ROS Distro:"]) == (storage, "jazzy")
    assert int(lines["Messages:"]) >= MANY
    files = {f"{storage}_{number}.{'mcap' if storage == 'mcap' else 'db3'}" for number in range(2)}
    assert files <= set(outcome.out.split()) if storage == "mcap" else len(files & set(outcome.out.split())) == 1
    assert "Topic: /latched | Type: std_msgs/msg/String | Count: 1 | Serialization Format: cdr" in outcome.out
    assert "Topic: /chatter | Type: std_msgs/msg/String | Count: " in outcome.out
    assert set(ros2("bag", "info", "-t", str(folder / storage)).out.split()) == {"/chatter", "/latched"}


def test_a_bag_is_played_as_it_was_recorded(recorded, world, start_ros2):
    world.hear("/again", String)
    world.hear("/latched_again", String, LASTING)
    world.hear("/clock", Clock)
    words = ("--remap", "/chatter:=/again", "/latched:=/latched_again", "--clock", "50", "-r", "2", "--start-paused")
    process = start_ros2("bag", "play", str(recorded[0] / "mcap"), *words)
    assert "Playback of" in process.read_until("Playback of")
    world.wait(lambda: world.node.count_publishers("/again") and world.node.count_publishers("/latched_again"))
    client = world.node.create_client(Resume, "/rosbag2_player/resume")
    assert client.wait_for_service(PATIENCE_S)
    assert not world.heard["/again"]
    client.call_async(Resume.Request())
    assert process.finish()[0] == 0
    heard = world.heard
    world.wait(lambda: len(heard["/again"]) >= MANY and heard["/latched_again"] and heard["/clock"])
    texts = [message.data for message in heard["/again"]]
    assert texts == [text for text in world.sent if text in texts]  # a busy listener may miss some
    assert [message.data for message in heard["/latched_again"]] == ["said once"]
    assert heard["/clock"][-1].clock.sec > 1_000_000_000


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["play", "nowhere"], "Bag path 'nowhere' does not exist!"),
        (["play", "BAG", "--topics", "/nobody"], "there is no message to play"),
        (["play", "BAG", "--start-offset", "9999"], "--start-offset: the bag ends"),
        (["play", "BAG", "--regex", "("], "Invalid regular expression"),
        (["play", "BAG", "-s", "sqlite3"], "is mcap, not sqlite3"),
        (["record", "-a", "-o", "BAG"], "already exists"),
        (["record"], "Invalid choice"),
        (["info", "nowhere"], "Bag path 'nowhere' does not exist!"),
    ],
)
def test_what_cannot_be_is_said(recorded, ros2, words, reason):
    bag = str(recorded[0] / "mcap")
    outcome = ros2("bag", *[bag if word == "BAG" else word for word in words])
    assert outcome.code == 1
    assert reason in outcome.err


def test_option_that_only_upstream_has_is_named(ros2):
    outcome = ros2("bag", "play", "x", "--clock-topics", "/a")
    assert outcome.code == 2
    assert "--clock-topics" in outcome.err and "is not covered by this stand-in" in outcome.err
