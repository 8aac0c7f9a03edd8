"""The command `check`: every defect of an archive."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from fieldplay.cli.arguments import add_archive, add_jobs, add_json, open_archive, parameters_of
from fieldplay.cli.parser import CommandParser
from fieldplay.cli.summaries import is_for_bags
from fieldplay.cli.terminal import print_line, print_message, progress_bar
from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.datasets.archive import MEASURED, Archive
from fieldplay.recording.bag_recording import BagRecording

NO_DEFECT, DEFECTS, NOT_PLAYABLE = 0, 1, 2
EPILOG = """\
examples:
  fieldplay check etna.zip
  fieldplay check AMEDS/ --complete --json > defects.json
"""


def add_arguments(parser: CommandParser) -> None:
    """ARCHIVE, and how its defects are reported."""
    add_archive(parser)
    with parser.section("check and output"):
        parser.add_argument("--complete", action="store_true", help="report missing files of the dataset, too")
        add_jobs(parser)
        add_json(parser)
    parser.set_defaults(failed=NOT_PLAYABLE)


def run(chosen: argparse.Namespace) -> int:
    """Every defect of an archive; one that cannot be opened at all is one defect."""
    if is_for_bags(chosen):
        return _check_bag(chosen)
    try:
        with open_archive(chosen, allow_empty=True) as data:
            archive = data.archive
            playable = any(len(stream.spans) for stream in archive.streams.values())
            if playable:
                with progress_bar("checking", "rows") as bar:
                    data.check(progress=bar)
            for defect in archive.missing if chosen.complete or not playable else ():
                archive.defects(defect)
            for line in archive.warnings:
                print_message(line)
            _print_check(chosen, archive, playable)
            return NOT_PLAYABLE if not playable else DEFECTS if archive.defects.total else NO_DEFECT
    except ArchiveError as error:
        if not chosen.json:
            raise
        defect = Defect(file=chosen.archive.name, kind="unreadable_archive", message=str(error))
        _print_json({"dataset": chosen.dataset, "archive": str(chosen.archive), "playable": False}, [defect])
        return NOT_PLAYABLE


def _check_bag(chosen: argparse.Namespace) -> int:
    """Every defect of a bag of ROS 2."""
    with BagRecording(chosen.archive, parameters_of(chosen)) as bag:
        with progress_bar("checking", "messages") as bar:
            defects = list(dict.fromkeys(bag.check(progress=bar)))
        playable, dataset = bool(bag.topics), bag.spec.name if bag.spec else None
    if chosen.json:
        _print_json({"dataset": dataset, "archive": str(chosen.archive), "playable": playable}, defects)
    else:
        for defect in defects:
            print_line(f"{defect.kind}: {defect}")
        print_line(
            f"{chosen.archive}: {_defects_text(len(defects))}{'' if playable else ', nothing that can be played'}"
        )
    return NOT_PLAYABLE if not playable else DEFECTS if defects else NO_DEFECT


def _print_check(chosen: argparse.Namespace, archive: Archive, playable: bool) -> None:
    defects = archive.defects.listed
    if chosen.json:
        _print_json({"dataset": archive.spec.name, "archive": str(archive.root), "playable": playable}, defects)
        return
    for defect in defects:
        print_line(f"{defect.kind}: {defect}")
    for note in archive.notes:
        if note.startswith(MEASURED):
            print_line(note)
    for (location, kind), count in archive.defects.dropped.items():
        print_line(f"{kind}: {location}: and {count} more")
    print_line(
        f"{archive.root}: {_defects_text(archive.defects.total)}{'' if playable else ', nothing that can be played'}"
    )


def _print_json(known: dict[str, Any], defects: Sequence[Defect]) -> None:
    print_line(json.dumps({**known, "defects": [asdict(defect) for defect in defects]}, indent=2))


def _defects_text(defects: int) -> str:
    return f"{defects or 'no'} defect{'' if defects == 1 else 's'}"
