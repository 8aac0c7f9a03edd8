"""ros2 bag."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Collection
from pathlib import Path

from ros2cli import bags
from ros2cli.options import Argument, Verb, positive_float, positive_int, refused, unsigned_int

_CLOCK_HZ = 40.0
_NS_PER_S = 1_000_000_000
_STORAGES = ("mcap", "sqlite3")
_PRESETS = {"none": "none", "fastwrite": "none", "zstd_fast": "zstd", "zstd_small": "zstd"}
_INFO_REFUSED = {"-v --verbose": "sizes of single topics and services"}
_PLAY_REFUSED = {
    "--services": "services are not recorded",
    "--publish-service-requests": "services are not recorded",
    "--clock-topics": "/clock has a rate of its own: --clock HZ",
    "--clock-topics-all": "/clock has a rate of its own: --clock HZ",
    "--playback-until-sec": "use --playback-duration",
    "--playback-until-nsec": "use --playback-duration",
    "--storage-config-file": "storage has no settings to read by",
    "--message-order": "messages leave by the times at which they were received",
}
_RECORD_REFUSED = {
    "--snapshot-mode": "everything goes to the disk",
    "--all-services": "services are not recorded",
    "--services": "services are not recorded",
    "--compression-mode": "use --storage-preset-profile zstd_fast, which MCAP reads by itself",
    "--compression-format": "use --storage-preset-profile zstd_fast, which MCAP reads by itself",
    "--qos-profile-overrides-path": "the profile is that which all publishers offer",
    "--storage-config-file": "there is --storage-preset-profile",
    "--ignore-leaf-topics": "use --exclude-topics",
    "--custom-data": "the metadata have none",
}


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
        inputs=_inputs(args),
        rate=args.rate,
        start_s=args.start_offset,
        duration_s=None if args.playback_duration < 0 else args.playback_duration,
        delay_s=args.delay,
        loop=args.loop,
        paused=args.start_paused,
        clock_hz=args.clock,
        wanted=_chosen_topics(
            args.topics,
            args.regex,
            left_out=args.exclude_topics,
            exclude_regex=args.exclude_regex,
            every=not (args.topics or args.regex),
        ),
        remappings=args.remap,
        qos_overrides=args.qos_profile_overrides_path,
        acked_s=None if args.wait_for_all_acked is None else args.wait_for_all_acked * 1e-3,
    )
    return int(player.play(playing))


def _inputs(args: argparse.Namespace) -> list[tuple[Path, str | None]]:
    """The bags with their storages."""
    if args.bag_path is not None and args.input:
        raise RuntimeError(
            "do not mix the [bag_path] positional argument and the -i,--input option; "
            "for multiple input bags, use -i,--input multiple times"
        )
    if args.bag_path is not None:
        return [(args.bag_path, args.storage)]
    if not args.input or args.storage:
        raise RuntimeError("expected a bag: its path and perhaps -s STORAGE, or -i BAG [STORAGE] for each of several")
    for words in args.input:
        if len(words) > 2 or (words[1:] and words[1] not in _STORAGES):
            raise RuntimeError(f"-i: expected BAG [{'|'.join(_STORAGES)}], got '{' '.join(words)}'")
    return [(Path(words[0]), words[1] if words[1:] else None) for words in args.input]


def _record(args: argparse.Namespace) -> int:
    """Record until Ctrl-C."""
    recorder = bags.part("recorder")
    if not (args.topics or args.more_topics or args.all or args.regex or args.topic_types):
        raise RuntimeError("Invalid choice: expected topics, --all, --regex or --topic-types.")
    if args.storage == "sqlite3" and args.storage_preset_profile != "none":
        raise RuntimeError("Presets of storage are MCAP's.")
    recording = recorder.Recording(
        path=args.output,
        storage=args.storage,
        compression=_PRESETS[args.storage_preset_profile],
        split=recorder.Split(size=args.max_bag_size or None, duration_ns=args.max_bag_duration * _NS_PER_S or None),
        wanted=_is_recorded(args),
        hidden_too=args.include_hidden_topics,
        unpublished_too=args.include_unpublished_topics,
        discovers=not args.no_discovery,
        polling_s=args.polling_interval * 1e-3,
        paused=args.start_paused,
        use_sim_time=args.use_sim_time,
        node_name=args.node_name,
    )
    return int(recorder.record(recording))


def _is_recorded(args: argparse.Namespace) -> Callable[[str, str], bool]:
    is_chosen = _chosen_topics(args.topics + args.more_topics, args.regex, every=args.all)
    is_left = _chosen_topics((), None, left_out=args.exclude_topics, exclude_regex=args.exclude_regex, every=True)

    def is_recorded(name: str, msgtype: str) -> bool:
        by_type = msgtype in args.topic_types
        return (by_type or is_chosen(name)) and is_left(name) and msgtype not in args.exclude_topic_types

    return is_recorded


def _chosen_topics(
    names: Collection[str],
    regex: str | None,
    *,
    left_out: Collection[str] = (),
    exclude_regex: str | None = None,
    every: bool = False,
) -> Callable[[str], bool]:
    """Say of a topic's full name whether it is chosen: by name, by a regular expression, or as ``every`` one is."""
    included, excluded = ({f"/{name.lstrip('/')}" for name in given} for given in (names, left_out))
    is_in, is_out = _search(regex), _search(exclude_regex)

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


