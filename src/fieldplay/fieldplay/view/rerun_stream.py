"""Records on their way to Rerun: kept for a moment, sent by columns, and counted."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import rerun as rr
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.core.number_text import many
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.messages import records
from fieldplay.messages.message_batches import Topic
from fieldplay.messages.record_decoder import FramedRecord
from fieldplay.messages.records import Record
from fieldplay.messages.rectification import IMAGE_RECT
from fieldplay.recording.record_source import RecordBatch
from fieldplay.recording.transform_source import STATIC
from fieldplay.report.panels.signals import QUANTITIES
from fieldplay.streams.image_topics import CAMERA_INFO, CAMERA_INFO_RECT
from fieldplay.view import plots, spaces
from fieldplay.view.entry import Entry
from fieldplay.view.frame_tree import FrameTree
from fieldplay.view.images import pictures

TIMELINE, STAMPS = "time", "stamp"
KEPT_NS, KEPT_BYTES = NS_PER_S // 2, 8 << 20  # sent at once: so much of the data's time, or so many bytes
FIRST_KEPT_NS = NS_PER_S // 32  # of the very first, then twice as much each time, so that something soon is there
BYTES_PER_ROW = 200  # of what is not large
DEFECTS = "defects"
NAMED = ("parents", "children", "camera")
Key = tuple[Any, ...]
Tell = Callable[[str], None]


class Recording:
    """Takes records in the order of time, and sends them as entities with the topics' names.

    `every` is one of how many pictures and clouds of a topic that are sent; `tell` hears what is noticed, once.
    """

    def __init__(self, stream: rr.RecordingStream, topics: Sequence[str], tell: Tell, every: int = 1) -> None:
        self._stream, self._every = stream, every
        self._topics = set(topics)
        self._tell = tell
        self._told: set[str] = set()
        self._kept: dict[Key, list[FramedRecord]] = {}
        self._kept_bytes, self._first_ns, self._keep_ns = 0, 0, FIRST_KEPT_NS
        self._defects: list[tuple[int, str]] = []
        self._still: dict[str, tuple[str, ...]] = {}
        self._trails: dict[str, spaces.Trail] = {}
        self._turn: Counter[str] = Counter()
        self._now_ns = 0
        self.tree = FrameTree()
        self.counts: Counter[str] = Counter()

    def know(self, topics: Iterable[str]) -> None:
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
        if self._now_ns - self._first_ns >= self._keep_ns or self._kept_bytes >= KEPT_BYTES:
            self._keep_ns = min(2 * self._keep_ns, KEPT_NS)
            self.flush()

    def take(self, topic: Topic, framed: FramedRecord) -> None:
        """A record of a topic, which is sent with the next flush."""
        record = framed.record
        if not len(record):
            return
        if isinstance(record, records.Clouds) or type(record) is records.Pictures:
            self._turn[topic.name] += 1
            if (self._turn[topic.name] - 1) % self._every:
                return
        if not self._kept:
            self._first_ns = int(record.leaves_ns[0])
        self._kept.setdefault(_key(topic, framed), []).append(framed)
        self._kept_bytes += _size(record)

    def defect(self, defect: Defect) -> None:
        """Something wrong with the data, as a line at the time that is being sent."""
        self._defects.append((self._now_ns, str(defect)))

    @np.errstate(over="ignore", invalid="ignore")  # damaged messages may hold any number
    def flush(self) -> None:
        """Send what is kept; what was sent before is away then, so that little waits in Rerun."""
        kept, self._kept, self._kept_bytes = self._kept, {}, 0
        self._stream.flush()
        for (topic, *_), found in kept.items():
            self._send_kept(topic, found)
        self._send_defects()

    def close(self) -> None:
        """Send the rest; it is away when this returns."""
        self.flush()
        self._stream.flush()
        for line in self.tree.faults():
            self._once(line)

    def _send_kept(self, topic: Topic, found: list[FramedRecord]) -> None:
        frame, child = found[0].frame.lstrip("/"), found[0].child_frame
        parts = [framed.record for framed in found]
        if type(parts[0]) is records.Pictures:
            self._send_images(topic, [part for part in parts if isinstance(part, records.Pictures)])
            return
        whole = parts if isinstance(parts[0], records.Paths) else [records.joined(parts)]
        for record in whole:
            count = 0
            for entry in self._entries(topic, FramedRecord(record, frame, child)):
                count += 1
                self._send(topic, entry, record, frame)
            if count:
                self.counts[topic.name] += len(record)

    def _entries(self, topic: Topic, framed: FramedRecord) -> Iterator[Entry]:
        record, frame, _ = framed
        yield from plots.numbers(record, topic.msgtype)
        if isinstance(record, records.Transforms):
            yield from self._transforms(topic, record)
        elif isinstance(record, records.CameraInfos):
            yield from spaces.cameras(record, _plane(topic.name), frame)
        elif isinstance(record, records.Pose | records.Odometry):
            yield from spaces.poses(record)
            yield from self._trails.setdefault(topic.name, spaces.Trail()).grown(record)
        else:
            for kind, entries_of in ENTRIES.items():
                if isinstance(record, kind):
                    yield from entries_of(record)

    def _transforms(self, topic: Topic, record: records.Transforms) -> Iterator[Entry]:
        self.tree.add(record)
        is_static = topic.name.rpartition("/")[2] == STATIC
        for child, entry in spaces.transforms(record, self.tree.parents):
            if entry.rows is None or not len(entry.rows):
                continue
            if is_static:
                self._send_static(child, record)
            else:
                yield entry
        if is_static:
            self.counts[topic.name] += len(record)

    def _send_static(self, child: str, record: records.Transforms) -> None:
        place = record.children.index(child)
        transform = rr.Transform3D(
            translation=record.translation_m[-1, place],
            quaternion=rr.Quaternion(xyzw=record.rotation_xyzw[-1, place]),
            parent_frame=record.parents[place],
            child_frame=child,
        )
        self._stream.log(rr.new_entity_path([STATIC, child]), transform, static=True)

    def _send_images(self, topic: Topic, parts: list[records.Pictures]) -> None:
        folder, rectified = _folder(topic.name), _is_rectified(topic.name)
        infos = [f"{folder}/{CAMERA_INFO_RECT}"] * rectified + [f"{folder}/{CAMERA_INFO}"]
        plane = next((_plane(info) for info in infos if info in self._topics), "")
        leaves, stamps = (np.concatenate([getattr(part, name) for part in parts]) for name in ("leaves_ns", "stamp_ns"))
        try:
            for rows, entry in pictures(parts, plane):
                self._send_columns(topic.name, entry, leaves[rows], stamps[rows])
                self.counts[topic.name] += len(rows)
        except ArchiveError as error:
            self._defects.append((int(leaves[0]), f"{topic.name}: {error}"))
            self._once(f"{topic.name}: {error}: left out")

    def _send(self, topic: Topic, entry: Entry, record: Record, frame: str) -> None:
        entity = entry.entity or "/".join(filter(None, (topic.name, entry.below)))
        leaves, stamps = record.leaves_ns, record.stamp_ns
        if entry.rows is not None:
            leaves, stamps = leaves[entry.rows], stamps[entry.rows]
        if entry.is_placed and not frame:
            self._once(f"{topic.name}: its messages name no frame: it stands apart from the other frames")
        self._send_columns(entity, entry, leaves, stamps, frame)

    def _send_columns(
        self, entity: str, entry: Entry, leaves: NDArray[np.int64], stamps: NDArray[np.int64], frame: str = ""
    ) -> None:
        frame = (entry.frame or frame) if entry.is_placed else ""
        known = (frame, repr(entry.still))
        if self._still.get(entity) != known:
            self._still[entity] = known
            framed = (rr.CoordinateFrame(frame),) if frame else ()
            for archetype in (*entry.still, *framed):
                self._stream.log(entity, archetype, static=True)
        times = [_times(TIMELINE, leaves)]
        if (leaves != stamps).any():
            times.append(_times(STAMPS, stamps))
        self._stream.send_columns(entity, times, entry.columns)

    def _send_defects(self) -> None:
        found, self._defects = self._defects, []
        if found:
            stamps, texts = zip(*found, strict=True)
            columns = rr.TextLog.columns(text=texts, level=["WARN"] * len(texts))
            self._stream.send_columns(DEFECTS, [_times(TIMELINE, np.array(stamps))], columns)

    def _once(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._tell(text)


ENTRIES: dict[type[Record], Callable[[Any], Iterator[Entry]]] = {
    records.Joints: plots.joints,
    records.Values: plots.values,
    records.ClockReading: plots.clock,
    records.Fix: plots.fixes,
    records.Diagnostics: plots.states,
    records.Poses: spaces.pose_lists,
    records.Paths: spaces.paths,
    records.Clouds: spaces.clouds,
    records.LaserScans: spaces.scans,
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
    if type(record) is records.Pictures:
        found = [record.load(row) for row in range(len(record))]
        return sum(len(data.data if isinstance(data, records.Pixels) else data) for data in found)
    return len(record) * BYTES_PER_ROW


def _is_rectified(topic: str) -> bool:
    """Whether the images of a topic are rectified, as its name tells."""
    return topic.removesuffix("/compressed").rpartition("/")[2].startswith(IMAGE_RECT)


def _folder(topic: str) -> str:
    return topic.removesuffix("/compressed").removesuffix("/compressedDepth").rpartition("/")[0]


def _plane(info: str) -> str:
    """The frame of the pictures of a camera, by its topic of numbers."""
    return f"{_folder(info)} picture"


def is_shown(msgtype: str) -> bool:
    """Whether anything of such messages is shown."""
    return msgtype in QUANTITIES or msgtype in SHOWN


def not_shown(topics: Sequence[Topic]) -> str:
    """What there is besides, in words; nothing where all is shown."""
    left = [f"{topic.name} ({topic.msgtype})" for topic in topics if not is_shown(topic.msgtype)]
    return (
        f"not shown: {many(len(left), 'topic')} of types that the view does not know: {', '.join(left)}" if left else ""
    )


SHOWN = {
    "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage", "sensor_msgs/msg/CameraInfo",
    "sensor_msgs/msg/PointCloud2", "sensor_msgs/msg/LaserScan", "sensor_msgs/msg/JointState",
    "sensor_msgs/msg/NavSatFix", "sensor_msgs/msg/TimeReference", "std_msgs/msg/Float64MultiArray",
    "nav_msgs/msg/Odometry", "nav_msgs/msg/Path", "geometry_msgs/msg/PoseStamped", "geometry_msgs/msg/PoseArray",
    "geometry_msgs/msg/PoseWithCovarianceStamped", "geometry_msgs/msg/PointStamped",
    "geometry_msgs/msg/TransformStamped", "tf2_msgs/msg/TFMessage", "diagnostic_msgs/msg/DiagnosticArray",
}  # fmt: skip
