"""A bag as a source: what it is, its messages as records, and what the reader found wrong with it."""

from collections.abc import Collection, Iterable, Iterator
from functools import partial
from pathlib import Path

from fieldplay.bags.bag_reader import Ros2Bag
from fieldplay.bags.bag_topics import AS_USUAL, BagReading
from fieldplay.bags.open_bag import open_bag
from fieldplay.core.errors import Defect
from fieldplay.core.number_text import many
from fieldplay.core.progress import Progress
from fieldplay.datasets.origins import origin_of
from fieldplay.messages.decoders import DECODERS
from fieldplay.messages.message_batches import Batch, Topic
from fieldplay.messages.record_decoder import (
    SINGLE,
    FramedRecord,
    RecordDecoder,
    record_of_message,
)
from fieldplay.recording.archive_source import size_of_files
from fieldplay.recording.record_source import (
    Issues,
    RecordBatch,
    RecordingInfo,
    Single,
    tell_unreadable,
)


class BatchDecoder:
    """Makes records of batches of messages, when they are asked for, and counts what it cannot read."""

    def __init__(self) -> None:
        self._decoders: dict[Topic, RecordDecoder] = {}

    def decoded(self, batch: Batch) -> RecordBatch:
        """The rows of messages; of a type that no record is made of, and of what is no CDR, their times alone."""
        is_known = batch.topic.msgtype in DECODERS or batch.topic.msgtype in SINGLE
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

    def tell(self, findings: Issues) -> None:
        """Say which messages could not be read."""
        for topic, decoder in self._decoders.items():
            tell_unreadable(findings, topic, decoder.failed)


def _single(batch: Batch) -> Iterator[tuple[int, Single]]:
    for stamp_ns, data in batch.messages():
        yield stamp_ns, partial(record_of_message, batch.topic.msgtype, data, stamp_ns)


class BagSource:
    """A bag on the disk. It may be damaged: what can be read is given, and what cannot is told."""

    def __init__(self, path: Path, reading: BagReading = AS_USUAL) -> None:
        self._path = path
        self.begin_ns: int | None = None
        self.findings = Issues()
        self._bag = open_bag(path, self._tell, self.findings.note, reading)

    def close(self) -> None:
        """Let go of its files."""
        self._bag.close()

    @property
    def topics(self) -> list[Topic]:
        return self._bag.topics

    @property
    def subject(self) -> RecordingInfo:
        facts = [("storage", " and ".join(self._bag.storages))]
        for name, key in (("ROS distribution", "ros_distro"), ("compression", "compression_format")):
            if self._bag.information.get(key):
                facts.append((name, str(self._bag.information[key])))
        if len(self._bag.files) > 1:
            facts.append(("files", str(len(self._bag.files))))
        origin = origin_of(self._bag)
        if origin is not None:
            facts.append(("made of an archive of", f"{origin.spec.title} ({origin.spec.name})"))
            facts += [(name, str(text)) for name, text in origin.recording.items()]
        streams = [stream for stream in origin.spec.streams if stream.id in origin.topics] if origin else []
        return RecordingInfo(
            title=self._path.resolve().name,
            name=self._path.resolve().name,
            kind="rosbag2 bag" if isinstance(self._bag, Ros2Bag) else "bag of ROS 1",
            size_bytes=size_of_files(self._path),
            facts=tuple(facts),
            skip_gaps_s=origin.spec.skip_gaps_s if origin else 0.0,
            notes={origin.topics[stream.id]: stream.note for stream in streams if origin and stream.note},
            units={origin.topics[stream.id]: stream.units for stream in streams if origin and stream.units},
        )

    def batches(self, progress: Progress, only: Collection[str] | None = None) -> Iterator[RecordBatch]:
        """All rows, or those of some topics; all of the bag is read."""
        decoder, told = BatchDecoder(), False
        for batch in self._bag.batches(progress):
            if not told:
                told = True
                self._tell_early()
            first_ns = int(batch.stamp_ns[0])
            self.begin_ns = first_ns if self.begin_ns is None else min(self.begin_ns, first_ns)
            if only is None or batch.topic.name in only:
                yield decoder.decoded(batch)
        decoder.tell(self.findings)

    def _tell_early(self) -> None:
        early = self._bag.early
        text = f"{many(early, 'message')} logged at time 0, before the recorder had a clock: put to the start"
        self.findings.add("without_time", self._path.resolve().name, text, count=early)

    def _tell(self, defect: Defect) -> None:
        self.findings.add(defect.kind, defect.file, defect.message)
