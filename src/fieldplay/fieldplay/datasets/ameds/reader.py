"""AMEDS, the ARCHES Mount Etna dataset: a folder as unpacked, or the zip as downloaded."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.ameds.ameds_clouds import CloudDecoder, check_cloud_stamp
from fieldplay.datasets.ameds.checks import check_poses, check_settings
from fieldplay.datasets.ameds.ground_model import ground_stream
from fieldplay.datasets.ameds.streams import table_streams
from fieldplay.datasets.archive import (
    Archive,
    note_ignored_files,
    open_tables,
)
from fieldplay.datasets.base_reader import DatasetReader
from fieldplay.datasets.row_files import cloud_stream, image_stream, timed_files
from fieldplay.io.containers import Files, JoinedFiles, open_joined
from fieldplay.io.table import Tables
from fieldplay.streams.stream import Stream

NAME = re.compile(r"(traverse|rock_?picking)[ _-]*0*(\d+)", re.IGNORECASE)
SHORT_FRACTION = 0.97
NEAR_S = 3.0  # by which a duration may differ from that of the paper, which is rounded to seconds


# Which of the paper's recordings an AMEDS archive holds, and how much of each.


@dataclass(frozen=True)
class Recording:
    """A part of an archive: its folder or zip, how long it lasts, and its name in the paper, if its own has it."""

    folder: str
    length_s: float
    name: str


def recordings_of(archive: Archive, tables: Mapping[str, Tables]) -> list[Recording]:
    """The recordings by the folders and zips of the tables, in the order of time."""
    spans: dict[str, tuple[int, int]] = {}
    for table in (table for kind in tables.values() for table in kind.tables):
        folder = table.name.rpartition("/")[0]
        first, last = min(b.first_ns for b in table.blocks), max(b.last_ns for b in table.blocks)
        known = spans.get(folder, (first, last))
        spans[folder] = min(first, known[0]), max(last, known[1])
    recordings = []
    for folder, (first, last) in sorted(spans.items(), key=lambda item: item[1]):
        recordings.append(Recording(folder, (last - first) / NS_PER_S, _name_in(folder) or _name_in(archive.root.name)))
    return recordings


def _name_in(text: str) -> str:
    """The last of the paper's names in a path, such as traverse_5; empty where there is none."""
    names = NAME.findall(text)
    if not names:
        return ""
    kind, number = names[-1]
    return f"{'traverse' if kind.lower() == 'traverse' else 'rock_picking'}_{number}"


def facts_of(recordings: Sequence[Recording]) -> dict[str, str]:
    """What a bag says of its recording: the names that are known."""
    names = [recording.name for recording in recordings if recording.name]
    return {"name": ", ".join(names), "area": "Mount Etna"} if names else {}


def note_recordings(archive: Archive, recordings: Sequence[Recording]) -> None:
    """Note which recordings of the paper these are, and what each is short of."""
    known: Mapping[str, Any] = archive.spec.constants["recordings"]
    for recording in recordings:
        facts = known.get(recording.name)
        where = f" ({recording.folder})" if recording.folder and len(recordings) > 1 else ""
        if facts is not None:
            archive.notes.append(f"{_text(recording, facts)}{where}")
            continue
        near = [name for name, each in known.items() if abs(each["seconds"] - recording.length_s) <= NEAR_S]
        guess = f"; by its {recording.length_s:.0f} s it may be {' or '.join(near)}" if near else ""
        archive.notes.append(f"recording of the paper: unknown, as no file name has its number{guess}{where}")
    missing = [name for name in known if name.startswith("traverse") and name not in {r.name for r in recordings}]
    if sum(recording.name.startswith("traverse") for recording in recordings) > 1 and missing:
        archive.notes.append(f"recordings of the paper that are not here: {', '.join(missing)}")


def _text(recording: Recording, facts: Mapping[str, Any]) -> str:
    numbers = [f"{facts['length_m']} m"] if "length_m" in facts else []
    numbers += [f"up to {facts['height_m']} m higher or lower"] if "height_m" in facts else []
    numbers += [f"{facts['seconds'] // 60}:{facts['seconds'] % 60:02d} min"]
    numbers += [f"{facts['speed_m_s']} m/s"] if "speed_m_s" in facts else []
    numbers += ["with RTK" if facts["rtk"] else "without RTK"] if "rtk" in facts else []
    text = f"{recording.name} of the paper: {', '.join(numbers)}"
    if recording.length_s < SHORT_FRACTION * facts["seconds"]:
        text += f"; this is {recording.length_s:.1f} s of {facts['seconds']} s: a part of it, or cut"
    return f"{text} ({facts['about']})" if "about" in facts else text


class Reader(DatasetReader):
    """Recordings of AMEDS."""

    def open_files(self) -> Files:
        return open_joined(self.archive.root, self.archive.defects)

    def make_streams(self) -> Mapping[str, Stream]:
        archive, files = self.archive, self.files
        if isinstance(files, JoinedFiles):
            archive.notes += [f"{name}: also unpacked next to it; not read" for name in files.twice]
        tables = open_tables(archive, files)
        note_ignored_files(archive, files)
        streams = table_streams(archive, tables) | _file_streams(archive, files)
        first_ns = min((span.first_ns for stream in streams.values() for span in stream.spans), default=None)
        streams |= ground_stream(archive, files, first_ns)
        recordings = recordings_of(archive, tables)
        archive.recording |= facts_of(recordings)
        archive.checks += [lambda opened: check_settings(opened, tables), check_poses]
        archive.checks.append(lambda opened: note_recordings(opened, recordings))
        archive.slow_checks.append(check_cloud_stamp)
        return streams


open_archive = Reader.open


def _file_streams(archive: Archive, files: Files) -> dict[str, Stream]:
    fraction = archive.parameters["name_fraction"]
    streams: dict[str, Stream] = {}
    for key in ("main_cam", "aux_cam", "projected", "lidar"):
        names, stamp_ns = timed_files(archive, files, key, fraction=fraction)
        if not names:
            continue
        if key == "lidar":
            revolution_ns = round(archive.spec.constants["revolution_s"] * NS_PER_S)
            start_ns = stamp_ns - revolution_ns if archive.parameters["cloud_stamp"] == "end" else stamp_ns
            decoder = CloudDecoder(archive, files, names)
            streams[key] = cloud_stream(files, names, start_ns, decoder)
            archive.checks.append(decoder.check)
        else:
            streams[key] = image_stream(files, names, stamp_ns)
    return streams
