"""An archive as a source: what `convert --derived` would write, and what was found wrong on the way."""

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.bags.serialized_stream import Serialized
from fieldplay.core.errors import ArchiveError
from fieldplay.core.progress import Progress
from fieldplay.datasets.archive import Archive
from fieldplay.messages import records
from fieldplay.messages.encoders import parts_of_one_size
from fieldplay.messages.message_batches import Topic
from fieldplay.messages.record_decoder import FramedRecord
from fieldplay.messages.records import Record
from fieldplay.recording.record_source import (
    Issues,
    RecordBatch,
    RecordingInfo,
    Single,
)
from fieldplay.streams.timeline import SpanSlice
from fieldplay.streams.topic_batches import record_stretches
from fieldplay.streams.topic_stream import TopicStream
from fieldplay.topics.archive_topics import archive_topic_streams, full_topic, window_of
from fieldplay.topics.selection import Selection
from fieldplay.topics.topic_checks import check_settings

FLOAT32 = "std_msgs/msg/Float32"


class ArchiveSource:
    """An open archive, or the part of it that is wanted, with what is computed from it."""

    def __init__(self, archive: Archive, selection: Selection | None = None) -> None:
        selection = selection or Selection(derived=True)
        self._archive = archive
        self._feeds = archive_topic_streams(archive, selection)
        streams = [stream for stream in archive.spec.streams if stream.note]
        self._notes = {full_topic(archive, selection, stream.topic): stream.note for stream in streams}
        self._units = {full_topic(archive, selection, stream.topic): stream.units for stream in streams}
        window = window_of(archive, selection)
        self.begin_ns = window.archive_ns
        self._first_ns = window.first_ns if selection.start_s else None
        self._last_ns = window.last_ns
        self.findings = Issues()
        self.topics = list(dict.fromkeys(Topic(feed.topic, feed.msgtype) for feed in self._feeds))

    @property
    def subject(self) -> RecordingInfo:
        spec, root = self._archive.spec, self._archive.root
        chosen = [(name, str(value)) for name, value in self._archive.parameters.items()]
        changed = [(name, value) for name, value in chosen if value != str(spec.parameters[name].default)]
        return RecordingInfo(
            title=spec.title,
            name=root.resolve().name,
            kind=f"{spec.name} archive, {'a folder' if root.is_dir() else 'one file'}",
            size_bytes=size_of_files(root),
            facts=tuple((f"set: {name}", value) for name, value in changed),
            skip_gaps_s=spec.skip_gaps_s,
            notes=self._notes,
            units=self._units,
        )

    def batches(self, progress: Progress, only: Collection[str] | None = None) -> Iterator[RecordBatch]:
        """All rows; where no topics are named the dataset's own checks are asked then, as `fieldplay check` does."""
        feeds = [feed for feed in self._feeds if only is None or feed.topic in only]
        total = sum(span.count for feed in feeds for span in feed.spans)
        done = 0
        for batch, count in batches_of_feeds(feeds, self._first_ns, self._last_ns):
            done += count
            if batch is not None:
                yield batch
            progress(min(done / max(total, 1), 1.0), done)
        if only is None:
            check_settings(self._archive)
        self._tell_defects()

    def _tell_defects(self) -> None:
        defects = self._archive.defects
        for defect in defects.kept:
            place = defect.file if defect.row is None else f"{defect.file}, row {defect.row}"
            self.findings.add(defect.kind, place, defect.message)
        for (place, kind), count in defects.dropped.items():
            self.findings.add(kind, place, f"and {count} more", count=count)
        for note in self._archive.notes:
            self.findings.note(note)


def batches_of_feeds(
    feeds: Sequence[TopicStream], first_ns: int | None = None, last_ns: int | None = None
) -> Iterator[tuple[RecordBatch | None, int]]:
    """The rows of feeds, with how many each batch stands for; no message is made.

    What is read row by row, as pictures, is read and checked in the order of time, so that topics which share it read
    it once; a row that is defective has no batch.
    """
    for stretch in record_stretches(feeds, first_ns, last_ns):
        light: dict[Topic, list[FramedRecord]] = {}
        heavy: list[tuple[int, int, SpanSlice[Record]]] = []
        for piece in stretch.pieces:
            feed, record = feeds[piece.source], piece.loaded
            topic = Topic(feed.topic, feed.msgtype)
            if _is_heavy(record):
                heavy += zip(piece.positions.tolist(), piece.rows.tolist(), repeat(piece))
            elif isinstance(record, Serialized):
                light.setdefault(topic, []).extend(record.framed(piece.rows))
            else:
                light.setdefault(topic, []).extend(_framed(feed, record, piece.rows))
        for _, row, piece in sorted(heavy):  # the positions differ
            feed = feeds[piece.source]
            read = _read_row(feed, piece.loaded, row)
            yield _batch(Topic(feed.topic, feed.msgtype), read) if read else None, 1
        for topic, framed in light.items():
            if framed:
                yield _batch(topic, framed), sum(len(one.record) for one in framed)


def _framed(feed: TopicStream, record: Record, rows: NDArray[np.intp]) -> list[FramedRecord]:
    """Some rows of a record of numbers, as messages would hold them."""
    whole = record if len(rows) == len(record) else record.only(rows)
    return [FramedRecord(_as_sent(part, feed.msgtype), feed.frame, feed.child_frame) for part in _parts(whole)]


def _is_heavy(record: Record) -> bool:
    return record.heavy if isinstance(record, Serialized) else isinstance(record, records.Pictures | records.Clouds)


def _read_row(feed: TopicStream, record: Record, row: int) -> list[FramedRecord]:
    """One row of what is heavy; nothing where it is defective."""
    if isinstance(record, Serialized):
        return list(record.framed(np.array([row])))
    assert isinstance(record, records.Pictures | records.Clouds)
    one = _checked_row(record, row)
    return [] if one is None else [FramedRecord(one, feed.frame, feed.child_frame)]


def _checked_row(record: records.Pictures | records.Clouds, row: int) -> Record | None:
    """One row, read; None where it is defective."""
    try:
        data = record.load(row)
    except ArchiveError:
        return None
    order_ns = None if record.order_ns is None else record.order_ns[[row]]
    columns: dict[str, Any] = {"stamp_ns": record.stamp_ns[[row]], "order_ns": order_ns, "load": lambda _: data}
    return replace(record, names=(record.names[row],), **columns)


def _parts(record: Record) -> list[Record]:
    """A record in parts of which each has the same frames, or as many ranges, in all its rows."""
    parts = parts_of_one_size(record)
    return [record.only(rows) for rows in parts] if len(parts) > 1 else [record]


def _as_sent(record: Record, msgtype: str) -> Record:
    """A record with the numbers as messages hold them, some with 32 bits alone: a bag's page tells the same."""
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
