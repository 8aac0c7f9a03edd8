"""An archive as a `Recording`."""

import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property, partial
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.bags.bag_stream import Serialized
from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.core.progress import Progress, no_progress
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.origins import custom_data_of
from fieldplay.datasets.spec import DatasetSpec
from fieldplay.messages import records
from fieldplay.messages.codec import FramedRecord, group_by_size
from fieldplay.messages.message_batches import Topic
from fieldplay.messages.records import Record
from fieldplay.recording.record_batches import Issues, RecordBatch, Single
from fieldplay.recording.recording import Message, Recording, RecordingInfo, TopicInfo
from fieldplay.streams.topic_batches import SpanSlice, Window, batches, record_slices
from fieldplay.streams.topic_stream import TopicStream
from fieldplay.topics.archive_topics import archive_topic_streams, full_topic, window_of
from fieldplay.topics.selection import Selection

if TYPE_CHECKING:
    from fieldplay.convert.conversion import BagOptions, Converted

FLOAT32 = "std_msgs/msg/Float32"


def batches_of_feeds(
    feeds: Sequence[TopicStream], first_ns: int | None = None, last_ns: int | None = None
) -> Iterator[tuple[RecordBatch | None, int]]:
    """The rows of feeds, with how many each batch stands for; no message is made.

    What is read row by row, as images, is read and checked in the order of time, so that topics which share it read
    it once; a row that is defective has no batch.
    """
    for interval in record_slices(feeds, first_ns, last_ns):
        light: dict[Topic, list[FramedRecord]] = {}
        heavy: list[tuple[int, int, SpanSlice[Record]]] = []
        for part in interval.slices:
            feed, record = feeds[part.source], part.loaded
            topic = Topic(feed.topic, feed.msgtype)
            if _is_heavy(record):
                heavy += zip(part.positions.tolist(), part.rows.tolist(), repeat(part))
            elif isinstance(record, Serialized):
                light.setdefault(topic, []).extend(record.framed_records(part.rows))
            else:
                light.setdefault(topic, []).extend(_frame_rows(feed, record, part.rows))
        for _, row, part in sorted(heavy):  # the positions differ
            feed = feeds[part.source]
            read = _read_row(feed, part.loaded, row)
            yield _batch(Topic(feed.topic, feed.msgtype), read) if read else None, 1
        for topic, framed in light.items():
            if framed:
                yield _batch(topic, framed), sum(len(one.record) for one in framed)


def _frame_rows(feed: TopicStream, record: Record, rows: NDArray[np.intp]) -> list[FramedRecord]:
    """Rows of a numeric record with their frames, rounded as messages hold them."""
    whole = record if len(rows) == len(record) else record.only(rows)
    return [FramedRecord(_as_sent(part, feed.msgtype), feed.frame, feed.child_frame) for part in _parts(whole)]


def _is_heavy(record: Record) -> bool:
    return record.heavy if isinstance(record, Serialized) else isinstance(record, records.Images | records.Clouds)


def _read_row(feed: TopicStream, record: Record, row: int) -> list[FramedRecord]:
    """One row of what is heavy; nothing where it is defective."""
    if isinstance(record, Serialized):
        return list(record.framed_records(np.array([row])))
    assert isinstance(record, records.Images | records.Clouds)
    one = _load_row(record, row)
    return [] if one is None else [FramedRecord(one, feed.frame, feed.child_frame)]


def _load_row(record: records.Images | records.Clouds, row: int) -> Record | None:
    """Load one row; None where it is defective."""
    try:
        data = record.load(row)
    except ArchiveError:
        return None
    order_ns = None if record.order_ns is None else record.order_ns[[row]]
    columns: dict[str, Any] = {"stamp_ns": record.stamp_ns[[row]], "order_ns": order_ns, "load": lambda _: data}
    return replace(record, names=(record.names[row],), **columns)


def _parts(record: Record) -> list[Record]:
    """A record in parts of which each has the same frames, or as many ranges, in all its rows."""
    parts = group_by_size(record)
    return [record.only(rows) for rows in parts] if len(parts) > 1 else [record]


