"""Records on their way to Rerun: kept for a moment, sent by columns, and counted."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import rerun as rr
from numpy.typing import ArrayLike, NDArray

from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.core.number_text import count_noun
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.geometry.transforms import rotation_from_quaternion
from fieldplay.messages import records
from fieldplay.messages.codec import FramedRecord
from fieldplay.messages.image_pixels import SHAPES, colour_map, pixels_from_file, pixels_from_image
from fieldplay.messages.message_batches import Topic
from fieldplay.messages.records import Record, Transforms
from fieldplay.messages.rectification import IMAGE_RECT
from fieldplay.projection.points import points_from_scan
from fieldplay.recording.record_batches import LARGEST, MIN_QUATERNION, STATIC, RecordBatch
from fieldplay.streams.image_topics import CAMERA_INFO, CAMERA_INFO_RECT
from fieldplay.topics.quantities import (
    JOINT_UNITS,
    QUANTITIES,
    TWIST,
    Quantity,
)

KINDS = {b"\xff\xd8": "image/jpeg", b"\x89P": "image/png"}  # by the first two bytes of a file
PIXEL_FORMATS = {
    "mono8": "L",
    "8UC1": "L",
    "rgb8": "RGB",
    "bgr8": "BGR",
    "8UC3": "BGR",
    "rgba8": "RGBA",
    "bgra8": "BGRA",
}
DEPTHS = ("16UC1", "mono16", "32FC1")
MILLIMETRES, METRES = 1000.0, 1.0
ODOMETRY = "nav_msgs/msg/Odometry"
PLAIN = ("value", "vector")  # what has no better name than its topic
LEVELS = ("INFO", "WARN", "ERROR", "WARN")  # of diagnostics, by their number; the last is stale
ARROW_M = 0.5
POINT_UI, PATH_UI = -1.5, -1.5  # negative radii are points of the screen
IMAGE_PLANE_M = 0.5
MAX_PATH_POSES = 1000  # poses that are drawn of a path; each message has all of it again
PATH_STEP_M = 0.05
COLOURED_BY = ("intensity", "intensities", "reflectivity")
PERCENTILES = (2, 98)
THINNED = 2000  # points that the range of colours is taken from
Array = NDArray[np.float64]
TIMELINE, STAMPS = "time", "stamp"
BUFFER_NS, BUFFER_BYTES = NS_PER_S // 2, 8 << 20  # sent at once: so much of the data's time, or so many bytes
FIRST_BUFFER_NS = NS_PER_S // 32  # of the very first, then twice as much each time, so that something soon is there
BYTES_PER_ROW = 200  # of what is not large
DEFECTS = "defects"
NAMED = ("parents", "children", "camera")
Key = tuple[Any, ...]
Report = Callable[[str], None]


# What becomes of records in Rerun: columns of an entity, with the rows that have them.


@dataclass(frozen=True, kw_only=True, eq=False)
class Entry:
    """Columns of an entity: `below` its topic, or of the full path `entity`; of all rows, or of some (k,).

    `still` are archetypes that hold for all times. What `is_placed` lies in the frame of its record, or in `frame`.
    """

    columns: Any
    below: str = ""
    entity: str = ""
    rows: NDArray[np.intp] | None = None
    still: tuple[Any, ...] = ()
    is_placed: bool = False
    frame: str = ""


def partition_columns(columns: Any, lengths: ArrayLike) -> Any:
    """Partition columns into rows of given numbers of values."""
    return columns.partition(np.asarray(lengths, np.int64))


# Images: the bytes of their files where Rerun knows these, else their pixels.


def image_entries(parts: Sequence[records.Images], plane: str) -> Iterator[tuple[NDArray[np.int64], Entry]]:
    """Entries of images with the rows (k,) of the parts they are of; images of one kind share an entry.

    ArchiveError of one that no image can be made of.
    """
    by_kind: dict[str, list[tuple[int, Any]]] = {}
    number = 0
    for part in parts:
        for index in range(len(part)):
            kind, data = _kind(part.load(index))
            by_kind.setdefault(kind, []).append((number, data))
            number += 1
    for kind, images in by_kind.items():
        rows = np.array([number for number, _ in images])
        columns = _columns(kind, [data for _, data in images])
        yield rows, Entry(columns=columns, rows=rows, is_placed=bool(plane), frame=plane)


def _kind(data: Any) -> tuple[str, Any]:
    if not isinstance(data, records.Pixels):
        known = KINDS.get(bytes(data[:2]), "")
        return (known, bytes(data)) if known else ("BGR", pixels_from_file(data))
    if data.encoding in DEPTHS:
        return "depth", _numbers(data)
    if data.encoding in PIXEL_FORMATS and PIXEL_FORMATS[data.encoding] != "BGR":
        return PIXEL_FORMATS[data.encoding], _numbers(data)
    return "BGR", pixels_from_image(data)


def _numbers(data: records.Pixels) -> NDArray[Any]:
    """Pixels (h, w) or (h, w, channels) as they are, without what fills up their rows."""
    kind, channels = SHAPES[data.encoding]
    base = np.dtype(kind).newbyteorder(">" if data.is_bigendian else "<")
    used = data.width * channels * base.itemsize
    if not 0 < used <= data.step or len(data.data) < data.step * data.height:
        got = f"{len(data.data)} bytes in steps of {data.step}"
        raise ArchiveError(f"expected {data.width} x {data.height} pixels of {data.encoding}, got {got}")
    rows = np.frombuffer(data.data, np.uint8, data.step * data.height).reshape(data.height, data.step)[:, :used]
    values: NDArray[Any] = np.ascontiguousarray(rows).view(base).astype(base.newbyteorder("="))
    return values if channels == 1 else values.reshape(data.height, data.width, channels)


def _columns(kind: str, images: list[Any]) -> Any:
    if kind.startswith("image/"):
        return rr.EncodedImage.columns(blob=images, media_type=[kind] * len(images))
    formats = [_format(kind, values) for values in images]
    buffers = [values.tobytes() for values in images]
    if kind != "depth":
        return rr.Image.columns(buffer=buffers, format=formats)
    meters = [METRES if values.dtype.kind == "f" else MILLIMETRES for values in images]
    return rr.DepthImage.columns(buffer=buffers, format=formats, meter=meters)


def _format(kind: str, values: NDArray[Any]) -> Any:
    height, width = values.shape[:2]
    datatype = rr.ChannelDatatype.from_np_dtype(values.dtype)
    model = rr.ColorModel.L if kind == "depth" else rr.ColorModel.auto(kind)
    return rr.components.ImageFormat(width=width, height=height, color_model=model, channel_datatype=datatype)


# Numbers over time, places on the map and words: the entries that are not drawn in space.


def numbers(record: Record, msgtype: str) -> Iterator[Entry]:
    """The numbers of a record, those of one unit together."""
    for quantity in TWIST if msgtype == ODOMETRY else QUANTITIES.get(msgtype, ()):
        values = quantity.read(record)
        if not quantity.may_lack or np.isfinite(values).any():
            yield _series(values, _names(quantity), "" if quantity.title in PLAIN else _word(quantity.title))


def joints(record: records.Joints) -> Iterator[Entry]:
    """Positions, velocities and efforts, as far as they are known."""
    for name, unit in JOINT_UNITS.items():
        values = getattr(record, name)
        if values is not None and record.names:
            yield _series(values, tuple(f"{joint} [{unit}]" for joint in record.names), name)


def values(record: records.Values) -> Iterator[Entry]:
    """Plain numbers, which have their places for names."""
    yield _series(record.values, tuple(map(str, range(record.values.shape[1]))), "")


def clock(record: records.ClockReading) -> Iterator[Entry]:
    """By how much the other clock is ahead."""
    ahead_s = (record.time_ns - record.stamp_ns) / NS_PER_S
    yield _series(ahead_s[:, None], (f"{record.source or 'clock'} ahead [s]",), "")


def fixes(record: records.Fix) -> Iterator[Entry]:
    """Places on the map, and the altitude; where the place is not known there is none."""
    positions = np.stack([record.latitude_deg, record.longitude_deg], axis=1)
    known = np.isfinite(positions).all(axis=1)
    still = (rr.GeoPoints.from_fields(radii=rr.Radius.ui_points(4.0)),)
    yield Entry(columns=partition_columns(rr.GeoPoints.columns(positions=positions[known]), known), still=still)
    yield _series(record.altitude_m[:, None], ("altitude [m]",), "altitude")


def states(record: records.Diagnostics) -> Iterator[Entry]:
    """A line for each message: what is worst in it."""
    lines = [_line(states) for states in record.states]
    levels, texts = [level for level, _ in lines], [text for _, text in lines]
    index = record.state_index.tolist()
    yield Entry(columns=rr.TextLog.columns(text=[texts[k] for k in index], level=[levels[k] for k in index]))


def _line(states: tuple[records.State, ...]) -> tuple[str, str]:
    worst = max((state.level for state in states), default=0)
    text = "; ".join(f"{state.name}: {state.message}" for state in states if state.level == worst)
    return LEVELS[worst] if 0 <= worst < len(LEVELS) else "ERROR", text


def _series(values: NDArray[np.float64], names: tuple[str, ...], below: str) -> Entry:
    """Curves (n, names)."""
    columns = rr.Scalars.columns(scalars=np.ascontiguousarray(values, np.float64).reshape(-1))
    still = (rr.SeriesLines(names=list(names)),)
    return Entry(columns=partition_columns(columns, np.full(len(values), values.shape[1])), below=below, still=still)


def _names(quantity: Quantity) -> tuple[str, ...]:
    unit = f" [{quantity.unit}]" if quantity.unit else ""
    return tuple(f"{name or quantity.title}{unit}" for name in quantity.names)


def _word(title: str) -> str:
    return title.replace(",", "").replace(" ", "_")


# What is drawn in space: transforms, poses, ways, clouds, scans, cameras and their images.


def transforms(record: records.Transforms, parent_of: dict[str, str]) -> Iterator[tuple[str, Entry]]:
    """Each child with its transforms, rows that are none left out; `parent_of` has the frames that are wanted."""
    for index, (parent, child) in enumerate(zip(record.parents, record.children, strict=True)):
        if parent_of.get(child) != parent:
            continue
        positions, orientations = record.translation_m[:, index], record.rotation_xyzw[:, index]
        good = are_transforms(positions, orientations)
        if record.known is not None:
            good &= record.known[:, index]
        rows = np.flatnonzero(good)
        columns = rr.Transform3D.columns(
            translation=positions[rows].astype(np.float32),
            quaternion=orientations[rows].astype(np.float32),
            parent_frame=[parent] * len(rows),
            child_frame=[child] * len(rows),
        )
        yield child, Entry(columns=columns, entity=rr.new_entity_path(["tf", child]), rows=rows)


def are_transforms(positions: Array, orientations: Array) -> NDArray[np.bool_]:
    """Which places (n, 3) and quaternions (n, 4) are such (n,)."""
    numbers = np.concatenate([positions, orientations], axis=1)
    good: NDArray[np.bool_] = (np.abs(numbers) < LARGEST).all(axis=1)
    good &= np.abs(orientations).max(axis=1) > MIN_QUATERNION
    return good


def poses(record: records.Pose | records.Odometry) -> Iterator[Entry]:
    """An arrow at each pose; a point if no orientation is known."""
    yield _arrows(record.position_m[:, None], record.orientation_xyzw[:, None])


def pose_lists(record: records.Poses) -> Iterator[Entry]:
    """All poses of a message."""
    yield _arrows(record.position_m, record.orientation_xyzw)


def _arrows(positions: Array, orientations: Array) -> Entry:
    """Places (n, k, 3) with quaternions (n, k, 4)."""
    known = np.isfinite(positions).all(axis=2)
    has_turn = np.isfinite(orientations).all(axis=2) & (np.abs(orientations).max(axis=2, initial=0) > MIN_QUATERNION)
    usable = np.where(has_turn[..., None], orientations, (0.0, 0.0, 0.0, 1.0))
    ahead = rotation_from_quaternion(usable)[..., 0] * np.where(has_turn, ARROW_M, 0.0)[..., None]
    columns = rr.Arrows3D.columns(vectors=ahead[known].astype(np.float32), origins=positions[known].astype(np.float32))
    return Entry(columns=partition_columns(columns, known.sum(axis=1)), is_placed=True)


class TrajectoryStrip:
    """The trajectory of an odometry as line segments, one for each step that is long enough to be seen."""

    def __init__(self) -> None:
        self._last: Array | None = None

    def extend(self, record: records.Pose | records.Odometry) -> Iterator[Entry]:
        """The pieces of further poses."""
        rows, strips = [], []
        for row in np.flatnonzero(np.isfinite(record.position_m).all(axis=1)).tolist():
            position = record.position_m[row]
            if self._last is None:
                self._last = position
            elif np.linalg.norm(position - self._last) >= PATH_STEP_M:
                rows.append(row)
                strips.append(np.stack([self._last, position]))
                self._last = position
        if rows:
            columns = rr.LineStrips3D.columns(strips=np.array(strips, np.float32))
            still = (rr.LineStrips3D.from_fields(radii=PATH_UI),)
            yield Entry(columns=columns, below="way", rows=np.array(rows), still=still, is_placed=True)


def paths(record: records.Paths) -> Iterator[Entry]:
    """Each message's way, of a long one some poses, the first and the last among them."""
    strips = []
    for index, count in zip(record.path_index.tolist(), record.count.tolist(), strict=True):
        positions = record.paths[index].position_m[:count]
        chosen = np.unique(np.linspace(0, max(count - 1, 0), min(count, MAX_PATH_POSES)).astype(int))
        strips.append(np.asarray(positions[chosen], np.float32).reshape(-1, 3))
    still = (rr.LineStrips3D.from_fields(radii=PATH_UI),)
    yield Entry(columns=rr.LineStrips3D.columns(strips=strips), still=still, is_placed=True)


