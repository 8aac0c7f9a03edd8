"""Each stream of a log as a stream of messages, of the type that belongs to its own."""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.datasets.archive import Archive, plausible_ns
from fieldplay.datasets.spec import DatasetSpec
from fieldplay.messages.records import (
    Clouds,
    Images,
    Pixels,
    Record,
)
from fieldplay.messages.stream_spec import StreamSpec
from fieldplay.streams.stream import Span, Stream
from fieldplay_cdff.logs import log_images, type_table
from fieldplay_cdff.logs.asn1_uper import UNALIGNED_PER
from fieldplay_cdff.logs.log_images import Points
from fieldplay_cdff.logs.log_streams import LogStream
from fieldplay_cdff.logs.log_times import (
    LeavingRows,
    RowTimes,
    Stamps,
    StreamDefects,
    report_broken_times,
    times_of,
)
from fieldplay_cdff.logs.msgpack_decode import TemplateMatch
from fieldplay_cdff.logs.sample_rows import SampleRows, TemplateRows, field
from fieldplay_cdff.logs.type_table import IMAGE, TYPES, SampleType

Convert = Callable[[SampleRows, Stamps], Record]
SPAN_BYTES, SPAN_ROWS = 1 << 20, 4096
HEAVY_ROWS = 64
FEWEST_ALIKE = 8  # mean number of consecutive rows for which comparing them pays
NEAR, NEAR_ALIKE = 4, 64  # rows between two that are read with them
Indices = NDArray[np.intp]
MODEL = "robot_description"
CONFIG = "config_"  # CDFF-Dev puts it before the frames of settings
NAMELESS = "stream"
LONGEST = 180  # of a topic: with its prefix and suffix ROS accepts some 250
LAST = re.compile(r"[^/.]+$")
CUT = ("truncated_log", "corrupt_log")


# Streams of logs as streams of an archive: rows in the order of time, in spans, and records that are made of them.


class _Spans:
    """The spans of a stream, each of so many rows and bytes at most, if it is of several."""

    def __init__(self, log: LogStream, times: RowTimes, *, rows: int, size: int = SPAN_BYTES) -> None:
        self._log, self._times = log, times
        self._row_spans = times.spans(rows=rows, size=size)
        self.spans: Sequence[Span] = [span.span for span in self._row_spans]

    def _part(self, index: int) -> LeavingRows:
        return self._times.part(self._row_spans[index])

    def _order(self, part: LeavingRows) -> Stamps | None:
        return part.log_times_ns if self._times.by_log else None


class RecordStream(_Spans):
    """Samples as records of numbers; one that cannot be converted is reported and left out."""

    def __init__(self, log: LogStream, times: RowTimes, convert: Convert, report: StreamDefects) -> None:
        super().__init__(log, times, rows=SPAN_ROWS)
        self._convert, self._report = convert, report
        self._reported: set[int] = set()

    def with_conversion(self, change: Callable[[Convert], Convert]) -> "RecordStream":
        """Return the same samples with another conversion."""
        return RecordStream(self._log, self._times, change(self._convert), self._report)

    def load(self, index: int) -> Record:
        part = self._part(index)
        rows = samples_of_rows(self._log, part.row)
        with np.errstate(invalid="ignore"):
            record = replace(self._convert(rows, part.stamp_ns), order_ns=self._order(part))
        for note in rows.notes:
            self._report.warn(f"{self._log.name}: {note}")
        if not rows.issues:
            return record
        if index not in self._reported:
            self._reported.add(index)
            for row, issue in sorted(rows.issues.items()):
                self._report(self._log.sample_location(int(part.row[row])), "damaged_sample", issue)
        return record.only(rows.good)


def _names(log: LogStream, part: LeavingRows) -> tuple[str, ...]:
    return tuple(log.sample_location(row) for row in part.row.tolist())


class ImageStream(_Spans):
    """Samples as images, each decoded on demand."""

    def __init__(
        self, log: LogStream, times: RowTimes, image: Callable[[Any], Pixels | bytes], *, packed: bool, packable: bool
    ) -> None:
        super().__init__(log, times, rows=HEAVY_ROWS)
        self._image, self._packed, self._packable = image, packed, packable

    def load(self, index: int) -> Images:
        part = self._part(index)
        return Images(
            stamp_ns=part.stamp_ns,
            names=_names(self._log, part),
            load=lambda row: self._image(self._log.sample(int(part.row[row]), arrays=True)),
            packed=self._packed,
            packable=self._packable,
            order_ns=self._order(part),
        )


