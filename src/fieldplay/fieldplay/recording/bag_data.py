"""A bag as `fieldplay.open` gives it."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.bags.decoding_check import DecodingCheck
from fieldplay.bags.open_bag import open_bag, open_joined_bag, reading_of_parameters
from fieldplay.convert.conversion import BagOptions, Converted, convert
from fieldplay.core.errors import (
    ArchiveError,
    Defect,
    UsageError,
    counted,
)
from fieldplay.core.progress import Progress, no_progress
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.archive import chosen_parameters
from fieldplay.datasets.origins import Origin, origin_of
from fieldplay.datasets.registry import BAG, open_dataset
from fieldplay.datasets.spec import DatasetSpec
from fieldplay.messages.decoders import DECODERS
from fieldplay.messages.message_batches import parts_of_lengths
from fieldplay.messages.record_decoder import SINGLE, RecordDecoder
from fieldplay.messages.records import Record
from fieldplay.recording.field_data import (
    STATIC,
    FieldData,
    Message,
    TopicInfo,
)
from fieldplay.streams.topic_batches import Window
from fieldplay.topics.selection import Selection

ROWS = 256  # messages of a bag that are read at once


class BagData(FieldData):
    """A bag of ROS 2 or ROS 1, whoever has written it; what can be read of a damaged one is given."""

    def __init__(self, path: Path, parameters: Mapping[str, Any] | None = None, *, more: Sequence[Path] = ()) -> None:
        self._defects: list[Defect] = []
        self.path = path
        self._parameters = dict(parameters or {})
        self.reading = reading_of_parameters(chosen_parameters(BAG, self._parameters))
        self.notes: list[str] = []
        self._bag = open_joined_bag([path, *more], self._defects.append, self._note, self.reading)

    @cached_property
    def origin(self) -> Origin | None:
        """The archive of which the bag was made, where it is one of ours."""
        return origin_of(self._bag)

    @property
    def spec(self) -> DatasetSpec | None:
        return self.origin.spec if self.origin else None

    @property
    def custom_data(self) -> Mapping[str, str]:
        return self._bag.custom_data

    @property
    def title(self) -> str:
        """What it is, for people."""
        made = f", made of an archive of {self.spec.title} ({self.spec.name})" if self.spec else ""
        return f"{self._bag.title}{made}"

    def close(self) -> None:
        self._bag.close()

    @cached_property
    def topics(self) -> Mapping[str, TopicInfo]:
        return {name: self._info(name) for name in self._bag.indexed}

    def stamps(self, topic: str) -> NDArray[np.int64]:
        """The log times of a topic's messages (n,)."""
        return self._bag.indexed[topic].places.stamp_ns

    @property
    def defects(self) -> Sequence[Defect]:
        return self._defects

    def check(self, *, progress: Progress = no_progress) -> Sequence[Defect]:
        bag = open_bag(self.path, self._report_once, reading=self.reading)
        try:
            decoding = DecodingCheck(bag)
            for batch in bag.batches(progress):
                for defect in decoding.defects(batch):
                    self._defects.append(defect)
            for defect in decoding.missing_definitions():
                self._report_once(defect)
        finally:
            bag.close()
        return self._defects

    def messages(self, *topics: str, start: float = 0.0, duration: float | None = None) -> Iterator[Message]:
        names = [self.topic(name).name for name in topics] or list(self.topics)
        window = self._window(start, duration)
        parts = [(name, *self._places(name, window)) for name in names]
        stamps = np.concatenate([np.zeros(0, np.int64), *(stamp_ns for _, stamp_ns, _ in parts)])
        whose = np.repeat(np.arange(len(parts)), [len(stamp_ns) for _, stamp_ns, _ in parts])
        rows = np.concatenate([np.zeros(0, np.intp), *(own for _, _, own in parts)])
        for event in np.argsort(stamps, kind="stable").tolist():
            name = names[whose[event]]
            data = self._read(name, int(rows[event]))
            if data is not None:
                yield Message(name, int(stamps[event]), data, self.topics[name].type)

    def _write_bag(self, out: Path, selection: Selection | None, options: BagOptions, progress: Progress) -> Converted:
        with open_dataset(self.path, BAG.name, self._parameters) as archive:
            try:
                return convert(archive, out, selection or Selection(), options, progress=progress)
            finally:
                for defect in archive.defects.kept:
                    self._report_once(defect)

    def _window(self, start: float, duration: float | None) -> Window:
        begin = min((int(topic.places.stamp_ns[0]) for topic in self._bag.indexed.values()), default=0)
        first = begin + round(start * NS_PER_S)
        return Window(begin, first, None if duration is None else first + round(duration * NS_PER_S))

    def _spans(self, topic: str, window: Window) -> Iterator[Record]:
        decoder, reader = self._decoder(topic), self._bag.topic(topic, ROWS)
        for index, span in enumerate(reader.spans):
            if topic != STATIC and not window.first_ns <= span.last_ns:
                continue
            if window.last_ns is not None and span.first_ns > window.last_ns:
                break
            read, stamps = reader.messages(index), reader.stamps(index)
            messages = [data for data in read if data is not None]
            parts = parts_of_lengths(stamps[[data is not None for data in read]], messages)
            yield from (framed.record for framed in decoder.records(parts))
        if decoder.failed:
            text = f"{topic}: {counted(decoder.failed, 'message')} cannot be read as {self.topics[topic].type}"
            self._report_once(Defect(file=self.path.name, kind="damaged_message", message=text))

    def _rows(self, topic: str, window: Window) -> Iterator[tuple[Record, int]]:
        stamps, rows = self._places(topic, window)
        decoder = self._decoder(topic)
        for stamp_ns, row in zip(stamps, rows.tolist(), strict=True):
            data = self._read(topic, row)
            if data is not None:
                for framed in decoder.records(parts_of_lengths(np.array([stamp_ns]), [data])):
                    yield from ((framed.record, at) for at in range(len(framed.record)))

    def _decoder(self, topic: str) -> RecordDecoder:
        msgtype = self.topics[topic].type
        if msgtype not in DECODERS and msgtype not in SINGLE:
            raise UsageError(f"{topic}: no columns are made of {msgtype}; messages() gives its bytes")
        return RecordDecoder(msgtype)

    def _places(self, topic: str, window: Window) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """The times (n,) of a topic's messages in a window, and their numbers; static frames are of every time."""
        stamp_ns = self._bag.indexed[topic].places.stamp_ns
        is_in = np.ones(len(stamp_ns), bool)
        if topic != STATIC:
            is_in = stamp_ns >= window.first_ns
            is_in &= stamp_ns <= (stamp_ns if window.last_ns is None else window.last_ns)
        rows = np.flatnonzero(is_in)
        return stamp_ns[rows], rows

    def _read(self, topic: str, row: int) -> bytes | None:
        places = self._bag.indexed[topic].places
        try:
            (data,) = self._bag.read_topic(topic, int(places.block[row]), [int(places.offset[row])])
            return data
        except ArchiveError as error:
            self._report_once(Defect(file=self.path.name, kind="damaged_message", message=f"{topic}: {error}"))
            return None

    def _info(self, name: str) -> TopicInfo:
        topic = self._bag.indexed[name]
        stamps, msgtype = topic.places.stamp_ns, topic.kind.msgtype
        frames = ("", "")
        data = self._read(name, 0) if msgtype in DECODERS or msgtype in SINGLE else None
        if data is not None:
            found = RecordDecoder(msgtype).records(parts_of_lengths(stamps[:1], [data]))
            frames = next(((framed.frame, framed.child_frame) for framed in found), frames)
        return TopicInfo(
            name=name,
            type=msgtype,
            count=len(stamps),
            first_ns=int(stamps[0]),
            last_ns=int(stamps[-1]),
            frame=frames[0],
            child_frame=frames[1],
        )

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def _report(self, defect: Defect) -> None:
        self._defects.append(defect)

    def _report_once(self, defect: Defect) -> None:
        if defect not in self._defects:
            self._defects.append(defect)
