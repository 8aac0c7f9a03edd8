"""Each stream of a log as a stream of messages, of the type that belongs to its own."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fieldplay_archive.archive import Archive, plausible_ns
from fieldplay_archive.logs.archive_streams.records import CloudStream, Convert, NumberStream, PictureStream
from fieldplay_archive.logs.archive_streams.times import Teller, Times, tell_broken_times, times_of
from fieldplay_archive.logs.archive_streams.topics import IMAGE, Topics, frame_name, plain_topic, task_of
from fieldplay_archive.logs.packed_bits.samples import UNALIGNED_PER
from fieldplay_archive.logs.streams import LogStream
from fieldplay_archive.logs.types import depths, frames, numbers, poses
from fieldplay_archive.logs.types import table as kinds
from fieldplay_archive.logs.types.rows import field
from fieldplay_messages.errors import ArchiveError, Defect
from fieldplay_messages.spec import StreamSpec
from fieldplay_messages.streams import Stream

ODOMETRY, CLOUD = "nav_msgs/msg/Odometry", "sensor_msgs/msg/PointCloud2"
TYPES = {
    kinds.STATE: ODOMETRY,
    kinds.TRANSFORM: ODOMETRY,
    kinds.POSE: "geometry_msgs/msg/PoseStamped",
    kinds.JOINTS: "sensor_msgs/msg/JointState",
    kinds.IMU: "sensor_msgs/msg/Imu",
    kinds.SCAN: "sensor_msgs/msg/LaserScan",
    kinds.FIX: "sensor_msgs/msg/NavSatFix",
    kinds.INTEGER: "std_msgs/msg/Int32",
    kinds.LONG: "std_msgs/msg/Int64",
    kinds.NUMBER: "std_msgs/msg/Float64",
    kinds.TRUTH_VALUE: "std_msgs/msg/Bool",
    kinds.DEPTHS: CLOUD,
    kinds.CLOUD: CLOUD,
    kinds.FRAME: IMAGE,
    kinds.PAIR: IMAGE,
}
CONVERTED: Mapping[str, Convert] = {
    kinds.JOINTS: numbers.joints_from_samples,
    kinds.IMU: numbers.imu_from_samples,
    kinds.SCAN: numbers.scans_from_samples,
    kinds.FIX: numbers.fixes_from_samples,
    kinds.NUMBER: numbers.plain_numbers,
}
WHOLE = (kinds.INTEGER, kinds.LONG, kinds.TRUTH_VALUE)
POSES: Mapping[str, Callable[..., Any]] = {
    kinds.STATE: poses.odometry_from_states,
    kinds.TRANSFORM: poses.odometry_from_transforms,
    kinds.POSE: poses.poses_from_samples,
}
SIDES = ("left", "right")
CUT = ("truncated_log", "corrupt_log")


@dataclass(frozen=True, kw_only=True, eq=False)
class Made:
    """A stream with its description, the log's stream that it is of, and of a pair which side."""

    spec: StreamSpec
    stream: Stream
    log: LogStream
    first: Any
    side: str = ""


class First(NamedTuple):
    """A sample, its row, and where none is sound the reason why the very first one is not."""

    row: int
    sample: Any
    fault: str = ""


