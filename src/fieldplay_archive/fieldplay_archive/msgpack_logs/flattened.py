"""Samples of a flattened log: each field of all of them is a column, and they are put together again."""

from collections.abc import Callable, Mapping
from typing import Any

import msgpack
import numpy as np

from fieldplay_archive.errors import ArchiveError
from fieldplay_archive.msgpack_logs.file_index import NO_TIME, PER_BLOCK, Column, Part, Places
from fieldplay_archive.msgpack_logs.sample_time import TIMES, plain_name
from fieldplay_archive.msgpack_logs.unpacking import FAULTS, UNKNOWN_TEXT, arrays_from_bytes, plain_from_bytes, why

Read = Callable[[int, int], bytes]  # begin and size

DEEPEST = 32
ELEMENTS = "elements"  # of vectors with names: what stands below is a list for each sample


def samples_of_columns(part: Part, begin: int, end: int, read: Read) -> list[Any]:
    """The samples begin <= index < end; long lists of numbers are arrays where each is an item of its own."""
    columns = {name: _items(column, begin, end, read) for name, column in part.columns.items()}
    return [_sample({name: items[index] for name, items in columns.items()}) for index in range(end - begin)]


def own_times(part: Part, read: Read) -> Places:
    """The samples' own times (n,), NO_TIME where there are none."""
    name = next((name for name in part.columns if is_time_column(name)), None)
    times = np.full(len(part), NO_TIME, np.int64)
    if name is None:
        return times
    column = part.columns[name]
    for begin in range(0, len(part), PER_BLOCK):
        end = min(begin + PER_BLOCK, len(part))
        items = _items(column, begin, end, read)
        times[begin:end] = [item if type(item) is int and 0 < item < 1 << 63 else NO_TIME for item in items]
    return times


def is_time_column(name: str) -> bool:
    """Whether a column holds the samples' own times."""
    outer, _, inner = name.rpartition("/")
    return plain_name(inner) == "microseconds" and plain_name(outer.rpartition("/")[2]) in TIMES


def _items(column: Column, begin: int, end: int, read: Read) -> list[Any]:
    """Some items of a column; the blocks that they lie in are read."""
    if column.is_constant:
        place = int(column.begins[0])
        return [plain_from_bytes(read(place, column.end - place))] * (end - begin)
    first, last = begin // column.step, (end - 1) // column.step
    stops = [*column.begins[1:].tolist(), column.end]
    if column.step == 1:
        places = column.begins[begin:end].tolist()
        return [arrays_from_bytes(read(a, b - a)) for a, b in zip(places, stops[begin:end], strict=True)]
    place = int(column.begins[first])
    count = min(column.count, (last + 1) * column.step) - first * column.step
    items = _unpacked(read(place, stops[last] - place), count)
    return items[begin - first * column.step : end - first * column.step]


def _unpacked(data: bytes, count: int) -> list[Any]:
    """So many items that stand one behind the other."""
    unpacker = msgpack.Unpacker(raw=False, unicode_errors=UNKNOWN_TEXT, max_buffer_size=max(len(data), 1))
    try:
        unpacker.feed(data)
        return [unpacker.unpack() for _ in range(count)]
    except FAULTS as error:
        raise ArchiveError(f"expected {count} items of a column, got {why(error)}") from None


def _sample(fields: Mapping[str, Any]) -> Any:
    """A sample as it was before it was flattened; the fields of a list of elements become a list of maps again."""
    sample: dict[str, Any] = {}
    for path, value in fields.items():
        *outer, name = path.split("/", DEEPEST)
        inner = sample
        for part in outer:
            inner = inner.setdefault(part, {})
        inner[name] = value
    return _with_elements(sample)


def _with_elements(sample: dict[str, Any]) -> dict[str, Any]:
    for name, inner in sample.items():
        if not isinstance(inner, dict):
            continue
        if name == ELEMENTS and all(isinstance(values, list) for values in inner.values()):
            rows = zip(*inner.values(), strict=False)
            sample[name] = [dict(zip(inner, row, strict=True)) for row in rows]
        else:
            sample[name] = _with_elements(inner)
    return sample
