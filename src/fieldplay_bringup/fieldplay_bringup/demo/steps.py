"""The steps of the demo: a sample, live topics, a bag, and whether the two agree."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import Any, TextIO

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosbag2_interfaces.srv import Resume
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from fieldplay.cli.terminal import progress_bar
from fieldplay.convert.conversion import BagOptions, convert
from fieldplay.core.process_exit import exit_deadline
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.registry import open_dataset
from fieldplay.topics.archive_topics import archive_topic_streams
from fieldplay.topics.selection import Selection
from fieldplay_bringup.demo.received import ReceivedTopic, differences, digest
from fieldplay_ros.node_program import spin_in_thread
from fieldplay_samples.write_sample import SampleOptions, SampleResult, write_sample

QUEUE = 2000
SETTLED_S = 2.0  # so long the graph must stay as it is before it counts as complete
PATIENCE_S = 60.0
EVERY_S, EVERY_S_IN_A_FILE = 0.5, 5.0
END_S = 15.0
PLAYED = Selection(derived=True, images="compressed")
CLOCK_HZ = 50.0
DRAIN_S = 2.0  # after the player has gone: nothing more can come than what is under way


# A node that receives topics as serialized bytes.


class TopicRecorder:
    """Receives the topics in its own thread."""

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


# A table of received messages, redrawn at the same position of a terminal.


def table_lines(received: Mapping[str, ReceivedTopic], now_s: float | None, width: int) -> list[str]:
    """Topic, type, rate, count, lag; of the last seconds, or at the end (no time) over all."""
    names = max((len(topic) for topic in received), default=0)
    moving = [one.latency_s for one in received.values() if _has_lag(one)]
    start = min(moving, default=0.0)
    lines = [f"{'topic':{names}}  {'Hz':>7}  {'messages':>8}  {'lag ms':>7}  type"]
    for topic, one in received.items():
        if not one.digests:
            lines.append(f"{topic:{names}}  {'-':>7}  {0:>8}  {'-':>7}  {one.msgtype}")
            continue
        rate = one.mean_rate_hz() if now_s is None else one.rate_hz(now_s)
        lag = f"{(one.latency_s - start) * 1e3:7.1f}" if _has_lag(one) else f"{'-':>7}"
        lines.append(f"{topic:{names}}  {rate:7.1f}  {len(one.digests):>8}  {lag}  {one.msgtype}")
    return [line[:width] for line in lines]


def _has_lag(topic: ReceivedTopic) -> bool:
    return len(topic.digests) > 1 and isfinite(topic.latency_s)


class LiveTable:
    """Draws on a terminal; into a file it writes a line now and then."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._on_terminal = out.isatty()
        self._every_s = EVERY_S if self._on_terminal else EVERY_S_IN_A_FILE
        self._next_s = time.monotonic() + (0 if self._on_terminal else self._every_s)
        self._drawn = 0

    def show(self, received: Mapping[str, ReceivedTopic]) -> None:
        """Draw if it is time to."""
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        self._next_s = now_s + self._every_s
        if self._on_terminal:
            self._draw(table_lines(received, now_s, self._width()))
        else:
            count, topics = (
                sum(len(one.digests) for one in received.values()),
                sum(bool(one.digests) for one in received.values()),
            )
            self._write(f"  {count} messages on {topics} of {len(received)} topics\n")

    def finish(self, received: Mapping[str, ReceivedTopic]) -> None:
        """The table over all, which stays."""
        self._draw(table_lines(received, None, self._width() if self._on_terminal else 200))

    def _draw(self, lines: list[str]) -> None:
        height = shutil.get_terminal_size().lines - 2
        if self._on_terminal and len(lines) > height:
            lines = [*lines[: height - 1], f"... and {len(lines) - height + 1} more topics"]
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        clear = "\x1b[K" if self._on_terminal else ""
        self._write(up + "".join(f"{clear}{line}\n" for line in lines))
        self._drawn = len(lines)

    @staticmethod
    def _width() -> int:
        return shutil.get_terminal_size().columns

    def _write(self, text: str) -> None:
        """What nobody reads must not end the demo."""
        with suppress(OSError):
            self._out.write(text)
            self._out.flush()


# `ros2 launch` as a process beside this one, its words in a file.


class LaunchFailed(Exception):
    """The launch ended otherwise than it should; the message says how, with its last words."""