class StreamMaker:
    """Makes streams of those of a log; `w_first` are the names of those whose quaternions have w first."""

    def __init__(self, archive: Archive, *, w_first: Collection[str]) -> None:
        self._archive = archive
        self._w_first = w_first
        self._frames: Mapping[str, str] = archive.spec.constants["frame_names"]

    def made(self, log: LogStream, known: StreamSpec | None, topics: Topics, *, second: bool = False) -> list[Made]:
        """The streams of one of a log; none where its kind has no message, which is noted.

        One that is known, but `second`, has the frames that it is known by, and a topic of its own name.
        """
        first = first_sound(log)
        self._tell_missing(log)
        if not len(log) or log.kind not in TYPES:
            self._archive.notes.append(_why_not(log, first.sample))
            return []
        if known is not None and known.type != TYPES[log.kind]:
            note = f"{log.name}: expected samples for {known.type}, got {log.kind}; it keeps its own name"
            self._archive.notes.append(note)
            known = None
        if log.kind == kinds.PAIR:
            return self._pair(log, topics)
        own_id, topic = topics.own(plain_topic(log.name), TYPES[log.kind])
        spec = known or self._spec(log, first.sample, own_id, topic)
        if known is not None and second:
            spec = replace(known, id=own_id, topic=topic, tf="")
        if log.kind == kinds.FRAME and not self._has_picture(log, first, spec):
            return []
        self._compare_frames(log, first.sample, spec)
        stream = self._stream(log, first, spec, self._times(log, spec))
        return [Made(spec=spec, stream=stream, log=log, first=first.sample)] if len(stream.spans) else []

    def _tell_missing(self, log: LogStream) -> None:
        """Report times without samples, and samples without times and type where the log is not cut off."""
        counted = sum(part.logged.count for _, part in log.parts)
        if counted and not len(log):
            message = f"{log.name}: expected a list of samples for its {counted} times, got none"
            self._archive.defects(Defect(file=log.parts[0].file, kind="no_samples", message=message))
        for file, part in log.parts:
            is_cut = any((file, kind) in self._archive.defects.counts for kind in CUT)
            if len(part) and not part.has_meta and not is_cut:
                message = f"{log.name}.meta: expected times and a type for {len(part)} samples, got none"
                self._archive.defects(Defect(file=file, kind="no_meta", message=message))

    def _has_picture(self, log: LogStream, first: First, spec: StreamSpec) -> bool:
        """Whether there is a picture among a stream's samples; that there is none is reported."""
        if first.fault:
            message = f"{log.name}: none of {len(log)} samples is a picture, the first: {first.fault}"
            Teller(report=self._archive.defects, stream=spec.id)(log.parts[0].file, "damaged_sample", message)
        return not first.fault

    def _times(self, log: LogStream, spec: StreamSpec) -> Times:
        archive = self._archive
        by_log, tell = archive.parameters["order"] == "log", Teller(report=archive.defects, stream=spec.id)
        tell_broken_times(log, tell)
        return times_of(log, by_log=by_log, plausible_ns=plausible_ns(archive.spec), tell=tell)

    def _stream(self, log: LogStream, first: First, spec: StreamSpec, times: Times) -> Stream:
        if log.kind == kinds.FRAME:
            return _pictures(log, times, first.sample, side="")
        if log.kind == kinds.CLOUD:
            self._note_far(log, first.sample)
            return CloudStream(log, times, lambda sample, _: depths.points_from_cloud(sample))
        if log.kind == kinds.DEPTHS:
            return self._depth_maps(log, first, times)
        convert = self._convert(log)
        return NumberStream(log, times, convert, Teller(report=self._archive.defects, stream=spec.id))

    def _convert(self, log: LogStream) -> Convert:
        if log.kind in WHOLE:
            text = log.type if log.kind != kinds.TRUTH_VALUE else log.kind
            return partial(numbers.whole_numbers, limits=kinds.range_of(text))
        return CONVERTED.get(log.kind) or partial(POSES[log.kind], w_first=log.name in self._w_first)

    def _depth_maps(self, log: LogStream, first: First, times: Times) -> Stream:
        """Depth maps; where the points' times begin before the sample's, that is the scan's end and is moved back."""
        unit_ns = 1 if log.unit == "ns" else 1000
        own_ns = int(log.own_ns(first.row, first.row + 1)[0])
        is_known = not first.fault and len(times) and own_ns > 0
        offset = depths.earliest_offset_ns(first.sample, own_ns, unit_ns) if is_known else 0
        if offset < 0:
            note = f"{log.name}: its points were measured from {offset / 1e9:+.6f} s on; the stamps are moved there"
            self._archive.notes.append(note)
            times = times.moved(offset)
        return CloudStream(
            log, times, lambda sample, stamp: depths.points_from_depth_map(sample, stamp, unit_ns)
        )  # fmt: skip

    def _note_far(self, log: LogStream, first: Any) -> None:
        try:
            if depths.is_far(depths.points_from_cloud(first)):
                text = f"{log.name}: points lie beyond {depths.FAR_M:g} m, where float32 does not hold millimetres"
                self._archive.notes.append(text)
        except ArchiveError:
            return  # it is reported when the cloud is made

    def _pair(self, log: LogStream, topics: Topics) -> list[Made]:
        found = []
        for side in SIDES:
            own_id, topic = topics.own(plain_topic(log.name, side), IMAGE)
            first = first_sound(log, side=side)
            picture = field(first.sample, side)
            spec = StreamSpec(id=own_id, topic=topic, type=IMAGE, frame=self._frame(log, picture, side))
            if not self._has_picture(log, first, spec):
                continue
            stream = _pictures(log, self._times(log, spec), picture, side=side)
            if len(stream.spans):
                found.append(Made(spec=spec, stream=stream, log=log, first=first.sample, side=side))
        return found

    def _spec(self, log: LogStream, first: Any, own_id: str, topic: str) -> StreamSpec:
        frame, child = self._frame(log, first), ""
        if log.kind in (kinds.STATE, kinds.TRANSFORM):
            frame, child = self._frames_of_pose(log, first)
        elif log.kind in (kinds.JOINTS, kinds.NUMBER, *WHOLE):
            frame = ""
        return StreamSpec(id=own_id, topic=topic, type=TYPES[log.kind], frame=frame, child_frame=child)

    def _frames_of_pose(self, log: LogStream, first: Any) -> tuple[str, str]:
        """The parent and the child: the target and the source of a state."""
        names = [
            field(first, *spellings, default="")
            for spellings in (("targetframe", "metadata.parentframeid"), ("sourceframe", "metadata.childframeid"))
        ]
        parent, child = (frame_name(name, self._frames) if isinstance(name, str) else "" for name in names)
        task = task_of(log.name)
        return parent or f"{task}_target", child or f"{task}_source"

    def _frame(self, log: LogStream, first: Any, side: str = "") -> str:
        name = field(first, "metadata.frameid", "frameid", "intrinsic.sensorid", "metadata.sensorid", default="")
        own = frame_name(name, self._frames) if isinstance(name, str) else ""
        return own or "_".join(filter(None, (task_of(log.name), side)))

    def _compare_frames(self, log: LogStream, first: Any, spec: StreamSpec) -> None:
        """Say where a stream that is known has other frames than it is known by; those that are empty say nothing."""
        for name, wanted in (("targetframe", spec.frame), ("sourceframe", spec.child_frame)):
            text = field(first, name, default="")
            if isinstance(text, str) and text and wanted not in ("map", frame_name(text, self._frames)):
                note = f"{log.name}: its samples name the frame '{text}', which is taken for {wanted}"
                self._archive.notes.append(note)


