"""ros2 bag."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Collection
from pathlib import Path

from ros2cli import bags
from ros2cli.options import Argument, Verb, positive_float, unsigned_int

_CLOCK_HZ = 40.0
_NS_PER_S = 1_000_000_000
_PRESETS = {"none": "none", "fastwrite": "none", "zstd_fast": "zstd", "zstd_small": "zstd"}
_BAG = Argument("bag_path", type=Path, help="The bag")
_STORAGE = Argument("-s", "--storage", choices=("mcap", "sqlite3"), help="Its storage (default: what it is)")
_CHOICE = (
    Argument("-e", "--regex", help="And topics in which this regular expression is found"),
    Argument("-x", "--exclude-regex", help="Leave topics out in which this one is found"),
    Argument("--exclude-topics", nargs="+", default=[], metavar="TOPIC", help="Leave these out"),
)


def _info(args: argparse.Namespace) -> None:
    """Write what is in the bag."""
    description = bags.part("description")
    write = description.topic_names if args.topic_name else description.description
    sys.stdout.write(write(args.bag_path, args.storage))


def _play(args: argparse.Namespace) -> int:
    """Play the bag."""
    player = bags.part("player")
    if args.start_offset < 0:
        raise RuntimeError("--start-offset: expected 0 s or more")
    playing = player.Playing(
        path=args.bag_path,
        storage=args.storage,
        rate=args.rate,
        start_s=args.start_offset,
        duration_s=None if args.playback_duration < 0 else args.playback_duration,
        delay_s=args.delay,
        loop=args.loop,
        paused=args.start_paused,
        clock_hz=args.clock,
        wanted=_chosen_topics(args, args.topics, every=not (args.topics or args.regex)),
        remappings=args.remap,
        qos_overrides=args.qos_profile_overrides_path,
    )
    return int(player.play(playing))


def _record(args: argparse.Namespace) -> int:
    """Record until Ctrl-C."""
    recorder = bags.part("recorder")
    if not (args.topics or args.more_topics or args.all or args.regex):
        raise RuntimeError("Invalid choice: expected topics, --all or --regex.")
    if args.storage == "sqlite3" and args.storage_preset_profile != "none":
        raise RuntimeError("Presets of storage are MCAP's.")
    recording = recorder.Recording(
        path=args.output,
        storage=args.storage,
        compression=_PRESETS[args.storage_preset_profile],
        split=recorder.Split(size=args.max_bag_size or None, duration_ns=args.max_bag_duration * _NS_PER_S or None),
        wanted=_chosen_topics(args, args.topics + args.more_topics, every=args.all),
        hidden_too=args.include_hidden_topics,
        use_sim_time=args.use_sim_time,
    )
    return int(recorder.record(recording))


def _chosen_topics(args: argparse.Namespace, names: Collection[str], *, every: bool) -> Callable[[str], bool]:
    """Say of a topic's full name whether it is chosen: by name, by a regular expression, or as ``every`` one is."""
    included, excluded = ({f"/{name.lstrip('/')}" for name in some} for some in (names, args.exclude_topics))
    is_in, is_out = _search(args.regex), _search(args.exclude_regex)

    def is_chosen(name: str) -> bool:
        return (every or name in included or is_in(name)) and not (name in excluded or is_out(name))

    return is_chosen


def _search(text: str | None) -> Callable[[str], bool]:
    if not text:
        return lambda _: False
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise RuntimeError(f"Invalid regular expression '{text}': {error}") from None
    return lambda name: pattern.search(name) is not None


def _seconds(name: str, default: float, text: str, *short: str, kind: Callable[[str], float] = float) -> Argument:
    return Argument(*short, name, type=kind, default=default, metavar="S", help=text)


def _limit(short: str, name: str, unit: str) -> Argument:
    return Argument(short, name, type=unsigned_int, default=0, metavar=unit, help="Go on in a next file; 0: in one")


VERBS = {
    "info": Verb(
        _info, _BAG, _STORAGE, Argument("-t", "--topic-name", action="store_true", help="Write the topics' names only")
    ),
    "play": Verb(
        _play,
        _BAG,
        _STORAGE,
        Argument("-r", "--rate", type=positive_float, default=1.0, help="How many times faster than it was"),
        Argument("--topics", nargs="+", default=[], help="Play these topics only"),
        *_CHOICE,
        Argument("-l", "--loop", action="store_true", help="Begin again at the end"),
        Argument("-m", "--remap", nargs="+", default=[], metavar="OLD:=NEW", help="Names to play under"),
        Argument("-p", "--start-paused", action="store_true", help="Wait for the service ~/resume"),
        _seconds("--start-offset", 0.0, "Begin so many seconds later"),
        _seconds("--playback-duration", -1.0, "Play so many seconds"),
        _seconds("--delay", 0.0, "Wait so long before", "-d", kind=positive_float),
        Argument(
            "--clock", nargs="?", type=positive_float, const=_CLOCK_HZ, default=0.0, metavar="HZ", help="Publish /clock"
        ),
        Argument("--qos-profile-overrides-path", type=Path, help="YAML of QoS overrides by topic"),
        Argument("--disable-keyboard-controls", action="store_true", help="Taken for compatibility: none here"),
    ),
    "record": Verb(
        _record,
        Argument("topics", nargs="*", help="Topics to record"),
        Argument("--topics", dest="more_topics", nargs="+", default=[], help="Topics to record, too"),
        Argument("-a", "--all", "--all-topics", action="store_true", help="Record all topics"),
        *_CHOICE,
        Argument("-o", "--output", type=Path, help="Folder to make (default: rosbag2_ and the time)"),
        Argument("-s", "--storage", choices=("mcap", "sqlite3"), default="mcap", help="(default: %(default)s)"),
        Argument("--storage-preset-profile", choices=tuple(_PRESETS), default="none", help="Of MCAP"),
        _limit("-b", "--max-bag-size", "BYTES"),
        _limit("-d", "--max-bag-duration", "S"),
        Argument("--include-hidden-topics", action="store_true", help="Count hidden topics in"),
        Argument("--use-sim-time", action="store_true", help="Take the times from /clock"),
        Argument("--disable-keyboard-controls", action="store_true", help="Taken for compatibility: none here"),
    ),
}
