"""The storage files of rosbag2's plugin sqlite3, as far as they can be read."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from fieldplay.report.sources.mcap import StoredMessage
from fieldplay_messages.batches import Topic


@dataclass
class SqliteFile:
    """Reads a file row by row; what is damaged is told in `faults`."""

    path: Path
    faults: list[str] = field(default_factory=list)
    topics: list[Topic] = field(default_factory=list)
    position: int = 0

    def messages(self) -> Iterator[StoredMessage]:
        """All messages that can be read, in the order in which they were written."""
        journal = self.path.with_name(f"{self.path.name}-wal")
        if journal.is_file() and journal.stat().st_size:
            self.faults.append(f"{journal.name} holds messages that were not put into it; they are not read")
        try:
            # immutable: nothing is written beside the file, not even a journal
            with closing(sqlite3.connect(f"file:{quote(str(self.path))}?immutable=1", uri=True)) as connection:
                yield from self._rows(connection)
        except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
            self.faults.append(f"it can be read only so far: {error}")

    def _rows(self, connection: sqlite3.Connection) -> Iterator[StoredMessage]:
        topics = {}
        for number, name, msgtype, encoding in connection.execute(
            "SELECT id, name, type, serialization_format FROM topics ORDER BY id"
        ):
            topic = Topic(str(name), str(msgtype))
            topics[number] = (topic, encoding == "cdr")
            if topic not in self.topics:
                self.topics.append(topic)
        unusable = 0
        for number, stamp_ns, data in connection.execute("SELECT topic_id, timestamp, data FROM messages ORDER BY id"):
            if number not in topics or not isinstance(data, bytes) or not isinstance(stamp_ns, int):
                unusable += 1
                continue
            self.position += len(data)
            topic, is_cdr = topics[number]
            yield StoredMessage(topic, stamp_ns, data, is_cdr)
        if unusable:
            self.faults.append(f"expected messages of topics that are listed, got {unusable} rows that are none")
