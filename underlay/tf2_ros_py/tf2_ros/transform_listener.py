"""Feeds a buffer from the transform topics."""

from contextlib import suppress
from threading import Event, Thread, current_thread

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, ShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from tf2_msgs.msg import TFMessage

from .buffer import Buffer

_AUTHORITY = "default_authority"
_NOTICE_S = 0.1  # how soon the end is noticed where nothing else happens


class TransformListener:
    """Subscribes to ``/tf`` and ``/tf_static`` for as long as it lives."""

    def __init__(
        self,
        buffer: Buffer,
        node: Node,
        *,
        spin_thread: bool = False,
        qos: QoSProfile | int | None = None,
        static_qos: QoSProfile | int | None = None,
    ) -> None:
        """Subscribe; with ``spin_thread``, spin the node in a thread of its own until its context shuts down.

        Without ``qos`` and ``static_qos``: a depth of 100, volatile and transient local.
        """
        if qos is None:
            qos = QoSProfile(depth=100)
        if static_qos is None:
            static_qos = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.buffer = buffer
        self.node = node
        # Reentrant: with several executor threads, a callback may wait for transforms that arrive meanwhile.
        self.group = ReentrantCallbackGroup()
        self.tf_sub = node.create_subscription(TFMessage, "/tf", self.callback, qos, callback_group=self.group)
        self.tf_static_sub = node.create_subscription(
            TFMessage, "/tf_static", self.static_callback, static_qos, callback_group=self.group
        )
        if spin_thread:
            self.executor = SingleThreadedExecutor(context=node.context)
            # Not a daemon: the interpreter must not end while a thread is inside rcl.
            self._ends = Event()
            self.dedicated_listener_thread = Thread(target=_spin, args=(self.executor, node, self._ends))
            self.dedicated_listener_thread.start()

    def __del__(self) -> None:
        """Stop the thread and unsubscribe."""
        thread = getattr(self, "dedicated_listener_thread", None)
        if thread is not None:
            self._ends.set()
            if thread is not current_thread():
                thread.join()
            self.executor.shutdown()
        if hasattr(self, "tf_static_sub"):
            self.unregister()

    def unregister(self) -> None:
        """Unsubscribe from both topics."""
        self.node.destroy_subscription(self.tf_sub)
        self.node.destroy_subscription(self.tf_static_sub)

    def callback(self, data: TFMessage) -> None:
        """Store moving transforms."""
        for transform in data.transforms:
            self.buffer.set_transform(transform, _AUTHORITY)

    def static_callback(self, data: TFMessage) -> None:
        """Store static transforms."""
        for transform in data.transforms:
            self.buffer.set_transform_static(transform, _AUTHORITY)


def _spin(executor: SingleThreadedExecutor, node: Node, ends: Event) -> None:
    """Spin until the end, which comes between two callbacks: a shutdown in the midst of one is an error of rclpy's."""
    executor.add_node(node)
    with suppress(ExternalShutdownException, ShutdownException):
        while not ends.is_set() and node.context.ok():
            _spin_once(executor, node)
    executor.remove_node(node)


def _spin_once(executor: SingleThreadedExecutor, node: Node) -> None:
    """Spin once; rclpy fails where the context is shut down just while it prepares to wait."""
    try:
        executor.spin_once(_NOTICE_S)
    except RuntimeError:
        if node.context.ok():
            raise
