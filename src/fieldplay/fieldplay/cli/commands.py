"""What the commands do."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from fieldplay import conversion
from fieldplay import summaries as inspection
from fieldplay.cli.interrupts import interrupts_held
from fieldplay.cli.progress import progress_bar
from fieldplay_archive.archive import Archive
from fieldplay_archive.datasets import dataset_files, open_dataset
from fieldplay_archive.outlets import checks as checking
from fieldplay_archive.outlets.derived.lacking import lacking_lines
from fieldplay_archive.outlets.moving_frames import ODOM_TF, sends_odom_tf
from fieldplay_archive.outlets.selection import Selection
from fieldplay_archive.spec import spec_from_file
from fieldplay_messages.errors import ArchiveError, Defect, UsageError
from fieldplay_messages.progress import watched_opening

Command = Callable[[argparse.Namespace], int]

NO_DEFECT, DEFECTS, NOT_PLAYABLE = 0, 1, 2


def list_datasets(_: argparse.Namespace) -> int:
    """One line for each dataset."""
    for name, path in sorted(dataset_files().items()):
        spec = spec_from_file(path)
        print_line(f"{name:10}  {spec.title}")
    return 0


def info(chosen: argparse.Namespace) -> int:
    """What is in an archive."""
    with opened(chosen) as archive:
        checking.check_settings(archive)
        with progress_bar("reading", "blocks", sys.stderr) as bar:
            found = inspection.summaries(archive, Selection(), progress=bar)
        if chosen.json:
            print_line(json.dumps(inspection.as_json(archive, found), indent=2))
        else:
            for line in inspection.as_lines(archive, found):
                print_line(line)
            for line in archive.defects.in_short():
                print_line(f"  {line}")
    return 0


def check(chosen: argparse.Namespace) -> int:
    """Every defect of an archive; one that cannot be opened at all is one defect."""
    try:
        with opened(chosen, even_empty=True) as archive:
            playable = any(len(stream.spans) for stream in archive.streams.values())
            if playable:
                with progress_bar("checking", "rows", sys.stderr) as bar:
                    checking.check(archive, Selection(), progress=bar)
            _print_check(chosen, archive, playable)
            return NOT_PLAYABLE if not playable else DEFECTS if archive.defects.total else NO_DEFECT
    except ArchiveError as error:
        if not chosen.json:
            raise
        defect = Defect(file=chosen.archive.name, kind="unreadable_archive", message=str(error))
        _print_json({"dataset": chosen.dataset, "archive": str(chosen.archive), "playable": False}, [defect])
        return NOT_PLAYABLE


def convert(chosen: argparse.Namespace) -> int:
    """An archive into a bag."""
    require_place(chosen.archive, chosen.out, overwrite=chosen.overwrite)
    if chosen.storage == "sqlite3" and chosen.compression != "none":
        raise UsageError("--compression is for --storage mcap")
    options = conversion.BagOptions(
        storage=chosen.storage, compression=chosen.compression, overwrite=chosen.overwrite, strict=chosen.strict
    )
    with opened(chosen) as archive:
        if sends_odom_tf(archive.spec, _selection(chosen)) and not chosen.derived:
            raise UsageError(f"--tf {ODOM_TF}: that odometry is computed with --derived alone")
        try:
            checking.check_settings(archive)
            with progress_bar("converting", "messages", sys.stderr) as bar, interrupts_held() as stop_if_wanted:

                def progress(share: float, count: int) -> None:
                    stop_if_wanted()
                    bar(share, count)

                written = conversion.convert(archive, chosen.out, _selection(chosen), options, progress=progress)
            for line in lacking_lines(archive) if chosen.derived else []:
                tell(line)
        finally:
            for line in archive.defects.in_short():
                tell(line)
        topics = sum(1 for count in written.counts if count)
        print_line(f"{chosen.out}: {int(written.counts.sum())} messages on {topics} topics")
    return 0


def fault_of_place(path: Path) -> str:
    """Why nothing can be read from a path: nothing is there, or what could only be read once; "" where it can."""
    if not os.path.exists(path):
        return f"{path}: there is no such folder or file"
    is_readable = os.path.isfile(path) or os.path.isdir(path)
    return "" if is_readable else f"{path}: expected a file or a folder, got a pipe or a device"


def require_place(archive: Path, out: Path, *, overwrite: bool) -> None:
    """OUT must not be there, nor touch the archive, which is never written to."""
    source, target = archive.resolve(), out.resolve()
    if target.is_relative_to(source):
        raise UsageError(f"{out} lies in the archive, which is never written to")
    if os.path.lexists(out) and not overwrite:
        raise UsageError(f"{out} exists; --overwrite replaces it")
    if source.is_relative_to(target):
        raise UsageError(f"{out} holds the archive: it is not replaced")


def play(chosen: argparse.Namespace) -> int:
    """An archive as live topics."""
    try:
        from fieldplay.cli.play import play_archive
    except ModuleNotFoundError as error:
        raise UsageError(f"play needs ROS 2: {error}") from None
    return play_archive(chosen, _selection(chosen))


def print_line(text: str) -> None:
    """A line of output."""
    sys.stdout.write(text + "\n")


def tell(text: str) -> None:
    """A line beside the output; if nobody can read it the work still goes on."""
    with suppress(OSError):
        sys.stderr.write(text + "\n")


def opened(chosen: argparse.Namespace, *, even_empty: bool = False) -> Archive:
    """The archive that is asked for; a bar shows how far its opening is."""
    with progress_bar("opening", "MB", sys.stderr) as bar, watched_opening(bar):
        return open_dataset(chosen.archive, chosen.dataset, parameters(chosen.set), even_empty=even_empty)


def parameters(texts: Sequence[str]) -> dict[str, Any]:
    """The dataset's parameters from NAME=VALUE, the values as YAML."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise UsageError(f"--set: expected NAME=VALUE, got '{text}'")
        try:
            found[name] = yaml.safe_load(value) if value else ""
        except yaml.YAMLError:
            raise UsageError(f"--set {name}: expected a number or a word, got '{value}'") from None
    return found


def _selection(chosen: argparse.Namespace) -> Selection:
    return Selection(
        start_s=chosen.start,
        duration_s=chosen.duration,
        topics=chosen.topics,
        parameters=parameters(chosen.set),
        images=chosen.images,
        namespace=chosen.namespace,
        frame_prefix=chosen.frame_prefix,
        derived=getattr(chosen, "derived", False),  # of convert alone
        tf=dict(chosen.tf),
    )


def _print_check(chosen: argparse.Namespace, archive: Archive, playable: bool) -> None:
    defects = archive.defects.kept
    if chosen.json:
        _print_json({"dataset": archive.spec.name, "archive": str(archive.root), "playable": playable}, defects)
        return
    for defect in defects:
        print_line(f"{defect.kind}: {defect}")
    for (place, kind), count in archive.defects.dropped.items():
        print_line(f"{kind}: {place}: and {count} more")
    print_line(f"{archive.root}: {_counted(archive.defects.total)}{'' if playable else ', nothing that can be played'}")


def _print_json(known: dict[str, Any], defects: Sequence[Defect]) -> None:
    print_line(json.dumps({**known, "defects": [asdict(defect) for defect in defects]}, indent=2))


def _counted(defects: int) -> str:
    return f"{defects or 'no'} defect{'' if defects == 1 else 's'}"
