"""The messages of a topic as the rows of a table: a column for each field, named as the field."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError, Defect, Report
from fieldplay.core.progress import Progress
from fieldplay.export.message_fields import MessageField, MessageGroup, fields_of_kind, item_fields
from fieldplay.export.table_columns import Columns, Lists
from fieldplay.export.table_file import Block
from fieldplay.messages.message_columns import Decoder
from fieldplay.streams.message_block import Messages
from fieldplay.streams.topic_batches import Window, batches
from fieldplay.streams.topic_stream import TopicStream
from fieldplay.topics.plain_bag_topics import kind_of_feed

LOG_TIME = "log_time_ns"
HEAVY = ("sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage", "sensor_msgs/msg/PointCloud2")
BLOCK_ROWS = 4096


@dataclass(frozen=True, kw_only=True)
class MessageRows:
    """The messages of one topic, which several feeds may share, in a window of time."""

    feeds: Sequence[TopicStream]
    window: Window
    lists: Lists = field(default_factory=Lists)
    units: Mapping[str, str] = field(default_factory=dict)

    time_name = LOG_TIME

    @property
    def name(self) -> str:
        return self.feeds[0].topic

    @property
    def row_bytes(self) -> float:
        """Of a table's row, about: the fields that are no list of unknown length."""
        return 16.0 * len(self.fields)

    @cached_property
    def fields(self) -> list[MessageField]:
        """Those that become columns; the bytes of pictures and clouds do not."""
        found = fields_of_kind(kind_of_feed(self.feeds[0]), self.units)
        return [each for each in found if not (each.is_bytes and self.feeds[0].msgtype in HEAVY)]

    @property
    def units_of_columns(self) -> dict[str, str]:
        """The units of the columns that have one."""
        return {each.name: each.unit for each in self.fields if each.unit}

    def unit(self, column: str) -> str:
        """The unit of a column, "" where it has none."""
        if column == LOG_TIME:
            return "ns"
        outer = (each for each in self.fields if column == each.name or column.startswith(f"{each.name}."))
        return next((each.unit for each in outer), "")

    def blocks(self, progress: Progress, report: Report) -> Iterator[Block]:
        decoder = Decoder(kind_of_feed(self.feeds[0]), strict=False)
        total, done = max(sum(span.count for feed in self.feeds for span in feed.spans), 1), 0
        for batch in batches(self.feeds, range(len(self.feeds)), self.window):
            for begin in range(0, len(batch), BLOCK_ROWS):
                part = batch.part(begin, min(begin + BLOCK_ROWS, len(batch)))
                yield self._block(part, decoder, report)
                done += len(part)
                progress(min(done / total, 1.0), done)

    def _block(self, messages: Messages, decoder: Decoder, report: Report) -> Block:
        gathered: dict[str, _Column] = {each.name: _Column(each.kind) for each in self._standing}
        for rows, data in of_one_size(messages):
            for own, layout in decoder.groups(data):
                if isinstance(layout, ArchiveError):
                    self._tell(messages.stamp_ns[rows[own]], layout, report)
                    continue
                group = MessageGroup(decoder.kind, layout, layout.records(data[own]))
                for each in self._columns(group, self.fields):
                    column = gathered.setdefault(each.name, _Column(each.kind))
                    column.parts.append((rows[own], group.values(each)))
        values = {name: column.values(len(messages)) for name, column in gathered.items() if column.parts}
        columns: Columns = {name: column.kind for name, column in gathered.items()}
        return Block(messages.stamp_ns, values, columns)

    @cached_property
    def _standing(self) -> list[MessageField]:
        """The fields that every message has as one column."""
        return [each for each in self.fields if not (each.is_list and self.lists.expands(each.name))]

    def _columns(self, group: MessageGroup, fields: Sequence[MessageField]) -> Iterator[MessageField]:
        """Fields, and in place of lists that are expanded their items."""
        for each in fields:
            if each.is_list and self.lists.expands(each.name):
                for index in range(group.length(each)):
                    yield from self._columns(group, item_fields(group.kind, each, index))
            else:
                yield each

    def _tell(self, stamp_ns: NDArray[np.int64], error: ArchiveError, report: Report) -> None:
        for stamp in stamp_ns.tolist():
            message = f"message at {stamp} ns: {error}; its row has a time alone"
            report(Defect(file=self.name, kind="damaged_message", message=message))


@dataclass
class _Column:
    """A column of a block while it is gathered: values of some rows after the others."""

    kind: str
    parts: list[tuple[NDArray[np.intp], NDArray[Any] | list[Any]]] = field(default_factory=list)

    def values(self, count: int) -> NDArray[Any] | list[Any]:
        """All rows in order, None where a row has no value."""
        first = self.parts[0][1]
        known = sum(len(rows) for rows, _ in self.parts)
        shapes = {part.shape[1:] if isinstance(part, np.ndarray) else None for _, part in self.parts}
        if isinstance(first, np.ndarray) and known == count and len(shapes) == 1:
            whole = np.empty((count, *first.shape[1:]), first.dtype.newbyteorder("="))
            for rows, part in self.parts:
                whole[rows] = part
            return whole
        found: list[Any] = [None] * count
        for rows, part in self.parts:
            for row, value in zip(rows.tolist(), part.tolist() if isinstance(part, np.ndarray) else part, strict=True):
                found[row] = value
        return found


def of_one_size(messages: Messages) -> Iterator[tuple[NDArray[np.intp], NDArray[np.uint8]]]:
    """The messages that have one length: which they are, and their bytes (n, size)."""
    order = np.argsort(messages.size, kind="stable")
    ends = np.cumsum(messages.size[order])
    begins = np.empty(len(order), np.int64)
    begins[order] = ends - messages.size[order]
    data = np.empty(int(ends[-1]), np.uint8)
    messages.payloads.place(data, begins)
    sizes, first = np.unique(messages.size[order], return_index=True)
    place = 0
    for size, begin, end in zip(sizes.tolist(), first.tolist(), [*first[1:].tolist(), len(order)], strict=True):
        yield order[begin:end], data[place : place + size * (end - begin)].reshape(end - begin, size)
        place += size * (end - begin)
