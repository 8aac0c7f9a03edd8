"""Messages go out as live topics, as the bytes that they are."""

import ctypes
import os
import struct
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, HistoryPolicy, LivelinessPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock

from fieldplay.bags.storage import Qos
from fieldplay.core.errors import UsageError
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.messages.cdr_layout import CDR_LITTLE_ENDIAN
from fieldplay.messages.codec import MESSAGES
from fieldplay.messages.message_batches import full_type
from fieldplay.player.options import RequiredSubscription
from fieldplay.player.playback import Published, Schedule, Sink
from fieldplay.player.qos_overrides import Override, PublisherQos, apply_override
from fieldplay.player.read_ahead import LARGE_TYPES, Data
from fieldplay.streams.message_block import LARGE_BYTES
from fieldplay.streams.topic_stream import TopicStream
from fieldplay.topics.archive_topics import channel_of_feed
from fieldplay.topics.plain_bag_topics import StoredFeed

try:
    from fieldplay_ros import _timed_publish
except ImportError:  # built without a compiler, or for another system than Linux
    _timed_publish = None  # type: ignore[assignment]

LIBRARY, FUNCTION = "librcl.so", "rcl_publish_serialized_message"
ACKNOWLEDGED = "rcl_publisher_wait_for_all_acked"
Send = Callable[[bytes], None]
SendLarge = Callable[[bytes | memoryview], None]
TIME = struct.Struct("<iI")
SIGNALS_S = 0.1
# So many messages of a topic may a subscriber still ask for: played fast, ten are gone before it can.
MAX_HISTORY = 1000  # of small ones
GROWING_TYPES = {"nav_msgs/msg/Path", "std_msgs/msg/Float64MultiArray", "geometry_msgs/msg/PoseArray"}
SMALL_TYPES = {"tf2_msgs/msg/TFMessage", "sensor_msgs/msg/CameraInfo"} | MESSAGES.keys() - GROWING_TYPES - LARGE_TYPES
MAX_TIMES = 5.0  # as many as they are offered with, of large ones, by the rate
CLOCK = "/clock"
AT_ONCE = Duration()
SLICE_S = 0.05  # Python handles signals only between the waits of ROS
DONE, INTERRUPTED = 0, 1  # why publishing a schedule ends
PATIENCE_S = 5.0  # how long a subscriber may take to acknowledge before playing goes on without it
NOTICED_S = 0.1  # a wait that is worth a line
UNACKNOWLEDGED, ASK_FROM, DEPTH, WAIT_AT = range(4)  # what the counters of a history are
LEAD_NS = 100_000_000  # so long before they are due messages are handed to what publishes them at their times


