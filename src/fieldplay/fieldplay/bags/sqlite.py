"""Bags in SQLite files as rosbag2's plugin sqlite3 has them.

They are written as of ROS 2 Jazzy, schema version 4, and read as far as they can be.
"""

import sqlite3
import threading
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from fieldplay.bags.metadata import (
    ROS_DISTRO,
    VERSION,
    information_text,
    qos_text,
)
from fieldplay.bags.storage import (
    BagMessage,
    Channel,
    Contents,
    MessageOffsets,
    StoredTopic,
    offsets_by_time,
)
from fieldplay.core.errors import ArchiveError, BagError, pluralize
from fieldplay.messages.message_batches import Topic, full_type
from fieldplay.streams.message_block import MergedBlock

BATCH_SIZE = 4 << 20
INDEXED_ROWS = 50_000  # at once
BLOCK_ROWS = 256  # that are read together, of one topic
ROWS = "SELECT topic_id, timestamp, data, id FROM messages"
UNREADABLE = (sqlite3.Error, OverflowError, UnicodeDecodeError, KeyError)

# A bag that is not finished is thrown away: nothing needs to be undone, and one sync at the end is enough.
PRAGMAS = ("journal_mode = OFF", "synchronous = OFF", "locking_mode = EXCLUSIVE")

TABLES = """
CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL);
CREATE TABLE metadata(id INTEGER PRIMARY KEY, metadata_version INTEGER NOT NULL, metadata TEXT NOT NULL);
CREATE TABLE topics(
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, serialization_format TEXT NOT NULL,
  offered_qos_profiles TEXT NOT NULL, type_description_hash TEXT NOT NULL);
CREATE TABLE message_definitions(
  id INTEGER PRIMARY KEY, topic_type TEXT NOT NULL, encoding TEXT NOT NULL,
  encoded_message_definition TEXT NOT NULL, type_description_hash TEXT NOT NULL);
CREATE TABLE messages(
  id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL, data BLOB NOT NULL);
CREATE INDEX timestamp_idx ON messages (timestamp ASC);
"""


@contextmanager
def _database_errors() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OverflowError) as error:
        raise BagError(f"the bag's database cannot be written: {error}") from error


class SqliteWriter:
    """A bag's database while it is written."""

    name = "sqlite3"

    def __init__(self, path: Path) -> None:
        self._topics = 0
        self._types: set[str] = set()
        with _database_errors():
            self._database = sqlite3.connect(path, isolation_level=None)
            for pragma in PRAGMAS:
                self._database.execute(f"PRAGMA {pragma}")
            self._database.executescript(f"BEGIN; {TABLES}")
            self._database.execute("INSERT INTO schema VALUES (4, ?)", (ROS_DISTRO,))

    def add_channel(self, channel: Channel) -> None:
        """Make the next channel known."""
        self._topics += 1
        with _database_errors():
            self._database.execute(
                "INSERT INTO topics VALUES (?, ?, ?, 'cdr', ?, ?)",
                (self._topics, channel.topic, channel.msgtype, qos_text(channel.qos), channel.type_hash),
            )
            if channel.msgtype not in self._types:
                self._types.add(channel.msgtype)
                self._database.execute(
                    "INSERT INTO message_definitions VALUES (NULL, ?, 'ros2msg', ?, ?)",
                    (channel.msgtype, channel.msgdef, channel.type_hash),
                )

    def write(self, messages: MergedBlock) -> None:
        """Insert messages of known channels."""
        ends = np.cumsum(messages.size)
        start = 0
        while start < len(messages):
            before = int(ends[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + BATCH_SIZE, side="right")))
            self._insert(messages.part(start, stop))
            start = stop

    def finish(self, contents: Contents, file_name: str) -> None:
        """Write the metadata and close the database."""
        text = information_text(contents, storage=self.name, file=file_name)
        with _database_errors():
            self._database.execute("INSERT INTO metadata VALUES (NULL, ?, ?)", (VERSION, text))
            self._database.execute("COMMIT")
            self._database.close()

    def close(self) -> None:
        """Let go of a database that is not to be finished."""
        with _database_errors():
            self._database.close()

    def _insert(self, messages: MergedBlock) -> None:
        ends = np.cumsum(messages.size)
        starts = ends - messages.size
        buffer = np.empty(int(ends[-1]), np.uint8)
        messages.block.copy_to(buffer, starts)
        blobs = map(buffer.data.__getitem__, map(slice, starts.tolist(), ends.tolist()))
        rows = zip(messages.channel.tolist(), messages.stamp_ns.tolist(), blobs, strict=True)
        with _database_errors():
            self._database.executemany("INSERT INTO messages (topic_id, timestamp, data) VALUES (?, ?, ?)", rows)


