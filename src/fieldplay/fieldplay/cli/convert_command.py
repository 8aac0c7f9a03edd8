"""The command `convert`: an archive as a bag."""

import argparse
from pathlib import Path

from fieldplay.bags.compression import ROS1
from fieldplay.cli.arguments import (
    add_archive,
    add_jobs,
    add_overwrite,
    add_remap,
    add_selection,
    open_archive,
    require_bags,
    require_output,
    selection_of,
)
from fieldplay.cli.parser import CommandParser
from fieldplay.cli.terminal import deferred_interrupts, print_line, print_message, progress_bar
from fieldplay.core.errors import UsageError, pluralize
from fieldplay.topics.dynamic_tf import ODOM_TF, sends_odom_tf
from fieldplay.topics.plain_bag_topics import warnings_of_chosen
from fieldplay.topics.topic_checks import check_settings, describe_tf_trees, missing_outputs

EPILOG = """\
examples:
  fieldplay convert etna.zip etna_bag
  fieldplay convert etna.zip etna_bag --start 10 --duration 60 --topics 'imu|gnss' --derived
  fieldplay convert MH_01_easy.zip mh01 --storage sqlite3
"""


def add_arguments(parser: CommandParser) -> None:
    """ARCHIVE and OUT, what is taken, and how the bag is stored."""
    add_archive(parser, several=True)
    parser.add_argument("out", metavar="OUT", type=Path, nargs="?", help="the bag's folder, which must not exist")
    add_selection(parser, images="compressed where the archive has JPEG or PNG, else raw")
    add_remap(parser)
    with parser.section("time and topics"):
        parser.add_argument("--derived", action="store_true", help="add the topics of the kinematics nodes, and /tf")
    with parser.section("output"):
        parser.add_argument("-o", "--output", type=Path, metavar="OUT", help="OUT, as an option as in ros2 bag")
        parser.add_argument(
            "-s", "--storage", choices=("mcap", "sqlite3"), default="mcap", help="storage plugin of the bag"
        )
        parser.add_argument("--compression", choices=("none", "zstd"), default="none", help="compression of chunks")
        add_jobs(parser, "each writes a file of the bag")
        add_overwrite(parser, "replace an existing bag once the new one is complete")
        parser.add_argument("--strict", action="store_true", help="write nothing if the archive has a defect")


def complete(chosen: argparse.Namespace) -> None:
    """OUT is what stands last, unless -o names it."""
    paths = [*chosen.archives, *filter(None, [chosen.out])]
    if chosen.output is None and len(paths) < 2:
        chosen.parser.error("the following arguments are required: OUT")
    chosen.out = chosen.output or paths.pop()
    chosen.archives, chosen.archive = paths, paths[0]


def run(chosen: argparse.Namespace) -> int:
    """An archive into a bag."""
    require_bags(chosen)
    if chosen.out.suffix.lower() == ROS1:
        raise UsageError(f"{chosen.out}: a bag of ROS 2 is a folder; names that end in .bag are for ROS 1")
    if len(chosen.archives) > 1 and chosen.overwrite and chosen.output is None:
        raise UsageError("several bags with --overwrite: name the new one by -o OUT, so that none is taken for it")
    for path in chosen.archives:
        require_output(path, chosen.out, overwrite=chosen.overwrite)
    if chosen.storage == "sqlite3" and chosen.compression != "none":
        raise UsageError("--compression is for --storage mcap")
    selection = selection_of(chosen)
    with open_archive(chosen) as data:
        archive = data.archive
        if sends_odom_tf(archive.spec, selection) and not chosen.derived:
            raise UsageError(f"--tf {ODOM_TF}: that odometry is computed with --derived alone")
        try:
            check_settings(archive)
            with progress_bar("converting", "messages") as bar, deferred_interrupts() as stop_if_requested:

                def progress(fraction: float, count: int) -> None:
                    stop_if_requested()
                    bar(fraction, count)

                written = data.to_bag(
                    chosen.out,
                    selection,
                    storage=chosen.storage,
                    compression=chosen.compression,
                    overwrite=chosen.overwrite,
                    strict=chosen.strict,
                    jobs=chosen.jobs,
                    progress=progress,
                )
            for line in (*written.notes, *(missing_outputs(archive, selection) if chosen.derived else ())):
                print_message(line)
        finally:
            for line in (*warnings_of_chosen(archive, selection), *archive.defects.summary_lines()):
                print_message(line)
        topics = sum(1 for count in written.counts if count)
        trees = describe_tf_trees(archive, selection)
        if trees:
            print_message(trees)
        messages = pluralize(int(written.counts.sum()), "message")
        print_line(f"{chosen.out}: {messages} on {pluralize(topics, 'topic')}")
    return 0
