"""Topics as tables: CSV or Parquet, a row for each message."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray
from rosbags.interfaces import Nodetype

from fieldplay.bags.qos import undefined_types
from fieldplay.core.errors import ArchiveError, Defect, Report
from fieldplay.core.progress import Progress
from fieldplay.core.resources import config_folders
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.export.folder import ExportedFeeds, ExportedTopic
from fieldplay.export.table_columns import (
    BOOLEAN,
    INTEGER,
    LARGE,
    LIST,
    NUMBER,
    SINGLE,
    TEXT,
    Columns,
    Lists,
)
from fieldplay.export.table_file import (
    Block,
    TableSummary,
    TooManyColumnsError,
    file_names,
    write_table,
)
from fieldplay.messages.cdr_layout import NUMBERS, Layout, MessageKind
from fieldplay.messages.message_columns import Decoder
from fieldplay.recording.record_batches import TF
from fieldplay.streams.message_block import MergedBlock
from fieldplay.streams.topic_batches import Window, batches
from fieldplay.streams.topic_stream import TopicStream
from fieldplay.topics.plain_bag_topics import kind_of_feed

UNITS_FILE = "units.yaml"
TIMES = ("builtin_interfaces/msg/Time", "builtin_interfaces/msg/Duration")
BYTES = ("uint8", "byte", "char", "octet")
KINDS = {"bool": BOOLEAN, "uint64": LARGE, "float32": SINGLE, "float64": NUMBER, "string": TEXT}
Units = Mapping[str, Mapping[str, str]]  # by type and field
LOG_TIME = "log_time_ns"
HEAVY = ("sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage", "sensor_msgs/msg/PointCloud2")
BLOCK_ROWS = 4096
TRANSFORMS = "transforms"
STAMP, PARENT, CHILD = "stamp_ns", "parent", "child"
TRANSFORM_NUMBERS = {  # columns, by the path in a transform
    "x": "transform.translation.x", "y": "transform.translation.y", "z": "transform.translation.z",
    "qx": "transform.rotation.x", "qy": "transform.rotation.y",
    "qz": "transform.rotation.z", "qw": "transform.rotation.w",
}  # fmt: skip
COLUMNS: Columns = {STAMP: INTEGER, PARENT: TEXT, CHILD: TEXT, **dict.fromkeys(TRANSFORM_NUMBERS, NUMBER)}
TRANSFORM_UNITS = {STAMP: "ns", "x": "m", "y": "m", "z": "m"}
ROW_BYTES = 120.0


# The fields of a message type in the order of its definition, with their units, and their values in many messages.


@cache
def field_units() -> Units:
    """The units of `config/units.yaml`."""
    file = next(folder / UNITS_FILE for folder in config_folders() if (folder / UNITS_FILE).is_file())
    units: Units = yaml.safe_load(file.read_text("utf-8"))
    return units


@dataclass(frozen=True, kw_only=True)
class MessageField:
    """A field of a message: what `description` says of it, as rosbags has it, is a number, a text, a time or a list.

    `path` is as layouts have it, `name` the one of a column: transforms[0].child_frame_id and transforms.0....
    """

    path: str
    description: Any
    unit: str = ""

    @property
    def name(self) -> str:
        return self.path.replace("[", ".").replace("]", "")

    @property
    def is_time(self) -> bool:
        return bool(self.description[0] == Nodetype.NAME)

    @property
    def is_list(self) -> bool:
        return self.description[0] in (Nodetype.ARRAY, Nodetype.SEQUENCE)

    @property
    def element(self) -> Any:
        """Of a list, what each of its items is."""
        return self.description[1][0]

    @property
    def is_bytes(self) -> bool:
        """Whether it is a list of any length of bytes."""
        return self.description[0] == Nodetype.SEQUENCE and _base(self.element) in BYTES

    @property
    def holds_messages(self) -> bool:
        return self.is_list and self.element[0] == Nodetype.NAME

    @property
    def kind(self) -> str:
        """The kind of column that holds it; messages are JSON."""
        if self.is_time:
            return INTEGER
        if not self.is_list:
            return KINDS.get(_base(self.description), INTEGER)
        return TEXT if self.holds_messages else LIST + KINDS.get(_base(self.element), INTEGER)


def _base(description: Any) -> str:
    """The name of a plain type; "" of others."""
    return str(description[1][0]) if description[0] == Nodetype.BASE else ""


def fields_of_kind(kind: MessageKind, own_units: Mapping[str, str]) -> list[MessageField]:
    """The fields of a message; a list is one. `own_units` are those of a topic, by the field's first name."""
    message_fields = list(_fields(kind, kind.msgtype, "", unit=""))
    own = ((field, own_units.get(field.path.partition(".")[0])) for field in message_fields)
    return [field if unit is None else MessageField(**{**vars(field), "unit": unit}) for field, unit in own]


