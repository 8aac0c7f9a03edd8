"""States on topics without stamps, and messages of other topics of one sender: told apart by when each was sent."""

from collections import deque
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile

KEPT = 100  # changes of a state that messages which come late may still ask for
LATCHED = QoSProfile(depth=KEPT, durability=DurabilityPolicy.TRANSIENT_LOCAL)
SENT = "source_timestamp"

Heard = Callable[[Any, Any], None]


class SentStates:
    """Remembers what a topic said, and since when."""

    def __init__(self) -> None:
        self._states: deque[tuple[int, Any]] = deque(maxlen=KEPT)

    def hear(self, message: Any, info: Any) -> None:
        """A message of the topic, with rclpy's information about it."""
        self._states.append((info[SENT], message.data))

    def at(self, info: Any) -> Any:
        """What held when another message was sent; None where nothing was said before."""
        return next((state for sent, state in reversed(self._states) if sent <= info[SENT]), None)


class AfterStates:
    """Takes messages up one round of the executor later, in their order: what was sent before them is heard by then.

    An executor asks one topic after the other for news. A state that comes in right then is missed for that round,
    while the message that follows it is not. A message of which nothing can be made is left out, with a warning.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._waiting: deque[tuple[Heard, Any, Any]] = deque()
        self._next_round = node.create_guard_condition(self._take_up)

    def then(self, act: Heard) -> Heard:
        """A callback for a subscription, which has `act` called with the message and rclpy's information about it."""

        def callback(message: Any, info: Any) -> None:
            self._waiting.append((act, message, info))
            self._next_round.trigger()

        return callback

    def _take_up(self) -> None:
        while self._waiting:
            act, message, info = self._waiting.popleft()
            try:
                act(message, info)
            except ValueError as error:
                self._node.get_logger().warning(f"a message is left out: {error}", throttle_duration_sec=5.0)
