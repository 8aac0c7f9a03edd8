"""AMEDS, the ARCHES Mount Etna dataset: a folder as unpacked, or the zip as downloaded."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.ameds.checks import check_settings
from fieldplay.datasets.ameds.cloud_stamp import check_cloud_stamp
from fieldplay.datasets.ameds.clouds import CloudDecoder
from fieldplay.datasets.ameds.ground import ground_stream
from fieldplay.datasets.ameds.pose_checks import check_poses
from fieldplay.datasets.ameds.recordings import facts_of, note_recordings, recordings_of
from fieldplay.datasets.ameds.streams import table_streams
from fieldplay.datasets.archive import (
    Archive,
    chosen_parameters,
    note_leftovers,
    open_tables,
)
from fieldplay.datasets.row_files import cloud_stream, image_stream, timed_files
from fieldplay.datasets.spec import DatasetSpec
from fieldplay.io.containers import Files, JoinedFiles, open_joined
from fieldplay.streams.stream import Stream


def open_archive(root: Path, spec: DatasetSpec, parameters: Mapping[str, Any]) -> Archive:
    """Look through an archive of AMEDS; what it lacks is noted, what is defective is reported."""
    archive = Archive(root=root, spec=spec, parameters=chosen_parameters(spec, parameters))
    with archive.on_close:
        files = archive.on_close.enter_context(open_joined(root, archive.defects))
        if isinstance(files, JoinedFiles):
            archive.notes += [f"{name}: its files lie beside it unpacked, too; not read" for name in files.twice]
        tables = open_tables(archive, files)
        note_leftovers(archive, files)
        streams = table_streams(archive, tables) | _file_streams(archive, files)
        first_ns = min((span.first_ns for stream in streams.values() for span in stream.spans), default=None)
        streams |= ground_stream(archive, files, first_ns)
        archive.streams = {stream.id: streams[stream.id] for stream in spec.streams if stream.id in streams}
        recordings = recordings_of(archive, tables)
        archive.recording |= facts_of(recordings)
        archive.checks += [lambda opened: check_settings(opened, tables), check_poses]
        archive.checks.append(lambda opened: note_recordings(opened, recordings))
        archive.slow_checks.append(check_cloud_stamp)
        archive.on_close = archive.on_close.pop_all()
    return archive


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
