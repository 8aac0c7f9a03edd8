"""What passes messages on, and where they come from."""

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

Callback = Callable[..., object]


class SimpleFilter:
    """Calls callbacks with what is signalled."""

    def __init__(self) -> None:
        """Have no callbacks yet."""
        self.callbacks: dict[int, tuple[Callback, tuple[Any, ...]]] = {}

    def registerCallback(self, cb: Callback, *args: Any) -> int:
        """Call ``cb(*messages, *args)`` from now on; return the number of its connection."""
        connection = len(self.callbacks)
        self.callbacks[connection] = (cb, args)
        return connection

    def signalMessage(self, *msg: Any) -> None:
        """Call all callbacks."""
        for callback, args in list(self.callbacks.values()):
            callback(*msg, *args)


class Subscriber(SimpleFilter):
    """Passes on what arrives on a topic."""

    def __init__(
        self, node: Node, msg_type: Any, topic: str, qos_profile: QoSProfile | int = 10, **kwargs: Any
    ) -> None:
        """Subscribe by ``node``; other arguments are those of its create_subscription."""
        super().__init__()
        self.node, self.msg_type, self.topic = node, msg_type, topic
        self.sub: Subscription = node.create_subscription(msg_type, topic, self.callback, qos_profile, **kwargs)

    def callback(self, msg: Any) -> None:
        """Pass a message on."""
        self.signalMessage(msg)

    def getTopic(self) -> str:
        """Return the name of the topic."""
        return self.topic

    def unsubscribe(self) -> None:
        """Hear no more."""
        self.node.destroy_subscription(self.sub)
