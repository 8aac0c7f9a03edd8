"""Bags of ROS 2, whoever has written them: a folder with metadata.yaml or without, or a storage file alone.

A bag may be damaged or compressed, completely or message by message: the rest of a damaged one is read and reported.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rosbags.typesys import Stores, get_typestore

from fieldplay.bags.bag_detection import STORAGES, holds_storage, is_storage
from fieldplay.bags.bag_topics import (
    AS_USUAL,
    Bag,
    BagReading,
    IndexedTopic,
    kind_of_definition,
    mixed_types,
)
from fieldplay.bags.compression import (
    MCAP,
    SQLITE,
    ZSTD_MAGIC,
    decompress_file,
    decompress_message,
    describe_file,
    is_zstd,
    kind_of_file,
)
from fieldplay.bags.mcap_reader import McapReader
from fieldplay.bags.metadata import (
    METADATA,
    custom_data_of_information,
    information_of_text,
    profiles_of_information,
    read_information,
    topics_of_information,
)
from fieldplay.bags.qos import is_same_layout, needed_types
from fieldplay.bags.ros1 import Ros1Conversion, migration_of_kind
from fieldplay.bags.sqlite import SqliteReader
from fieldplay.bags.storage import (
    BagMessage,
    MessageOffsets,
    NoStorage,
    StorageReader,
    StoredTopic,
    merge_offsets,
)
from fieldplay.core.errors import (
    ArchiveError,
    BagError,
    Defect,
    Report,
    pluralize,
)
from fieldplay.core.progress import Progress
from fieldplay.messages.cdr_layout import MessageKind, layout_of_message, typestore
from fieldplay.messages.message_batches import (
    Batch,
    Topic,
    batch_of_messages,
    parts_of_lengths,
)

OLDER = (Stores.ROS2_HUMBLE, Stores.ROS2_GALACTIC, Stores.ROS2_FOXY, Stores.ROS2_DASHING)  # the later ones first
FILLING = 7  # bytes that may stand behind a message
LEAST_WALL_NS = 10**17  # three years: what is later is a time of day, not of a simulation
MOST_HELD = 4096
BATCH, BATCH_BYTES = 2048, 4 << 20
FILE_BITS = 48  # of a block's place: above them stands which of the bag's files it is


# Types that older distributions of ROS 2 define with other fields: their bags in SQLite hold no definitions.


@cache
def has_changed(msgtype: str) -> bool:
    """Whether a type of Jazzy, or one in it, had other fields in an older distribution."""
    jazzy = typestore().fielddefs
    for older in (get_typestore(store).fielddefs for store in OLDER):
        names = [name for name in needed_types(msgtype, older) if name in jazzy]
        if msgtype in older and any(older[name][1] != jazzy[name][1] for name in names):
            return True
    return False


def kind_of_messages(kind: MessageKind, messages: Iterable[bytes]) -> MessageKind:
    """Return a type as the distribution defines it of which some messages are; as it is if they fit or nothing does."""
    samples = list(messages)
    if not samples or _fits(kind, samples):
        return kind
    for store in OLDER:
        definitions = get_typestore(store).fielddefs
        older = MessageKind(msgtype=kind.msgtype, definitions=definitions, is_cdr=True)
        if kind.msgtype in definitions and _fits(older, samples):
            return older
    return kind


def _fits(kind: MessageKind, messages: list[bytes]) -> bool:
    """Whether all messages end where their last fields do."""
    try:
        return all(len(message) - len(layout_of_message(message, kind)) <= FILLING for message in messages)
    except ArchiveError:
        return False


@dataclass
class _Waiting:
    """Messages of a topic that make the next batch."""

    stamps: list[int] = field(default_factory=list)
    messages: list[bytes] = field(default_factory=list)
    size: int = 0


class Ros2Bag(Bag):
    """A bag of ROS 2, read from begin to end in batches, or topic by topic at random; see topics.Bag.

    What is wrong with it is reported, what is only worth knowing is noted. `topics` are those of the metadata, and of
    the files as far as they were read; where there are no metadata the files are indexed for them.
    """

    def __init__(
        self,
        path: Path,
        report: Report,
        note: Callable[[str], None] = lambda text: None,
        reading: BagReading = AS_USUAL,
    ) -> None:
        super().__init__(path.name, report)
        self._reading = reading
        self.path, self._note = path, note
        self._reported: set[Defect] = set()
        self.strange: Counter[str] = Counter()  # messages that are not in CDR, by their encoding
        self._open = ExitStack()
        self.information = self._read_information()
        self.files = self._storage_files()
        if not self.files:
            raise BagError(f"{path}: no storage file (.mcap, .db3) of a bag in it")
        self._topics = topics_of_information(self.information)
        self._is_packing_noted = False
        self._migrations: dict[tuple[str, str], Ros1Conversion | None] = {}
        self.readable = 0
        self.early = 0  # messages logged at time 0, before the recorder had a clock, which are put to the start
        self._packs_messages = str(self.information.get("compression_mode")).lower() == "message"

    @property
    def storages(self) -> list[str]:
        """The kinds of its files as rosbag2 calls them."""
        kinds = sorted({kind_of_file(file) for file in self.files} & {*STORAGES})
        return ["sqlite3" if kind == SQLITE else kind.removeprefix(".") for kind in kinds]

    @property
    def topics(self) -> list[Topic]:
        """The topics with their types, those without messages among them."""
        if not self._topics:
            self._topics += [Topic(name, topic.kind.msgtype) for name, topic in self.indexed.items()]
        return list(dict.fromkeys(self._topics))

    @property
    def profiles(self) -> Mapping[str, object]:
        return profiles_of_information(self.information)

    @property
    def custom_data(self) -> Mapping[str, str]:
        """By the metadata, or where there are none by the first file's own."""
        if self.information or not self.indexed:
            return custom_data_of_information(self.information)
        return custom_data_of_information(information_of_text(self._opened[0].information))

    @property
    def title(self) -> str:  # type: ignore[override]
        """What it is, for people."""
        if self.indexed or not self.strange:
            return "a bag of ROS 2"
        counts = " and ".join(
            f"{pluralize(count, 'message')} in {encoding}" for encoding, count in self.strange.items()
        )
        return f"{describe_file(self.files[0])} with {counts}, which is none of ROS 2"

    def close(self) -> None:
        self._open.close()

    def batches(self, progress: Progress) -> Iterator[Batch]:
        """All messages that can be read, in the order of the files, by topic in batches."""
        waiting: dict[tuple[Topic, bool], _Waiting] = {}
        self.readable = 0
        for message in self._fix_zero_times(self._messages(progress)):
            self.readable += 1
            queue = waiting.setdefault((message.topic, message.is_cdr), _Waiting())
            queue.stamps.append(message.stamp_ns)
            queue.messages.append(bytes(message.data))
            queue.size += len(message.data)
            if len(queue.stamps) >= BATCH or queue.size >= BATCH_BYTES:
                yield _batch(message.topic, message.is_cdr, waiting.pop((message.topic, message.is_cdr)))
        for (topic, is_cdr), queue in waiting.items():
            yield _batch(topic, is_cdr, queue)
        self._compare_counts(self.readable)

    def _compare_counts(self, count: int) -> None:
        expected = self.information.get("message_count")
        if isinstance(expected, int) and expected != count:
            self._report_once(
                "message_count", METADATA, f"expected {pluralize(expected, 'message')} as recorded there, got {count}"
            )

    def _report_once(self, kind: str, file: str, message: str) -> None:
        """Report an issue of a file, once: it may be indexed and read through."""
        issue = Defect(file=file, kind=kind, message=message)
        if issue not in self._reported:
            self._reported.add(issue)
            self.report(issue)

    def _messages(self, progress: Progress) -> Iterator[BagMessage]:
        total = max(sum(file.stat().st_size for file in self.files), 1)
        before = 0
        for path in self.files:
            with ExitStack() as stack:
                storage = self._storage(path, stack)
                migrations: dict[Topic, Ros1Conversion | None] = {}
                for message in storage.messages():
                    if message.is_cdr and self._is_packed(message.data):
                        message = message._replace(data=self._whole(message.data, path.name))
                    if message.topic not in migrations:
                        migrations[message.topic] = self._migration_in(storage, message.topic)
                    migration = migrations[message.topic]
                    yield message if migration is None else self._migrate(message, migration)
                    progress(min((before + storage.position) / total, 1.0), self.readable)
                self._close(storage, path)
            before += path.stat().st_size

    def _fix_zero_times(self, messages: Iterator[BagMessage]) -> Iterator[BagMessage]:
        """Move messages logged at time 0, before the recorder had a clock, to the first other time."""
        held: list[BagMessage] = []
        for first in messages:
            if first.stamp_ns or len(held) == MOST_HELD:
                break
            held.append(first)
        else:
            yield from held
            return
        start_ns = first.stamp_ns if first.stamp_ns > LEAST_WALL_NS else 0
        if start_ns:
            self.early = len(held)
        yield from (message._replace(stamp_ns=start_ns) for message in held)
        yield first
        yield from messages

    def _storage(self, path: Path, stack: ExitStack) -> StorageReader:
        """A storage file that is open until the stack is left; without the compression of the file as a whole."""
        limit = self._reading.unpack_limit
        kind = kind_of_file(path)
        if kind not in STORAGES:
            self._report_once(
                "damaged_bag", path.name, f"expected an MCAP or SQLite file of a bag, got {describe_file(path)}"
            )
            return NoStorage()
        if is_zstd(path):
            compressed, folder = path, stack.enter_context(TemporaryDirectory(prefix="fieldplay-"))
            path = Path(folder) / "unpacked"
            issue = decompress_file(compressed, path, limit)
            if issue:
                self._report_once("damaged_bag", compressed.name, issue)
        storage = McapReader(path, limit) if kind == MCAP else SqliteReader(path)
        stack.callback(storage.close)
        return storage

    def _close(self, storage: StorageReader, path: Path) -> None:
        """Report the issues of a file that was read through, and take over its topics."""
        for issue in storage.issues:
            self._report_once("damaged_bag", path.name, issue)
        topics = (stored.topic for stored in storage.topics.values())
        self._topics += [topic for topic in dict.fromkeys(topics) if topic not in self._topics]

    def _is_packed(self, data: bytes | memoryview) -> bool:
        """Whether a message is compressed on its own: by the metadata, which a crash leaves out, or by its bytes."""
        if self._packs_messages:
            return True
        is_packed = data[:4] == ZSTD_MAGIC
        if is_packed and not self._is_packing_noted:
            self._is_packing_noted = True
            self._note(f"{self.name}: messages are compressed one by one (zstd), which no metadata.yaml states")
        return is_packed

    def _whole(self, data: bytes | memoryview, name: str) -> bytes:
        try:
            return decompress_message(data, self._reading.unpack_limit)
        except ArchiveError as error:
            self.report(Defect(file=name, kind="damaged_message", message=str(error)))
            return b""

    @cached_property
    def _opened(self) -> Sequence[StorageReader]:
        return [self._storage(path, self._open) for path in self.files]

    @cached_property
    def indexed(self) -> Mapping[str, IndexedTopic]:
        parts: dict[tuple[Topic, str], list[tuple[StoredTopic, MessageOffsets]]] = {}
        count = 0
        for number, (path, storage) in enumerate(zip(self.files, self._opened, strict=True)):
            for key, offsets in storage.index().items():
                stored = storage.topics[key]
                count += len(offsets.stamp_ns)
                if not stored.is_cdr:
                    self._report_serialization(path, stored, len(offsets.stamp_ns))
                elif len(offsets.stamp_ns):
                    numbered = replace(offsets, block=offsets.block + (number << FILE_BITS))
                    parts.setdefault((stored.topic, stored.definition), []).append((stored, numbered))
            self._close(storage, path)
        self._compare_counts(count)
        return _with_times(self._join_topics(parts))

    def _join_topics(
        self, parts: Mapping[tuple[Topic, str], list[tuple[StoredTopic, MessageOffsets]]]
    ) -> dict[str, IndexedTopic]:
        """Join files and publishers by topic; only those that have the type of the topic's first one."""
        joined: dict[str, IndexedTopic] = {}
        for (topic, _), files in sorted(parts.items(), key=lambda item: not item[0][1]):  # definitions before none
            stored = files[0][0]
            offsets = merge_offsets([offsets for _, offsets in files])
            kind = self._kind_of(stored)
            if not self._is_defined(stored) and has_changed(topic.msgtype):
                kind = kind_of_messages(kind, self._samples(offsets))
            migration = migration_of_kind(kind)
            own = IndexedTopic(kind, offsets, stored)
            if migration is not None:
                self._note(f"{topic.name}: {topic.msgtype} is that of an older ROS 2; messages get Jazzy's new fields")
                plain = replace(stored, definition="", definition_form="", type_hash="")
                own = replace(own, kind=migration.kind, stored=plain, convert=migration)
            first = joined.setdefault(topic.name, own)
            if first is own:
                continue
            is_unknown = topic.msgtype == first.kind.msgtype and not stored.definition
            is_converted_alike = (first.convert is None) == (own.convert is None)
            if is_converted_alike and (is_unknown or is_same_layout(first.kind, own.kind)):
                joined[topic.name] = replace(first, offsets=merge_offsets([first.offsets, own.offsets]))
            else:
                issue = mixed_types(self.name, topic.name, own, first)
                self._report_once(issue.kind, issue.file, issue.message)
        order = dict.fromkeys(topic.name for topic, _ in parts)
        return {name: joined[name] for name in order}

    def _is_defined(self, stored: StoredTopic) -> bool:
        """Whether the bag, or the user, defines the type of a topic."""
        message_files = self._reading.message_files
        return bool(stored.definition) or (
            message_files is not None and bool(message_files.definitions_of(stored.topic.msgtype))
        )

    def _samples(self, offsets: MessageOffsets) -> Iterator[bytes]:
        """Some messages: the first, one between and the last, as far as they can be read."""
        count = len(offsets.stamp_ns)
        for row in sorted({0, count // 2, count - 1}):
            with suppress(ArchiveError):
                yield from self.read(int(offsets.block[row]), [int(offsets.offset[row])])

    def _kind_of(self, stored: StoredTopic) -> MessageKind:
        is_known = bool(stored.definition or stored.type_hash)  # else the text of a type without fields means nothing
        return kind_of_definition(
            stored.topic.msgtype,
            stored.definition,
            stored.definition_form if is_known else "",
            is_cdr=True,
            message_files=self._reading.message_files,
        )

    def _migration_in(self, storage: StorageReader, topic: Topic) -> Ros1Conversion | None:
        """What makes messages of a topic, which are of an older ROS 2, those of Jazzy; None where nothing must."""
        stored = next((own for own in storage.topics.values() if own.topic == topic), None)
        if stored and stored.is_cdr and not self._is_defined(stored) and has_changed(topic.msgtype):
            indexed = self.indexed.get(topic.name)  # which has looked at some messages
            convert = indexed.convert if indexed and indexed.kind.msgtype == topic.msgtype else None
            return convert if isinstance(convert, Ros1Conversion) else None
        key = (topic.msgtype, stored.definition if stored else "")
        if key not in self._migrations:
            self._migrations[key] = migration_of_kind(self._kind_of(stored)) if stored and stored.is_cdr else None
        return self._migrations[key]

    def _migrate(self, message: BagMessage, migration: Ros1Conversion) -> BagMessage:
        """Convert a message to Jazzy's layout; of one that is not of its type only the time is left."""
        try:
            return message._replace(data=migration(bytes(message.data)))
        except ArchiveError as error:
            self.report_damaged_message(message.topic.name, message.stamp_ns, error)
            return message._replace(is_cdr=False)

    def _report_serialization(self, path: Path, stored: StoredTopic, count: int) -> None:
        if count:
            self.strange.update({stored.encoding or "another form": count})
            what = f"expected messages in CDR, got {pluralize(count, 'message')} in {stored.encoding or 'another form'}"
            self._report_once("not_cdr", path.name, f"{stored.topic.name}: {what}, which are left out")

    def read(self, block: int, offsets: Sequence[int]) -> Iterator[bytes]:
        limit = self._reading.unpack_limit
        for data in self._opened[block >> FILE_BITS].read(block & (1 << FILE_BITS) - 1, offsets):
            yield decompress_message(data, limit) if self._is_packed(data) else data

    def view(self, name: str, block: int, offset: int) -> bytes | memoryview:
        if self.indexed[name].convert is not None:
            return super().view(name, block, offset)
        (data,) = self._opened[block >> FILE_BITS].views(block & (1 << FILE_BITS) - 1, [offset])
        return decompress_message(data, self._reading.unpack_limit) if self._is_packed(data) else data

    def report_damaged(self, block: int, message: str) -> None:
        self._report_once("damaged_bag", self.files[block >> FILE_BITS].name, message)

    def _read_information(self) -> dict[str, Any]:
        if not self.path.is_dir():
            return {}
        information, issue = read_information(self.path)
        if issue:
            self._report_once("damaged_bag", METADATA, issue)
        return information

    def _storage_files(self) -> list[Path]:
        """The files that the metadata name, in order, and those that it does not."""
        if not self.path.is_dir():
            return [self.path]
        named = self.information.get("relative_file_paths")
        paths = [self.path / Path(str(name)).name for name in named] if isinstance(named, list) else []
        for path in paths:
            if not path.is_file():
                self._report_once("damaged_bag", path.name, "metadata.yaml names this file, but it is not there")
        others = sorted(path for path in self.path.iterdir() if is_storage(path) and path not in paths)
        if paths:
            for path in others:
                self._report_once("unlisted_file", path.name, "metadata.yaml does not name this file; it is not read")
        return [path for path in paths if is_storage(path) or holds_storage(path)] or others


def _with_times(indexed: Mapping[str, IndexedTopic]) -> dict[str, IndexedTopic]:
    """The topics, with messages logged at time 0 moved to the first other time, as `_fix_zero_times` does."""
    stamps = [topic.offsets.stamp_ns for topic in indexed.values()]
    later = [int(stamp_ns[stamp_ns > 0][0]) for stamp_ns in stamps if stamp_ns[-1] > 0]
    start_ns = min(later, default=0)
    if start_ns <= LEAST_WALL_NS or all(stamp_ns[0] > 0 for stamp_ns in stamps):
        return dict(indexed)

    def at_start(offsets: MessageOffsets) -> MessageOffsets:
        return replace(offsets, stamp_ns=np.where(offsets.stamp_ns > 0, offsets.stamp_ns, start_ns))

    return {name: replace(topic, offsets=at_start(topic.offsets)) for name, topic in indexed.items()}


def _batch(topic: Topic, is_cdr: bool, queue: _Waiting) -> Batch:
    stamp_ns = np.array(queue.stamps, np.int64)
    return batch_of_messages(topic, stamp_ns, parts_of_lengths(stamp_ns, queue.messages) if is_cdr else [])
