"""The rows of a stream that are nearest to a time, with no more of the stream loaded than it takes."""

from dataclasses import dataclass

import numpy as np

from fieldplay_messages.records import Record
from fieldplay_messages.streams import Span, Stream


@dataclass(frozen=True, eq=False)
class Row:
    """A row of a record, and its time."""

    stamp_ns: int
    record: Record
    row: int


def nearest_rows(stream: Stream, stamp_ns: int, count: int) -> list[Row]:
    """So many rows, or all there are, those nearest to a time first; of two as near the earlier one."""
    found: list[Row] = []
    for index in sorted(range(len(stream.spans)), key=lambda index: _distance(stream.spans[index], stamp_ns)):
        is_full = len(found) == count
        if is_full and _distance(stream.spans[index], stamp_ns) > abs(found[-1].stamp_ns - stamp_ns):
            break
        found = sorted(
            [*found, *_nearest_of(stream.load(index), stamp_ns, count)],
            key=lambda row: (abs(row.stamp_ns - stamp_ns), row.stamp_ns),
        )[:count]
    return found


def _nearest_of(record: Record, stamp_ns: int, count: int) -> list[Row]:
    order = np.argsort(np.abs(record.stamp_ns - stamp_ns), kind="stable")[:count]
    return [Row(int(record.stamp_ns[row]), record, row) for row in order.tolist()]


def _distance(span: Span, stamp_ns: int) -> int:
    """How near to a time a row of a span may be."""
    return max(span.first_ns - stamp_ns, stamp_ns - span.last_ns, 0)