class CloudStream(_Spans):
    """Samples as point clouds, each decoded on demand; `points` receives its stamp as well."""

    def __init__(self, log: LogStream, times: RowTimes, points: Callable[[Any, int], Points]) -> None:
        super().__init__(log, times, rows=HEAVY_ROWS)
        self._points = points

    def load(self, index: int) -> Clouds:
        part = self._part(index)

        def load(row: int) -> Points:
            return self._points(self._log.sample(int(part.row[row]), arrays=True), int(part.stamp_ns[row]))

        names = _names(self._log, part)
        return Clouds(stamp_ns=part.stamp_ns, order_ns=self._order(part), names=names, load=load)


def samples_of_rows(log: LogStream, rows: Indices) -> SampleRows:
    """The samples of rows (n,); those that are alike but for their numbers are not unpacked."""
    start, end = int(rows.min()), int(rows.max()) + 1
    is_run = end - start == len(rows) and bool((np.diff(rows) == 1).all())
    order = np.argsort(rows, kind="stable")
    ascending = rows[order]
    with suppress(ArchiveError):
        if is_run and (columns := log.columns(start, end)) is not None:
            return columns
        if is_run and (alike := log.alike(start, end)) is not None:
            return TemplateRows(alike)
        if not is_run and (alike := _alike(log, ascending)) is not None:
            return TemplateRows(alike._replace(rows=alike.rows[_inverse(order)]))
    samples = [sample for near in _groups(ascending, NEAR) for sample in _samples(log, near)]
    return SampleRows([samples[index] for index in _inverse(order).tolist()])


def _alike(log: LogStream, rows: Indices) -> TemplateMatch | None:
    """Samples of ascending rows that are all alike, and mostly near each other; else None."""
    groups = _groups(rows, NEAR_ALIKE)
    if len(rows) < FEWEST_ALIKE * len(groups):
        return None
    parts = []
    for near in groups:
        alike = log.alike(int(near[0]), int(near[-1]) + 1)
        if alike is None:
            return None
        parts.append(alike._replace(rows=alike.rows[near - near[0]]))
    template = parts[0].template
    if any(template.fitting(part.rows) < len(part.rows) for part in parts[1:]):
        return None
    return TemplateMatch(template, np.concatenate([part.rows for part in parts]))


def _samples(log: LogStream, rows: Indices) -> list[Any]:
    """Samples of ascending rows; one that cannot be read is replaced by its error."""
    start = int(rows[0])
    try:
        samples = log.samples(start, int(rows[-1]) + 1, arrays=True)
    except ArchiveError:
        return [_sample_or_error(log, row) for row in rows.tolist()]
    return [samples[row - start] for row in rows.tolist()]


def _sample_or_error(log: LogStream, row: int) -> Any:
    try:
        return log.sample(row, arrays=True)
    except ArchiveError as error:
        return error


def _groups(rows: Indices, distance: int) -> list[Indices]:
    """Ascending rows that lie near each other."""
    return np.split(rows, np.flatnonzero(np.diff(rows) > distance) + 1)


def _inverse(order: Indices) -> Indices:
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    return inverse


# The names of a log in ROS: of frames, and the topics of streams.
#
# A topic is the stream's plain name, unless another one has that already.


