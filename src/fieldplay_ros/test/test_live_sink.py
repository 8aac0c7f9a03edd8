"""Messages are handed to the middleware as they are, and no history is overwritten before it is acknowledged."""

import ctypes
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from threading import Event, Thread, Timer
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from sensor_msgs.msg import CompressedImage
from std_msgs.msg import UInt32

from fieldplay.player.playback import Schedule
from fieldplay_ros import live_sink
from fieldplay_ros.live_sink import ReliableHistory, SchedulePublisher, sender_of, sender_of_large
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


MS = 1_000_000
NEVER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64)(lambda publisher, timeout_ns: 2)  # a timeout
TOPICS = ("/first", "/second")


class ScheduleStage:
    """Two publishers of numbers, their listener, and what publishes schedules."""

    def __init__(self) -> None:
        self.recorder = TopicRecorder()
        for topic in TOPICS:
            self.recorder.subscribe(topic, "std_msgs/msg/UInt32")
        self.publishers = [self.recorder.node.create_publisher(UInt32, topic, 100) for topic in TOPICS]
        self.recorder.wait_for_graph(lambda: all(each.get_subscription_count() for each in self.publishers))
        self.counters = np.array([[0, 0], *[[sys.maxsize, sys.maxsize]] * 3], np.int64)
        scheduler = SchedulePublisher.open(self.publishers, self.counters)
        assert scheduler is not None, "the extension is not built"
        self.scheduler = scheduler

    def schedule(self, due_ms: list[int], *, from_ns: int) -> Schedule:
        """Numbers from 0 on, in turns on both topics; every third as a view."""
        data = [serialize_message(UInt32(data=number)) for number in range(len(due_ms))]
        views = [memoryview(b"...." + each)[4:] if number % 3 == 2 else each for number, each in enumerate(data)]
        feeds = np.arange(len(due_ms), dtype=np.int32) % 2
        return Schedule(feeds, views, from_ns + np.array(due_ms, np.int64) * MS)

    def received(self, count: int) -> list[list[int]]:
        """The numbers of each topic, once so many are there."""
        self.recorder.wait(lambda: sum(map(len, self.recorder.received.values())) >= count, lambda: count)
        return [[message.data for message in self.recorder.received[topic]] for topic in TOPICS]


@pytest.fixture
def stage() -> Iterator[ScheduleStage]:
    made = ScheduleStage()
    yield made
    made.scheduler.close()
    made.scheduler.interrupt()  # also by a signal that comes when all is over
    made.recorder.close()


def test_schedule_is_published_at_its_times_as_rclpy_publishes_it(stage: ScheduleStage) -> None:
    begin_ns = time.monotonic_ns()
    schedule = stage.schedule([0, 0, 40, 40, 80], from_ns=begin_ns)
    stage.scheduler.prepare()
    index, reason, lag_ns, largest_lag_ns = stage.scheduler.publish(schedule, 0)
    assert (index, reason, stage.scheduler.progress) == (5, live_sink.DONE, 5)
    assert time.monotonic_ns() - begin_ns >= 80 * MS - 50_000  # it waits for the last, which leaves 50 us early at most
    assert 0 <= lag_ns <= largest_lag_ns
    assert stage.counters[0].tolist() == [3, 2]
    assert stage.received(5) == [[0, 2, 4], [1, 3]]
    for feed, data in zip(schedule.feeds.tolist(), schedule.data, strict=True):
        stage.publishers[feed].publish(bytes(data))
    assert stage.received(10) == [[0, 2, 4] * 2, [1, 3] * 2]


def test_interrupted_schedule_ends_at_once_and_goes_on_from_there(stage: ScheduleStage) -> None:
    schedule = stage.schedule([0, 0, 0, 10_000_000], from_ns=time.monotonic_ns())
    stage.scheduler.prepare()
    Timer(0.05, stage.scheduler.interrupt).start()
    assert stage.scheduler.publish(schedule, 0)[:2] == (3, live_sink.INTERRUPTED)  # else it takes hours
    assert stage.scheduler.publish(schedule, 3)[:2] == (3, live_sink.INTERRUPTED)  # also when it came before
    stage.scheduler.prepare()
    late = stage.schedule([0, 0, 0, 0], from_ns=time.monotonic_ns() - 500 * MS)
    index, reason, lag_ns, _ = stage.scheduler.publish(late, 3)
    assert (index, reason) == (4, live_sink.DONE)
    assert lag_ns >= 500 * MS
    assert stage.received(4) == [[0, 2], [1, 3]]


def test_schedule_ends_before_a_history_is_overwritten(stage: ScheduleStage) -> None:
    stage.counters[1:] = [[1, 10], [2, 20], [2, 20]]
    with patch.object(
        stage.scheduler, "_functions", [stage.scheduler._functions[0], ctypes.cast(NEVER, ctypes.c_void_p).value]
    ):
        index, reason, *_ = stage.scheduler.publish(stage.schedule([0] * 8, from_ns=time.monotonic_ns()), 0)
    assert index == 4  # the third message of the first topic
    assert reason not in (live_sink.DONE, live_sink.INTERRUPTED)
    assert stage.received(4) == [[0, 2], [1, 3]]
    assert stage.publishers[0].wait_for_all_acked(live_sink.Duration(seconds=PATIENCE_S))
    index, reason, *_ = stage.scheduler.publish(stage.schedule([0] * 8, from_ns=time.monotonic_ns()), 4)
    assert stage.counters[0, 0] >= 1, "all were acknowledged, so it goes on"
    assert index > 4


@pytest.mark.parametrize(
    "change",
    [{"feeds": np.array([0, 2], np.int32)}, {"feeds": np.array([0, -1], np.int32)}, {"due_ns": np.zeros(1, np.int64)}],
    ids=["no such feed", "negative feed", "too few times"],
)
def test_schedule_of_wrong_arrays_is_refused(stage: ScheduleStage, change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected arrays"):
        stage.scheduler.publish(stage.schedule([0, 0], from_ns=0)._replace(**change), 0)
