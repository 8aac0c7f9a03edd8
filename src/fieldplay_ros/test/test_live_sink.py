"""Messages are handed to the middleware as they are, and no history is overwritten before it is acknowledged."""

import signal
import subprocess
import sys
import time
from threading import Event, Thread
from typing import Any

import pytest
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from sensor_msgs.msg import CompressedImage
from std_msgs.msg import UInt32

from fieldplay_ros import live_sink
from fieldplay_ros.live_sink import ReliableHistory, sender_of, sender_of_large
from fieldplay_testing.nodes.node_stage import MEET_PATIENCE_S as PATIENCE_S
from fieldplay_testing.nodes.node_stage import TopicRecorder

TOPIC = "/large"


def test_messages_are_published_unchanged_and_by_rclpy_without_rcl_function(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listener = TopicRecorder()
    try:
        listener.subscribe(TOPIC, "sensor_msgs/msg/CompressedImage")
        publisher = listener.node.create_publisher(CompressedImage, TOPIC, 10)
        publish, by_rclpy = publisher.publish, []

        def publish_and_note(data: bytes) -> None:
            by_rclpy.append(len(data))
            publish(data)

        monkeypatch.setattr(publisher, "publish", publish_and_note)
        send, send_small = sender_of_large(publisher), sender_of(publisher)
        end = time.monotonic() + PATIENCE_S
        while not publisher.get_subscription_count():
            assert time.monotonic() < end
        large, small = (CompressedImage(format=f"of {count}", data=bytes(range(256)) * count) for count in (400, 4))
        with publisher.handle:
            for each, message in ((send, large), (send_small, small), (send, large)):
                each(serialize_message(message))
        listener.wait(lambda: len(listener.received[TOPIC]) == 3, lambda: len(listener.received[TOPIC]))
        assert listener.received[TOPIC] == [large, small, large]
        assert not by_rclpy
        monkeypatch.setattr(live_sink, "LIBRARY", "librcl_of_another_name.so")
        sender_of_large(publisher)(serialize_message(large))
        assert by_rclpy == [len(serialize_message(large))]
    finally:
        listener.close()


LISTENER = """
import rclpy
from rclpy.qos import QoSProfile
from std_msgs.msg import UInt32
rclpy.init()
node, numbers = rclpy.create_node("listener"), []
node.create_subscription(UInt32, "/numbers", lambda message: numbers.append(message.data), QoSProfile(depth=COUNT))
print("ready", flush=True)
while not numbers or numbers[-1] != COUNT - 1:
    rclpy.spin_once(node)
print(numbers == list(range(COUNT)), len(numbers), flush=True)
"""
COUNT, DEPTH = 3000, 10


def test_no_message_is_lost_to_a_reliable_subscriber_that_stands_still() -> None:
    program = [sys.executable, "-c", LISTENER.replace("COUNT", str(COUNT))]
    recorder = TopicRecorder()
    publisher = recorder.node.create_publisher(UInt32, "/numbers", QoSProfile(depth=DEPTH))
    history = ReliableHistory(publisher, DEPTH, lambda topic, waited_s, in_vain: None)
    blocked = Event()

    def publish(numbers: range) -> None:
        for number in numbers:
            history.reserve(lambda: blocked.set() is not None)
            publisher.publish(UInt32(data=number))

    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as listener:
        try:
            assert listener.stdout is not None
            assert listener.stdout.readline() == "ready\n"
            recorder.wait_for_graph(publisher.get_subscription_count)
            publish(range(COUNT // 2))
            blocked.clear()
            listener.send_signal(signal.SIGSTOP)
            rest = Thread(target=publish, args=(range(COUNT // 2, COUNT),))
            rest.start()
            assert blocked.wait(PATIENCE_S), "the publisher does not wait for a subscriber that stands still"
            listener.send_signal(signal.SIGCONT)
            rest.join(PATIENCE_S)
            assert publisher.wait_for_all_acked(live_sink.Duration(seconds=PATIENCE_S))
            assert listener.stdout.readline() == f"True {COUNT}\n"
        finally:
            listener.kill()
            recorder.close()


class Publisher:
    """A publisher whose subscriber acknowledges when the test says so."""

    topic_name = "/numbers"

    def __init__(self) -> None:
        self.is_acked = False
        self.asked = 0

    def wait_for_all_acked(self, timeout: Any) -> bool:
        self.asked += 1
        return self.is_acked


def test_subscriber_that_never_acknowledges_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Playing goes on without it, says so once, and waits again only after it has caught up."""
    monkeypatch.setattr(live_sink, "PATIENCE_S", 0.0)
    monkeypatch.setattr(live_sink, "NOTICED_S", 0.0)
    publisher, notices = Publisher(), []
    history = ReliableHistory(publisher, 4, lambda *notice: notices.append((notice[0], notice[2])))  # type: ignore[arg-type]
    for _ in range(4):
        history.reserve(lambda: False)
    assert (history.waits, publisher.asked, notices) == (0, 2, [])  # asked from half of the depth on
    for _ in range(10):
        history.reserve(lambda: False)
    assert (history.waits, notices) == (1, [("/numbers", True)])
    publisher.is_acked = True
    history.reserve(lambda: False)
    publisher.is_acked = False
    for _ in range(4):
        history.reserve(lambda: False)
    assert (history.waits, notices) == (2, [("/numbers", True)] * 2)


def test_history_without_bound_is_never_asked_for() -> None:
    publisher = Publisher()
    history = ReliableHistory(publisher, 0, lambda *notice: None)  # type: ignore[arg-type]
    for _ in range(1000):
        history.reserve(lambda: False)
    assert (history.waits, publisher.asked) == (0, 0)


def test_middleware_without_acknowledgements_is_asked_once() -> None:
    class Unsupported(Publisher):
        def wait_for_all_acked(self, timeout: Any) -> bool:
            super().wait_for_all_acked(timeout)
            raise RuntimeError("not supported")

    publisher = Unsupported()
    history = ReliableHistory(publisher, 4, lambda *notice: None)  # type: ignore[arg-type]
    for _ in range(100):
        history.reserve(lambda: False)
    assert (history.waits, publisher.asked) == (0, 1)
