"""Plays a bag, by fieldplay's player."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock

from fieldplay_archive.outlets.selection import Selection
from fieldplay_messages.bags.channels import Qos
from fieldplay_messages.bags.reader import Ros2Bag
from fieldplay_messages.feeds.feed import Feed, SingleMessages
from fieldplay_messages.stamps import NS_PER_S
from fieldplay_player.live_sink import message_class, profile
from fieldplay_player.nodes.service_thread import ServiceThread
from fieldplay_player.options import READ_AHEAD_MB, PlayOptions
from fieldplay_player.playback import Playback
from fieldplay_player.program import Program, reader_of_feeds
from fieldplay_player.qos_overrides import Override, offer_of, overrides_from_file
from fieldplay_player.read_ahead import Workers
from fieldplay_player.services import offer_services
from ros2cli.bags.opening import Ending, bag_node, opened_bag

NAME = "rosbag2_player"
_ROWS_PER_SPAN = 256
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
    acked_s: float | None


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
            playback = Playback(program, reader, sink, options, changed=workers.changed, tell=tell)
            offer_services(node, playback, ReentrantCallbackGroup())
            node.get_logger().info(f"Playback of {playing.path} at rate {playing.rate:g}, {len(feeds)} topics")
            _run(node, playback, ending, playing.delay_s)
            if playing.acked_s is not None and not ending.asked.is_set():
                sink.wait_until_received(playing.acked_s)
    return 0


def _run(node: Node, playback: Playback, ending: Ending, delay_s: float) -> None:
    """Play in one thread, answer in others, and watch for signals here."""
    with ServiceThread(node), ThreadPoolExecutor(1, "play") as thread:
        if ending.asked.wait(delay_s):
            return
        future = thread.submit(playback.run)
        future.add_done_callback(lambda _: ending.asked.set())
        ending.asked.wait()
        if future.done():
            ending.asked.clear()
        else:
            playback.stop()
        future.result()


@dataclass(frozen=True, eq=False)
class _Stored:
    """A span of messages as they lie in the bag: their times (n,) and bytes, None for those that cannot be read."""

    leaves_ns: NDArray[np.int64]
    data: list[bytes | None]


def _feeds(bag: Ros2Bag, wanted: Callable[[str], bool]) -> list[Feed]:
    feeds = []
    for name in filter(wanted, sorted(bag.indexed)):
        topic = bag.topic(name, _ROWS_PER_SPAN)

        def load(index: int, topic: Any = topic) -> Any:
            return _Stored(topic.stamps(index), topic.messages(index))

        feeds.append(Feed(topic=name, msgtype=topic.kind.msgtype, spans=topic.spans, records=load, messages=_messages))
    if not feeds:
        raise RuntimeError("there is no message to play: nothing in the bag is what was asked for")
    return feeds


def _messages(stored: _Stored) -> SingleMessages:
    return SingleMessages(partial(_message, stored), heavy=False)


def _message(stored: _Stored, row: int) -> tuple[bytes] | None:
    data = stored.data[row]
    return None if data is None else (data,)


def _program(feeds: Sequence[Feed], playing: Playing) -> Program:
    begin_ns = min(feed.spans[0].first_ns for feed in feeds)
    end_ns = max(feed.spans[-1].last_ns for feed in feeds)
    first_ns = begin_ns + round(playing.start_s * NS_PER_S)
    if first_ns > end_ns:
        raise RuntimeError(f"--start-offset: the bag ends {(end_ns - begin_ns) / NS_PER_S:.3f} s after its begin")
    last_ns = end_ns
    if playing.duration_s is not None:
        last_ns = min(end_ns, first_ns + round(playing.duration_s * NS_PER_S))
    return Program(
        standing=[],
        restamps=[None] * len(feeds),
        archive_ns=begin_ns,
        first_ns=first_ns,
        last_ns=last_ns,
        gap_ns=0,
    )


class _Sink:
    """A publisher for each topic, offered as it was recorded, and /clock if it is wanted."""

    def __init__(
        self, node: Node, bag: Ros2Bag, feeds: Sequence[Feed], overrides: dict[str, Override], *, with_clock: bool
    ) -> None:
        offered = _offered(bag)
        self._publishers = [
            node.create_publisher(
                message_class(feed.msgtype),
                feed.topic,
                profile(offer_of(offered.get(feed.topic, Qos()), overrides.get(feed.topic, {}))),
            )
            for feed in feeds
        ]
        self._clock = node.create_publisher(Clock, "/clock", QoSProfile(depth=1)) if with_clock else None

    def publish(self, feed: int, data: bytes) -> None:
        """Send a message as it lies in the bag."""
        self._publishers[feed].publish(data)

    def jump(self, stamp_ns: int) -> None:
        """Whom a bag's messages go to sees a jump by their times, and by /clock."""

    def clock(self, stamp_ns: int) -> None:
        """Send the time of the play head."""
        if self._clock is not None:
            message = Clock()
            message.clock.sec, message.clock.nanosec = divmod(stamp_ns, NS_PER_S)
            self._clock.publish(message)

    def wait_until_received(self, timeout_s: float) -> None:
        """Wait until every reliable subscriber has everything; 0 is for ever."""
        timeout = Duration(seconds=timeout_s) if timeout_s > 0 else Duration(seconds=-1)
        for publisher in self._publishers:
            publisher.wait_for_all_acked(timeout)


def _offered(bag: Ros2Bag) -> dict[str, Qos]:
    """How topics were offered when they were recorded, by the metadata."""
    listed = bag.information.get("topics_with_message_count") or []
    topics = [entry.get("topic_metadata") or {} for entry in listed if isinstance(entry, dict)]
    return {str(topic.get("name")): _qos(topic.get("offered_qos_profiles")) for topic in topics}


def _qos(told: Any) -> Qos:
    """Of the list of profiles, or the text of one; policies are words, or in older bags numbers."""
    text = str(told)
    lasting = re.search(r"durability'?: *'?(transient_local|1\b)", text) is not None
    best_effort = re.search(r"reliability'?: *'?(best_effort|2\b)", text) is not None
    return Qos(
        reliability="best_effort" if best_effort else "reliable",
        durability="transient_local" if lasting else "volatile",
    )
