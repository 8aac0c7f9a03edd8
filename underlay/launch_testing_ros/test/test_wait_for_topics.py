"""WaitForTopics on topics that are really published."""

import contextlib
import threading
import time

import pytest
import rclpy
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Int32, String

import launch_testing_ros
from launch_testing_ros import WaitForTopics

# A thread that waits for events ends when a publisher that has some is destroyed just then.
NO_EVENTS = PublisherEventCallbacks(use_default_callbacks=False)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def until(condition, timeout=10.0):
    """Wait until a condition holds that nothing announces; return whether it does."""
    deadline = time.monotonic() + timeout
    pause = threading.Event()
    while not condition() and time.monotonic() < deadline:
        pause.wait(0.005)
    return condition()


@pytest.fixture(scope="module")
def node():
    """A node of the system under test, spinning."""
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node("talker", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    stopping = threading.Event()

    def spin():
        while not stopping.is_set():
            executor.spin_once()

    thread = threading.Thread(target=spin)
    thread.start()
    yield node
    stopping.set()
    executor.create_task(lambda: None)
    thread.join()
    executor.shutdown()
    node.destroy_node()
    context.shutdown()


@pytest.fixture(autouse=True)
def shut_down(monkeypatch):
    """Upstream's thread is no daemon, and outlives a wait that failed: end it, or pytest never ends."""
    instances, init = [], WaitForTopics.__init__

    def record(self, *arguments, **options):
        init(self, *arguments, **options)
        instances.append(self)

    monkeypatch.setattr(WaitForTopics, "__init__", record)
    yield
    for instance in instances:
        instance.shutdown()


@pytest.fixture
def talk(node):
    """Publish ever greater numbers on a topic, again and again until the end of the test."""
    with contextlib.ExitStack() as stack:

        def begin(topic):
            publisher = node.create_publisher(Int32, topic, 10, event_callbacks=NO_EVENTS)
            stack.callback(node.destroy_publisher, publisher)
            numbers = iter(range(1_000_000))
            timer = node.create_timer(0.01, lambda: publisher.publish(Int32(data=next(numbers))))
            stack.callback(node.destroy_timer, timer)

        yield begin


def test_topics_that_are_published_are_heard(talk):
    talk("left")
    talk("right")
    with WaitForTopics([("left", Int32), ("right", Int32)], timeout=10.0) as heard:
        assert heard.topics_received() == {"left", "right"}
        assert heard.topics_not_received() == set()
        assert isinstance(heard.received_messages("left")[0], Int32)
        with pytest.raises(KeyError, match="not waiting for topic 'middle'"):
            heard.received_messages("middle")


def test_messages_stay_readable_after_the_end(talk):
    talk("numbers")
    with WaitForTopics([("numbers", Int32)], timeout=10.0) as heard:
        pass
    assert heard.received_messages("numbers")
    heard.shutdown()


def test_a_silent_topic_is_told_from_those_heard():
    def speak(listener):
        listener.create_publisher(String, "loud", LATCHED).publish(String(data="hello"))
        assert until(lambda: heard.topics_received() == {"loud"})  # the short timeout is for the silent one alone

    heard = WaitForTopics([("loud", String), ("silent", String)], timeout=0.5, qos_profile=LATCHED, trigger=speak)
    try:
        assert heard.wait() is False
        assert heard.topics_received() == {"loud"}
        assert heard.topics_not_received() == {"silent"}
        assert heard.received_messages("silent") == []
    finally:
        heard.shutdown()


def test_a_silent_topic_is_an_error_of_the_with_statement():
    threads = threading.active_count()
    with (
        pytest.raises(RuntimeError, match=r"Did not receive messages.*silent"),
        WaitForTopics([("silent", String)], 0.1),
    ):
        pass
    assert threading.active_count() == threads


def test_the_newest_messages_are_kept_in_order(talk):
    talk("numbers")
    with WaitForTopics([("numbers", Int32)], timeout=10.0, messages_received_buffer_length=3) as heard:
        first = heard.received_messages("numbers")[0].data
        assert until(lambda: heard.received_messages("numbers")[0].data > first)
        numbers = [message.data for message in heard.received_messages("numbers")]
    assert len(numbers) == 3
    assert numbers == sorted(set(numbers))


def test_waiting_again_forgets_what_was_heard(node):
    publisher = node.create_publisher(String, "latched_news", LATCHED, event_callbacks=NO_EVENTS)
    heard = WaitForTopics([("latched_news", String)], timeout=10.0, qos_profile=LATCHED)
    try:
        for text in ("old", "new"):
            publisher.publish(String(data=text))
            assert heard.wait()
            assert heard.received_messages("latched_news") == [String(data=text)]
    finally:
        heard.shutdown()
        node.destroy_publisher(publisher)


def test_waiting_again_destroys_nothing_that_a_thread_waits_for(monkeypatch):
    threads = []
    heard = WaitForTopics([("silent", String)], timeout=0.01)
    destroy = Node.destroy_subscription
    monkeypatch.setattr(
        Node, "destroy_subscription", lambda *of: threads.append(threading.current_thread().name) or destroy(*of)
    )
    try:
        assert not heard.wait() and not heard.wait()
        assert [name.rpartition("_")[0] for name in threads] == ["wait_for_topics"]
    finally:
        heard.shutdown()


def test_what_was_published_earlier_needs_a_transient_local_profile(node):
    publisher = node.create_publisher(String, "latched", LATCHED, event_callbacks=NO_EVENTS)
    publisher.publish(String(data="hello"))
    volatile = WaitForTopics([("latched", String)], timeout=0.5)
    try:
        assert not volatile.wait()
    finally:
        volatile.shutdown()
    with WaitForTopics([("latched", String)], timeout=10.0, qos_profile=LATCHED) as heard:
        assert [message.data for message in heard.received_messages("latched")] == ["hello"]
    node.destroy_publisher(publisher)


def test_several_can_wait_at_once_beside_the_default_context(talk):
    talk("numbers")
    assert not rclpy.ok()
    with (
        WaitForTopics([("numbers", Int32)], timeout=10.0) as one,
        WaitForTopics([("numbers", Int32)], timeout=10.0) as other,
    ):
        assert one.topics_received() == other.topics_received() == {"numbers"}
    assert not rclpy.ok()


def test_the_trigger_comes_once_a_publisher_is_there(node):
    publisher = node.create_publisher(String, "answer", 10, event_callbacks=NO_EVENTS)

    def ask(listener, text, *, mark):
        assert listener.count_publishers("answer") == 1
        assert until(lambda: publisher.get_subscription_count() == 1)
        publisher.publish(String(data=text + mark))

    heard = WaitForTopics([("answer", String)], timeout=10.0, trigger=ask)
    try:
        assert heard.wait("hello", mark="!")
        assert heard.received_messages("answer") == [String(data="hello!")]
    finally:
        heard.shutdown()
        node.destroy_publisher(publisher)


def test_a_trigger_must_be_callable_and_be_there_for_arguments():
    with pytest.raises(TypeError, match="not callable"):
        WaitForTopics([], trigger="now")
    heard = WaitForTopics([])
    try:
        with pytest.raises(TypeError, match="there is none"):
            heard.wait("hello")
    finally:
        heard.shutdown()


def test_relative_topics_are_in_the_namespace_of_the_listening_node(talk):
    talk("/robot/numbers")
    with WaitForTopics([("numbers", Int32)], timeout=10.0, node_namespace="/robot") as heard:
        assert heard.topics_received() == {"numbers"}


@pytest.mark.parametrize("name", ["DataRepublisher", "MessagePump", "tools"])
def test_parts_that_are_left_out_say_so(name):
    with pytest.raises(ImportError, match=rf"launch_testing_ros.{name} .* does not cover"):
        getattr(launch_testing_ros, name)
