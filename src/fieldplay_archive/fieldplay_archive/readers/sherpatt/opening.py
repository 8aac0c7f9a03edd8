"""Logs of CDFF and Rock: a folder of them, or a single one. What is known by its name gets a name of its own."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack

from fieldplay_archive.archive import Archive, chosen_parameters, note_leftovers
from fieldplay_archive.files.containers import Files, ListedFiles, last_part
from fieldplay_archive.logs.archive_streams.maker import Made, StreamMaker
from fieldplay_archive.logs.archive_streams.records import NumberStream
from fieldplay_archive.logs.archive_streams.topics import IMAGE, Topics, camera_topic
from fieldplay_archive.logs.log import LOG, Log, files_of, log_names
from fieldplay_archive.logs.log_files import open_log_file
from fieldplay_archive.logs.messagepack.values import FAULTS
from fieldplay_archive.logs.types import frames
from fieldplay_archive.logs.types.rows import field
from fieldplay_archive.readers.sherpatt.dgps import NAMES, axes_of_unit, in_enu
from fieldplay_archive.readers.sherpatt.joint_name_checks import check_joint_names
from fieldplay_archive.readers.sherpatt.neighbours import note_other_parts, settings_beside
from fieldplay_archive.readers.sherpatt.quaternion_order import w_first_names
from fieldplay_archive.readers.sherpatt.settings import (
    RECTIFIED,
    CameraSettings,
    camera_from_settings,
    camera_settings,
    describe_frames,
)
from fieldplay_archive.readers.sherpatt.surface import add_surface
from fieldplay_archive.spec import DatasetSpec
from fieldplay_messages.errors import ArchiveError
from fieldplay_messages.spec import Camera, StreamSpec

HEAD = 1 << 12
OWN_NAMES = ("_logger", "recording_", "_tf.msg", "_camera.msg")
UNIT, ODOMETRY = "dgps_odom", "wheel_odom"
LOOKED_AT = 20  # files
SURFACE = r".+\.tiff?"


def recognises(path: Path, files: Files) -> bool:
    """Whether a file is a log: a map whose first key is a text, or of settings two texts; or it has a log's name."""
    names = [last_part(name).lower() for name in files.matching(LOG.pattern)]
    if any(own in name for name in names for own in OWN_NAMES):
        return True
    return any(_is_log(files, name) for name in files.matching(LOG.pattern)[:LOOKED_AT])


def _is_log(files: Files, name: str) -> bool:
    try:
        with open_log_file(files, name) as file:
            unpacker = msgpack.Unpacker(raw=False, max_array_len=64, max_map_len=64)
            unpacker.feed(file.read(HEAD))
        unpacker.read_map_header()
        key = unpacker.unpack()
    except (ArchiveError, OSError, *FAULTS):
        return False
    if isinstance(key, list):
        return len(key) == 2 and all(isinstance(part, str) for part in key)
    return isinstance(key, str) and any(sign in key for sign in "./")


def open_archive(root: Path, spec: DatasetSpec, parameters: Mapping[str, Any]) -> Archive:
    """Look through logs; what they lack is noted, what is defective is reported."""
    archive = Archive(root=root, spec=spec, parameters=chosen_parameters(spec, parameters))
    with archive.on_close:
        files = archive.on_close.enter_context(files_of(root, archive.defects))
        log = archive.on_close.enter_context(Log(files, log_names(files, archive.notes.append), archive.defects))
        archive.notes += log.notes
        if root.is_file() and isinstance(files, ListedFiles) and log.streams:
            log.settings |= settings_beside(root, archive.defects, archive.notes.append)
            note_other_parts(root, archive.notes.append)
        _Opening(archive, log).describe()
        add_surface(archive, files, spec)
        archive.checks.append(check_joint_names)
        archive.on_close = archive.on_close.pop_all()
    return archive


