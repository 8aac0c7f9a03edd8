"""Plays a bag, by fieldplay's player."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock

from fieldplay.bags.bag_reader import Ros2Bag
from fieldplay.bags.bag_stream import BagStream, raw_messages
from fieldplay.bags.qos import qos_of_profiles
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.player.options import READ_AHEAD_MB, PlayOptions
from fieldplay.player.playback import Playback, Sink
from fieldplay.player.player_state import PlayPlan, reader_of_feeds
from fieldplay.player.player_time import wake_exactly
from fieldplay.player.qos_overrides import Override, apply_override, overrides_from_file
from fieldplay.player.read_ahead import Data, Workers
from fieldplay.streams.topic_stream import TopicStream
from fieldplay.topics.selection import Selection
from fieldplay_ros.live_sink import message_class, profile
from fieldplay_ros.player_node import ServiceThread, offer_services
from ros2cli.bags.opening import Ending, bag_node, opened_bag

NAME = "rosbag2_player"
_MB = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Playing:
    """What is played of a bag, and how; times in seconds, `duration_s` None is to the end."""

    path: Path
    storage: str | None
    rate: float
    start_s: float
    duration_s: float | None
    delay_s: float
    loop: bool
    paused: bool
    clock_hz: float
    wanted: Callable[[str], bool]
    remappings: Sequence[str]
    qos_overrides: Path | None


def play(playing: Playing) -> int:
    """Play to the end, or until Ctrl-C or SIGTERM."""
    with opened_bag(playing.path, playing.storage) as bag:
        feeds = _feeds(bag, playing.wanted)
        program = _program(feeds, playing)
        options = PlayOptions(
            selection=Selection(),
            rate=playing.rate,
            loop=playing.loop,
            paused=playing.paused,
            clock_hz=playing.clock_hz,
        )
        overrides = overrides_from_file(playing.qos_overrides) if playing.qos_overrides else {}
        with (
            bag_node(NAME, remappings=playing.remappings) as (node, ending),
            Workers(limit=READ_AHEAD_MB * _MB) as workers,
        ):
            sink = _Sink(node, bag, feeds, overrides, with_clock=playing.clock_hz > 0)
            reader = reader_of_feeds(feeds, program, workers)
            tell = node.get_logger().warning
            playback = Playback(program, reader, sink, options, changed=workers.changed, report=tell)
            offer_services(node, playback, ReentrantCallbackGroup())
            node.get_logger().info(f"Playback of {playing.path} at rate {playing.rate:g}, {len(feeds)} topics")
            _run(node, playback, ending, playing.delay_s)
    return 0


def _run(node: Node, playback: Playback, ending: Ending, delay_s: float) -> None:
    """Play in one thread, answer in others, and watch for signals here."""
    with ServiceThread(node), ThreadPoolExecutor(1, "play", wake_exactly) as thread:
        if ending.asked.wait(delay_s):
            return
        future = thread.submit(playback.run)
        future.add_done_callback(lambda _: ending.asked.set())
        ending.asked.wait()
        if not future.done():
            playback.stop()
        future.result()


def _feeds(bag: Ros2Bag, wanted: Callable[[str], bool]) -> list[TopicStream]:
    feeds = []
    for name in filter(wanted, sorted(bag.indexed)):
        stream = BagStream(bag, name)
        feeds.append(
            TopicStream(
                topic=name, msgtype=stream.msgtype, spans=stream.spans, records=stream.load, messages=raw_messages
            )
        )
    if not feeds:
        raise RuntimeError("there is no message to play: nothing in the bag is what was requested")
    return feeds


def _program(feeds: Sequence[TopicStream], playing: Playing) -> PlayPlan:
    begin_ns = min(feed.spans[0].first_ns for feed in feeds)
    end_ns = max(feed.spans[-1].last_ns for feed in feeds)
    first_ns = begin_ns + round(playing.start_s * NS_PER_S)
    if first_ns > end_ns:
        raise RuntimeError(f"--start-offset: the bag ends {(end_ns - begin_ns) / NS_PER_S:.3f} s after its begin")
    last_ns = end_ns
    if playing.duration_s is not None:
        last_ns = min(end_ns, first_ns + round(playing.duration_s * NS_PER_S))
    return PlayPlan(
        static_messages=[],
        restamps=[None] * len(feeds),
        archive_ns=begin_ns,
        first_ns=first_ns,
        last_ns=last_ns,
        gap_ns=0,
    )


class _Sink(Sink):
    """A publisher for each topic, offered as it was recorded first, and /clock if it is wanted."""

    def __init__(
        self,
        node: Node,
        bag: Ros2Bag,
        feeds: Sequence[TopicStream],
        overrides: dict[str, Override],
        *,
        with_clock: bool,
    ) -> None:
        self._publishers = []
        for feed in feeds:
            qos = apply_override(qos_of_profiles(bag.profiles.get(feed.topic)), overrides.get(feed.topic, {}))
            self._publishers.append(node.create_publisher(message_class(feed.msgtype), feed.topic, profile(qos)))
        self._clock = node.create_publisher(Clock, "/clock", QoSProfile(depth=1)) if with_clock else None

    def publish(self, feed: int, data: Data) -> None:
        """Send a message as it lies in the bag."""
        self._publishers[feed].publish(bytes(data))

    def clock(self, stamp_ns: int) -> None:
        """Send the time of the play head."""
        if self._clock is not None:
            message = Clock()
            message.clock.sec, message.clock.nanosec = divmod(stamp_ns, NS_PER_S)
            self._clock.publish(message)
