"""A node that subscribes to all topics that a view shows, foreign ones too, and never makes a publisher wait."""

import re
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from importlib import import_module
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from fieldplay.messages.message_batches import Topic
from fieldplay.messages.point_clouds import CLOUD
from fieldplay.messages.record_decoder import COMPRESSED, IMAGE
from fieldplay.streams.message_block import RawMessage
from fieldplay.view.rerun_stream import is_shown
from fieldplay.view.show import ReceiveQueue
from fieldplay_ros.node_program import spin_in_thread

LARGE = (CLOUD, IMAGE, COMPRESSED)
FEW, MANY = 4, 200
LOOK_EVERY_S = 0.5


class Listener:
    """Subscribes to what appears; `left` are the topics whose types are not shown or not there."""

    def __init__(self, node: Node, backlog: ReceiveQueue, requested: str) -> None:
        self._node, self._backlog, self._pattern = node, backlog, re.compile(requested)
        self._topic_subscriptions: dict[Topic, Any] = {}
        self.left: dict[str, str] = {}
        self.discover()
        node.create_timer(LOOK_EVERY_S, self.discover)

    @property
    def topics(self) -> list[Topic]:
        return list(self._topic_subscriptions)

    def discover(self) -> None:
        """Find what is new."""
        for name, msgtypes in self._node.get_topic_names_and_types():
            for msgtype in msgtypes:
                topic = Topic(name, msgtype)
                if topic not in self._topic_subscriptions and name not in self.left and self._pattern.search(name):
                    self._receive(topic)

    def _receive(self, topic: Topic) -> None:
        publishers = self._node.get_publishers_info_by_topic(topic.name)
        if not publishers:
            return
        try:
            kind = message_class(topic.msgtype) if is_shown(topic.msgtype) else None
        except (ImportError, AttributeError):
            kind = None
        if kind is None:
            self.left[topic.name] = topic.msgtype
            return
        is_latched = any(info.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for info in publishers)
        profile = QoSProfile(
            depth=FEW if topic.msgtype in LARGE else MANY,
            reliability=ReliabilityPolicy.RELIABLE if is_latched else ReliabilityPolicy.BEST_EFFORT,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if is_latched else DurabilityPolicy.VOLATILE,
        )
        self._topic_subscriptions[topic] = self._node.create_subscription(
            kind, topic.name, partial(self._take, topic), profile, raw=True
        )

    def _take(self, topic: Topic, data: bytes) -> None:
        self._backlog.put(RawMessage(topic.name, time.time_ns(), data, topic.msgtype))


def message_class(msgtype: str) -> Any:
    """The class of a message type as in 'sensor_msgs/msg/Imu'."""
    package, _, name = msgtype.split("/")
    return getattr(import_module(f"{package}.msg"), name)


def listening(
    backlog: ReceiveQueue, requested: str, ending: Callable[[], AbstractContextManager[None]] = nullcontext
) -> AbstractContextManager[Listener]:
    """A listener at work, in a thread of its own."""
    return spin_in_thread("fieldplay_view", lambda node: Listener(node, backlog, requested), ending)
