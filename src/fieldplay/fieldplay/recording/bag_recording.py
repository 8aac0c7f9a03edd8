"""A bag as a `Recording`."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rosbags.interfaces import Nodetype

from fieldplay.bags.bag_reader import Ros2Bag
from fieldplay.bags.bag_topics import Bag
from fieldplay.bags.open_bag import open_joined_bag, reading_of_parameters
from fieldplay.bags.qos import needed_types, undefined_types
from fieldplay.core.errors import (
    ArchiveError,
    Defect,
    UsageError,
    pluralize,
)
from fieldplay.core.number_text import count_noun
from fieldplay.core.progress import Progress, no_progress
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.archive import chosen_parameters
from fieldplay.datasets.origins import Origin, origin_of
from fieldplay.datasets.registry import BAG, open_dataset
from fieldplay.datasets.spec import DatasetSpec
from fieldplay.messages.cdr_layout import NUMBERS, MessageKind
from fieldplay.messages.codec import MESSAGES, FramedRecord
from fieldplay.messages.message_batches import Batch, Topic, parts_of_lengths
from fieldplay.messages.message_columns import Decoder
from fieldplay.messages.record_decoder import SINGLE, RecordDecoder, record_of_message
from fieldplay.messages.records import Record
from fieldplay.recording.archive_recording import size_of_files
from fieldplay.recording.record_batches import Issues, RecordBatch, Single, report_unreadable
from fieldplay.recording.recording import STATIC, Message, Recording, RecordingInfo, TopicInfo
from fieldplay.streams.topic_batches import Window
from fieldplay.topics.selection import Selection

if TYPE_CHECKING:
    from fieldplay.convert.conversion import BagOptions, Converted

WIDE = "/wstring"  # how a text of wide characters looks, which is of no package
LISTED = 100  # issues of a topic; the others are counted
ROWS = 256  # messages of a bag that are read at once


# Messages of a bag as records.


class BatchDecoder:
    """Makes records of batches of messages, when they are asked for, and counts what it cannot read."""

    def __init__(self) -> None:
        self._decoders: dict[Topic, RecordDecoder] = {}

    def decode(self, batch: Batch) -> RecordBatch:
        """The rows of messages; of a type that no record is made of, and of what is no CDR, their times alone."""
        is_known = batch.topic.msgtype in MESSAGES or batch.topic.msgtype in SINGLE
        return RecordBatch(
            batch.topic,
            batch.stamp_ns,
            whole=partial(self._whole, batch),
            single=partial(_single, batch),
            is_readable=is_known and bool(batch.parts),
        )

    def _whole(self, batch: Batch) -> Iterable[FramedRecord]:
        if batch.topic not in self._decoders:
            self._decoders[batch.topic] = RecordDecoder(batch.topic.msgtype)
        return self._decoders[batch.topic].records(batch.parts)

    def report(self, issues: Issues) -> None:
        """Report which messages could not be read."""
        for topic, decoder in self._decoders.items():
            report_unreadable(issues, topic, decoder.failed)


def _single(batch: Batch) -> Iterator[tuple[int, Single]]:
    for stamp_ns, data in batch.messages():
        yield stamp_ns, partial(record_of_message, batch.topic.msgtype, data, stamp_ns)


# Whether the messages of a bag are of the types that their topics say: each is gone through field by field.


def _is_decodable(kind: MessageKind) -> bool:
    """Whether a type has only fields that a layout knows: texts of wide characters and the like it does not."""
    names = needed_types(kind.msgtype, kind.definitions)
    fields = (field for name in names for _, field in kind.definitions[name][1])
    return all(base in NUMBERS or base == "string" for field in fields for base in _base_types(field))


def _base_types(field: Any) -> Iterator[str]:
    node, inner = field
    if node == Nodetype.BASE:
        yield str(inner[0])
    elif node != Nodetype.NAME:
        yield from _base_types(inner[0])


class DecodingCheck:
    """Finds messages that are cut off or have another layout, and topics whose types nothing defines."""

    def __init__(self, bag: Bag) -> None:
        self._bag = bag
        self._undefined = {name: undefined_types(topic.kind) for name, topic in bag.indexed.items()}
        self._decoders = {
            name: Decoder(topic.kind, strict=False)
            for name, topic in bag.indexed.items()
            if not self._undefined[name] and topic.kind.is_cdr and _is_decodable(topic.kind)
        }
        self._counts: Counter[str] = Counter()

    def defects(self, batch: Batch) -> Iterator[Defect]:
        """The issues of some messages of a topic, each with the time at which it was logged."""
        name = batch.topic.name
        decoder = self._decoders.get(name)
        if decoder is None or decoder.kind.msgtype != batch.topic.msgtype:
            return
        for part in batch.parts:
            for rows, layout in decoder.groups(part.data):
                if isinstance(layout, ArchiveError):
                    self._counts[name] += len(rows)
                    if self._counts[name] <= LISTED:
                        seconds, rest = divmod(int(part.stamp_ns[rows[0]]), NS_PER_S)
                        message = f"{name}: the message logged at {seconds}.{rest:09d} s: {layout}"
                        yield Defect(file=self._bag.name, kind="damaged_message", stream=name, message=message)

    def missing_definitions(self) -> Iterator[Defect]:
        """The topics that cannot be decoded, and how many issues were not listed, once all is read."""
        for name, missing in self._undefined.items():
            missing = [name for name in missing if not name.endswith(WIDE)]
            if missing:
                what = f"expected a definition of {' and '.join(missing)}, got none; --msgs DIR takes .msg files"
                yield Defect(file=self._bag.name, kind="missing_definition", stream=name, message=f"{name}: {what}")
        for name, count in self._counts.items():
            if count > LISTED:
                message = f"{name}: and {pluralize(count - LISTED, 'message')} more that cannot be read"
                yield Defect(file=self._bag.name, kind="damaged_message", stream=name, message=message)


class BagRecording(Recording):
    """A bag of ROS 2 or ROS 1, whoever has written it; what can be read of a damaged one is given."""

    def __init__(self, path: Path, parameters: Mapping[str, Any] | None = None, *, more: Sequence[Path] = ()) -> None:
        self._defects: list[Defect] = []
        self._issues = Issues()
        self._start_ns: int | None = None
        self.path = path
        self._parameters = dict(parameters or {})
        self.reading = reading_of_parameters(chosen_parameters(BAG, self._parameters))
        self.notes: list[str] = []
        self._bag = open_joined_bag([path, *more], self._report, self._note, self.reading)

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
        origin = f", made of an archive of {self.spec.title} ({self.spec.name})" if self.spec else ""
        return f"{self._bag.title}{origin}"

    def close(self) -> None:
        self._bag.close()

    @property
    def typed_topics(self) -> list[Topic]:
        return self._bag.topics

    @property
    def issues(self) -> Issues:
        return self._issues

    @property
    def start_ns(self) -> int | None:
        return self._start_ns

    @property
    def info(self) -> RecordingInfo:
        facts = [("storage", " and ".join(self._bag.storages))]
        for name, key in (("ROS distribution", "ros_distro"), ("compression", "compression_format")):
            if self._bag.information.get(key):
                facts.append((name, str(self._bag.information[key])))
        if len(self._bag.files) > 1:
            facts.append(("files", str(len(self._bag.files))))
        origin = self.origin
        if origin is not None:
            facts.append(("made of an archive of", f"{origin.spec.title} ({origin.spec.name})"))
            facts += [(name, str(text)) for name, text in origin.recording.items()]
        streams = [stream for stream in origin.spec.streams if stream.id in origin.topics] if origin else []
        return RecordingInfo(
            title=self.path.resolve().name,
            name=self.path.resolve().name,
            kind="rosbag2 bag" if isinstance(self._bag, Ros2Bag) else "bag of ROS 1",
            size_bytes=size_of_files(self.path),
            facts=tuple(facts),
            skip_gaps_s=origin.spec.skip_gaps_s if origin else 0.0,
            notes={origin.topics[stream.id]: stream.note for stream in streams if origin and stream.note},
            units={origin.topics[stream.id]: stream.units for stream in streams if origin and stream.units},
        )

    def batches(self, progress: Progress = no_progress, only: Collection[str] | None = None) -> Iterator[RecordBatch]:
        decoder, is_reported = BatchDecoder(), False
        for batch in self._bag.batches(progress):
            if not is_reported:
                is_reported = True
                self._report_early()
            first_ns = int(batch.stamp_ns[0])
            self._start_ns = first_ns if self._start_ns is None else min(self._start_ns, first_ns)
            if only is None or batch.topic.name in only:
                yield decoder.decode(batch)
        decoder.report(self._issues)

    def _report_early(self) -> None:
        early = self._bag.early
        text = f"{count_noun(early, 'message')} logged at time 0, before the recorder had a clock: put to the start"
        self._issues.add("without_time", self.path.resolve().name, text, count=early)

    @cached_property
    def topics(self) -> Mapping[str, TopicInfo]:
        return {name: self._info(name) for name in self._bag.indexed}

    def stamps(self, topic: str) -> NDArray[np.int64]:
        """The log times of a topic's messages (n,)."""
        return self._bag.indexed[topic].offsets.stamp_ns

    @property
    def defects(self) -> Sequence[Defect]:
        return self._defects

    def check(self, *, progress: Progress = no_progress) -> Sequence[Defect]:
        decoding = DecodingCheck(self._bag)
        for batch in self._bag.batches(progress):
            self._defects.extend(decoding.defects(batch))
        for defect in decoding.missing_definitions():
            self._report_once(defect)
        return self._defects

    def messages(self, *topics: str, start: float = 0.0, duration: float | None = None) -> Iterator[Message]:
        names = [self.topic(name).name for name in topics] or list(self.topics)
        window = self._window(start, duration)
        parts = [(name, *self._rows_in_window(name, window)) for name in names]
        stamps = np.concatenate([np.zeros(0, np.int64), *(stamp_ns for _, stamp_ns, _ in parts)])
        whose = np.repeat(np.arange(len(parts)), [len(stamp_ns) for _, stamp_ns, _ in parts])
        rows = np.concatenate([np.zeros(0, np.intp), *(own for _, _, own in parts)])
        for event in np.argsort(stamps, kind="stable").tolist():
            name = names[whose[event]]
            data = self._read(name, int(rows[event]))
            if data is not None:
                yield Message(name, int(stamps[event]), data, self.topics[name].type)

    def _write_bag(
        self, out: Path, selection: Selection | None, options: "BagOptions", progress: Progress
    ) -> "Converted":
        from fieldplay.convert.conversion import convert

        with open_dataset(self.path, BAG.name, self._parameters) as archive:
            try:
                return convert(archive, out, selection or Selection(), options, progress=progress)
            finally:
                for defect in archive.defects.listed:
                    self._report_once(defect)

    def _window(self, start: float, duration: float | None) -> Window:
        start_ns = min((int(topic.offsets.stamp_ns[0]) for topic in self._bag.indexed.values()), default=0)
        first = start_ns + round(start * NS_PER_S)
        return Window(start_ns, first, None if duration is None else first + round(duration * NS_PER_S))

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
            text = f"{topic}: {pluralize(decoder.failed, 'message')} cannot be read as {self.topics[topic].type}"
            self._report_once(Defect(file=self.path.name, kind="damaged_message", message=text))

    def _rows(self, topic: str, window: Window) -> Iterator[tuple[Record, int]]:
        stamps, rows = self._rows_in_window(topic, window)
        decoder = self._decoder(topic)
        for stamp_ns, row in zip(stamps, rows.tolist(), strict=True):
            data = self._read(topic, row)
            if data is not None:
                for framed in decoder.records(parts_of_lengths(np.array([stamp_ns]), [data])):
                    yield from ((framed.record, at) for at in range(len(framed.record)))

    def _decoder(self, topic: str) -> RecordDecoder:
        msgtype = self.topics[topic].type
        if msgtype not in MESSAGES and msgtype not in SINGLE:
            raise UsageError(f"{topic}: no columns are made of {msgtype}; messages() gives its bytes")
        return RecordDecoder(msgtype)

    def _rows_in_window(self, topic: str, window: Window) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """The times (n,) of a topic's messages in a window, and their numbers; static frames are of every time."""
        stamp_ns = self._bag.indexed[topic].offsets.stamp_ns
        is_in = np.ones(len(stamp_ns), bool)
        if topic != STATIC:
            is_in = stamp_ns >= window.first_ns
            is_in &= stamp_ns <= (stamp_ns if window.last_ns is None else window.last_ns)
        rows = np.flatnonzero(is_in)
        return stamp_ns[rows], rows

    def _read(self, topic: str, row: int) -> bytes | None:
        index = self._bag.indexed[topic].offsets
        try:
            (data,) = self._bag.read_topic(topic, int(index.block[row]), [int(index.offset[row])])
            return data
        except ArchiveError as error:
            self._report_once(Defect(file=self.path.name, kind="damaged_message", message=f"{topic}: {error}"))
            return None

    def _info(self, name: str) -> TopicInfo:
        topic = self._bag.indexed[name]
        stamps, msgtype = topic.offsets.stamp_ns, topic.kind.msgtype
        frames = ("", "")
        data = self._read(name, 0) if msgtype in MESSAGES or msgtype in SINGLE else None
        if data is not None:
            records = RecordDecoder(msgtype).records(parts_of_lengths(stamps[:1], [data]))
            frames = next(((framed.frame, framed.child_frame) for framed in records), frames)
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
        self._issues.note(text)
        if text not in self.notes:
            self.notes.append(text)

    def _report(self, defect: Defect) -> None:
        self._defects.append(defect)
        self._issues.add(defect.kind, defect.file, defect.message)

    def _report_once(self, defect: Defect) -> None:
        if defect not in self._defects:
            self._defects.append(defect)
