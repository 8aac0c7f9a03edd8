"""`Recording`: what `fieldplay.open` gives of an archive or a bag: topics, records, messages, images, clouds."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fieldplay.bags.compression import Compression
from fieldplay.core.errors import ArchiveError, Defect, UsageError
from fieldplay.core.progress import Progress, no_progress
from fieldplay.datasets.spec import DatasetSpec
from fieldplay.geometry.extrinsics import Edge
from fieldplay.geometry.transforms import rotation_from_quaternion, transform_from_rotation
from fieldplay.messages import records
from fieldplay.messages.image_pixels import pixels_from_file, pixels_from_image
from fieldplay.messages.message_batches import Topic
from fieldplay.messages.records import Record
from fieldplay.recording.record_batches import Issues, RecordBatch
from fieldplay.streams.message_block import RawMessage
from fieldplay.streams.topic_batches import Window
from fieldplay.topics.selection import Selection

if TYPE_CHECKING:  # what only reads needs no writer
    from fieldplay.bags.writer import StorageName
    from fieldplay.convert.conversion import BagOptions, Converted

Columns = dict[str, NDArray[Any]]
STATIC = "/tf_static"
COMPRESSED = "/compressed"
Own = TypeVar("Own", bound="Recording")


# Records of a topic, span by span, as one table of columns.


def columns_of_records(rows: Sequence[Record]) -> Columns:
    """Concatenate records as one table.

    Args:
        rows: records of one topic; columns may be missing, and joints differ.

    Returns:
        Arrays by name, sorted by `leaves_ns`; see `Recording.records`. Of no rows the two columns of times, empty.
    """
    parts = [_columns(record) for record in rows if len(record)]
    if not parts:
        return {"stamp_ns": np.zeros(0, np.int64), "leaves_ns": np.zeros(0, np.int64)}
    parts = _with_names_of_all(parts)
    names = dict.fromkeys(name for part in parts for name in part if name != "names")
    joined = {name: _join([(part.get(name), len(part["stamp_ns"])) for part in parts]) for name in names}
    order = np.argsort(joined["leaves_ns"], kind="stable")
    columns = {name: column[order] for name, column in joined.items()}
    return columns if "names" not in parts[0] else {**columns, "names": parts[0]["names"]}


def _columns(record: Record) -> Columns:
    times = {"stamp_ns": record.stamp_ns, "leaves_ns": record.leaves_ns}
    for kind, make in LONG.items():
        if isinstance(record, kind):
            return make(record, times)
    own = {field.name: getattr(record, field.name) for field in fields(record)}
    columns = {name: value for name, value in own.items() if isinstance(value, np.ndarray) and name not in HIDDEN}
    if isinstance(record, records.Joints):
        columns["names"] = np.array(record.names)
    return {**times, **columns}


def _of_transforms(record: records.Transforms, times: Columns) -> Columns:
    known = np.ones((len(record), len(record.children)), bool) if record.known is None else record.known
    rows, edges = np.nonzero(known)
    return {
        **{name: column[rows] for name, column in times.items()},
        "parent": np.array(record.parents)[edges],
        "child": np.array(record.children)[edges],
        "translation_m": record.translation_m[rows, edges],
        "rotation_xyzw": record.rotation_xyzw[rows, edges],
    }


def _of_files(record: records.Images | records.Clouds, times: Columns) -> Columns:
    """Images and clouds are read one by one: here only the files they come from."""
    return {**times, "name": np.array(record.names)}


def _of_paths(record: records.Paths, times: Columns) -> Columns:
    poses = [record.paths[index] for index in record.path_index.tolist()]
    columns: Columns = {**times, "count": record.count}
    for name in ("position_m", "orientation_xyzw"):
        column = np.empty(len(record), object)
        for row, (pose, count) in enumerate(zip(poses, record.count.tolist(), strict=True)):
            column[row] = getattr(pose, name)[:count]
        columns[name] = column
    return columns


def _of_states(record: records.Diagnostics, times: Columns) -> Columns:
    states = [(row, state) for row, index in enumerate(record.state_index.tolist()) for state in record.states[index]]
    rows = np.array([row for row, _ in states], np.intp)
    return {
        **{name: column[rows] for name, column in times.items()},
        "name": np.array([state.name for _, state in states], object),
        "level": np.array([state.level for _, state in states], np.int64),
        "message": np.array([state.message for _, state in states], object),
        "values": _objects([dict(state.values) for _, state in states]),
    }


def _objects(values: Sequence[object]) -> NDArray[Any]:
    column = np.empty(len(values), object)
    column[:] = values
    return column


HIDDEN = {"order_ns", "path_index", "state_index"}
LONG: Mapping[type[Record], Callable[[Any, Columns], Columns]] = {
    records.Transforms: _of_transforms,
    records.Images: _of_files,
    records.Clouds: _of_files,
    records.Paths: _of_paths,
    records.Diagnostics: _of_states,
}


def _with_names_of_all(parts: list[Columns]) -> list[Columns]:
    """The columns of joints, brought to the names of all parts."""
    if not all("names" in part for part in parts):
        return parts
    names = list(dict.fromkeys(name for part in parts for name in part["names"].tolist()))
    if all(part["names"].tolist() == names for part in parts):
        return parts
    widened = []
    for part in parts:
        columns = [names.index(name) for name in part["names"].tolist()]
        wide: Columns = {}
        for name, column in part.items():
            if column.ndim == 2:
                wide[name] = np.full((len(column), len(names)), np.nan)
                wide[name][:, columns] = column
        widened.append({**part, **wide, "names": np.array(names)})
    return widened


def _join(parts: Sequence[tuple[NDArray[Any] | None, int]]) -> NDArray[Any]:
    """Concatenate a column of all parts, padded with NaN, or with 0 for integers."""
    there = [column for column, _ in parts if column is not None]
    first = there[0]
    inner = tuple(max(sides) for sides in zip(*(column.shape[1:] for column in there), strict=True))
    if len(there) == len(parts) and all(column.shape[1:] == inner for column in there):
        return np.concatenate(there)
    filled = []
    for column, count in parts:
        whole = np.full((count, *inner), np.nan if first.dtype.kind == "f" else 0, first.dtype)
        if column is not None:
            window = (slice(None), *(slice(side) for side in column.shape[1:]))
            whole[window] = column
        filled.append(whole)
    return np.concatenate(filled)


@dataclass(frozen=True, kw_only=True)
class TopicInfo:
    """A topic as known before its messages are read.

    Args:
        name: its full name.
        type: the type of its messages, such as `sensor_msgs/msg/Imu`.
        count: the number of messages at most; defective rows are detected when they are read.
        first_ns: the time of the first message in ns since 1970; None where there is none.
        last_ns: the time of the last message.
        frame: the frame of its messages; empty if it has none, several, or is unknown.
        child_frame: the child frame of its odometry; empty likewise.
    """

    name: str
    type: str
    count: int
    first_ns: int | None
    last_ns: int | None
    frame: str = ""
    child_frame: str = ""


Message = RawMessage


@dataclass(frozen=True, kw_only=True)
class RecordingInfo:
    """What `fieldplay info` prints of a recording.

    Args:
        title: of the dataset or the bag.
        name: of the folder or file.
        kind: dataset and container, such as "ameds archive, a folder".
        size_bytes: of all its files.
        facts: names with values.
        skip_gaps_s: gaps longer than this are normal in it; 0 if unknown.
        notes: remarks on topics, by topic.
        units: by topic, units of fields of its messages.
    """

    title: str
    name: str
    kind: str
    size_bytes: int
    facts: tuple[tuple[str, str], ...] = ()
    skip_gaps_s: float = 0.0
    notes: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


class Recording(ABC):
    """An open archive or bag; `fieldplay.open` returns it.

    Topic names may be short: `imu/data` is the topic whose name ends with it. Times are int64 nanoseconds since 1970;
    `start` and `duration` are seconds from the start of the data, not of the topic. Defective messages are left out and
    listed as `Defect`; a recording with defects can be read to its end.
    """

    def __enter__(self: Own) -> Own:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Close the files and delete temporary ones; columns and images that were read stay valid."""

    @property
    @abstractmethod
    def spec(self) -> DatasetSpec | None:
        """The description of the dataset, also of a bag that was converted from an archive; None if unknown."""

    @property
    @abstractmethod
    def custom_data(self) -> Mapping[str, str]:
        """The `custom_data` that a bag made of this recording gets in its metadata."""

    @property
    @abstractmethod
    def topics(self) -> Mapping[str, TopicInfo]:
        """All topics by full name; no message is read for it."""

    @property
    def expected_counts(self) -> Mapping[str, int]:
        """The maximum number of messages by full topic name, where known before reading."""
        return {}

    @property
    @abstractmethod
    def typed_topics(self) -> list[Topic]:
        """All topics with their types, including those without messages; a bag may have two types on one name.

        Complete once all batches are read.
        """

    @property
    @abstractmethod
    def info(self) -> RecordingInfo:
        """Title, kind, size and facts of the recording."""

    @property
    @abstractmethod
    def issues(self) -> Issues:
        """The issues found in the batches read so far."""

    @property
    @abstractmethod
    def start_ns(self) -> int | None:
        """The start of the data in ns since 1970; for a bag known once all batches are read."""

    @abstractmethod
    def batches(self, progress: Progress = no_progress, only: Collection[str] | None = None) -> Iterator[RecordBatch]:
        """Read all rows, or those of some topics, in one pass.

        Args:
            progress: called with the fraction read (0 to 1) and the number of rows.
            only: full names of topics; None for all, which also runs the checks of a dataset's parameters.

        Yields:
            Rows of one topic each; those of a topic in the order of the archive, usually that of time.
        """

    def with_derived(self) -> "Recording":
        """Add the topics that the nodes would compute.

        Returns:
            A recording on the same open files: closing one closes both. A bag is returned unchanged.
        """
        return self

    @property
    @abstractmethod
    def defects(self) -> Sequence[Defect]:
        """The defects found so far; reading more may add some."""

    @abstractmethod
    def check(self, *, progress: Progress = no_progress) -> Sequence[Defect]:
        """Read everything and return every defect, as `fieldplay check` does.

        Args:
            progress: called with the fraction read (0 to 1) and the number of rows.

        Returns:
            All defects, including those found before; at most a thousand of one kind in one file.
        """

    @abstractmethod
    def messages(self, *topics: str, start: float = 0.0, duration: float | None = None) -> Iterator[Message]:
        """Iterate over messages in time order, as a bag stores and the player publishes them.

        Args:
            topics: names, which may be short; none for all topics.
            start: seconds after the start of the data.
            duration: in s; None to the end.

        Yields:
            Messages as CDR bytes. Those that cannot be read are left out and become defects.

        Raises:
            UsageError: there is no such topic, or its short name fits several.
        """

    def to_bag(
        self,
        out: Path | str,
        selection: Selection | None = None,
        *,
        storage: "StorageName" = "mcap",
        compression: Compression = "none",
        overwrite: bool = False,
        strict: bool = False,
        jobs: int = 1,
        progress: Progress = no_progress,
    ) -> "Converted":
        """Write a bag of ROS 2, as `fieldplay convert` does.

        Args:
            out: the folder to make. It appears when it is complete, so an interrupted call leaves nothing.
            selection: time range, topics and message options; None for everything.
            storage: `mcap` or `sqlite3`.
            compression: `none`, or `zstd` with mcap.
            overwrite: replace an existing bag; a folder that is no bag is never replaced.
            strict: refuse an archive with defects.
            jobs: number of processes; the bag then has as many files.
            progress: called with the fraction that is written (0 to 1) and the number of messages.

        Returns:
            The topics with their counts, and notes.

        Raises:
            UserError: the folder exists, the disk is full, nothing is selected, or `strict` found defects.
            UsageError: the selection names something that does not exist.
        """
        from fieldplay.convert.conversion import BagOptions

        options = BagOptions(storage=storage, compression=compression, overwrite=overwrite, strict=strict, jobs=jobs)
        return self._write_bag(Path(out), selection, options, progress)

    @abstractmethod
    def _write_bag(
        self, out: Path, selection: Selection | None, options: "BagOptions", progress: Progress
    ) -> "Converted": ...

    @abstractmethod
    def _window(self, start: float, duration: float | None) -> Window: ...

    @abstractmethod
    def _spans(self, topic: str, window: Window) -> Iterator[Record]:
        """The rows of a topic in a window of time and perhaps some beside it, a span at a time."""

    @abstractmethod
    def _rows(self, topic: str, window: Window) -> Iterator[tuple[Record, int]]:
        """The rows of a topic in a window of time, in its order, for those that are read one by one."""

    @cached_property
    def tf_static(self) -> Sequence[Edge]:
        """The static transforms, parent_t_child (4, 4) in m; of each child the latest."""
        if STATIC not in self.topics:
            return ()
        columns = columns_of_records(list(self._spans(STATIC, self._window(0.0, None))))
        # A later transform of a child replaces the earlier one, as it does for subscribers of /tf_static.
        rows = {child: row for row, child in enumerate(columns.get("child", np.zeros(0, str)).tolist())}
        rotations = {row: rotation_from_quaternion(columns["rotation_xyzw"][row]) for row in rows.values()}
        return tuple(
            Edge(str(columns["parent"][row]), child, transform_from_rotation(rotation, columns["translation_m"][row]))
            for (child, row), rotation in zip(rows.items(), rotations.values(), strict=True)
        )

    def records(self, topic: str, *, start: float = 0.0, duration: float | None = None) -> Columns:
        """Read the rows of a topic as columns.

        Args:
            topic: its name, which may be short.
            start: seconds after the start of the data.
            duration: in s; None to the end. Without limits all rows are read into memory.

        Returns:
            Arrays by name, a row for each message, in the order of `leaves_ns`, the times of publishing or of the log;
            `stamp_ns` are those in the messages. Units are in the names, quaternions are x y z w, covariances have the
            axes x y z and then the rotations about them. A column that some messages do not have is NaN there. Joints
            have `names`, one for each column of `position`, not for each row. A message of several transforms or states
            gives a row for each. Of images and clouds there are only times and file names.

        Raises:
            UsageError: there is no such topic, or its short name fits several.

        Example:
            imu = data.records("imu/data", start=10, duration=5)
            rate_hz = 1e9 / np.diff(imu["stamp_ns"]).mean()
        """
        window = self._window(start, duration)
        columns = columns_of_records(list(self._spans(self.topic(topic).name, window)))
        log_times_ns = columns["leaves_ns"]
        requested = log_times_ns >= window.first_ns
        if window.last_ns is not None:
            requested &= log_times_ns <= window.last_ns
        return {name: column if name == "names" else column[requested] for name, column in columns.items()}

    def images(
        self, topic: str, *, start: float = 0.0, duration: float | None = None
    ) -> Iterator[tuple[int, NDArray[np.uint8]]]:
        """Decode the images of a topic one by one, in time order.

        Args:
            topic: its name, which may be short and without `/compressed`.
            start: seconds after the start of the data.
            duration: in s; None to the end.

        Yields:
            The time in the message in ns, and pixels (h, w, 3), uint8, in the order blue green red. Grey images have
            three equal channels; depths and other numbers are scaled from low to high. Defective images are left out
            and become defects.

        Raises:
            UsageError: there is no such topic, or it has no images.
        """
        name = self.topic(topic, suffix=COMPRESSED).name
        for record, row in self._rows(name, self._window(start, duration)):
            if not isinstance(record, records.Images) or isinstance(record, records.CameraInfos):
                raise UsageError(f"{name}: expected images, got {self.topics[name].type}")
            try:
                image = record.load(row)
                pixels = pixels_from_file(image) if isinstance(image, bytes) else pixels_from_image(image)
            except (ArchiveError, OSError) as error:
                self._report(Defect.at(record.names[row] or name, kind="damaged_picture", message=str(error)))
                continue
            yield int(record.stamp_ns[row]), pixels

    def clouds(
        self, topic: str, *, start: float = 0.0, duration: float | None = None
    ) -> Iterator[tuple[int, NDArray[np.void]]]:
        """Read the point clouds of a topic one by one, in time order.

        Args:
            topic: its name, which may be short.
            start: seconds after the start of the data.
            duration: in s; None to the end.

        Yields:
            The time in the message in ns, and the points (n,) as a structured array with the fields x, y, z in m in the
            sensor's frame, and what else the cloud has. Defective clouds are left out and become defects.

        Raises:
            UsageError: there is no such topic, or it has no clouds.

        Example:
            for stamp_ns, points in data.clouds("lidar/points", duration=1):
                xyz = np.stack([points["x"], points["y"], points["z"]], axis=-1)
        """
        name = self.topic(topic).name
        for record, row in self._rows(name, self._window(start, duration)):
            if not isinstance(record, records.Clouds):
                raise UsageError(f"{name}: expected clouds, got {self.topics[name].type}")
            try:
                points = record.load(row)
            except (ArchiveError, OSError) as error:
                self._report(Defect.at(record.names[row] or name, kind="damaged_cloud", message=str(error)))
                continue
            yield int(record.stamp_ns[row]), points

    def topic(self, name: str, *, suffix: str = "") -> TopicInfo:
        """Find a topic.

        Args:
            name: its full name, or how that ends.
            suffix: an ending that may be omitted, such as `/compressed`.

        Returns:
            The topic's name, type, count, times and frames.

        Raises:
            UsageError: no topic or several fit; the message lists them.
        """
        exact = [known for known in (name, "/" + name.lstrip("/")) if known in self.topics]
        suffix_matches = [known for known in self.topics if known.endswith("/" + name.lstrip("/"))]
        fitting = (
            exact[:1]
            or suffix_matches
            or [known for known in self.topics if suffix and known.endswith(f"/{name}{suffix}")]
        )
        if len(fitting) == 1:
            return self.topics[fitting[0]]
        what = f"'{name}' may be {' or '.join(fitting)}" if fitting else f"there is no topic '{name}'"
        raise UsageError(f"{what}; there are {', '.join(sorted(self.topics))}")

    @abstractmethod
    def _report(self, defect: Defect) -> None: ...


FieldData = Recording  # its former name, which programs may use
