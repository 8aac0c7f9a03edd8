"""ros2 bag record."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from ros2cli import bags
from ros2cli.argument_types import positive_int, unsigned_int
from ros2cli.choice import chosen_topics
from ros2cli.refusals import add_refused

_PRESETS = {"none": "none", "fastwrite": "none", "zstd_fast": "zstd", "zstd_small": "zstd"}
_NS_PER_S = 1_000_000_000
_REFUSED = {
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("topics", nargs="*", help="Topics to record")
    parser.add_argument("--topics", dest="more_topics", nargs="+", default=[], help="Topics to record, too")
    parser.add_argument("-a", "--all", action="store_true", help="Record all topics")
    parser.add_argument("--all-topics", dest="all", action="store_true", help="The same")
    parser.add_argument("-e", "--regex", help="Record topics in which this regular expression is found, too")
    parser.add_argument("-x", "--exclude-regex", help="Leave topics out in which this one is found")
    parser.add_argument("--exclude-topics", nargs="+", default=[], metavar="TOPIC", help="Leave these out")
    parser.add_argument("--exclude-topic-types", nargs="+", default=[], metavar="TYPE", help="Leave these types out")
    parser.add_argument(
        "--topic-types", nargs="+", default=[], metavar="TYPE", help="Record topics of these types, too"
    )
    parser.add_argument("-o", "--output", type=Path, help="Folder to make (default: rosbag2_ and the time)")
    parser.add_argument("-s", "--storage", choices=("mcap", "sqlite3"), default="mcap", help="(default: %(default)s)")
    parser.add_argument("--storage-preset-profile", choices=tuple(_PRESETS), default="none", help="Of MCAP")
    parser.add_argument(
        "-b", "--max-bag-size", type=unsigned_int, default=0, metavar="BYTES", help="Go on in a next file; 0: in one"
    )
    parser.add_argument(
        "-d", "--max-bag-duration", type=unsigned_int, default=0, metavar="S", help="Go on in a next file; 0: in one"
    )
    parser.add_argument(
        "-p", "--polling-interval", type=positive_int, default=100, metavar="MS", help="Between looks for new topics"
    )
    parser.add_argument("--no-discovery", action="store_true", help="Record only what is there at the beginning")
    parser.add_argument("--include-hidden-topics", action="store_true", help="Count hidden topics in")
    parser.add_argument("--include-unpublished-topics", action="store_true", help="And those without a publisher")
    parser.add_argument("--start-paused", action="store_true", help="Wait for the service ~/resume")
    parser.add_argument("--use-sim-time", action="store_true", help="Take the times from /clock")
    parser.add_argument("--node-name", default="rosbag2_recorder", help="(default: %(default)s)")
    parser.add_argument("--max-cache-size", type=int, help="Taken for compatibility: messages are written at once")
    parser.add_argument("--disable-keyboard-controls", action="store_true", help="Taken for compatibility: none here")
    add_refused(parser, _REFUSED)


def main(args: argparse.Namespace) -> int:
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
        split=recorder.Split(
            size=args.max_bag_size or None,
            duration_ns=args.max_bag_duration * _NS_PER_S or None,
        ),
        wanted=_wanted(args),
        hidden_too=args.include_hidden_topics,
        unpublished_too=args.include_unpublished_topics,
        discovers=not args.no_discovery,
        polling_s=args.polling_interval * 1e-3,
        paused=args.start_paused,
        use_sim_time=args.use_sim_time,
        node_name=args.node_name,
    )
    return int(recorder.record(recording))


def _wanted(args: argparse.Namespace) -> Callable[[str, str], bool]:
    is_chosen = chosen_topics(args.topics + args.more_topics, args.regex, every=args.all)
    is_left = chosen_topics((), None, left_out=args.exclude_topics, exclude_regex=args.exclude_regex, every=True)

    def wanted(name: str, msgtype: str) -> bool:
        by_type = msgtype in args.topic_types
        return (by_type or is_chosen(name)) and is_left(name) and msgtype not in args.exclude_topic_types

    return wanted
