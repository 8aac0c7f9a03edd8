"""ros2 bag play."""

from __future__ import annotations

import argparse
from pathlib import Path

from ros2cli import bags
from ros2cli.argument_types import positive_float
from ros2cli.choice import chosen_topics
from ros2cli.refusals import add_refused

_CLOCK_HZ = 40.0
_STORAGES = ("mcap", "sqlite3")
_REFUSED = {
    "--services": "services are not recorded",
    "--publish-service-requests": "services are not recorded",
    "--clock-topics": "/clock has a rate of its own: --clock HZ",
    "--clock-topics-all": "/clock has a rate of its own: --clock HZ",
    "--playback-until-sec": "use --playback-duration",
    "--playback-until-nsec": "use --playback-duration",
    "--storage-config-file": "storage has no settings to read by",
    "--message-order": "messages leave by the times at which they were received",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("bag_path", type=Path, nargs="?", help="The bag")
    parser.add_argument("-s", "--storage", choices=_STORAGES, help="Its storage (default: what it is)")
    parser.add_argument(
        "-i",
        "--input",
        action="append",
        nargs="+",
        default=[],
        metavar=("BAG", "STORAGE"),
        help="A bag and perhaps its storage, as often as there are bags to play side by side",
    )
    parser.add_argument("-r", "--rate", type=positive_float, default=1.0, help="How many times faster than it was")
    parser.add_argument("--topics", nargs="+", default=[], help="Play these topics only")
    parser.add_argument("-e", "--regex", help="And those that this regular expression matches")
    parser.add_argument("-x", "--exclude-regex", help="Leave topics out that this one matches")
    parser.add_argument("--exclude-topics", nargs="+", default=[], metavar="TOPIC", help="Leave these out")
    parser.add_argument("-l", "--loop", action="store_true", help="Begin again at the end")
    parser.add_argument("-m", "--remap", nargs="+", default=[], metavar="OLD:=NEW", help="Names to play under")
    parser.add_argument("-p", "--start-paused", action="store_true", help="Wait for the service ~/resume")
    parser.add_argument("--start-offset", type=float, default=0.0, metavar="S", help="Begin so many seconds later")
    parser.add_argument("--playback-duration", type=float, default=-1.0, metavar="S", help="Play so many seconds")
    parser.add_argument("-d", "--delay", type=positive_float, default=0.0, metavar="S", help="Wait so long before")
    parser.add_argument(
        "--clock", nargs="?", type=positive_float, const=_CLOCK_HZ, default=0.0, metavar="HZ", help="Publish /clock"
    )
    parser.add_argument("--qos-profile-overrides-path", type=Path, help="YAML of QoS overrides by topic")
    parser.add_argument(
        "--wait-for-all-acked", type=float, metavar="MS", help="At the end, wait so long for subscribers; 0 is for ever"
    )
    parser.add_argument("--read-ahead-queue-size", type=int, help="Taken for compatibility: it goes by bytes here")
    parser.add_argument("--disable-keyboard-controls", action="store_true", help="Taken for compatibility: none here")
    parser.add_argument("--disable-loan-message", action="store_true", help="Taken for compatibility")
    add_refused(parser, _REFUSED)


def main(args: argparse.Namespace) -> int:
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
        wanted=chosen_topics(
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