class SqliteReader:
    """A bag's database that is read; see StorageReader."""

    def __init__(self, path: Path) -> None:
        self.issues: list[str] = []
        self.topics: dict[int, StoredTopic] = {}
        self.position = 0
        self.information = ""
        self._lock = threading.Lock()
        journal = path.with_name(f"{path.name}-wal")
        if journal.is_file() and journal.stat().st_size:
            self.issues.append(f"{journal.name} holds messages that were not put into it; they are not read")
        # immutable: nothing is written beside the file, not even a journal
        name = f"file:{quote(str(path))}?immutable=1"
        self._database = sqlite3.connect(name, uri=True, check_same_thread=False)

    def close(self) -> None:
        self._database.close()

    def messages(self) -> Iterator[BagMessage]:
        unusable = 0
        try:
            self._read_topics()
            for number, stamp_ns, data, _ in self._rows():
                if number not in self.topics or not isinstance(data, bytes) or not isinstance(stamp_ns, int):
                    unusable += 1
                    continue
                self.position += len(data)
                stored = self.topics[number]
                yield BagMessage(stored.topic, stamp_ns, data, stored.is_cdr)
            self._report_unusable(unusable)
        except UNREADABLE as error:
            self.issues.append(f"it can be read only so far: {error}")

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        """Topic, time, data and number of all rows; where one cannot be read, those behind it are read one by one."""
        count = 0
        try:
            for row in self._database.execute(f"{ROWS} ORDER BY id"):
                count += 1
                yield row
            return
        except UNREADABLE as error:
            failure = error
        ids = array("q")  # only here: what is whole is read without a number kept for each row
        with suppress(*UNREADABLE):
            ids.extend(row_id for (row_id,) in self._database.execute("SELECT id FROM messages ORDER BY id"))
        known = np.asarray(ids, np.int64)
        left = known[count:][~np.isin(known[count:], known[:count])]
        first_rows = np.sort(np.unique(left, return_index=True)[1])  # a damaged page may name a row twice
        for row_id in left[first_rows].tolist():
            with suppress(*UNREADABLE):
                yield from self._database.execute(f"{ROWS} WHERE id = ?", (row_id,)).fetchall()
        self.issues.append(f"some of its messages cannot be read: {failure}")

    def index(self) -> Mapping[int, MessageOffsets]:
        """By their numbers, so many to a block; no message is read for it."""
        parts: list[NDArray[np.int64]] = [np.zeros((0, 3), np.int64)]
        try:
            self._read_topics()
            rows = self._database.execute(
                "SELECT topic_id, timestamp, id FROM messages"
                " WHERE id >= 0 AND typeof(topic_id) = 'integer' AND typeof(timestamp) = 'integer' ORDER BY id"
            )
            while some := rows.fetchmany(INDEXED_ROWS):
                parts.append(np.array(some, np.int64))
        except UNREADABLE as error:
            self.issues.append(f"it can be read only so far: {error}")
        number, stamp_ns, row = np.concatenate(parts).T
        known = np.isin(number, [topic for topic in self.topics if isinstance(topic, int)])
        self._report_unusable(int((~known).sum()))
        members = {topic: np.flatnonzero(number == topic) for topic in np.unique(number[known]).tolist()}
        return {
            topic: offsets_by_time(stamp_ns[rows], row[rows] // BLOCK_ROWS, row[rows])
            for topic, rows in members.items()
        }

    def read(self, block: int, offsets: Sequence[int]) -> Iterator[bytes]:
        requested = ",".join(map(str, offsets))
        try:
            with self._lock:
                rows = dict(self._database.execute(f"SELECT id, data FROM messages WHERE id IN ({requested})"))
        except UNREADABLE as error:
            if len(offsets) == 1:
                raise ArchiveError(f"the message in row {offsets[0]} cannot be read: {error}") from None
            for offset in offsets:
                yield from self.read(block, [offset])
            return
        for offset in offsets:
            data = rows.get(offset)
            if not isinstance(data, bytes):
                raise ArchiveError(f"expected a message in row {offset}, got none")
            yield data

    views = read

    def _read_topics(self) -> None:
        """Take in the topics, and the definitions of their types where the database has them."""
        definitions: dict[str, tuple[str, str]] = {}
        with suppress(*UNREADABLE):
            for msgtype, form, text in self._database.execute(
                "SELECT topic_type, encoding, encoded_message_definition FROM message_definitions"
            ):
                definitions[full_type(str(msgtype))] = str(text), str(form)
        with suppress(*UNREADABLE):
            for (text,) in self._database.execute("SELECT metadata FROM metadata ORDER BY id DESC LIMIT 1"):
                self.information = str(text)
        rows = self._database.execute("SELECT * FROM topics ORDER BY id")
        columns = [column for column, *_ in rows.description]
        for row in rows:
            entry = dict(zip(columns, row, strict=True))  # older databases have fewer columns
            topic = Topic(str(entry["name"]), full_type(str(entry["type"])))
            definition, form = definitions.get(topic.msgtype, ("", ""))
            self.topics[entry["id"]] = StoredTopic(
                topic,
                entry["serialization_format"] == "cdr",
                definition,
                form,
                str(entry.get("offered_qos_profiles") or ""),
                str(entry.get("type_description_hash") or ""),
                str(entry["serialization_format"]),
            )

    def _report_unusable(self, count: int) -> None:
        if count:
            self.issues.append(f"expected messages of topics that are listed, got {pluralize(count, 'row')} of others")