def clouds(record: records.Clouds) -> Iterator[Entry]:
    """Points with colours by their own, by intensity, else by height."""
    parts = [_of_cloud(record.load(row)) for row in range(len(record))]
    yield _points(parts)


def _of_cloud(cloud: NDArray[np.void]) -> tuple[NDArray[np.float32], NDArray[np.uint32]]:
    names = cloud.dtype.names or ()
    points = np.stack([np.asarray(cloud[axis], np.float32).reshape(-1) for axis in "xyz"], axis=-1)
    finite = np.isfinite(points).all(axis=1)
    if not finite.all():
        cloud, points = cloud[finite], points[finite]
    if "rgb" in names:
        packed: NDArray[np.uint32] = np.ascontiguousarray(cloud["rgb"]).view(np.uint32).reshape(-1)
        return points, (packed << np.uint32(8)) | np.uint32(255)
    shade = next((name for name in COLOURED_BY if name in names), "")
    return points, colours(np.asarray(cloud[shade], np.float32).reshape(-1) if shade else points[:, 2])


def scans(record: records.LaserScans) -> Iterator[Entry]:
    """The rays that met something, coloured by intensity, else by range."""
    parts = []
    for row in range(len(record)):
        ranges = record.ranges_m[row, : record.count[row]]
        limits = float(record.range_min_m[row]), float(record.range_max_m[row])
        angle, step = float(record.angle_min_rad[row]), float(record.angle_increment_rad[row])
        points = points_from_scan(ranges, angle_min_rad=angle, angle_increment_rad=step, limits_m=limits).points
        parts.append((points.astype(np.float32), colours(np.linalg.norm(points, axis=1))))
    yield _points(parts)