class ReliableHistory:
    """Keeps the history of a publisher from being overwritten before its reliable subscribers have acknowledged it.

    A keep-last publisher that has more unacknowledged messages than its depth drops the oldest of them. ROS reports
    only whether *all* messages are acknowledged. So this is asked, without waiting, once half of the history may lack
    an acknowledgement, and waited for when all of it may.

    Args:
        publisher: The publisher.
        depth: How many messages its history keeps; 0 where nothing can be overwritten.
        notify: Called with the topic and the seconds of a wait that was long, and whether it ended in vain.
        counters: (4,) The messages since all were acknowledged; from how many on that is asked; how many the history
            keeps; and at how many of them playing waits. Shared with what publishes a schedule.
    """

    def __init__(
        self,
        publisher: Publisher,
        depth: int,
        notify: Callable[[str, float, bool], None],
        counters: NDArray[np.int64] | None = None,
    ) -> None:
        self._publisher, self._notify = publisher, notify
        self._counters = np.zeros(4, np.int64) if counters is None else counters
        self._counters[:] = (0, max(depth // 2, 1), depth, depth) if depth else (0, *[sys.maxsize] * 3)
        self.waits = 0

    def reserve(self, is_cancelled: Callable[[], bool]) -> None:
        """Call before each message: returns when publishing it overwrites nothing that a subscriber still needs.

        A subscriber that acknowledges nothing for 5 s is waited for again only after it has caught up.
        """
        if self._counters[UNACKNOWLEDGED] >= self._counters[ASK_FROM]:
            self._make_room(is_cancelled)
        self._counters[UNACKNOWLEDGED] += 1

    def _make_room(self, is_cancelled: Callable[[], bool]) -> None:
        if self._is_acknowledged(AT_ONCE):
            self._forget()
        elif self._counters[UNACKNOWLEDGED] >= self._counters[WAIT_AT]:
            self._wait(is_cancelled)

    def _is_acknowledged(self, timeout: Duration) -> bool:
        try:
            return bool(self._publisher.wait_for_all_acked(timeout))
        except RuntimeError:  # a middleware without acknowledgements is not asked again
            self._counters[1:] = sys.maxsize
            return True

    def _forget(self) -> None:
        self._counters[UNACKNOWLEDGED], self._counters[WAIT_AT] = 0, self._counters[DEPTH]

    def _wait(self, is_cancelled: Callable[[], bool]) -> None:
        begin = time.monotonic()
        self.waits += 1
        while not (is_taken := self._is_acknowledged(Duration(seconds=SLICE_S))):
            if is_cancelled() or time.monotonic() - begin >= PATIENCE_S:
                break
        if is_taken:
            self._forget()
        else:
            self._counters[WAIT_AT] = sys.maxsize  # until it has caught up
        waited_s = time.monotonic() - begin
        if waited_s >= NOTICED_S and not is_cancelled():
            self._notify(self._publisher.topic_name, waited_s, not is_taken)


# Messages handed to the middleware as the bytes that they are, the large ones while other threads go on.
#
# rclpy's publish copies the bytes first, and keeps the lock of Python while the middleware copies them again. rcl
# itself takes them where they lie. For small ones rclpy's is the faster, and does where rcl's library has no such
# function.


class _Allocator(ctypes.Structure):
    """rcutils_allocator_t: nothing is allocated, as the bytes are Python's."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("allocate", "deallocate", "reallocate", "zero_allocate", "state")]


class _Message(ctypes.Structure):
    """rcl_serialized_message_t."""

    _fields_ = [
        ("buffer", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("capacity", ctypes.c_size_t),
        ("allocator", _Allocator),
    ]


def sender_of(publisher: Publisher) -> Send:
    """What sends the bytes of a small message, without rclpy's questions whether it is one and is still there.

    The publisher's handle is to be held meanwhile.
    """
    send: Send = getattr(publisher.handle, "publish_raw", publisher.publish)
    return send


def sender_of_large(publisher: Publisher) -> SendLarge:
    """What sends the bytes of a large message, copied once; called by one thread at a time."""

    def copying(data: bytes | memoryview) -> None:
        publisher.publish(bytes(data))

    try:
        function = ctypes.CDLL(LIBRARY)[FUNCTION]
    except (OSError, AttributeError):
        return copying
    function.argtypes, function.restype = (ctypes.c_void_p, ctypes.POINTER(_Message), ctypes.c_void_p), ctypes.c_int
    message = _Message()
    pointer = ctypes.byref(message)

    def send(data: bytes | memoryview) -> None:
        message.buffer = np.frombuffer(data, np.uint8).ctypes.data
        message.length = message.capacity = len(data)
        with publisher.handle:
            failed = function(publisher.handle.pointer, pointer, None) != 0
        if failed:
            copying(data)  # which says why where it cannot

    return send


class SchedulePublisher:
    """Publishes schedules in C, at their times and without Python's lock.

    Args:
        publishers: The publishers, by feed.
        counters: (4, feeds) Those of their histories.
    """

    def __init__(self, publishers: Sequence[Publisher], counters: NDArray[np.int64]) -> None:
        library = ctypes.CDLL(LIBRARY)
        self._functions = [ctypes.cast(library[name], ctypes.c_void_p).value or 0 for name in (FUNCTION, ACKNOWLEDGED)]
        self._publishers, self._counters = publishers, counters
        self._state = np.zeros(2, np.int64)  # whether it is interrupted, and how many messages have left
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._pointers = np.zeros(0, np.uint64)

    @classmethod
    def open(cls, publishers: Sequence[Publisher], counters: NDArray[np.int64]) -> "SchedulePublisher | None":
        """Make one; None where the extension was not built, or rcl is another than expected."""
        if _timed_publish is None:
            return None
        try:
            return cls(publishers, counters)
        except (OSError, AttributeError):
            return None

    @property
    def progress(self) -> int:
        """How many messages of the schedule have left."""
        return int(self._state[1])

    def prepare(self) -> None:
        """Forget interruptions of before."""
        self._state[:] = 0
        with suppress(BlockingIOError):
            os.eventfd_read(self._wake)

    def interrupt(self) -> None:
        """Let publishing end now."""
        self._state[0] = 1
        if self._wake >= 0:  # a signal may come when all is over
            os.eventfd_write(self._wake, 1)

    def publish(self, schedule: Schedule, start: int) -> tuple[int, int, int, int]:
        """Publish from `start` on; the index of the first message that was not, why, the last lag and the largest.

        The publishers' handles are to be held from the first call to the last.
        """
        if not len(self._pointers):
            self._pointers = np.array([publisher.handle.pointer for publisher in self._publishers], np.uint64)
        publish, acknowledged = self._functions
        return _timed_publish.publish(
            publish,
            acknowledged,
            self._pointers,
            self._counters,
            schedule.feeds,
            schedule.data,
            schedule.due_ns,
            self._state,
            self._wake,
            start,
        )

    def close(self) -> None:
        wake, self._wake = self._wake, -1
        os.close(wake)


class RosPublisherSink(Sink):
    """One publisher for each feed, one for jumps of the play head, and /clock if it is wanted."""

    def __init__(
        self,
        node: Node,
        feeds: Sequence[TopicStream],
        overrides: dict[str, Override],
        *,
        with_clock: bool,
        rate: float = 1.0,
        is_scheduled: bool = True,
    ) -> None:
        unknown = set(overrides) - {feed.topic for feed in feeds}
        if unknown:
            node.get_logger().warning(f"qos_overrides: nothing is played on {', '.join(sorted(unknown))}")
        self._node = node
        self._publishers = [_publisher(node, feed, overrides.get(feed.topic, {}), rate) for feed in feeds]
        self._send = [sender_of(publisher) for publisher in self._publishers]
        self._send_large = [sender_of_large(publisher) for publisher in self._publishers]
        self._streams = [feed.stream for feed in feeds]
        self._volatile = [publisher for publisher, feed in zip(self._publishers, feeds, strict=True) if not feed.static]
        self._clock = node.create_publisher(Clock, CLOCK, QoSProfile(depth=1)) if with_clock else None
        self._jumps = node.create_publisher(Time, "~/jump", QoSProfile(depth=10))
        counters = np.zeros((4, len(feeds)), np.int64)
        self._histories = [
            ReliableHistory(publisher, _kept(publisher), self._log_wait, counters[:, feed])
            for feed, publisher in enumerate(self._publishers)
        ]
        self._scheduler = SchedulePublisher.open(self._publishers, counters) if is_scheduled else None
        self.lead_ns = LEAD_NS if self._scheduler else 0
        self._has_logged_wait = self._is_cancelled = False

    def close(self) -> None:
        """Release what is not the node's."""
        if self._scheduler is not None:
            self._scheduler.close()

    @property
    def progress(self) -> int:  # type: ignore[override]
        return self._scheduler.progress if self._scheduler else 0

    def prepare(self) -> None:
        if self._scheduler is not None:
            self._scheduler.prepare()

    def interrupt(self) -> None:
        if self._scheduler is not None:
            self._scheduler.interrupt()

    def publish_schedule(self, schedule: Schedule) -> Published:
        """Publish in C, but those for which a subscriber has to acknowledge first, or that fail."""
        assert self._scheduler is not None
        index = lag_ns = largest_ns = 0
        while index < len(schedule.data):
            index, reason, lag_ns, largest = self._scheduler.publish(schedule, index)
            largest_ns = max(largest_ns, largest)
            if reason in (DONE, INTERRUPTED):
                break
            self.publish(int(schedule.feeds[index]), schedule.data[index])  # waits, or says why it fails
            index += 1
        return Published(index, lag_ns, largest_ns)

    def cancel(self) -> None:
        """Wait for no subscriber any more: playing ends."""
        self._is_cancelled = True

    @property
    def waits(self) -> int:
        """How often playing has waited for a subscriber to acknowledge."""
        return sum(history.waits for history in self._histories)

    def _log_wait(self, topic: str, waited_s: float, in_vain: bool) -> None:
        if in_vain:
            text = f"{topic}: a subscriber has acknowledged nothing for {waited_s:.0f} s; it may lose messages now"
            self._node.get_logger().warning(text)
        elif not self._has_logged_wait:
            self._has_logged_wait = True
            text = f"waits for subscribers that are slower than the play, first on {topic}; nothing is lost"
            self._node.get_logger().warning(text)

    @contextmanager
    def keep_publishers(self) -> Iterator[None]:
        """Keep all publisher handles meanwhile: to check each at each message costs a fifth of publishing it."""
        with ExitStack() as stack:
            for publisher in self._publishers:
                stack.enter_context(publisher.handle)
            yield

    def publish(self, feed: int, data: Data) -> None:
        self._histories[feed].reserve(lambda: self._is_cancelled)
        if isinstance(data, bytes) and len(data) < LARGE_BYTES:
            self._send[feed](data)
        else:
            self._send_large[feed](data)

    def clock(self, stamp_ns: int) -> None:
        if self._clock is not None:
            self._clock.publish(CDR_LITTLE_ENDIAN + TIME.pack(*divmod(stamp_ns, NS_PER_S)))

    def jump(self, stamp_ns: int) -> None:
        self._jumps.publish(CDR_LITTLE_ENDIAN + TIME.pack(*divmod(stamp_ns, NS_PER_S)))

    @property
    def subscribers(self) -> int:
        """How many subscribers have found the topics that move."""
        return sum(publisher.get_subscription_count() for publisher in self._volatile)

    def unheard(self, readings: Sequence[RequiredSubscription]) -> list[str]:
        """What is waited for in vain yet, in words; of topics that are not played, and of /tf, nothing is said."""
        pairs = zip(self._streams, self._publishers, strict=True)
        requested = [(p, reading.node) for stream, p in pairs for reading in readings if reading.stream == stream]
        missing = [
            (p.topic_name, node) for p, node in requested if p.topic_name != "/tf" and not self._has_subscriber(p, node)
        ]
        return [f"{f'no {node}' if node else 'no subscriber'} on {topic}" for topic, node in missing]

    def _has_subscriber(self, publisher: Publisher, node: str) -> bool:
        """Whether the topic has a subscriber, or one in the named node besides the player."""
        if not publisher.get_subscription_count() or not node:
            return bool(publisher.get_subscription_count())
        readers = self._node.get_subscriptions_info_by_topic(publisher.topic_name)
        return (self._node.get_namespace(), node) in [(reader.node_namespace, reader.node_name) for reader in readers]

    def wait_until_received(self, timeout_s: float, is_cancelled: Callable[[], bool] = lambda: False) -> bool:
        """Wait until every reliable subscriber has everything; False where one has not within that time.

        Python handles signals only between the waits of ROS, so these are short.
        """
        end = time.monotonic() + timeout_s
        for publisher in self._publishers:
            while not publisher.wait_for_all_acked(Duration(seconds=SIGNALS_S)):
                if is_cancelled() or time.monotonic() >= end:
                    return False
        return True


def _publisher(node: Node, feed: TopicStream, override: Override, rate: float) -> Publisher:
    qos = channel_of_feed(feed).qos
    if qos.durability == "volatile" and qos.reliability == "reliable":
        kept = MAX_HISTORY if _is_small(feed) else round(qos.depth * min(max(rate, 1.0), MAX_TIMES))
        qos = replace(qos, depth=max(qos.depth, kept))
    return node.create_publisher(message_class(feed.msgtype), feed.topic, profile(apply_override(qos, override)))


def _is_small(feed: TopicStream) -> bool:
    """Whether a thousand of its messages take little memory; those of types that are not ours may have any size."""
    if isinstance(feed, StoredFeed):
        return feed.msgtype in SMALL_TYPES
    return feed.msgtype not in LARGE_TYPES


def _kept(publisher: Publisher) -> int:
    """How many messages a publisher keeps for its subscribers; 0 where none is acknowledged, or all are kept."""
    qos = publisher.qos_profile
    is_bounded = qos.history == HistoryPolicy.KEEP_LAST and qos.reliability == ReliabilityPolicy.RELIABLE
    return int(qos.depth) if is_bounded else 0


def message_class(msgtype: str) -> Any:
    """The class of a message type such as "sensor_msgs/msg/Imu"."""
    package, _, name = full_type(msgtype).partition("/msg/")
    try:
        return getattr(import_module(f"{package}.msg"), name)
    except (ImportError, AttributeError):
        raise UsageError(f"{msgtype}: this ROS 2 has no such message type; is the package {package} there?") from None


def profile(offer: PublisherQos | Qos) -> QoSProfile:
    """How a topic is offered, as rclpy wants it."""
    offer = offer if isinstance(offer, PublisherQos) else PublisherQos(qos=offer)
    qos = offer.qos
    durations = {
        name: Duration(nanoseconds=value)
        for name in ("deadline", "lifespan", "liveliness_lease_duration")
        if (value := getattr(offer, f"{name}_ns")) is not None
    }
    return QoSProfile(
        reliability=ReliabilityPolicy[qos.reliability.upper()],
        durability=DurabilityPolicy[qos.durability.upper()],
        history=HistoryPolicy[qos.history.upper()],
        depth=qos.depth,
        liveliness=LivelinessPolicy[offer.liveliness.upper()],
        avoid_ros_namespace_conventions=offer.avoid_ros_namespace_conventions,
        **durations,
    )
