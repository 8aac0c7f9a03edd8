"""The transforms of a topic of tf as the rows of a table: a row for each transform."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError, Defect, Report
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.export.message_rows import LOG_TIME, MessageRows, of_one_size
from fieldplay.export.table_columns import (
    INTEGER,
    NUMBER,
    TEXT,
    Columns,
)
from fieldplay.export.table_file import Block
from fieldplay.messages.cdr_layout import Layout
from fieldplay.messages.message_columns import Decoder
from fieldplay.streams.message_block import Messages

TRANSFORMS = "transforms"
STAMP, PARENT, CHILD = "stamp_ns", "parent", "child"
NUMBERS = {  # columns, by the path in a transform
    "x": "transform.translation.x", "y": "transform.translation.y", "z": "transform.translation.z",
    "qx": "transform.rotation.x", "qy": "transform.rotation.y",
    "qz": "transform.rotation.z", "qw": "transform.rotation.w",
}  # fmt: skip
COLUMNS: Columns = {STAMP: INTEGER, PARENT: TEXT, CHILD: TEXT, **dict.fromkeys(NUMBERS, NUMBER)}
UNITS = {STAMP: "ns", "x": "m", "y": "m", "z": "m"}
ROW_BYTES = 120.0


class TransformRows(MessageRows):
    """The transforms on a topic of tf in a window of time."""

    @property
    def row_bytes(self) -> float:
        return ROW_BYTES

    @property
    def units_of_columns(self) -> dict[str, str]:
        return UNITS

    def unit(self, column: str) -> str:
        """The unit of a column, "" where it has none."""
        return "ns" if column == LOG_TIME else UNITS.get(column, "")

    def _block(self, messages: Messages, decoder: Decoder, report: Report) -> Block:
        """The transforms of some messages, in their order."""
        order: list[NDArray[np.int64]] = [np.zeros((0, 2), np.int64)]
        gathered: dict[str, list[NDArray[Any]]] = {name: [np.zeros(0, object)] for name in COLUMNS}
        for rows, data in of_one_size(messages):
            for own, layout in decoder.groups(data):
                if isinstance(layout, ArchiveError):
                    message = f"message at {int(messages.stamp_ns[rows[own[0]]])} ns: {layout}; it is left out"
                    report(Defect(file=self.name, kind="damaged_message", message=message))
                    continue
                for index in range(_count(layout)):
                    order.append(np.stack([rows[own], np.full(len(own), index)], axis=1))
                    for name, column in _columns(layout, data[own], index).items():
                        gathered[name].append(column)
        places = np.concatenate(order)
        sorting = np.lexsort((places[:, 1], places[:, 0]))
        values = {name: np.concatenate(parts)[sorting].tolist() for name, parts in gathered.items()}
        return Block(messages.stamp_ns[places[sorting, 0]], values if len(sorting) else {}, COLUMNS)


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
    return {STAMP: stamp_ns, **texts, **{name: records[f"{at}.{path}"] for name, path in NUMBERS.items()}}
