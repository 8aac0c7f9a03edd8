"""Waiting until topics have been heard."""

from __future__ import annotations

import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile


class WaitForTopics:
    """Subscribes to topics and waits until each has brought at least one message.

    Either `with WaitForTopics([("chatter", String)], timeout=5.0) as heard: ...`, which raises RuntimeError if some
    topic stays silent, or `wait()`, which returns whether all were heard, and `shutdown()` in the end. Messages stay
    readable after that. Each object has a context of its own: rclpy.init() is neither needed nor touched.
    """

    def __init__(
        self,
        topic_tuples: Iterable[tuple[str, type]],
        timeout: float = 5.0,
        messages_received_buffer_length: int | None = 10,
        trigger: Callable[..., object] | None = None,
        node_namespace: str | None = None,
        qos_profile: QoSProfile | int = 10,
    ) -> None:
        """Prepare to wait.

        Args:
            topic_tuples: pairs of a topic and its message type.
            timeout: seconds to wait for all topics.
            messages_received_buffer_length: how many of the newest messages of each topic to keep, None for all.
            trigger: called with the listening node, and with the arguments of wait(), once a publisher is there.
            node_namespace: namespace of the listening node.
            qos_profile: of the subscriptions; a number is a depth, reliable and volatile. To hear what was published
                earlier on a transient-local topic it has to be transient-local, for best-effort topics best-effort.
        """
        if trigger is not None and not callable(trigger):
            raise TypeError("the trigger passed is not callable")
        self.topic_tuples = list(topic_tuples)
        self.timeout = timeout
        self.trigger = trigger
        self._qos_profile = qos_profile
        self._buffer_length = messages_received_buffer_length
        self._received = self._empty_buffers()
        self._changed = threading.Condition()
        self._publisher_met = False
        self._subscriptions: list[Any] = []
        self._spinner = _Spinner(node_namespace)

    def wait(self, *args: Any, **kwargs: Any) -> bool:
        """Listen, forgetting what came before; return whether every topic was heard within the timeout.

        The arguments go to the trigger.
        """
        if self.trigger is None and (args or kwargs):
            raise TypeError("wait() takes arguments only for a trigger, and there is none")
        self._subscribe()
        if self.trigger is not None:
            with self._changed:
                self._changed.wait_for(lambda: self._publisher_met, self.timeout)
            self.trigger(self._spinner.node, *args, **kwargs)
        with self._changed:
            return self._changed.wait_for(lambda: not self.topics_not_received(), self.timeout)

    def shutdown(self) -> None:
        """Stop listening."""
        self._spinner.stop()

    def topics_received(self) -> set[str]:
        """Topics that brought at least one message."""
        with self._changed:
            return {topic for topic, messages in self._received.items() if messages}

    def topics_not_received(self) -> set[str]:
        """Topics that brought no message."""
        return {topic for topic, _ in self.topic_tuples} - self.topics_received()

    def received_messages(self, topic_name: str) -> list[Any]:
        """List the newest messages of a topic, oldest first."""
        with self._changed:
            if topic_name not in self._received:
                raise KeyError(f"not waiting for topic {topic_name!r}")
            return list(self._received[topic_name])

    def __enter__(self) -> WaitForTopics:
        heard = False
        try:
            heard = self.wait()
        finally:
            if not heard:
                self.shutdown()
        if not heard:
            raise RuntimeError(f"Did not receive messages on these topics: {sorted(self.topics_not_received())}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.shutdown()

    def _empty_buffers(self) -> dict[str, deque[Any]]:
        return {topic: deque(maxlen=self._buffer_length) for topic, _ in self.topic_tuples}

    def _subscribe(self) -> None:
        if self._subscriptions:
            self._spinner.do(self._unsubscribe)
        with self._changed:
            self._publisher_met = False
            self._received = self._empty_buffers()
        for topic, message_type in self.topic_tuples:
            receive = self._receiver(self._received[topic])
            events = SubscriptionEventCallbacks(matched=self._on_matched)
            self._subscriptions.append(
                self._spinner.node.create_subscription(
                    message_type, topic, receive, self._qos_profile, event_callbacks=events
                )
            )

    def _unsubscribe(self) -> None:
        while self._subscriptions:
            self._spinner.node.destroy_subscription(self._subscriptions.pop())

    def _receiver(self, messages: deque[Any]) -> Callable[[Any], None]:
        def receive(message: Any) -> None:
            with self._changed:
                messages.append(message)
                self._changed.notify_all()

        return receive

    def _on_matched(self, status: Any) -> None:
        with self._changed:
            self._publisher_met = self._publisher_met or status.current_count > 0
            self._changed.notify_all()


class _Spinner:
    """A node in a context of its own, with a thread that spins it."""

    def __init__(self, namespace: str | None) -> None:
        self._context = Context()
        rclpy.init(context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        name = f"wait_for_topics_{uuid.uuid4().hex}"
        self.node: Node = rclpy.create_node(name, context=self._context, namespace=namespace)
        self._executor.add_node(self.node)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._spin, name=name, daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        while not self._stopping.is_set():
            try:
                self._executor.spin_once()
            except ExternalShutdownException:
                return

    def do(self, act: Callable[[], None]) -> None:
        """Have the thread do it, and wait: to destroy what it just then waits for would end it."""
        if not self._thread.is_alive():
            act()
            return
        task, done = self._executor.create_task(act), threading.Event()
        task.add_done_callback(lambda _: done.set())
        done.wait()

    def stop(self) -> None:
        if self._stopping.is_set():
            return
        self._stopping.set()
        # Only work makes spin_once() return.
        self._executor.create_task(lambda: None)
        # Nothing may be destroyed while the thread still looks at it.
        self._thread.join()
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()
