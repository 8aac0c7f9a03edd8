"""Logs of CDFF and Rock: a folder of them, or a single one. What is known by its name gets a name of its own."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from fieldplay.datasets.archive import Archive, note_ignored_files
from fieldplay.datasets.base_reader import DatasetReader
from fieldplay.io.containers import Files, ListedFiles
from fieldplay.io.file_names import last_part
from fieldplay.streams.stream import Stream
from fieldplay_cdff.datasets.sherpatt.checks import check_joint_names, w_first_names
from fieldplay_cdff.datasets.sherpatt.dgps import NAMES, axes_of_unit, in_enu
from fieldplay_cdff.datasets.sherpatt.sherpatt_cameras import Cameras
from fieldplay_cdff.datasets.sherpatt.sherpatt_frames import describe_frames
from fieldplay_cdff.datasets.sherpatt.surface import add_surface
from fieldplay_cdff.logs.log import (
    LOG,
    Log,
    add_settings_files,
    files_of,
    is_log,
    log_names,
    note_other_parts,
)
from fieldplay_cdff.logs.topic_builder import BuiltStream, RecordStream, StreamTopics, TopicBuilder

OWN_NAMES = ("_logger", "recording_", "_tf.msg", "_camera.msg")
UNIT, ODOMETRY = "dgps_odom", "wheel_odom"
LOOKED_AT = 20  # files
SURFACE = r".+\.tiff?"


def recognises(path: Path, files: Files) -> bool:
    """Whether a file is a log or has a log's name."""
    names = [last_part(name).lower() for name in files.matching(LOG.pattern)]
    if any(own in name for name in names for own in OWN_NAMES):
        return True
    return any(is_log(files, name) for name in files.matching(LOG.pattern)[:LOOKED_AT])


class Reader(DatasetReader):
    """Logs of SherpaTT, and of all else that CDFF or Rock logged."""

    def open_files(self) -> Files:
        return files_of(self.archive.root, self.archive.defects)

    def make_streams(self) -> Mapping[str, Stream]:
        archive, files, root, spec = self.archive, self.files, self.archive.root, self.archive.spec
        log = archive.on_close.enter_context(Log(files, log_names(files, archive.notes.append), archive.defects))
        archive.notes += log.notes
        if root.is_file() and isinstance(files, ListedFiles) and log.streams:
            add_settings_files(log, root, archive.defects, archive.notes.append)
            note_other_parts(root, archive.notes.append)
        _Opening(archive, log).describe()
        add_surface(archive, files, spec)
        archive.checks.append(check_joint_names)
        return archive.streams


open_archive = Reader.open


class _Opening:
    """The state of a log while an archive is opened."""

    def __init__(self, archive: Archive, log: Log) -> None:
        self._archive, self._log = archive, log
        self._topics = StreamTopics(archive.spec, archive.notes.append)
        self._cameras = Cameras(archive, self._topics, log.settings)

    def describe(self) -> None:
        """Add the streams, their cameras and the frames to the archive."""
        archive = self._archive
        built = self._build_streams()
        self._note_units(built)
        specs = [self._cameras.with_camera(item) for item in built]
        known = {spec.id: index for index, spec in enumerate(archive.spec.streams)}
        specs.sort(key=lambda spec: known.get(spec.id, len(known)))
        streams = {item.spec.id: item.stream for item in built}
        archive.streams = {spec.id: streams[spec.id] for spec in specs}
        archive.spec = replace(archive.spec, streams=tuple(specs))
        describe_frames(archive, self._log.settings, self._cameras.baseline_m())
        if archive.root.is_dir():
            surfaces = self._log.files.matching(SURFACE)
            note_ignored_files(archive, self._log.files, read=[*self._log.files.matching(LOG.pattern), *surfaces])

    def _build_streams(self) -> list[BuiltStream]:
        archive, log = self._archive, self._log
        maker = TopicBuilder(archive, w_first=w_first_names(archive, log))
        specs = {spec.id: spec for spec in archive.spec.streams}
        known, second = dict(self._named_streams()), self._second()
        streams: list[BuiltStream] = []
        for name, stream in log.streams.items():
            spec = specs.get(known.get(name) or second.get(name, ""))
            built = maker.build(stream, spec, self._topics, second=name in second)
            for item in built:
                self._topics.take(item.spec, name, item.side)
            streams += [self._rotate_stream(item) for item in built]
        return streams

    def _named_streams(self, *, quietly: bool = False) -> Iterator[tuple[str, str]]:
        """Yield the streams of the logs that have a name of their own; of several for one name, the first."""
        for stream, names in self._archive.spec.constants["sources"].items():
            there = [name for name in names if name in self._log.streams]
            for name in () if quietly else there[1:]:
                topic = next(spec.topic for spec in self._archive.spec.streams if spec.id == stream)
                self._archive.notes.append(f"{topic} is {there[0]}; {name} plays by its own name")
            if there:
                yield there[0], stream

    def _second(self) -> dict[str, str]:
        """The logs' other streams for topics that have one already."""
        sources, first = self._archive.spec.constants["sources"], dict(self._named_streams(quietly=True))
        return {
            name: stream
            for stream, names in sources.items()
            for name in names
            if name in self._log.streams and name not in first
        }

    def _rotate_stream(self, item: BuiltStream) -> BuiltStream:
        """Convert the GNSS poses to the map's axes."""
        if item.spec.id != UNIT or not isinstance(item.stream, RecordStream):
            return item
        names = self._archive.spec.constants["sources"][ODOMETRY]
        odometry = next((self._log.streams[name] for name in names if name in self._log.streams), None)
        axes = axes_of_unit(self._archive, item.log, odometry)
        self._archive.notes.append(f"{item.log.name}: {NAMES[axes.name]}: {axes.why} (dgps_frame)")
        return replace(item, stream=item.stream.with_conversion(lambda convert: in_enu(convert, axes.name)))

    def _note_units(self, streams: list[BuiltStream]) -> None:
        names = sorted({item.log.name for item in streams if item.log.unit == "ns"})
        if names:
            self._archive.notes.append(f"times in nanoseconds, not microseconds: {', '.join(names)}")
