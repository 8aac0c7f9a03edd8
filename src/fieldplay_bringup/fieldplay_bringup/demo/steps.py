"""The steps of the demo: a sample, live topics, a bag, and whether the two agree."""

import sys
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from fieldplay.cli.terminal import progress_bar
from fieldplay.convert.conversion import BagOptions, convert
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.registry import open_dataset
from fieldplay.topics.archive_topics import archive_topic_streams
from fieldplay.topics.selection import Selection
from fieldplay_bringup.demo.launched import Launch, launched
from fieldplay_bringup.demo.live_table import LiveTable
from fieldplay_bringup.demo.received import Heard, differences, digest
from fieldplay_bringup.demo.topic_recorder import (
    PATIENCE_S,
    SETTLED_S,
    TopicRecorder,
    listening,
)
from fieldplay_samples.sample import SampleOptions, SampleResult, write_sample

PLAYED = Selection(derived=True, images="compressed")
CLOCK_HZ = 50.0
DRAIN_S = 2.0  # after the player has gone: nothing more can come than what is under way


@dataclass(frozen=True, kw_only=True)
class Topics:
    """What there will be to hear: topics and types, which are sent once, which the nodes compute.

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


def heard_live(archive: Path, topics: Topics, log: Path, *, rate: float = 1.0) -> dict[str, Heard]:
    """Launch the dataset with its kinematics, hear it to its end, and show what comes."""
    arguments = ["fieldplay_bringup", "ameds.launch.py", f"archive:={archive}", "images:=compressed"]
    with (
        listening(topics.types, topics.latched) as listener,
        launched([*arguments, "paused:=true", f"clock:={CLOCK_HZ}", f"rate:={rate}", "on_end:=exit"], log) as launch,
    ):
        _await_all(listener, launch, topics)
        listener.resume("/ameds/player")
        table = LiveTable(sys.stdout)
        while launch.running():
            table.show(listener.heard)
            time.sleep(0.1)
        _drain(listener)
        table.finish(listener.heard)
        return listener.heard


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
    while (count := sum(len(one.digests) for one in listener.heard.values())) != before:
        before = count
        time.sleep(DRAIN_S / 4)


def converted(archive: Path, bag: Path) -> dict[str, list[bytes]]:
    """Write the bag; what it holds by topic, each message as its digest."""
    with open_dataset(archive) as opened, progress_bar("converting", "messages") as bar:
        convert(opened, bag, PLAYED, BagOptions(overwrite=True), progress=bar)
    found: dict[str, list[bytes]] = defaultdict(list)
    with AnyReader([bag], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
        for connection, _, data in reader.messages():
            found[connection.topic].append(digest(data))
    return found


def compared(heard: dict[str, Heard], written: dict[str, list[bytes]], topics: Topics) -> list[str]:
    """What was not heard as the bag has it."""
    return differences({topic: one.digests for topic, one in heard.items()}, written, topics.computed)
