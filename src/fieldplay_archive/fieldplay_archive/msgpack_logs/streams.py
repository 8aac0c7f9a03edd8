"""The streams of logs: the parts that lie in several files as one, with their times in nanoseconds."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive.errors import ArchiveError
from fieldplay_archive.msgpack_logs.file_index import NO_TIME, Part, Places
from fieldplay_archive.msgpack_logs.flattened import own_times, samples_of_columns
from fieldplay_archive.msgpack_logs.handles import Handles
from fieldplay_archive.msgpack_logs.kinds import kind_of
from fieldplay_archive.msgpack_logs.template import Alike, template_of
from fieldplay_archive.msgpack_logs.unpacking import arrays_from_bytes, plain_from_bytes

FEWEST_ALIKE = 8
LOOKED_AT = 20  # samples, for one that has fields
SURELY_NS = 10**17  # what is as large counts nanoseconds, as in logs made of ROS bags; else microseconds
LATEST_US = np.iinfo(np.int64).max // 1000
READ_AT_ONCE = 4 << 20  # bytes


class FilePart(NamedTuple):
    """A stream's part and the file that it lies in."""

    file: str
    part: Part


class Place(NamedTuple):
    """Where a sample is: its file, and what it is there."""

    file: str
    what: str

    def __str__(self) -> str:
        return f"{self.file}: {self.what}"


class LogStream:
    """One stream of all files of a log, in the order of the files; each sample is read when it is asked for."""

    def __init__(self, name: str, parts: Sequence[FilePart], handles: Handles) -> None:
        self.name = name
        self.parts = tuple(parts)
        self._handles = handles
        self._first_rows = np.cumsum([0, *(len(part) for _, part in parts)])
        self.type = next((part.type for _, part in parts if part.type), "")
        self.own_ns, self.unit = _in_ns(_joined([self._own(place) for place in range(len(parts))]))
        self.logged_ns, unit = _in_ns(_joined([_as_long(part.logged, len(part)) for _, part in parts]))
        unlogged = self.logged_ns == NO_TIME
        self.logged_ns[unlogged] = self.own_ns[unlogged]
        self.parts = tuple(FilePart(file, replace(part, own=part.own[:0])) for file, part in parts)
        if not bool((self.own_ns != NO_TIME).any()):
            self.unit = unit
        self.first_row, first = self._first()
        self.kind = kind_of(self.type, first)

    def __len__(self) -> int:
        return int(self._first_rows[-1])

    def _own(self, place: int) -> Places:
        file, part = self.parts[place]
        if not part.columns:
            return part.own
        try:
            return own_times(part, self._reader(file))
        except ArchiveError:
            return np.full(len(part), NO_TIME, np.int64)

    def _first(self) -> tuple[int, Any]:
        """The first sample that has fields, and its row; where none near the begin has any, the very first."""
        found: list[Any] = []
        for row in range(min(len(self), LOOKED_AT)):
            try:
                found.append(self.sample(row, arrays=True))
            except ArchiveError:
                found.append(None)
            if isinstance(found[-1], dict) and found[-1]:
                return row, found[-1]
        return 0, found[0] if found else None

    def _reader(self, file: str) -> "_Reader":
        return _Reader(self._handles, file, self.name)

    def place(self, row: int) -> Place:
        """Where a sample is, for a message."""
        file, part, index = self._at(row)
        where = f" at byte {int(part.begins[index])}" if len(part.begins) else ""
        return Place(file, f"sample {index} of {self.name}{where}")

    def _at(self, row: int) -> tuple[str, Part, int]:
        place = int(np.searchsorted(self._first_rows, row, side="right")) - 1
        return (*self.parts[place], row - int(self._first_rows[place]))

    def sample(self, row: int, *, arrays: bool = False) -> Any:
        """One sample as plain data; with `arrays`, long lists of numbers are NumPy arrays."""
        return self.samples(row, row + 1, arrays=arrays)[0]

    def samples(self, begin: int, end: int, *, arrays: bool = False) -> list[Any]:
        """Samples in the order of the files; ArchiveError where they cannot be read."""
        found: list[Any] = []
        for place, (file, part) in enumerate(self.parts):
            first = int(self._first_rows[place])
            low, high = max(begin - first, 0), min(end - first, len(part))
            if low < high:
                found += self._of_part(file, part, low, high, arrays=arrays)
        return found

    def _of_part(self, file: str, part: Part, low: int, high: int, *, arrays: bool) -> list[Any]:
        read = self._reader(file)
        if part.columns:
            samples = samples_of_columns(part, low, high, read)
            return samples if arrays else [_without_arrays(sample) for sample in samples]
        unpack = arrays_from_bytes if arrays else plain_from_bytes
        begins, ends = part.begins[low:high].tolist(), _ends(part, low, high)
        found: list[Any] = []
        for first, last in _runs(begins, ends):
            data, base = read(begins[first], ends[last] - begins[first]), begins[first]
            found += [unpack(data[begins[i] - base : ends[i] - base]) for i in range(first, last + 1)]
        return found

    def alike(self, begin: int, end: int) -> Alike | None:
        """Samples that are the same but for their numbers, as rows of bytes; None where they are not, or far apart."""
        file, part, low = self._at(begin)
        high = low + end - begin
        if part.columns or high > len(part) or end - begin < FEWEST_ALIKE:
            return None
        ends = _ends(part, low, high)
        first, last = int(part.begins[low]), ends[-1]
        size = ends[0] - first
        if last - first != size * (end - begin) or last - first > READ_AT_ONCE:
            return None
        if bool((np.diff(part.begins[low:high]) != size).any()):
            return None
        data = self._reader(file)(first, last - first)
        rows = np.frombuffer(data, np.uint8).reshape(-1, size)
        template = template_of(data[:size])
        return Alike(template, rows) if template is not None and template.fitting(rows) == len(rows) else None

    def sizes(self) -> Places:
        """How many bytes each sample has; of a flattened log, about."""
        parts = [
            np.full(len(part), _column_bytes(part)) if part.columns else part.ends - part.begins
            for _, part in self.parts
        ]  # fmt: skip
        return _joined(parts)


