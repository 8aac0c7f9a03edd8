"""An archive as `fieldplay.open` gives it."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fieldplay.convert.conversion import BagOptions, Converted, convert
from fieldplay.core.errors import Defect
from fieldplay.core.progress import Progress, no_progress
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.origins import custom_data_of
from fieldplay.datasets.registry import open_bags, open_dataset
from fieldplay.datasets.spec import DatasetSpec
from fieldplay.messages.records import Record
from fieldplay.recording.field_data import FieldData, Message, TopicInfo
from fieldplay.streams.topic_batches import Window, batches, record_stretches
from fieldplay.streams.topic_stream import TopicStream
from fieldplay.topics import topic_checks
from fieldplay.topics.archive_topics import archive_topic_streams, window_of
from fieldplay.topics.selection import Selection


class ArchiveData(FieldData):
    """An archive of a dataset that fieldplay knows, with what the nodes would compute where that is `derived`."""

    def __init__(self, archive: Archive, *, derived: bool = False) -> None:
        self.archive = archive
        self._selection = Selection(derived=derived)

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

    @cached_property
    def _feeds(self) -> Mapping[str, Sequence[TopicStream]]:
        found: dict[str, list[TopicStream]] = {}
        for feed in archive_topic_streams(self.archive, self._selection):
            found.setdefault(feed.topic, []).append(feed)
        return found

    @cached_property
    def topics(self) -> Mapping[str, TopicInfo]:
        return {name: _info_of_feeds(name, feeds) for name, feeds in self._feeds.items()}

    @property
    def defects(self) -> Sequence[Defect]:
        return self.archive.defects.kept

    def check(self, *, progress: Progress = no_progress) -> Sequence[Defect]:
        return topic_checks.check(self.archive, Selection(), progress=progress)

    def messages(self, *topics: str, start: float = 0.0, duration: float | None = None) -> Iterator[Message]:
        names = [self.topic(name).name for name in topics] or list(self.topics)
        feeds = [feed for name in names for feed in self._feeds[name]]
        feeds.sort(key=lambda feed: feed.rank)
        for batch in batches(feeds, range(len(feeds)), self._window(start, duration)):
            ends = np.cumsum(batch.size)
            data = np.empty(int(ends[-1]), np.uint8)
            batch.payloads.place(data, ends - batch.size)
            begins = (ends - batch.size).tolist()
            for channel, stamp_ns, begin, end in zip(
                batch.channel.tolist(), batch.stamp_ns.tolist(), begins, ends.tolist(), strict=True
            ):
                yield Message(feeds[channel].topic, stamp_ns, data[begin:end].tobytes(), feeds[channel].msgtype)

    def _write_bag(self, out: Path, selection: Selection | None, options: BagOptions, progress: Progress) -> Converted:
        return convert(self.archive, out, selection or self._selection, options, progress=progress)

    def _window(self, start: float, duration: float | None) -> Window:
        return window_of(self.archive, Selection(start_s=start, duration_s=duration))

    def _spans(self, topic: str, window: Window) -> Iterator[Record]:
        for feed in self._feeds[topic]:
            for index, span in enumerate(feed.spans):
                if span.last_ns >= window.first_ns and (window.last_ns is None or span.first_ns <= window.last_ns):
                    yield feed.records(index)

    def _rows(self, topic: str, window: Window) -> Iterator[tuple[Record, int]]:
        for stretch in record_stretches(self._feeds[topic], window.first_ns, window.last_ns):
            events = [
                (position, piece.loaded, row)
                for piece in stretch.pieces
                for position, row in zip(piece.positions.tolist(), piece.rows.tolist(), strict=True)
            ]
            for _, record, row in sorted(events, key=lambda event: event[0]):
                yield record, row

    def _report(self, defect: Defect) -> None:
        self.archive.defects(defect)


def open_archive_data(
    path: Path,
    dataset: str | None,
    parameters: Mapping[str, Any] | None,
    *,
    derived: bool = False,
    allow_empty: bool = False,
) -> ArchiveData:
    """An archive, though it be a bag; one without anything that can be read only where it is wanted for its defects."""
    return ArchiveData(open_dataset(path, dataset, parameters, allow_empty=allow_empty), derived=derived)


def open_bags_data(paths: Sequence[Path], parameters: Mapping[str, Any] | None) -> ArchiveData:
    """Several bags as one archive."""
    return ArchiveData(open_bags(paths, parameters))


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
