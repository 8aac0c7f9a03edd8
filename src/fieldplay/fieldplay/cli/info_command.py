"""The command `info`: what is in an archive, topic by topic."""

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import Any

from fieldplay.cli import summaries
from fieldplay.cli.arguments import add_archive, add_json, open_archive, parameters_of, require_bags
from fieldplay.cli.terminal import print_line, progress_bar
from fieldplay.core.timestamps import utc_text
from fieldplay.datasets.archive import ParameterUpload
from fieldplay.recording.bag_recording import BagRecording
from fieldplay.topics.selection import Selection
from fieldplay.topics.topic_checks import check_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """ARCHIVE, and how it is told."""
    add_archive(parser, several=True)
    add_json(parser)
    parser.add_argument(
        "--parameters",
        action="store_true",
        help="show the robot's own parameter files instead: all sets of the first, then what each later one changes",
    )


def complete(chosen: argparse.Namespace) -> None:
    """The first of several bags stands for all where one is asked for."""
    chosen.archive = chosen.archives[0]


def run(chosen: argparse.Namespace) -> int:
    """What is in an archive, or in a bag."""
    require_bags(chosen)
    if chosen.parameters:
        return _show_parameters(chosen)
    if len(chosen.archives) > 1 or summaries.is_for_bags(chosen):
        with BagRecording(chosen.archive, parameters_of(chosen), more=chosen.archives[1:]) as bag:
            rows = summaries.summaries_of_bag(bag)
            text = (
                [json.dumps(summaries.info_json(bag, rows), indent=2)]
                if chosen.json
                else summaries.info_lines(bag, rows)
            )
            for line in text:
                print_line(line)
        return 0
    with open_archive(chosen) as data:
        archive = data.archive
        check_settings(archive)
        with progress_bar("reading", "blocks") as bar:
            streams = summaries.summaries(archive, Selection(), progress=bar)
        if chosen.json:
            print_line(json.dumps(summaries.as_json(archive, streams), indent=2))
            return 0
        for line in summaries.as_lines(archive, streams):
            print_line(line)
        for line in archive.defects.summary_lines():
            print_line(f"  {line}")
    return 0


def _show_parameters(chosen: argparse.Namespace) -> int:
    """The parameter files of an archive; 1 where it has none."""
    uploads: Sequence[ParameterUpload] = ()
    if not summaries.is_for_bags(chosen):
        with open_archive(chosen) as data:
            uploads = data.archive.uploads
    if chosen.json:
        print_line(json.dumps({"parameters": list(_parameters_json(uploads))}, indent=2))
    elif uploads:
        for line in _parameter_lines(uploads):
            print_line(line)
    else:
        print_line(f"{chosen.archive}: no parameter files")
    return 0 if uploads else 1


def _parameter_lines(uploads: Sequence[ParameterUpload]) -> Iterator[str]:
    for number, upload in enumerate(uploads):
        yield f"{upload.file}: from {utc_text(upload.stamp_ns)} on"
        if number == 0:
            for name, values in upload.sets.items():
                yield f"  {name}"
                yield from (f"    {key} = {text}" for key, text in values.items())
            continue
        changes = upload.changes_from(uploads[number - 1])
        yield f"  {len(changes)} changes" if len(changes) != 1 else "  1 change"
        for name, key, old, new in changes:
            yield f"    {name} {key} = {'(none)' if new is None else new}, before {'(none)' if old is None else old}"


def _parameters_json(uploads: Sequence[ParameterUpload]) -> Iterator[dict[str, Any]]:
    before: ParameterUpload | None = None
    for upload in uploads:
        changes = [] if before is None else upload.changes_from(before)
        names = ("set", "key", "before", "now")
        changed = [dict(zip(names, change, strict=True)) for change in changes]
        yield {"file": upload.file, "stamp_ns": upload.stamp_ns, "sets": upload.sets, "changes": changed}
        before = upload
