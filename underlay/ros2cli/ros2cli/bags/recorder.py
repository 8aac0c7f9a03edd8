"""Records topics into a bag, as the bytes that come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path

import numpy as np
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.topic_endpoint_info import TopicEndpointInfo

from fieldplay.bags.compression import Compression
from fieldplay.bags.storage import Channel, Qos, channel_of_type
from fieldplay.bags.writer import BagWriter, Split, StorageName
from fieldplay.core.errors import BagError
from fieldplay.streams.message_block import MergedBlock, MessageBlock
from ros2cli.bags.opening import bag_node, told
from ros2cli.interfaces import full_definition
from ros2cli.names import find_interface, shown

_NAME = "rosbag2_recorder"
_STEP_S, _LOOK_S = 0.05, 0.1
_BATCH_BYTES, _BATCH_NS = 4 << 20, 500_000_000
_DEPTH = 1000


@dataclass(frozen=True, kw_only=True)
class Recording:
    """What is recorded, and where to; `wanted` says so of a topic's name."""

    path: Path | None
    storage: StorageName
    compression: Compression
    split: Split
    wanted: Callable[[str], bool]
    hidden_too: bool
    use_sim_time: bool


def record(recording: Recording) -> int:
    """Record until Ctrl-C or SIGTERM; the bag is complete then."""
    path = recording.path or Path(f"rosbag2_{datetime.now():%Y_%m_%d-%H_%M_%S}")
    if path.exists():
        raise RuntimeError(f"Output folder '{path}' already exists.")
    with told(), bag_node(_NAME, use_sim_time=recording.use_sim_time) as (node, ending):
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        with BagWriter(
            path, storage=recording.storage, compression=recording.compression, split=recording.split
        ) as writer:
            recorder = _Recorder(node, writer, recording)
            while not ending.asked.is_set():
                executor.spin_once(timeout_sec=_STEP_S)
                recorder.flush(is_due=True)
            recorder.flush()
            node.get_logger().info(f"Recording stopped: {int(writer.counts.sum())} messages in {path}")
        executor.shutdown()
    return 0


@dataclass
class _Batch:
    """What came and is not written yet."""

    channel: list[int] = field(default_factory=list)
    stamp_ns: list[int] = field(default_factory=list)
    data: list[bytes] = field(default_factory=list)
    size: int = 0

    def messages(self) -> MergedBlock:
        """In the order of time, which a simulated clock may have turned back."""
        order = np.argsort(self.stamp_ns, kind="stable")
        return MergedBlock(
            channel=np.array(self.channel)[order],
            stamp_ns=np.array(self.stamp_ns, np.int64)[order],
            block=MessageBlock.of_messages([self.data[row] for row in order]),
        )


class _Recorder:
    """Subscribes to what appears and is wanted."""

    def __init__(self, node: Node, writer: BagWriter, recording: Recording) -> None:
        self._node, self._writer, self._recording = node, writer, recording
        self._known: set[str] = set()
        self._batch = _Batch()
        node.create_timer(_LOOK_S, self._look)
        self._look()
        node.get_logger().info("Recording...")

    def flush(self, *, is_due: bool = False) -> None:
        """Write what came; where it must only be due, when it is much or old."""
        batch = self._batch
        if not batch.data:
            return
        age_ns = self._node.get_clock().now().nanoseconds - batch.stamp_ns[0]
        if is_due and batch.size < _BATCH_BYTES and 0 <= age_ns < _BATCH_NS:
            return
        self._batch = _Batch()
        self._writer.write(batch.messages())

    def _look(self) -> None:
        for name, types in shown(self._node.get_topic_names_and_types(), hidden_too=self._recording.hidden_too):
            if name not in self._known and self._recording.wanted(name):
                self._subscribe(name, types[0])

    def _subscribe(self, name: str, msgtype: str) -> None:
        publishers = self._node.get_publishers_info_by_topic(name)
        if not publishers:
            return
        self._known.add(name)
        try:
            message_class = find_interface(msgtype, "msg")
            channel = self._writer.add_channel(_channel(name, msgtype, publishers))
        except (LookupError, TypeError, RuntimeError) as error:
            self._node.get_logger().warning(f"Topic '{name}' is not recorded: {error}")
            return

        keep = partial(self._keep, channel)
        self._node.create_subscription(message_class, name, keep, _profile(publishers), raw=True)
        self._node.get_logger().info(f"Subscribed to topic '{name}'")

    def _keep(self, channel: int, data: bytes) -> None:
        self._batch.channel.append(channel)
        self._batch.stamp_ns.append(int(self._node.get_clock().now().nanoseconds))
        self._batch.data.append(data)
        self._batch.size += len(data)


def _profile(publishers: list[TopicEndpointInfo]) -> QoSProfile:
    """What all publishers offer."""
    offered = [publisher.qos_profile for publisher in publishers]
    reliable = all(offer.reliability == ReliabilityPolicy.RELIABLE for offer in offered)
    lasting = bool(offered) and all(offer.durability == DurabilityPolicy.TRANSIENT_LOCAL for offer in offered)
    return QoSProfile(
        depth=_DEPTH,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if lasting else DurabilityPolicy.VOLATILE,
    )


def _channel(name: str, msgtype: str, publishers: list[TopicEndpointInfo]) -> Channel:
    """The topic as the bag names it; a type that is no common one by its files and the publisher's word."""
    profile = _profile(publishers)
    qos = Qos(
        reliability="reliable" if profile.reliability == ReliabilityPolicy.RELIABLE else "best_effort",
        durability="transient_local" if profile.durability == DurabilityPolicy.TRANSIENT_LOCAL else "volatile",
    )
    try:
        return channel_of_type(name, msgtype, qos)
    except BagError:
        type_hash = str(publishers[0].topic_type_hash) if publishers else ""
        return Channel(topic=name, msgtype=msgtype, msgdef=full_definition(msgtype), type_hash=type_hash, qos=qos)