VERBS = {
    "info": Verb(
        _info,
        Argument("bag_path", type=Path, help="The bag"),
        Argument("-s", "--storage", choices=("mcap", "sqlite3"), help="Its storage (default: what it is)"),
        Argument("-t", "--topic-name", action="store_true", help="Write the names of the topics only"),
        *refused(_INFO_REFUSED),
    ),
    "play": Verb(
        _play,
        Argument("bag_path", type=Path, nargs="?", help="The bag"),
        Argument("-s", "--storage", choices=_STORAGES, help="Its storage (default: what it is)"),
        Argument(
            "-i",
            "--input",
            action="append",
            nargs="+",
            default=[],
            metavar=("BAG", "STORAGE"),
            help="A bag and perhaps its storage, as often as there are bags to play side by side",
        ),
        Argument("-r", "--rate", type=positive_float, default=1.0, help="How many times faster than it was"),
        Argument("--topics", nargs="+", default=[], help="Play these topics only"),
        Argument("-e", "--regex", help="And those that this regular expression matches"),
        Argument("-x", "--exclude-regex", help="Leave topics out that this one matches"),
        Argument("--exclude-topics", nargs="+", default=[], metavar="TOPIC", help="Leave these out"),
        Argument("-l", "--loop", action="store_true", help="Begin again at the end"),
        Argument("-m", "--remap", nargs="+", default=[], metavar="OLD:=NEW", help="Names to play under"),
        Argument("-p", "--start-paused", action="store_true", help="Wait for the service ~/resume"),
        Argument("--start-offset", type=float, default=0.0, metavar="S", help="Begin so many seconds later"),
        Argument("--playback-duration", type=float, default=-1.0, metavar="S", help="Play so many seconds"),
        Argument("-d", "--delay", type=positive_float, default=0.0, metavar="S", help="Wait so long before"),
        Argument(
            "--clock", nargs="?", type=positive_float, const=_CLOCK_HZ, default=0.0, metavar="HZ", help="Publish /clock"
        ),
        Argument("--qos-profile-overrides-path", type=Path, help="YAML of QoS overrides by topic"),
        Argument(
            "--wait-for-all-acked",
            type=float,
            metavar="MS",
            help="At the end, wait so long for subscribers; 0 is for ever",
        ),
        Argument("--read-ahead-queue-size", type=int, help="Taken for compatibility: it goes by bytes here"),
        Argument("--disable-keyboard-controls", action="store_true", help="Taken for compatibility: none here"),
        Argument("--disable-loan-message", action="store_true", help="Taken for compatibility"),
        *refused(_PLAY_REFUSED),
    ),
    "record": Verb(
        _record,
        Argument("topics", nargs="*", help="Topics to record"),
        Argument("--topics", dest="more_topics", nargs="+", default=[], help="Topics to record, too"),
        Argument("-a", "--all", action="store_true", help="Record all topics"),
        Argument("--all-topics", dest="all", action="store_true", help="The same"),
        Argument("-e", "--regex", help="Record topics in which this regular expression is found, too"),
        Argument("-x", "--exclude-regex", help="Leave topics out in which this one is found"),
        Argument("--exclude-topics", nargs="+", default=[], metavar="TOPIC", help="Leave these out"),
        Argument("--exclude-topic-types", nargs="+", default=[], metavar="TYPE", help="Leave these types out"),
        Argument("--topic-types", nargs="+", default=[], metavar="TYPE", help="Record topics of these types, too"),
        Argument("-o", "--output", type=Path, help="Folder to make (default: rosbag2_ and the time)"),
        Argument("-s", "--storage", choices=("mcap", "sqlite3"), default="mcap", help="(default: %(default)s)"),
        Argument("--storage-preset-profile", choices=tuple(_PRESETS), default="none", help="Of MCAP"),
        Argument(
            "-b",
            "--max-bag-size",
            type=unsigned_int,
            default=0,
            metavar="BYTES",
            help="Go on in a next file; 0: in one",
        ),
        Argument(
            "-d",
            "--max-bag-duration",
            type=unsigned_int,
            default=0,
            metavar="S",
            help="Go on in a next file; 0: in one",
        ),
        Argument(
            "-p",
            "--polling-interval",
            type=positive_int,
            default=100,
            metavar="MS",
            help="Between looks for new topics",
        ),
        Argument("--no-discovery", action="store_true", help="Record only what is there at the beginning"),
        Argument("--include-hidden-topics", action="store_true", help="Count hidden topics in"),
        Argument("--include-unpublished-topics", action="store_true", help="And those without a publisher"),
        Argument("--start-paused", action="store_true", help="Wait for the service ~/resume"),
        Argument("--use-sim-time", action="store_true", help="Take the times from /clock"),
        Argument("--node-name", default="rosbag2_recorder", help="(default: %(default)s)"),
        Argument("--max-cache-size", type=int, help="Taken for compatibility: messages are written at once"),
        Argument("--disable-keyboard-controls", action="store_true", help="Taken for compatibility: none here"),
        *refused(_RECORD_REFUSED),
    ),
}