class Launch:
    """A launch that runs."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self._process, self._log = process, log

    def running(self) -> bool:
        """Whether it still runs; LaunchFailed when it ended badly."""
        code = self._process.poll()
        if code:
            raise self.failure(f"ended with exit code {code}")
        return code is None

    def failure(self, how: str) -> LaunchFailed:
        """What to raise when it does not do what it should."""
        output = "\n".join(f"    {line}" for line in self._log.read_text(errors="replace").splitlines()[-15:])
        return LaunchFailed(f"the launch {how}; its last words, of {self._log}:\n{output}")


@contextmanager
def launch_process(arguments: Sequence[str], log: Path) -> Iterator[Launch]:
    """`ros2 launch` with these arguments; in the end it is gone, with all its processes."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            ["ros2", "launch", *arguments], stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        yield Launch(process, log)
    finally:
        for number in (signal.SIGINT, signal.SIGKILL):
            if process.poll() is None:
                os.killpg(process.pid, number)
                try:
                    process.wait(END_S)
                except subprocess.TimeoutExpired:
                    continue


@dataclass(frozen=True, kw_only=True)
class Topics:
    """The expected topics and types, which are sent once, which the nodes compute.

    `subscribers` is how many subscriptions the player's moving topics will have: ours, and the nodes'.
    """

    types: dict[str, str]
    latched: frozenset[str]
    computed: frozenset[str]
    subscribers: int


def sample(target: Path, seconds: float, seed: int) -> SampleResult:
    """The sample archive, made anew only where it is not there yet."""
    with progress_bar("making the sample", "steps") as bar:
        return write_sample(
            "ameds",
            target,
            SampleOptions(seconds=seconds, seed=seed),
            progress=lambda done, total: bar(done / max(total, 1), done),
        )


def topics_of(archive: Archive) -> Topics:
    """The topics of an archive and of the nodes that compute more from them."""
    feeds = archive_topic_streams(archive, PLAYED)
    played = {feed.topic for feed in archive_topic_streams(archive, replace(PLAYED, derived=False))}
    latched = frozenset(feed.topic for feed in feeds if feed.latched)
    return Topics(
        types={feed.topic: feed.msgtype for feed in feeds},
        latched=latched,
        computed=frozenset(feed.topic for feed in feeds) - played,
        subscribers=len(played - latched) + sum(len(derived.streams) for derived in archive.spec.derived),
    )


def receive_live(archive: Path, topics: Topics, log: Path, *, rate: float = 1.0) -> dict[str, ReceivedTopic]:
    """Launch the dataset with its kinematics, receive all its topics, and show their rates."""
    arguments = ["fieldplay_bringup", "ameds.launch.py", f"archive:={archive}", "images:=compressed"]
    with (
        listening(topics.types, topics.latched) as listener,
        launch_process(
            [*arguments, "paused:=true", f"clock:={CLOCK_HZ}", f"rate:={rate}", "on_end:=exit"], log
        ) as launch,
    ):
        _await_all(listener, launch, topics)
        listener.resume("/ameds/player")
        table = LiveTable(sys.stdout)
        while launch.running():
            table.show(listener.received)
            time.sleep(0.1)
        _drain(listener)
        table.finish(listener.received)
        return listener.received


def _await_all(listener: TopicRecorder, launch: Launch, topics: Topics) -> None:
    """Wait until all have found each other, and nothing has changed for a while."""
    end_s, settled_s, before = time.monotonic() + PATIENCE_S, time.monotonic(), -1
    while True:
        silent, subscribers = listener.unmatched(), listener.players_subscribers
        now_s = time.monotonic()
        if silent or subscribers < topics.subscribers or subscribers != before:
            settled_s, before = now_s, subscribers
        if now_s > settled_s + SETTLED_S:
            return
        if not launch.running() or now_s > end_s:
            known = f"{subscribers} of {topics.subscribers} subscriptions"
            raise launch.failure(f"does not offer {', '.join(silent) or 'all that it should'} ({known})")
        time.sleep(0.1)


def _drain(listener: TopicRecorder) -> None:
    """Wait until nothing more comes."""
    before = -1
    while (count := sum(len(one.digests) for one in listener.received.values())) != before:
        before = count
        time.sleep(DRAIN_S / 4)


def convert_sample(archive: Path, bag: Path) -> dict[str, list[bytes]]:
    """Write the bag; what it holds by topic, each message as its digest."""
    with open_dataset(archive) as opened, progress_bar("converting", "messages") as bar:
        convert(opened, bag, PLAYED, BagOptions(overwrite=True), progress=bar)
    digests: dict[str, list[bytes]] = defaultdict(list)
    with AnyReader([bag], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
        for connection, _, data in reader.messages():
            digests[connection.topic].append(digest(data))
    return digests


def compare(received: dict[str, ReceivedTopic], written: dict[str, list[bytes]], topics: Topics) -> list[str]:
    """Describe the differences between received messages and the bag."""
    return differences({topic: one.digests for topic, one in received.items()}, written, topics.computed)