def _ends(part: Part, low: int, high: int) -> list[int]:
    """Where samples low <= index < high end."""
    ends: list[int] = part.begins[low + 1 : high + 1].tolist()
    return ends if high < len(part.begins) else [*ends, part.stop]


class _Reader:
    """Reads bytes of a file for a stream."""

    def __init__(self, handles: Handles, file: str, stream: str) -> None:
        self._handles, self._file, self._stream = handles, file, stream

    def __call__(self, begin: int, size: int) -> bytes:
        return self._handles.read(self._file, begin, size, reader=self._stream)


def _runs(begins: Sequence[int], ends: Sequence[int]) -> list[tuple[int, int]]:
    """The first and the last of samples that are read at once."""
    runs: list[tuple[int, int]] = []
    first = 0
    for index in range(1, len(begins) + 1):
        if index == len(begins) or ends[index] - begins[first] > READ_AT_ONCE:
            runs.append((first, index - 1))
            first = index
    return runs


def _joined(parts: Sequence[NDArray[np.int64]]) -> Places:
    return np.concatenate([np.zeros(0, np.int64), *parts])


def _as_long(times: Places, count: int) -> Places:
    """So many times; those that are missing are none."""
    whole = np.full(count, NO_TIME, np.int64)
    whole[: min(count, len(times))] = times[:count]
    return whole


def _in_ns(times: Places) -> tuple[Places, str]:
    """Times in nanoseconds, and the unit that they have in the file."""
    is_known = times > 0
    if bool(is_known.any()) and float(np.median(times[is_known])) >= SURELY_NS:
        return np.where(is_known, times, NO_TIME), "ns"
    is_known &= times <= LATEST_US
    found = times * is_known
    found *= 1000
    found[~is_known] = NO_TIME
    return found, "us"


def _column_bytes(part: Part) -> int:
    total = sum(column.end - int(column.begins[0]) for column in part.columns.values() if len(column.begins))
    return total // max(len(part), 1)


def _without_arrays(item: Any) -> Any:
    if isinstance(item, dict):
        return {name: _without_arrays(inner) for name, inner in item.items()}
    return item.tolist() if isinstance(item, np.ndarray) else item
