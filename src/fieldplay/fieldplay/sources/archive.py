"""An archive as a source: what `convert --derived` would write, and what was found wrong on the way."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fieldplay.sources.source import Findings, Subject
from fieldplay_archive.archive import Archive
from fieldplay_archive.outlets import checks as checking
from fieldplay_archive.outlets.archive_feeds import feeds_of_archive, full_topic
from fieldplay_archive.outlets.selection import Selection
from fieldplay_messages.batches import Batch, Part, Topic, batch_of_messages, parts_of_lengths
from fieldplay_messages.feeds.feed import Feed, SpanMessages
from fieldplay_messages.feeds.payloads import Payloads
from fieldplay_messages.feeds.timeline import Piece, Stretch, Timeline
from fieldplay_messages.feeds.timeline import Source as Feeding
from fieldplay_messages.progress import Progress


class ArchiveSource:
    """An open archive, or the part of it that is wanted; without checks nothing is told but what reading finds."""

    def __init__(self, archive: Archive, selection: Selection | None = None, *, checks: bool = True) -> None:
        selection = selection or Selection(derived=True)
        self._archive, self._checks = archive, checks
        self._feeds = feeds_of_archive(archive, selection)
        streams = [stream for stream in archive.spec.streams if stream.note]
        self._notes = {full_topic(archive, selection, stream.topic): stream.note for stream in streams}
        self._units = {full_topic(archive, selection, stream.topic): stream.units for stream in streams}
        self.findings = Findings()
        self.topics = list(dict.fromkeys(Topic(feed.topic, feed.msgtype) for feed in self._feeds))

    @property
    def subject(self) -> Subject:
        spec, root = self._archive.spec, self._archive.root
        chosen = [(name, str(value)) for name, value in self._archive.parameters.items()]
        changed = [(name, value) for name, value in chosen if value != str(spec.parameters[name].default)]
        return Subject(
            title=spec.title,
            name=root.resolve().name,
            kind=f"{spec.name} archive, {'a folder' if root.is_dir() else 'one file'}",
            size_bytes=size_of_files(root),
            facts=tuple((f"set: {name}", value) for name, value in changed),
            skip_gaps_s=spec.skip_gaps_s,
            notes=self._notes,
            units=self._units,
        )

    def batches(self, progress: Progress) -> Iterator[Batch]:
        """All messages; afterwards the dataset's own checks are asked, as `fieldplay check` does."""
        total = sum(span.count for feed in self._feeds for span in feed.spans)
        done = 0
        timeline = Timeline([Feeding(feed.spans, feed.load) for feed in self._feeds])
        for stretch in timeline.stretches():
            for batch, rows in _batches_of_stretch(stretch, self._feeds):
                done += rows
                if batch is not None:
                    yield batch
                progress(min(done / max(total, 1), 1.0), done)
        if self._checks:
            checking.check_settings(self._archive)
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


def size_of_files(root: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    if not root.is_dir():
        return root.stat().st_size
    paths = (Path(folder, name) for folder, _, names in os.walk(root) for name in names)
    return sum(path.stat().st_size for path in paths if path.is_file())


def _batches_of_stretch(stretch: Stretch[SpanMessages], feeds: Sequence[Feed]) -> Iterator[tuple[Batch | None, int]]:
    """Batches with the rows they stand for: what is heavy message by message, the rest topic by topic."""
    light: dict[Topic, list[Piece[SpanMessages]]] = {}
    for piece in stretch.pieces:
        feed = feeds[piece.source]
        topic = Topic(feed.topic, feed.msgtype)
        if not piece.loaded.heavy:
            light.setdefault(topic, []).append(piece)
            continue
        for row in range(len(piece.rows)):
            yield _batch(topic, stretch.stamp_ns, [(piece, slice(row, row + 1))]), 1
    for topic, pieces in light.items():
        yield (
            _batch(topic, stretch.stamp_ns, [(piece, slice(None)) for piece in pieces]),
            sum(len(piece.rows) for piece in pieces),
        )


def _batch(topic: Topic, stamp_ns: NDArray[np.int64], wanted: list[tuple[Piece[SpanMessages], slice]]) -> Batch | None:
    parts: list[Part] = []
    for piece, rows in wanted:
        payloads, kept = piece.loaded.payloads(piece.rows[rows])
        parts += _parts(stamp_ns[piece.positions[rows][kept]], payloads)
    if not parts:
        return None
    return batch_of_messages(topic, np.concatenate([part.stamp_ns for part in parts]), parts)


def _parts(stamp_ns: NDArray[np.int64], payloads: Payloads) -> list[Part]:
    size = payloads.size
    if not len(size):
        return []
    ends = np.cumsum(size)
    buffer = np.empty(int(ends[-1]), np.uint8)
    payloads.place(buffer, ends - size)
    if (size == size[0]).all():
        return [Part(stamp_ns, buffer.reshape(len(size), int(size[0])))]
    return parts_of_lengths(stamp_ns, [part.tobytes() for part in np.split(buffer, ends[:-1])])
