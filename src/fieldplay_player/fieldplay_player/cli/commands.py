"""What the commands do."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import yaml

from fieldplay_archive.archive import Archive, DefectLog
from fieldplay_archive.errors import Defect
from fieldplay_archive.spec import dataset_files, spec_from_file
from fieldplay_player import checking, conversion, inspection
from fieldplay_player.cli.progress import ProgressBar
from fieldplay_player.opening import open_dataset
from fieldplay_player.options import Selection

Command = Callable[[argparse.Namespace], int]

NO_DEFECT, DEFECTS, NOT_PLAYABLE = 0, 1, 2
SHOWN = 20


class UsageError(Exception):
    """The command was asked for what cannot be."""


def list_datasets(_: argparse.Namespace) -> int:
    """One line for each dataset."""
    for name, path in sorted(dataset_files().items()):
        spec = spec_from_file(path)
        print_line(f"{name:10}  {spec.title}")
    return 0


def info(chosen: argparse.Namespace) -> int:
    """What is in an archive."""
    with _opened(chosen) as archive:
        for dataset_check in archive.checks:
            dataset_check(archive)
        found = inspection.summaries(archive, Selection())
        if chosen.json:
            print_line(json.dumps(inspection.as_json(archive, found), indent=2))
        else:
            for line in inspection.as_lines(archive, found):
                print_line(line)
            for line in _told(archive.defects):
                print_line(f"  {line}")
    return 0


def check(chosen: argparse.Namespace) -> int:
    """Every defect of an archive."""
    with _opened(chosen) as archive:
        bar = ProgressBar("checking", "spans", sys.stderr)
        defects = checking.check(archive, Selection(), progress=bar)
        bar.finish()
        playable = any(len(stream.spans) for stream in archive.streams.values())
        if chosen.json:
            listed = [asdict(defect) for defect in defects]
            known = {"dataset": archive.spec.name, "archive": str(archive.root), "playable": playable}
            print_line(json.dumps({**known, "defects": listed}, indent=2))
        else:
            _print_defects(archive, defects)
        return NOT_PLAYABLE if not playable else DEFECTS if archive.defects.total else NO_DEFECT


def convert(chosen: argparse.Namespace) -> int:
    """An archive into a bag."""
    if chosen.out.exists() and not chosen.overwrite:
        raise UsageError(f"{chosen.out} exists; --overwrite replaces it")
    options = conversion.BagOptions(
        storage=chosen.storage, compression=chosen.compression, overwrite=chosen.overwrite, strict=chosen.strict
    )
    with _opened(chosen) as archive:
        bar = ProgressBar("converting", "messages", sys.stderr)
        try:
            written = conversion.convert(archive, chosen.out, _selection(chosen), options, progress=bar)
        finally:
            bar.finish()
            for line in _told(archive.defects):
                sys.stderr.write(f"{line}\n")
        topics = sum(1 for count in written.counts if count)
        print_line(f"{chosen.out}: {int(written.counts.sum())} messages on {topics} topics")
    return 0


def play(chosen: argparse.Namespace) -> int:
    """An archive as live topics."""
    from fieldplay_player.cli.playing import play_archive

    return play_archive(chosen)


def print_line(text: str) -> None:
    """A line of output."""
    sys.stdout.write(text + "\n")


@contextmanager
def _opened(chosen: argparse.Namespace) -> Iterator[Archive]:
    with open_dataset(chosen.archive, chosen.dataset, parameters(chosen.set)) as archive:
        yield archive


def parameters(texts: Sequence[str]) -> dict[str, Any]:
    """The dataset's parameters from NAME=VALUE, the values as YAML."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise UsageError(f"--set: expected NAME=VALUE, got '{text}'")
        found[name] = yaml.safe_load(value)
    return found


def _selection(chosen: argparse.Namespace) -> Selection:
    return Selection(
        start_s=chosen.start,
        duration_s=chosen.duration,
        topics=chosen.topics,
        images=chosen.images,
        namespace=chosen.namespace,
        frame_prefix=chosen.frame_prefix,
    )


def _told(log: DefectLog) -> list[str]:
    """The defects in short: how many of each kind, and where the first of them are."""
    if not log.total:
        return []
    kinds: Counter[str] = Counter()
    for (_, kind), count in log.counts.items():
        kinds[kind] += count
    lines = [f"{log.total} defects: " + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())]
    lines += [f"  {defect}" for defect in log.kept[:SHOWN]]
    if log.total > SHOWN:
        lines.append(f"  and {log.total - SHOWN} more: fieldplay check lists them")
    return lines


def _print_defects(archive: Archive, defects: Sequence[Defect]) -> None:
    for defect in defects:
        print_line(f"{defect.kind}: {defect}")
    for (file, kind), count in archive.defects.counts.items():
        kept = sum(defect.file == file and defect.kind == kind for defect in defects)
        if count > kept:
            print_line(f"{kind}: {file}: and {count - kept} more")
    print_line(f"{archive.root}: {archive.defects.total or 'no'} defects")