def _as_sent(record: Record, msgtype: str) -> Record:
    """A record with the numbers as messages hold them, some with 32 bits only, as in a bag."""
    if not isinstance(record, records.LaserScans | records.Batteries) and msgtype != FLOAT32:
        return record
    columns = {entry.name: getattr(record, entry.name) for entry in fields(record)}
    floats = {name: c for name, c in columns.items() if isinstance(c, np.ndarray) and c.dtype == np.float64}
    rounded: dict[str, Any] = {name: c.astype(np.float32).astype(np.float64) for name, c in floats.items()}
    return replace(record, **rounded)


def _batch(topic: Topic, framed: list[FramedRecord]) -> RecordBatch:
    stamps = np.sort(np.concatenate([record.leaves_ns for record, *_ in framed]), kind="stable")
    return RecordBatch(topic, stamps, lambda: framed, lambda: _single(framed))


def _single(framed: list[FramedRecord]) -> Iterator[tuple[int, Single]]:
    """Rows one by one, each made when it is wanted."""
    for one in framed:
        for row, stamp_ns in enumerate(one.record.leaves_ns.tolist()):
            is_alone = len(one.record) == 1
            yield stamp_ns, partial(_row, one, None if is_alone else row)


def _row(one: FramedRecord, row: int | None) -> FramedRecord:
    return one if row is None else one._replace(record=one.record.only(np.array([row])))


