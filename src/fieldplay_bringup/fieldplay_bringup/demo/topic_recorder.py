"""A node that hears topics as they are on the wire."""

import threading
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import partial
from importlib import import_module
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosbag2_interfaces.srv import Resume

from fieldplay.core.process_exit import exit_deadline
from fieldplay_bringup.demo.received import ReceivedTopic
from fieldplay_ros.node_program import spin_in_thread

QUEUE = 2000
SETTLED_S = 2.0  # so long the graph must stay as it is before it counts as complete
PATIENCE_S = 60.0


class TopicRecorder:
    """Hears the topics in a thread of its own."""

    def __init__(self, node: Node, topics: Mapping[str, str], latched: frozenset[str]) -> None:
        self.received = {topic: ReceivedTopic(msgtype) for topic, msgtype in topics.items()}
        self._node = node
        self._subscriptions = [self._subscribe(topic, latched=topic in latched) for topic in topics]
        self._states = node.create_subscription(DiagnosticArray, "/diagnostics", self._take_state, 10)
        self.players_subscribers = 0  # as the player counts those that have found its topics

    def _subscribe(self, topic: str, *, latched: bool) -> Any:
        received = self.received[topic]
        durability = DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE
        return self._node.create_subscription(
            message_class(received.msgtype),
            topic,
            lambda data: received.add(data, time.monotonic()),
            QoSProfile(depth=QUEUE, durability=durability),
            raw=True,
        )

    def _take_state(self, message: DiagnosticArray) -> None:
        for status in message.status:
            values = {pair.key: pair.value for pair in status.values}
            self.players_subscribers = int(values.get("subscribers", self.players_subscribers))

    def unmatched(self) -> list[str]:
        """The topics on which no publisher has been found yet."""
        names = list(self.received)
        return [name for name, own in zip(names, self._subscriptions, strict=True) if not own.get_publisher_count()]

    def resume(self, player: str) -> None:
        """Let the player begin."""
        client = self._node.create_client(Resume, f"{player}/resume")
        if not client.wait_for_service(PATIENCE_S):
            raise TimeoutError(f"{player} offers no service ~/resume")
        answered = threading.Event()
        client.call_async(Resume.Request()).add_done_callback(lambda _: answered.set())
        if not answered.wait(PATIENCE_S):
            raise TimeoutError(f"{player} does not resume")


def message_class(msgtype: str) -> Any:
    """The class of a message type as in 'sensor_msgs/msg/Imu'."""
    package, _, name = msgtype.split("/")
    return getattr(import_module(f"{package}.msg"), name)


def listening(topics: Mapping[str, str], latched: frozenset[str]) -> AbstractContextManager[TopicRecorder]:
    """A listener at work."""
    return spin_in_thread(
        "demo", lambda node: TopicRecorder(node, topics, latched), partial(exit_deadline, is_last=False)
    )