class StreamTopics:
    """Topics and ids in use, with their owners; those of the dataset's description from the start.

    Topics derived from images count too: the packed ones and the camera_info topic.
    """

    def __init__(self, spec: DatasetSpec, note: Callable[[str], None]) -> None:
        self._note = note
        self._known = {stream.id for stream in spec.streams}
        self._ids = set(self._known)
        self._owners = {MODEL: "the robot's model"}
        self._owners |= {own.topic: f"the node {own.name}" for own in spec.derived}
        for stream in spec.streams:
            owner = next(iter(spec.constants["sources"].get(stream.id, ())), f"the dataset's {stream.id}")
            infos = [info_topic(stream.topic)] if stream.camera else []
            self._owners |= dict.fromkeys([*_topics_of(stream.topic, stream.type), *infos], owner)

    def own(self, requested: str, message_type: str) -> tuple[str, str]:
        """An id and a topic that no other stream has; two topics may differ though their ids would not."""
        topic = next(each for each in _number_names(requested) if not self._topic_owner(each, message_type))
        return next(each for each in _number_names(stream_id(topic)) if each not in self._ids), topic

    def take(self, spec: StreamSpec, name: str, side: str = "") -> None:
        """Assign the topic of a stream of this name, and report if it is not the plain name."""
        if spec.id in self._known:
            return
        requested = plain_topic(name, side)
        if spec.topic != requested:
            self._report(name, spec.topic, requested, self._topic_owner(requested, spec.type))
        self._ids.add(spec.id)
        self._owners |= dict.fromkeys(_topics_of(spec.topic, spec.type), name)

    def with_own_info(self, spec: StreamSpec, name: str) -> StreamSpec:
        """Move images to a namespace of their own if the camera_info topic next to them belongs to another camera."""
        if spec.id in self._known:
            return spec
        info = info_topic(spec.topic)
        if info in self._owners:
            folders = _number_names(spec.topic)
            topics = (f"{folder}/image_raw" for folder in folders if info_topic(f"{folder}/x") not in self._owners)
            topic = next(each for each in topics if not self._topic_owner(each, spec.type))
            self._report(name, topic, info, self._owners[info])
            spec = replace(spec, topic=topic)
        self._owners |= dict.fromkeys([*_topics_of(spec.topic, spec.type), info_topic(spec.topic)], name)
        return spec

    def _topic_owner(self, topic: str, message_type: str) -> str:
        """Return the owner of the topic, or of one of those derived from it; "" if all are free."""
        return next((self._owners[each] for each in _topics_of(topic, message_type) if each in self._owners), "")

    def _report(self, name: str, topic: str, requested: str, owner: str) -> None:
        self._note(f"{name or 'the stream without a name'} plays on {topic}, as {requested} is of {owner}")


def plain_topic(name: str, side: str = "") -> str:
    """Return the topic of a log's stream by its name; for a pair of images, that of one side."""
    topic = topic_from_stream(name)
    return f"{topic}/{side}/image_raw" if side else topic


def info_topic(topic: str) -> str:
    """Return the camera_info topic of an image topic."""
    folder = topic.rpartition("/")[0]
    return f"{folder}/camera_info" if folder else "camera_info"


def _topics_of(topic: str, message_type: str) -> list[str]:
    return [topic, f"{topic}/compressed"] if message_type == IMAGE else [topic]


def _number_names(text: str) -> Iterator[str]:
    """Yield the text, then the text with the suffixes 2, 3 and so on."""
    number = 1
    while True:
        yield text if number == 1 else f"{text}_{number}"
        number += 1


def snake_case(name: str) -> str:
    """A name of small letters, digits and underscores: sherpaTT_body is sherpa_tt_body. May be empty."""
    plain = "".join(char for char in unicodedata.normalize("NFKD", name) if not unicodedata.combining(char))
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", plain)
    text = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return f"n{text}" if text[:1].isdigit() else text


def frame_name(name: str, known: Mapping[str, str]) -> str:
    """A frame of the logs: by the names that are known, else in snake case."""
    own = name.strip().strip("/").removeprefix(CONFIG)
    return known.get(own, snake_case(own))


def topic_from_stream(name: str) -> str:
    """/task.port is task/port; a name without letters and digits is `stream`."""
    parts = (snake_case(part) for part in re.split(r"[/.]", name))
    return "/".join(part for part in parts if part)[:LONGEST].rstrip("/_") or NAMELESS


def stream_id(topic: str) -> str:
    return topic.replace("/", "_")


def task_of(name: str) -> str:
    """The prefix of a stream's last part: /task.port is of task, /unit/left/image of unit_left."""
    return snake_case(LAST.sub("", name)) or snake_case(name) or NAMELESS


def camera_topic(name: str) -> str:
    """Return the camera_info topic that belongs to an image topic."""
    return LAST.sub("camera_info", name)


@dataclass(frozen=True, kw_only=True, eq=False)
class BuiltStream:
    """A stream with its description, its stream of the log, and of a stereo pair the side."""

    spec: StreamSpec
    stream: Stream
    log: LogStream
    first: Any
    side: str = ""


class FirstSample(NamedTuple):
    """A sample, its row, and where none is sound the reason why the very first one is not."""

    row: int
    sample: Any
    issue: str = ""