class _Opening:
    """What is made of a log while an archive is opened."""

    def __init__(self, archive: Archive, log: Log) -> None:
        self._archive, self._log = archive, log
        self._cameras = camera_settings(archive, log.settings)
        self._topics = Topics(archive.spec, archive.notes.append)

    def describe(self) -> None:
        """Put the streams, their cameras and the frames into the archive."""
        archive = self._archive
        made = self._made()
        self._note_units(made)
        specs = [self._with_camera(item) for item in made]
        known = {spec.id: index for index, spec in enumerate(archive.spec.streams)}
        specs.sort(key=lambda spec: known.get(spec.id, len(known)))
        streams = {item.spec.id: item.stream for item in made}
        archive.streams = {spec.id: streams[spec.id] for spec in specs}
        archive.spec = replace(archive.spec, streams=tuple(specs))
        describe_frames(archive, self._log.settings, self._baseline_m())
        if archive.root.is_dir():
            surfaces = self._log.files.matching(SURFACE)
            note_leftovers(archive, self._log.files, read=[*self._log.files.matching(LOG.pattern), *surfaces])

    def _made(self) -> list[Made]:
        archive, log = self._archive, self._log
        maker = StreamMaker(archive, w_first=w_first_names(archive, log))
        specs = {spec.id: spec for spec in archive.spec.streams}
        known, second = dict(self._known()), self._second()
        found: list[Made] = []
        for name, stream in log.streams.items():
            spec = specs.get(known.get(name) or second.get(name, ""))
            made = maker.made(stream, spec, self._topics, second=name in second)
            for item in made:
                self._topics.take(item.spec, name, item.side)
            found += [self._turned(item) for item in made]
        return found

    def _known(self, *, quietly: bool = False) -> Iterator[tuple[str, str]]:
        """The logs' streams that have a name of their own here; of several for one, the first."""
        for stream, names in self._archive.spec.constants["sources"].items():
            there = [name for name in names if name in self._log.streams]
            for name in () if quietly else there[1:]:
                topic = next(spec.topic for spec in self._archive.spec.streams if spec.id == stream)
                self._archive.notes.append(f"{topic} is {there[0]}; {name} plays by its own name")
            if there:
                yield there[0], stream

    def _second(self) -> dict[str, str]:
        """The logs' other streams for what has one already."""
        sources, first = self._archive.spec.constants["sources"], dict(self._known(quietly=True))
        return {
            name: stream
            for stream, names in sources.items()
            for name in names
            if name in self._log.streams and name not in first
        }

    def _turned(self, item: Made) -> Made:
        """The satellite unit's poses leave in the map's axes."""
        if item.spec.id != UNIT or not isinstance(item.stream, NumberStream):
            return item
        names = self._archive.spec.constants["sources"][ODOMETRY]
        odometry = next((self._log.streams[name] for name in names if name in self._log.streams), None)
        axes = axes_of_unit(self._archive, item.log, odometry)
        self._archive.notes.append(f"{item.log.name}: {NAMES[axes.name]}: {axes.why} (dgps_frame)")
        return replace(item, stream=item.stream.converted(lambda convert: in_enu(convert, axes.name)))

    def _note_units(self, made: list[Made]) -> None:
        names = sorted({item.log.name for item in made if item.log.unit == "ns"})
        if names:
            self._archive.notes.append(f"times in nanoseconds, not microseconds: {', '.join(names)}")

    def _with_camera(self, item: Made) -> StreamSpec:
        """The description of a stream of pictures with its camera: the settings', the sample's own, or none."""
        spec = item.spec
        if spec.type != IMAGE:
            return spec
        picture = field(item.first, item.side) if item.side else item.first
        shape = frames.frame_shape(picture)
        topic = camera_topic(item.log.name)
        found = self._cameras.get(topic)
        camera: Camera | None = None
        if found is not None and found.fault is None:
            camera = camera_from_settings(found, topic, shape.width, shape.height)
        elif found is not None:
            self._archive.notes.append(f"{found.file}: {topic}: {found.fault}; there is no CameraInfo")
        else:
            camera = self._own_camera(item, picture, shape)
        name = spec.camera or spec.id
        cameras = {key: value for key, value in self._archive.spec.cameras.items() if key != name}
        if camera is None:
            self._archive.spec = replace(self._archive.spec, cameras=cameras)
            return replace(spec, camera="")
        self._archive.spec = replace(self._archive.spec, cameras={**cameras, name: camera})
        return replace(self._topics.with_own_info(spec, item.log.name), camera=name)

    def _own_camera(self, item: Made, picture: Any, shape: frames.FrameShape) -> Camera | None:
        """What a picture brings itself, else the published sample settings of its unit."""
        own = frames.intrinsics_of_frame(picture)
        if own is not None:
            found = CameraSettings(
                file=item.log.name,
                matrix=(own[0], 0.0, own[2], 0.0, own[1], own[3], 0.0, 0.0, 1.0),
                coefficients=own[4],
                baseline_m=self._pair_baseline_m(item),
            )
            kind = RECTIFIED if item.side else item.log.name
            return camera_from_settings(found, kind, shape.width, shape.height)
        published = self._archive.spec.cameras.get(item.spec.camera)
        if published is None or self._archive.parameters["missing_cameras"] == "none":
            return None
        if (published.width, published.height) != (shape.width, shape.height):
            size = f"{shape.width} x {shape.height}"
            self._archive.notes.append(f"{item.log.name}: no settings of its camera, and none known for {size} pixels")
            return None
        self._archive.notes.append(f"{item.log.name}: no settings of its camera: {published.source} (missing_cameras)")
        return published

    def _pair_baseline_m(self, item: Made) -> float:
        value = field(item.first, "baseline", default=0.0)
        is_right = item.side == "right" and isinstance(value, int | float)
        return float(value) if is_right else 0.0

    def _baseline_m(self) -> float:
        """Of the stereo pair, from its right camera."""
        camera = self._archive.spec.cameras.get("stereo_right")
        return -camera.projection[3] / camera.projection[0] if camera is not None and camera.projection else 0.0
