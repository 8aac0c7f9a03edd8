"""The command `export`: topics of an archive or a bag as files that other programs read."""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fieldplay.cli.arguments import (
    add_archive,
    add_jobs,
    add_json,
    add_selection,
    open_archive,
    require_output,
    selection_of,
)
from fieldplay.cli.parser import CommandParser
from fieldplay.cli.terminal import print_line, print_message, progress_bar
from fieldplay.core.errors import UsageError

if TYPE_CHECKING:
    from fieldplay.core.progress import Progress
    from fieldplay.export.folder import ExportedFeeds, ExportedTopic

EPILOG = """\
examples:
  fieldplay export AMEDS/ tables --format parquet --topics 'imu|gnss'
  fieldplay export bag/ tables --format csv --lists position,velocity
  fieldplay export AMEDS/ kitti --format kitti --topics lidar
"""
FORMATS = {
    "csv": "a table for each topic",
    "parquet": "the same with types and units",
    "tum": "trajectories of topics with poses",
    "kitti": "clouds as a dataset of KITTI's odometry",
    "images": "images, named by their times",
    "pcd": "clouds, named by their times",
    "ply": "the same as PLY",
}


def add_arguments(parser: CommandParser) -> None:
    """ARCHIVE and OUT, what is taken, and the format."""
    add_archive(parser)
    parser.add_argument("out", metavar="OUT", type=Path, help="a folder, which must not exist")
    formats = "; ".join(f"{name}: {text}" for name, text in FORMATS.items())
    with parser.section("output"):
        parser.add_argument("--format", choices=tuple(FORMATS), required=True, metavar="FORMAT", help=formats)
        parser.add_argument(
            "--lists",
            default="none",
            metavar="NAMES",
            help="of csv and parquet: arrays to expand into a column per item, as position,velocity, or all",
        )
        parser.add_argument(
            "--poses",
            default="",
            metavar="TOPIC",
            help="of kitti: the true poses, or none (default: those of the dataset)",
        )
        add_jobs(parser)
        add_json(parser, "what was written as JSON")
    add_selection(parser, images="as the archive has them")
    with parser.section("time and topics"):
        parser.add_argument("--derived", action="store_true", help="add the topics of the kinematics nodes")


def run(chosen: argparse.Namespace) -> int:
    """Topics into files."""
    from fieldplay.core.atomic_output import atomic_output
    from fieldplay.export.folder import as_json, feeds_to_export, write_topics
    from fieldplay.topics.plain_bag_topics import warnings_of_chosen

    _require_fitting(chosen)
    require_output(chosen.archive, chosen.out, overwrite=False)
    make, types, what = _form(chosen)
    selection = selection_of(chosen)
    with open_archive(chosen) as data:
        archive = data.archive
        try:
            feeds = feeds_to_export(archive, selection, types, what=what, watch=_progress)
            with atomic_output(chosen.out, is_folder=True) as folder:
                topics = list(make(feeds, folder))
                write_topics(folder, topics)
        finally:
            for line in (*warnings_of_chosen(archive, selection), *archive.defects.summary_lines()):
                print_message(line)
    if chosen.json:
        print_line(as_json(topics))
        return 0
    for each in topics:
        note = f" ({each.note})" if each.note else ""
        print_line(f"{chosen.out / each.path}: {each.count} of {each.topic}{note}")
    return 0


def _require_fitting(chosen: argparse.Namespace) -> None:
    if chosen.lists != "none" and chosen.format not in ("csv", "parquet"):
        raise UsageError("--lists is for --format csv and parquet")
    if chosen.poses and chosen.format != "kitti":
        raise UsageError("--poses is for --format kitti")


def _form(
    chosen: argparse.Namespace,
) -> "tuple[Callable[[ExportedFeeds, Path], Iterator[ExportedTopic]], tuple[str, ...], str]":
    """What writes the files, which types of messages it takes, all if none, and their name."""
    from fieldplay.export.files import export_clouds, export_images
    from fieldplay.export.kitti import export_kitti
    from fieldplay.export.table_columns import lists_of_word
    from fieldplay.export.table_export import export_tables
    from fieldplay.export.tum import export_tum
    from fieldplay.messages.point_clouds import CLOUD
    from fieldplay.streams.image_topics import COMPRESSED, RAW
    from fieldplay.trajectories.pose_topics import TYPES

    if chosen.format in ("csv", "parquet"):
        lists = lists_of_word(chosen.lists)
        return lambda feeds, out: export_tables(feeds, out, f".{chosen.format}", lists), (), "messages"
    if chosen.format == "tum":
        return export_tum, TYPES, "poses"
    if chosen.format == "images":
        return export_images, (RAW, COMPRESSED), "pictures"
    if chosen.format in ("pcd", "ply"):
        suffix = f".{chosen.format}"
        return lambda feeds, out: export_clouds(feeds, out, suffix), (CLOUD,), "point clouds"
    return lambda feeds, out: export_kitti(feeds, out, chosen.poses), (CLOUD,), "point clouds"


@contextmanager
def _progress(title: str) -> "Iterator[Progress]":
    with progress_bar(title, "messages") as bar:
        yield bar