class TopicBuilder:
    """Makes streams of those of a log; `w_first` are the names of those whose quaternions have w first."""

    def __init__(self, archive: Archive, *, w_first: Collection[str]) -> None:
        self._archive = archive
        self._w_first = w_first
        self._frames: Mapping[str, str] = archive.spec.constants["frame_names"]

    def build(
        self, log: LogStream, known: StreamSpec | None, topics: StreamTopics, *, second: bool = False
    ) -> list[BuiltStream]:
        """Build the streams of one stream of a log; none where its kind has no message, which is noted.

        One that is known, but `second`, has the frames that it is known by, and a topic of its own name.
        """
        first = first_sound(log)
        self._report_missing(log)
        sample_type = TYPES.get(log.kind)
        if not len(log) or sample_type is None or not sample_type.message:
            self._archive.notes.append(_unplayed_message(log, first.sample))
            return []
        if known is not None and known.type != sample_type.message:
            note = f"{log.name}: expected samples for {known.type}, got {log.kind}; it keeps its own name"
            self._archive.notes.append(note)
            known = None
        if sample_type.sides:
            return self._sides(log, sample_type, topics)
        own_id, topic = topics.own(plain_topic(log.name), sample_type.message)
        spec = known or self._spec(log, first.sample, own_id, topic)
        if known is not None and second:
            spec = replace(known, id=own_id, topic=topic, tf="")
        if sample_type.image and not self._has_image(log, first, spec):
            return []
        self._compare_frames(log, first.sample, spec)
        stream = self._stream(log, first, spec, self._times(log, spec))
        return [BuiltStream(spec=spec, stream=stream, log=log, first=first.sample)] if len(stream.spans) else []

    def _report_missing(self, log: LogStream) -> None:
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

    def _has_image(self, log: LogStream, first: FirstSample, spec: StreamSpec) -> bool:
        """Return whether a stream has any image samples; report a stream without images."""
        if first.issue:
            message = f"{log.name}: none of {len(log)} samples is an image, the first: {first.issue}"
            StreamDefects(report=self._archive.defects, stream=spec.id)(log.parts[0].file, "damaged_sample", message)
        return not first.issue

    def _times(self, log: LogStream, spec: StreamSpec) -> RowTimes:
        archive = self._archive
        by_log, defects = archive.parameters["order"] == "log", StreamDefects(report=archive.defects, stream=spec.id)
        report_broken_times(log, defects)
        return times_of(log, by_log=by_log, plausible_ns=plausible_ns(archive.spec), report=defects)

    def _stream(self, log: LogStream, first: FirstSample, spec: StreamSpec, times: RowTimes) -> Stream:
        sample_type = TYPES[log.kind]
        if sample_type.image:
            return _image_stream(log, times, sample_type.image, first.sample)
        if sample_type.points:
            return self._clouds(log, sample_type, first, times)
        assert sample_type.record is not None
        convert = self._with_options(log, sample_type, sample_type.record)
        defects = StreamDefects(report=self._archive.defects, stream=spec.id, notes=self._archive.notes)
        return RecordStream(log, times, convert, defects)

    def _with_options(self, log: LogStream, sample_type: SampleType, convert: Callable[..., Record]) -> Convert:
        """Return the function that converts samples, with the parameters of their stream that it needs."""
        if sample_type.has_limits:
            return partial(
                convert, limits=type_table.range_of(log.type if log.kind != type_table.TRUTH_VALUE else log.kind)
            )
        return partial(convert, w_first=log.name in self._w_first) if sample_type.has_quaternions else convert

    def _clouds(self, log: LogStream, sample_type: SampleType, first: FirstSample, times: RowTimes) -> Stream:
        """Points; where their times start before the sample's, that is the scan's end, and is moved back."""
        assert sample_type.points is not None
        points, unit_ns = sample_type.points, _unit_ns(log)
        if sample_type.earliest_ns:
            times = self._shift_times(log, first, times, sample_type.earliest_ns)
        else:
            self._note_far(log, first.sample)
        return CloudStream(log, times, lambda sample, stamp_ns: points(sample, stamp_ns, unit_ns))

    def _shift_times(
        self, log: LogStream, first: FirstSample, times: RowTimes, earliest_ns: Callable[[Any, int, int], int]
    ) -> RowTimes:
        """Move the times of samples whose points have their own times to the first of these."""
        own_ns = int(log.own_ns(first.row, first.row + 1)[0])
        is_known = not first.issue and len(times) and own_ns > 0
        offset = earliest_ns(first.sample, own_ns, _unit_ns(log)) if is_known else 0
        if offset >= 0:
            return times
        note = f"{log.name}: its points were measured from {offset / 1e9:+.6f} s on; the stamps are moved there"
        self._archive.notes.append(note)
        return times.with_offset(offset)

    def _note_far(self, log: LogStream, first: Any) -> None:
        try:
            if log_images.is_far(log_images.points_from_cloud(first)):
                text = f"{log.name}: points are beyond {log_images.FAR_M:g} m, where float32 does not hold millimetres"
                self._archive.notes.append(text)
        except ArchiveError:
            return  # it is reported when the cloud is made

    def _sides(self, log: LogStream, sample_type: SampleType, topics: StreamTopics) -> list[BuiltStream]:
        assert sample_type.image is not None
        sides = []
        for side in sample_type.sides:
            own_id, topic = topics.own(plain_topic(log.name, side), sample_type.message)
            first = first_sound(log, side=side)
            image = field(first.sample, side)
            spec = StreamSpec(id=own_id, topic=topic, type=sample_type.message, frame=self._frame(log, image, side))
            if not self._has_image(log, first, spec):
                continue
            stream = _image_stream(log, self._times(log, spec), sample_type.image, image, side=side)
            if len(stream.spans):
                sides.append(BuiltStream(spec=spec, stream=stream, log=log, first=first.sample, side=side))
        return sides

    def _spec(self, log: LogStream, first: Any, own_id: str, topic: str) -> StreamSpec:
        sample_type, frame, child = TYPES[log.kind], "", ""
        if sample_type.frames == 2:
            frame, child = self._frames_of_pose(log, first)
        elif sample_type.frames:
            frame = self._frame(log, first)
        return StreamSpec(id=own_id, topic=topic, type=sample_type.message, frame=frame, child_frame=child)

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
        """Report if a known stream has other frames than described; empty ones are ignored."""
        for name, requested in (("targetframe", spec.frame), ("sourceframe", spec.child_frame)):
            text = field(first, name, default="")
            if isinstance(text, str) and text and requested not in ("map", frame_name(text, self._frames)):
                note = f"{log.name}: its samples name the frame '{text}', which is taken for {requested}"
                self._archive.notes.append(note)