def _points(parts: Sequence[tuple[NDArray[np.float32], NDArray[np.uint32]]]) -> Entry:
    points, shades = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    columns = partition_columns(rr.Points3D.columns(positions=points, colors=shades), [len(part) for part, _ in parts])
    return Entry(columns=columns, still=(rr.Points3D.from_fields(radii=POINT_UI),), is_placed=True)


_SHADES = np.insert(colour_map(np.arange(256) / 255.0), 0, 255, axis=1)  # 255 and BGR, the lowest byte first
SHADES: NDArray[np.uint32] = np.ascontiguousarray(_SHADES).view("<u4").reshape(-1)


def colours(values: NDArray[Any]) -> NDArray[np.uint32]:
    """Colours (n,) as red, green, blue and 255 in a number, from the 2nd to the 98th percentile of the values."""
    some = values[:: max(len(values) // THINNED, 1)]
    some = some[np.isfinite(some)]
    low, high = np.percentile(some, PERCENTILES) if len(some) else (0.0, 1.0)
    levels = (np.nan_to_num(values) - values.dtype.type(low)) * values.dtype.type(255 / max(high - low, 1e-12))
    chosen: NDArray[np.uint32] = SHADES[np.clip(levels, 0, 255).astype(np.uint8)]
    return chosen


def cameras(record: records.CameraInfos, plane: str, frame: str) -> Iterator[Entry]:
    """The camera's numbers, with the frame of its images' plane."""
    camera, count = record.camera, len(record)
    columns = rr.Pinhole.columns(
        image_from_camera=np.tile(camera.matrix.astype(np.float32), (count, 1, 1)),
        resolution=np.tile(np.array([camera.width, camera.height], np.float32), (count, 1)),
        child_frame=[plane] * count,
        parent_frame=[frame] * count,
    )
    yield Entry(columns=columns, still=(rr.Pinhole.from_fields(image_plane_distance=IMAGE_PLANE_M),))


class FrameTree:
    """The parents of frames, each the last one published."""

    def __init__(self) -> None:
        self.parents: dict[str, str] = {}
        self._loops: Counter[str] = Counter()

    def add(self, record: Transforms) -> None:
        """Further transforms."""
        for parent, child in zip(record.parents, record.children, strict=True):
            if self.parents.get(child) == parent:
                continue
            above = self.above(parent)
            if child in above:
                loop = " -> ".join([*reversed(above[: above.index(child) + 1]), child])
                self._loops[loop] += len(record)
            else:
                self.parents[child] = parent

    def above(self, frame: str) -> list[str]:
        """A frame, its parent and so on to the root."""
        path = [frame]
        while path[-1] in self.parents:
            path.append(self.parents[path[-1]])
        return path

    def root(self) -> str:
        """The root that most frames hang on; "" where there is none."""
        roots = Counter(self.above(frame)[-1] for frame in self.parents)
        return max(roots, key=lambda root: roots[root]) if roots else ""

    def issues(self) -> Iterator[str]:
        """Loops, in words."""
        for loop, count in self._loops.items():
            yield f"tf: the frames {loop} make a loop: {count} transforms that close it are left out"


class Recording:
    """Takes records in the order of time, and sends them as entities with the topics' names.

    `every` is one of how many images and clouds of a topic that are sent; `report` is called with each message once.
    """

    def __init__(self, stream: rr.RecordingStream, topics: Sequence[str], report: Report, every: int = 1) -> None:
        self._stream, self._every = stream, every
        self._topics = set(topics)
        self._report = report
        self._reported: set[str] = set()
        self._buffered: dict[Key, list[FramedRecord]] = {}
        self._buffered_bytes, self._first_ns, self._buffer_ns = 0, 0, FIRST_BUFFER_NS
        self._defects: list[tuple[int, str]] = []
        self._still: dict[str, tuple[str, ...]] = {}
        self._trajectories: dict[str, TrajectoryStrip] = {}
        self._turn: Counter[str] = Counter()
        self._now_ns = 0
        self.tree = FrameTree()
        self.counts: Counter[str] = Counter()

    def set_topics(self, topics: Iterable[str]) -> None:
        """The names of all topics, where these become known on the way."""
        self._topics = set(topics)

    def add(self, batch: RecordBatch) -> None:
        """The next rows of a topic."""
        if not batch.is_readable:
            return
        for framed in batch.records:
            self.take(batch.topic, framed)
        if len(batch.stamp_ns):
            self._now_ns = int(batch.stamp_ns[-1])  # not of all batches: those of numbers come a long while at once
        if self._now_ns - self._first_ns >= self._buffer_ns or self._buffered_bytes >= BUFFER_BYTES:
            self._buffer_ns = min(2 * self._buffer_ns, BUFFER_NS)
            self.flush()

    def take(self, topic: Topic, framed: FramedRecord) -> None:
        """A record of a topic, which is sent with the next flush."""
        record = framed.record
        if not len(record):
            return
        if isinstance(record, records.Clouds) or type(record) is records.Images:
            self._turn[topic.name] += 1
            if (self._turn[topic.name] - 1) % self._every:
                return
        if not self._buffered:
            self._first_ns = int(record.leaves_ns[0])
        self._buffered.setdefault(_key(topic, framed), []).append(framed)
        self._buffered_bytes += _size(record)

    def defect(self, defect: Defect) -> None:
        """Something wrong with the data, as a line at the time that is being sent."""
        self._defects.append((self._now_ns, str(defect)))

    @np.errstate(over="ignore", invalid="ignore")  # damaged messages may hold any number
    def flush(self) -> None:
        """Send what is kept; what was sent before is away then, so that little waits in Rerun."""
        buffered, self._buffered, self._buffered_bytes = self._buffered, {}, 0
        self._stream.flush()
        for (topic, *_), parts in buffered.items():
            self._send_buffered(topic, parts)
        self._send_defects()

    def close(self) -> None:
        """Send the rest; it is away when this returns."""
        self.flush()
        self._stream.flush()
        for line in self.tree.issues():
            self._once(line)

    def _send_buffered(self, topic: Topic, framed_records: list[FramedRecord]) -> None:
        frame, child = framed_records[0].frame.lstrip("/"), framed_records[0].child_frame
        parts = [framed.record for framed in framed_records]
        if type(parts[0]) is records.Images:
            self._send_images(topic, [part for part in parts if isinstance(part, records.Images)])
            return
        whole = parts if isinstance(parts[0], records.Paths) else [records.concatenate(parts)]
        for record in whole:
            count = 0
            for entry in self._entries(topic, FramedRecord(record, frame, child)):
                count += 1
                self._send(topic, entry, record, frame)
            if count:
                self.counts[topic.name] += len(record)

    def _entries(self, topic: Topic, framed: FramedRecord) -> Iterator[Entry]:
        record, frame, _ = framed
        yield from numbers(record, topic.msgtype)
        if isinstance(record, records.Transforms):
            yield from self._transforms(topic, record)
        elif isinstance(record, records.CameraInfos):
            yield from cameras(record, _plane(topic.name), frame)
        elif isinstance(record, records.Pose | records.Odometry):
            yield from poses(record)
            yield from self._trajectories.setdefault(topic.name, TrajectoryStrip()).extend(record)
        else:
            for kind, entries_of in ENTRIES.items():
                if isinstance(record, kind):
                    yield from entries_of(record)

    def _transforms(self, topic: Topic, record: records.Transforms) -> Iterator[Entry]:
        self.tree.add(record)
        is_static = topic.name.rpartition("/")[2] == STATIC
        for child, entry in transforms(record, self.tree.parents):
            if entry.rows is None or not len(entry.rows):
                continue
            if is_static:
                self._send_static(child, record)
            else:
                yield entry
        if is_static:
            self.counts[topic.name] += len(record)

    def _send_static(self, child: str, record: records.Transforms) -> None:
        index = record.children.index(child)
        transform = rr.Transform3D(
            translation=record.translation_m[-1, index],
            quaternion=rr.Quaternion(xyzw=record.rotation_xyzw[-1, index]),
            parent_frame=record.parents[index],
            child_frame=child,
        )
        self._stream.log(rr.new_entity_path([STATIC, child]), transform, static=True)

    def _send_images(self, topic: Topic, parts: list[records.Images]) -> None:
        folder, rectified = _folder(topic.name), _is_rectified(topic.name)
        infos = [f"{folder}/{CAMERA_INFO_RECT}"] * rectified + [f"{folder}/{CAMERA_INFO}"]
        plane = next((_plane(info) for info in infos if info in self._topics), "")
        log_times, stamps = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("leaves_ns", "stamp_ns")
        )
        try:
            for rows, entry in image_entries(parts, plane):
                self._send_columns(topic.name, entry, log_times[rows], stamps[rows])
                self.counts[topic.name] += len(rows)
        except ArchiveError as error:
            self._defects.append((int(log_times[0]), f"{topic.name}: {error}"))
            self._once(f"{topic.name}: {error}: left out")

    def _send(self, topic: Topic, entry: Entry, record: Record, frame: str) -> None:
        entity = entry.entity or "/".join(filter(None, (topic.name, entry.below)))
        log_times, stamps = record.leaves_ns, record.stamp_ns
        if entry.rows is not None:
            log_times, stamps = log_times[entry.rows], stamps[entry.rows]
        if entry.is_placed and not frame:
            self._once(f"{topic.name}: its messages name no frame: it is not connected to the other frames")
        self._send_columns(entity, entry, log_times, stamps, frame)

    def _send_columns(
        self, entity: str, entry: Entry, log_times: NDArray[np.int64], stamps: NDArray[np.int64], frame: str = ""
    ) -> None:
        frame = (entry.frame or frame) if entry.is_placed else ""
        known = (frame, repr(entry.still))
        if self._still.get(entity) != known:
            self._still[entity] = known
            framed = (rr.CoordinateFrame(frame),) if frame else ()
            for archetype in (*entry.still, *framed):
                self._stream.log(entity, archetype, static=True)
        times = [_times(TIMELINE, log_times)]
        if (log_times != stamps).any():
            times.append(_times(STAMPS, stamps))
        self._stream.send_columns(entity, times, entry.columns)

    def _send_defects(self) -> None:
        defects, self._defects = self._defects, []
        if defects:
            stamps, texts = zip(*defects, strict=True)
            columns = rr.TextLog.columns(text=texts, level=["WARN"] * len(texts))
            self._stream.send_columns(DEFECTS, [_times(TIMELINE, np.array(stamps))], columns)

    def _once(self, text: str) -> None:
        if text not in self._reported:
            self._reported.add(text)
            self._report(text)


ENTRIES: dict[type[Record], Callable[[Any], Iterator[Entry]]] = {
    records.Joints: joints,
    records.Values: values,
    records.ClockReading: clock,
    records.Fix: fixes,
    records.Diagnostics: states,
    records.Poses: pose_lists,
    records.Paths: paths,
    records.Clouds: clouds,
    records.LaserScans: scans,
}


def _times(name: str, stamp_ns: NDArray[np.int64]) -> Any:
    return rr.TimeColumn(name, timestamp=stamp_ns.astype("datetime64[ns]"))


def _key(topic: Topic, framed: FramedRecord) -> Key:
    """What records have in common that are sent together: topic, frames, names, and the shapes of their columns."""
    shapes: list[Any] = []
    for entry in fields(framed.record):
        value = getattr(framed.record, entry.name)
        if isinstance(value, np.ndarray):
            shapes.append(value.shape[1:])
        elif value is None or entry.name in NAMED or isinstance(framed.record, records.Joints):
            shapes.append(value)
    return topic, framed.frame, framed.child_frame, type(framed.record), repr(shapes)


def _size(record: Record) -> int:
    """Bytes that a record may have, so large that several together are not too many."""
    if isinstance(record, records.Clouds):
        return sum(record.load(row).nbytes for row in range(len(record)))
    if type(record) is records.Images:
        images = [record.load(row) for row in range(len(record))]
        return sum(len(data.data if isinstance(data, records.Pixels) else data) for data in images)
    return len(record) * BYTES_PER_ROW


def _is_rectified(topic: str) -> bool:
    """Whether the images of a topic are rectified, by its name."""
    return topic.removesuffix("/compressed").rpartition("/")[2].startswith(IMAGE_RECT)


def _folder(topic: str) -> str:
    return topic.removesuffix("/compressed").removesuffix("/compressedDepth").rpartition("/")[0]


def _plane(info: str) -> str:
    """The frame of the images of a camera, by its topic of numbers."""
    return f"{_folder(info)} image"


def is_shown(msgtype: str) -> bool:
    """Whether anything of such messages is shown."""
    return msgtype in QUANTITIES or msgtype in SHOWN


def not_shown(topics: Sequence[Topic]) -> str:
    """What there is besides, in words; nothing where all is shown."""
    left = [f"{topic.name} ({topic.msgtype})" for topic in topics if not is_shown(topic.msgtype)]
    return (
        f"not shown: {count_noun(len(left), 'topic')} of types that the view does not know: {', '.join(left)}"
        if left
        else ""
    )


SHOWN = {
    "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage", "sensor_msgs/msg/CameraInfo",
    "sensor_msgs/msg/PointCloud2", "sensor_msgs/msg/LaserScan", "sensor_msgs/msg/JointState",
    "sensor_msgs/msg/NavSatFix", "sensor_msgs/msg/TimeReference", "std_msgs/msg/Float64MultiArray",
    "nav_msgs/msg/Odometry", "nav_msgs/msg/Path", "geometry_msgs/msg/PoseStamped", "geometry_msgs/msg/PoseArray",
    "geometry_msgs/msg/PoseWithCovarianceStamped", "geometry_msgs/msg/PointStamped",
    "geometry_msgs/msg/TransformStamped", "tf2_msgs/msg/TFMessage", "diagnostic_msgs/msg/DiagnosticArray",
}  # fmt: skip