def _fields(kind: MessageKind, msgtype: str, before: str, *, unit: str) -> Iterator[MessageField]:
    units = field_units().get(msgtype, {})
    for name, description in kind.definitions[msgtype][1]:
        yield from _of_member(kind, f"{before}{name}", description, unit=units.get(name, unit))


def _of_member(kind: MessageKind, path: str, description: Any, *, unit: str) -> Iterator[MessageField]:
    node, inner = description
    if node == Nodetype.NAME and inner not in TIMES:
        yield from _fields(kind, inner, f"{path}.", unit=unit)
        return
    is_number = node != Nodetype.NAME and _base(description if node == Nodetype.BASE else inner[0]) in NUMBERS
    member_unit = "ns" if node == Nodetype.NAME else unit if is_number else ""
    yield MessageField(path=path, description=description, unit=member_unit)


def item_fields(kind: MessageKind, field: MessageField, index: int) -> list[MessageField]:
    """The fields of one item of a list."""
    return list(_of_member(kind, f"{field.path}[{index}]", field.element, unit=field.unit))


@dataclass(frozen=True, eq=False)
class MessageGroup:
    """n messages of one layout: their numbers as records (n,)."""

    kind: MessageKind
    layout: Layout
    rows: NDArray[np.void]

    def length(self, field: MessageField) -> int:
        """How many items a list has."""
        if field.description[0] == Nodetype.ARRAY:
            return int(field.description[1][1])
        constant = self.layout.constants[field.path]
        return constant if isinstance(constant, int) else len(constant)

    def values(self, field: MessageField) -> NDArray[Any] | list[Any]:
        """A time or number of each message (n,), a list of them (n, k); texts, lists of texts, and of messages."""
        if field.is_time:
            seconds = self.rows[f"{field.path}.sec"].astype(np.int64)
            return seconds * NS_PER_S + self.rows[f"{field.path}.nanosec"].astype(np.int64)
        if field.holds_messages:
            return self._messages(field)
        outer, _, index = field.path.rpartition("[")
        if not field.is_list and index.endswith("]") and field.path not in self.layout.constants:
            return self._item(outer, int(index[:-1]))
        if field.path in self.layout.constants:
            constant = self.layout.constants[field.path]
            if isinstance(constant, int):  # a list of numbers
                return self._numbers(field, field.element) if constant else np.zeros((len(self.rows), 0))
            return [constant if isinstance(constant, str) else list(constant)] * len(self.rows)
        if field.kind == LIST + TEXT:
            return [[self.layout.text(f"{field.path}[{at}]") for at in range(self.length(field))]] * len(self.rows)
        return self._numbers(field, field.element if field.is_list else field.description)

    def _item(self, path: str, index: int) -> NDArray[Any] | list[Any]:
        """A number or a text of a list."""
        texts = self.layout.constants.get(path)
        if isinstance(texts, int) or texts is None:
            return np.asarray(self.rows[path][:, index])
        return [texts[index]] * len(self.rows)

    def _numbers(self, field: MessageField, description: Any) -> NDArray[Any]:
        column = self.rows[field.path]
        return column.astype(bool) if _base(description) == "bool" else column

    def _messages(self, field: MessageField) -> list[Any]:
        """Of each message the list of those within it, as plain data."""
        items = [self._items(field, index) for index in range(self.length(field))]
        return [list(row) for row in zip(*items, strict=True)] if items else [[]] * len(self.rows)

    def _items(self, field: MessageField, index: int) -> list[Any]:
        """Of each message one of those within it."""
        fields = item_fields(self.kind, field, index)
        columns = [_plain_values(self.values(each)) for each in fields]
        if fields[0].path.endswith("]"):  # a list of times
            return columns[0]
        names = [each.path.removeprefix(f"{field.path}[{index}].").split(".") for each in fields]
        return [_nest(names, row) for row in zip(*columns, strict=True)]