def _unit_ns(log: LogStream) -> int:
    return 1 if log.unit == "ns" else 1000


def _image_stream(
    log: LogStream, times: RowTimes, convert: Callable[[Any], Pixels | bytes], first: Any, *, side: str = ""
) -> Stream:
    def image_of(sample: Any) -> Pixels | bytes:
        return convert(field(sample, side) if side else sample)

    shape = log_images.frame_shape(first)
    packable = shape.packed or log_images.encoding_of(shape) in log_images.PNG
    return ImageStream(log, times, image_of, packed=shape.packed, packable=packable)


def _unplayed_message(log: LogStream, first: Any) -> str:
    """Return the reason why a stream is not published."""
    kind = log.type or "a type that the log does not name"
    if not len(log):
        return f"{log.name} ({kind}) has no samples"
    message = f"{log.name}: {len(log)} samples of {kind} are not played"
    if log.kind == type_table.BITS:
        data = field(first, "data", default=())
        length = len(data) if isinstance(data, list | bytes | np.ndarray) else 0
        method = field(first, "serializationmethod")
        how = "" if method == UNALIGNED_PER else f" by the method {method}, not {UNALIGNED_PER} (unaligned PER)"
        return f"{message}: packed bits of {field(first, 'type', default='?')}{how}, {length} bytes each"
    return message if log.kind != type_table.MAP else f"{message}: maps are no measurement"


def first_sound(log: LogStream, *, side: str = "") -> FirstSample:
    """Return the first sample that determines its kind; if there is none, the very first with its issue.

    For a pair, the first sample with an intact image on that side.
    """
    issue = ""
    for row in range(min(log.first_row, len(log)), len(log)):
        try:
            sample = log.sample(row, arrays=True)
            _inspect(log, sample, row, side)
        except ArchiveError as error:
            issue = issue or f"{log.sample_location(row).what}: {error}"
            continue
        return FirstSample(row, sample)
    return FirstSample(0, None, issue or "no samples")


def _inspect(log: LogStream, sample: Any, row: int, side: str) -> None:
    """Raise ArchiveError if a sample does not determine the properties of its kind."""
    sample_type = TYPES.get(log.kind)
    if sample_type is not None and sample_type.image and bool(side) == bool(sample_type.sides):
        log_images.frame_shape(field(sample, side) if side else sample)
    elif sample_type is not None and sample_type.points:
        sample_type.points(sample, max(int(log.own_ns(row, row + 1)[0]), 0), 1)