def _pictures(log: LogStream, times: Times, first: Any, *, side: str) -> Stream:
    def picture(sample: Any) -> Any:
        return frames.picture_of_frame(field(sample, side) if side else sample)

    shape = frames.frame_shape(first)
    packable = shape.packed or frames.encoding_of(shape) in frames.PNG
    return PictureStream(log, times, picture, packed=shape.packed, packable=packable)


def _why_not(log: LogStream, first: Any) -> str:
    """Why a stream does not play."""
    kind = log.type or "a type that the log does not name"
    if not len(log):
        return f"{log.name} ({kind}) has no samples"
    told = f"{log.name}: {len(log)} samples of {kind} are not played"
    if log.kind == kinds.BITS:
        data = field(first, "data", default=())
        length = len(data) if isinstance(data, list | bytes | np.ndarray) else 0
        method = field(first, "serializationmethod")
        how = "" if method == UNALIGNED_PER else f" by the method {method}, not {UNALIGNED_PER} (unaligned PER)"
        return f"{told}: packed bits of {field(first, 'type', default='?')}{how}, {length} bytes each"
    return told if log.kind != kinds.MAP else f"{told}: maps are no measurement"


def first_sound(log: LogStream, *, side: str = "") -> First:
    """The first sample from which its kind can be told; the very first with its fault where there is none.

    Of a pair, the first one whose picture of that side is sound.
    """
    fault = ""
    for row in range(min(log.first_row, len(log)), len(log)):
        try:
            sample = log.sample(row, arrays=True)
            _look_at(log, sample, row, side)
        except ArchiveError as error:
            fault = fault or f"{log.place(row).what}: {error}"
            continue
        return First(row, sample)
    return First(0, None, fault or "no samples")


def _look_at(log: LogStream, sample: Any, row: int, side: str) -> None:
    """ArchiveError where a sample does not tell what its kind's samples are like."""
    look: dict[str, Callable[[], object]] = {
        kinds.FRAME: lambda: frames.frame_shape(sample),
        kinds.PAIR: lambda: frames.frame_shape(field(sample, side)) if side else None,
        kinds.CLOUD: lambda: depths.points_from_cloud(sample),
        kinds.DEPTHS: lambda: depths.points_from_depth_map(sample, max(int(log.own_ns(row, row + 1)[0]), 0), 1),
    }
    if log.kind in look:
        look[log.kind]()