def _plain_values(values: NDArray[Any] | list[Any]) -> list[Any]:
    """As Python has them; numbers of 32 bits with the shortest digits."""
    if not isinstance(values, np.ndarray):
        return values
    if values.dtype.kind == "f" and values.dtype.itemsize < np.dtype(float).itemsize:
        values = values.astype("U").astype(float)
    plain: list[Any] = values.tolist()
    return plain


def _nest(names: Sequence[Sequence[str]], values: Sequence[Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for (*outer, last), value in zip(names, values, strict=True):
        level = nested
        for name in outer:
            level = level.setdefault(name, {})
        level[last] = value
    return nested


# The messages of a topic as the rows of a table: a column for each field, named as the field.


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
        """Those that become columns; the bytes of images and clouds do not."""
        message_fields = fields_of_kind(kind_of_feed(self.feeds[0]), self.units)
        return [each for each in message_fields if not (each.is_bytes and self.feeds[0].msgtype in HEAVY)]

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
            for start in range(0, len(batch), BLOCK_ROWS):
                part = batch.part(start, min(start + BLOCK_ROWS, len(batch)))
                yield self._block(part, decoder, report)
                done += len(part)
                progress(min(done / total, 1.0), done)

    def _block(self, messages: MergedBlock, decoder: Decoder, report: Report) -> Block:
        gathered: dict[str, _Column] = {each.name: _Column(each.kind) for each in self._fixed_fields}
        for rows, data in group_by_size(messages):
            for own, layout in decoder.groups(data):
                if isinstance(layout, ArchiveError):
                    self._report_defects(messages.stamp_ns[rows[own]], layout, report)
                    continue
                group = MessageGroup(decoder.kind, layout, layout.records(data[own]))
                for each in self._columns(group, self.fields):
                    column = gathered.setdefault(each.name, _Column(each.kind))
                    column.parts.append((rows[own], group.values(each)))
        values = {name: column.values(len(messages)) for name, column in gathered.items() if column.parts}
        columns: Columns = {name: column.kind for name, column in gathered.items()}
        return Block(messages.stamp_ns, values, columns)

    @cached_property
    def _fixed_fields(self) -> list[MessageField]:
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

    def _report_defects(self, stamp_ns: NDArray[np.int64], error: ArchiveError, report: Report) -> None:
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
        column: list[Any] = [None] * count
        for rows, part in self.parts:
            for row, value in zip(rows.tolist(), part.tolist() if isinstance(part, np.ndarray) else part, strict=True):
                column[row] = value
        return column


def group_by_size(messages: MergedBlock) -> Iterator[tuple[NDArray[np.intp], NDArray[np.uint8]]]:
    """Group messages by length: their rows, and their bytes (n, size)."""
    order = np.argsort(messages.size, kind="stable")
    ends = np.cumsum(messages.size[order])
    starts = np.empty(len(order), np.int64)
    starts[order] = ends - messages.size[order]
    data = np.empty(int(ends[-1]), np.uint8)
    messages.block.copy_to(data, starts)
    sizes, first = np.unique(messages.size[order], return_index=True)
    offset = 0
    for size, start, end in zip(sizes.tolist(), first.tolist(), [*first[1:].tolist(), len(order)], strict=True):
        yield order[start:end], data[offset : offset + size * (end - start)].reshape(end - start, size)
        offset += size * (end - start)


# The transforms of a topic of tf as the rows of a table: a row for each transform.


class TransformRows(MessageRows):
    """The transforms on a topic of tf in a window of time."""

    @property
    def row_bytes(self) -> float:
        return ROW_BYTES

    @property
    def units_of_columns(self) -> dict[str, str]:
        return TRANSFORM_UNITS

    def unit(self, column: str) -> str:
        """The unit of a column, "" where it has none."""
        return "ns" if column == LOG_TIME else TRANSFORM_UNITS.get(column, "")

    def _block(self, messages: MergedBlock, decoder: Decoder, report: Report) -> Block:
        """The transforms of some messages, in their order."""
        order: list[NDArray[np.int64]] = [np.zeros((0, 2), np.int64)]
        gathered: dict[str, list[NDArray[Any]]] = {name: [np.zeros(0, object)] for name in COLUMNS}
        for rows, data in group_by_size(messages):
            for own, layout in decoder.groups(data):
                if isinstance(layout, ArchiveError):
                    message = f"message at {int(messages.stamp_ns[rows[own[0]]])} ns: {layout}; it is left out"
                    report(Defect(file=self.name, kind="damaged_message", message=message))
                    continue
                for index in range(_count(layout)):
                    order.append(np.stack([rows[own], np.full(len(own), index)], axis=1))
                    for name, column in _columns(layout, data[own], index).items():
                        gathered[name].append(column)
        indices = np.concatenate(order)
        sorting = np.lexsort((indices[:, 1], indices[:, 0]))
        values = {name: np.concatenate(parts)[sorting].tolist() for name, parts in gathered.items()}
        return Block(messages.stamp_ns[indices[sorting, 0]], values if len(sorting) else {}, COLUMNS)


def _count(layout: Layout) -> int:
    count = layout.constants[TRANSFORMS]
    return count if isinstance(count, int) else 0


def _columns(layout: Layout, data: NDArray[np.uint8], index: int) -> dict[str, NDArray[Any]]:
    """One transform of each of some messages (n, size) of a layout."""
    at, records = f"{TRANSFORMS}[{index}]", layout.records(data)
    seconds = records[f"{at}.header.stamp.sec"].astype(np.int64)
    stamp_ns = seconds * np.int64(NS_PER_S) + records[f"{at}.header.stamp.nanosec"].astype(np.int64)
    names = {PARENT: layout.text(f"{at}.header.frame_id"), CHILD: layout.text(f"{at}.child_frame_id")}
    texts = {name: np.full(len(records), text, object) for name, text in names.items()}
    return {STAMP: stamp_ns, **texts, **{name: records[f"{at}.{path}"] for name, path in TRANSFORM_NUMBERS.items()}}


def export_tables(feeds: ExportedFeeds, folder: Path, suffix: str, lists: Lists) -> Iterator[ExportedTopic]:
    """A file for each topic; the units of its columns are returned, and are stored in a Parquet file too."""
    topics = [topic for topic in feeds.feeds if _is_defined(feeds, topic)]
    if not topics:
        raise ArchiveError(f"{feeds.archive.root}: no topic whose messages can be read")
    for name, topic in zip(file_names(topics, suffix), topics, strict=True):
        own = feeds.feeds[topic]
        rows = _rows_of_topic(feeds, topic, lists)
        try:
            written = _write(feeds, rows, folder / name)
        except TooManyColumnsError as error:
            feeds.report(topic, "too_many_columns", error, "its lists stay in one column each")
            rows = _rows_of_topic(feeds, topic, Lists())
            written = _write(feeds, rows, folder / name)
        columns = [written.time_name, *written.columns]
        yield ExportedTopic(
            topic=topic,
            type=own[0].msgtype,
            path=name,
            count=written.rows,
            units={column: rows.unit(column) for column in columns},
            note="without its bytes, which --format images, pcd and ply write" if own[0].msgtype in HEAVY else "",
        )
    lists.require_known()


def _is_defined(feeds: ExportedFeeds, topic: str) -> bool:
    """Whether the messages of a topic can be read: all types in them are defined; an issue is reported where not."""
    missing = undefined_types(kind_of_feed(feeds.feeds[topic][0]))
    if missing:
        what = f"expected a definition of {' and '.join(missing)}, got none; --msgs DIR takes a folder of .msg files"
        feeds.report(topic, "missing_definition", ArchiveError(what))
    return not missing


def _rows_of_topic(feeds: ExportedFeeds, topic: str, lists: Lists) -> MessageRows:
    own = feeds.feeds[topic]
    if own[0].msgtype == TF and not lists.expands(TRANSFORMS):
        return TransformRows(feeds=own, window=feeds.window)
    return MessageRows(feeds=own, window=feeds.window, lists=lists, units=feeds.units(topic))


def _write(feeds: ExportedFeeds, rows: MessageRows, path: Path) -> TableSummary:
    facts = {"topic": rows.name, "type": rows.feeds[0].msgtype, "units": json.dumps(rows.units_of_columns)}
    with feeds.watch(f"exporting {rows.name}") as progress:
        return write_table(rows, path, progress=progress, report=feeds.archive.defects, facts=facts)