def size_of_files(root: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    if not root.is_dir():
        return root.stat().st_size
    paths = (Path(folder, name) for folder, _, names in os.walk(root) for name in names)
    return sum(path.stat().st_size for path in paths if path.is_file())


class ArchiveRecording(Recording):
    """An archive of a dataset that fieldplay knows, or a bag opened as one; `selection` says what is taken of it."""

    def __init__(self, archive: Archive, selection: Selection | None = None) -> None:
        self.archive = archive
        self._selection = selection or Selection()
        self._issues = Issues()

    def close(self) -> None:
        self.archive.close()

    @property
    def spec(self) -> DatasetSpec | None:
        if self.archive.bag is None:
            return self.archive.spec
        return self.archive.origin.spec if self.archive.origin else None

    @property
    def custom_data(self) -> Mapping[str, str]:
        return custom_data_of(self.archive)

    def with_derived(self) -> "ArchiveRecording":
        return ArchiveRecording(self.archive, Selection(derived=True))

    @cached_property
    def _all_feeds(self) -> Sequence[TopicStream]:
        return archive_topic_streams(self.archive, self._selection)

    @cached_property
    def _feeds(self) -> Mapping[str, Sequence[TopicStream]]:
        feeds_by_topic: dict[str, list[TopicStream]] = {}
        for feed in self._all_feeds:
            feeds_by_topic.setdefault(feed.topic, []).append(feed)
        return feeds_by_topic

    @property
    def typed_topics(self) -> list[Topic]:
        return list(dict.fromkeys(Topic(feed.topic, feed.msgtype) for feed in self._all_feeds))

    @property
    def expected_counts(self) -> Mapping[str, int]:
        counts = Counter[str]()
        for feed in self._all_feeds:
            counts[feed.topic] += sum(span.count for span in feed.spans)
        return counts

    @property
    def issues(self) -> Issues:
        return self._issues

    @property
    def start_ns(self) -> int | None:
        return window_of(self.archive, self._selection).archive_ns

    @property
    def info(self) -> RecordingInfo:
        spec, root = self.archive.spec, self.archive.root
        chosen = [(name, str(value)) for name, value in self.archive.parameters.items()]
        changed = [(name, value) for name, value in chosen if value != str(spec.parameters[name].default)]
        topics = {full_topic(self.archive, self._selection, stream.topic): stream for stream in spec.streams}
        noted = {topic: stream for topic, stream in topics.items() if stream.note}
        return RecordingInfo(
            title=spec.title,
            name=root.resolve().name,
            kind=f"{spec.name} archive, {'a folder' if root.is_dir() else 'one file'}",
            size_bytes=size_of_files(root),
            facts=tuple((f"set: {name}", value) for name, value in changed),
            skip_gaps_s=spec.skip_gaps_s,
            notes={topic: stream.note for topic, stream in noted.items()},
            units={topic: stream.units for topic, stream in noted.items()},
        )

    def batches(self, progress: Progress = no_progress, only: Collection[str] | None = None) -> Iterator[RecordBatch]:
        feeds = [feed for feed in self._all_feeds if only is None or feed.topic in only]
        window = window_of(self.archive, self._selection)
        total = sum(span.count for feed in feeds for span in feed.spans)
        done = 0
        for batch, count in batches_of_feeds(
            feeds, window.first_ns if self._selection.start_s else None, window.last_ns
        ):
            done += count
            if batch is not None:
                yield batch
            progress(min(done / max(total, 1), 1.0), done)
        if only is None:
            from fieldplay.topics.topic_checks import check_settings

            check_settings(self.archive)
        self._report_defects()

    def _report_defects(self) -> None:
        defects = self.archive.defects
        for defect in defects.listed:
            location = defect.file if defect.row is None else f"{defect.file}, row {defect.row}"
            self._issues.add(defect.kind, location, defect.message)
        for (location, kind), count in defects.dropped.items():
            self._issues.add(kind, location, f"and {count} more", count=count)
        for note in self.archive.notes:
            self._issues.note(note)

    @cached_property
    def topics(self) -> Mapping[str, TopicInfo]:
        return {name: _info_of_feeds(name, feeds) for name, feeds in self._feeds.items()}

    @property
    def defects(self) -> Sequence[Defect]:
        return self.archive.defects.listed

    def check(self, *, progress: Progress = no_progress) -> Sequence[Defect]:
        from fieldplay.topics.topic_checks import check

        return check(self.archive, Selection(), progress=progress)

    def messages(self, *topics: str, start: float = 0.0, duration: float | None = None) -> Iterator[Message]:
        names = [self.topic(name).name for name in topics] or list(self.topics)
        feeds = [feed for name in names for feed in self._feeds[name]]
        feeds.sort(key=lambda feed: feed.rank)
        for batch in batches(feeds, range(len(feeds)), self._window(start, duration)):
            ends = np.cumsum(batch.size)
            data = np.empty(int(ends[-1]), np.uint8)
            batch.block.copy_to(data, ends - batch.size)
            starts = (ends - batch.size).tolist()
            for channel, stamp_ns, first, end in zip(
                batch.channel.tolist(), batch.stamp_ns.tolist(), starts, ends.tolist(), strict=True
            ):
                yield Message(feeds[channel].topic, stamp_ns, data[first:end].tobytes(), feeds[channel].msgtype)

    def _write_bag(
        self, out: Path, selection: Selection | None, options: "BagOptions", progress: Progress
    ) -> "Converted":
        from fieldplay.convert.conversion import convert  # only here: what only reads needs no writer

        return convert(self.archive, out, selection or self._selection, options, progress=progress)

    def _window(self, start: float, duration: float | None) -> Window:
        return window_of(self.archive, Selection(start_s=start, duration_s=duration))

    def _spans(self, topic: str, window: Window) -> Iterator[Record]:
        for feed in self._feeds[topic]:
            for index, span in enumerate(feed.spans):
                if span.last_ns >= window.first_ns and (window.last_ns is None or span.first_ns <= window.last_ns):
                    yield feed.records(index)

    def _rows(self, topic: str, window: Window) -> Iterator[tuple[Record, int]]:
        for interval in record_slices(self._feeds[topic], window.first_ns, window.last_ns):
            events = [
                (position, part.loaded, row)
                for part in interval.slices
                for position, row in zip(part.positions.tolist(), part.rows.tolist(), strict=True)
            ]
            for _, record, row in sorted(events, key=lambda event: event[0]):
                yield record, row

    def _report(self, defect: Defect) -> None:
        self.archive.defects(defect)


def _info_of_feeds(name: str, feeds: Sequence[TopicStream]) -> TopicInfo:
    spans = [span for feed in feeds for span in feed.spans]
    return TopicInfo(
        name=name,
        type=feeds[0].msgtype,
        count=sum(span.count for span in spans),
        first_ns=min((span.first_ns for span in spans), default=None),
        last_ns=max((span.last_ns for span in spans), default=None),
        frame=feeds[0].frame,
        child_frame=feeds[0].child_frame,
    )
