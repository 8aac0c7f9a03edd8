"""Bags in SQLite files as rosbag2's plugin sqlite3 of ROS 2 Jazzy writes them: schema version 4."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from fieldplay_messages.bags.channels import Channel
from fieldplay_messages.bags.contents import Contents
from fieldplay_messages.bags.metadata import ROS_DISTRO, VERSION, information_text, qos_text
from fieldplay_messages.errors import BagError
from fieldplay_messages.feeds.messages import Messages

BATCH_SIZE = 4 << 20

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
def _told() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OverflowError) as error:
        raise BagError(f"the bag's database cannot be written: {error}") from error


class SqliteStorage:
    """A bag's database while it is written."""

    name = "sqlite3"

    def __init__(self, path: Path) -> None:
        self._topics = 0
        self._types: set[str] = set()
        with _told():
            self._database = sqlite3.connect(path, isolation_level=None)
            for pragma in PRAGMAS:
                self._database.execute(f"PRAGMA {pragma}")
            self._database.executescript(f"BEGIN; {TABLES}")
            self._database.execute("INSERT INTO schema VALUES (4, ?)", (ROS_DISTRO,))

    def add_channel(self, channel: Channel) -> None:
        """Make the next channel known."""
        self._topics += 1
        with _told():
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

    def write(self, messages: Messages) -> None:
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
        with _told():
            self._database.execute("INSERT INTO metadata VALUES (NULL, ?, ?)", (VERSION, text))
            self._database.execute("COMMIT")
            self._database.close()

    def close(self) -> None:
        """Let go of a database that is not to be finished."""
        with _told():
            self._database.close()

    def _insert(self, messages: Messages) -> None:
        ends = np.cumsum(messages.size)
        starts = ends - messages.size
        buffer = np.empty(int(ends[-1]), np.uint8)
        messages.payloads.place(buffer, starts)
        blobs = map(buffer.data.__getitem__, map(slice, starts.tolist(), ends.tolist()))
        rows = zip(messages.channel.tolist(), messages.stamp_ns.tolist(), blobs, strict=True)
        with _told():
            self._database.executemany("INSERT INTO messages (topic_id, timestamp, data) VALUES (?, ?, ?)", rows)
