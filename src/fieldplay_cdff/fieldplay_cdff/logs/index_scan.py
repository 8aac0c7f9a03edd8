"""Scans a log once, from its start to its end or to its first issue, and records the offsets of its content."""

import re
from array import array
from collections.abc import Callable
from dataclasses import replace
from typing import Any, BinaryIO, NoReturn

import msgpack
import numpy as np

from fieldplay.core.errors import ArchiveError
from fieldplay_cdff.logs.file_index import (
    CHUNK,
    LARGE_ITEM,
    LARGEST_ITEM,
    NO_TIME,
    PER_BLOCK,
    FileIndex,
    FileWindow,
    GrowingBlocks,
    GrowingPart,
    Int64Array,
    LogColumn,
    StreamPart,
)
from fieldplay_cdff.logs.msgpack_decode import (
    DECODE_ERRORS,
    LARGEST,
    UNKNOWN_TEXT,
    ItemForm,
    Number,
    Template,
    column,
    form_of,
    is_map,
    is_text,
    list_header,
    plain_name,
    template_of,
    why,
)
from fieldplay_cdff.logs.sample_times import (
    ALIKE,
    HOLDS_ANOTHER,
    LONGEST_NAME,
    NO_NAME,
    WIDTH,
    TimeFinder,
    ends_with_name,
    holds_another,
    may_be_shifted,
    missing_list_hint,
    numbers_ahead,
    odd_name,
    times_of_samples,
)

SMALL_SAMPLE, FEWEST, MAX_FAILURES = 1 << 14, 8, 20
MAX_SMALL, MAX_BYTES = 1 << 15, 1 << 18  # small ones that are looked at, and their bytes
FEWEST_ALIKE = 64  # items ahead: to look at fewer takes longer than to pass over them
FIRST_LOOK, LONGEST_LOOK = 128, 1 << 20  # items ahead
LONGEST_PAUSE = 1024  # items that are passed one by one where no runs are
META = ".meta"
NEAR = "corrupt near byte "
COLUMN = re.compile(r"(?P<stream>[^.]*\.[^/.]+)(?P<meta>\.meta)?/(?P<field>.+)")  # of a flattened log
LONGEST_TEXT = 1 << 16
ITEM = "expected an item of MessagePack"
LARGE = 1 << 16  # bytes of a sample that may hold others by mistake
AT_ONCE = 1 << 14  # times
DEEPEST_NAMES = 2  # maps within maps of a sample whose names are looked at


# Passes over many samples, or items of a column, at once: runs of those that are alike, and of small ones.


class SampleRuns:
    """The data after a sample in its list. Where it does not pay, or there is an issue, nothing is passed over."""

    def __init__(self, window: FileWindow, unpacker: Any) -> None:
        self._window, self._unpacker = window, unpacker
        self._template: Template | None = None
        self._unlike, self._unfit = 0, 0  # how often it was in vain

    def add(self, data: bytes, start: int, maximum: int, *, blocks: GrowingBlocks, finder: TimeFinder) -> int:
        """Add those that follow one, `maximum` at most; how many there were."""
        if not 0 < len(data) <= SMALL_SAMPLE:
            return 0
        return self._alike(data, start, maximum, blocks=blocks, finder=finder) or self._small(
            start + len(data), maximum, blocks=blocks, finder=finder
        )

    def _alike(self, data: bytes, start: int, maximum: int, *, blocks: GrowingBlocks, finder: TimeFinder) -> int:
        """Those that are as the last but for their numbers."""
        size, prefix = len(data), finder.prefix
        if self._unlike > MAX_FAILURES or not data.startswith(prefix) or not prefix:
            return 0
        ahead = self._window.bytes_between(start + size, min(self._window.available, start + size * (maximum + 1)))
        rows = np.frombuffer(ahead, np.uint8, len(ahead) // size * size).reshape(-1, size)
        if len(rows) < FEWEST:
            return 0
        template = self._template
        if template is None or not template.data.startswith(prefix) or not template.fitting(rows[:1]):
            template = self._template = template_of(data)
        fitting = template.fitting(rows) if template is not None else 0
        self._unlike = 0 if fitting >= FEWEST else self._unlike + 1
        if not fitting:
            return 0
        self._unpacker.read_bytes(fitting * size)
        offsets = start + size * np.arange(1, fitting + 1, dtype=np.int64)
        times = column(rows[:fitting], Number(len(prefix), ">u8")).astype(np.int64)  # negative beyond its range
        blocks.extend(offsets, np.where(times > 0, times, NO_TIME), start + size * (fitting + 1))
        return fitting

    def _small(self, start: int, maximum: int, *, blocks: GrowingBlocks, finder: TimeFinder) -> int:
        """Small ones of different lengths, up to one whose maps have other names than texts."""
        if self._unfit > MAX_FAILURES:
            return 0
        ahead = self._window.bytes_between(start, min(self._window.available, start + MAX_BYTES))
        stops = _end_offsets(ahead, min(maximum, MAX_SMALL))
        offsets = np.append(0, stops)
        large = np.flatnonzero(np.diff(offsets) > SMALL_SAMPLE)
        count = int(large[0]) if len(large) else len(stops)
        times = times_of_samples(np.frombuffer(ahead, np.uint8), offsets[: count + 1], finder)
        count = len(times)
        self._unfit = 0 if count >= FEWEST else self._unfit + 1
        if not count:
            return 0
        self._unpacker.read_bytes(int(offsets[count]))
        blocks.extend(start + offsets[:count], times, start + int(offsets[count]))
        return count


def _end_offsets(data: bytes, maximum: int) -> Int64Array:
    """Offsets where at most `maximum` items stop (n,); unpacked so that all names in them are checked."""
    unpacker: Any = msgpack.Unpacker(raw=True, use_list=False, strict_map_key=True, max_buffer_size=max(len(data), 1))
    unpacker.feed(data)
    stops: list[int] = []
    try:
        for _ in zip(range(maximum), unpacker, strict=False):
            stops.append(unpacker.tell())
    except DECODE_ERRORS:
        pass  # reported when the item is read alone
    return np.array(stops, np.int64)


class ColumnRuns:
    """The items of a column: `index` and `offset` are those of the item that is next, or that has an issue."""

    def __init__(self, window: FileWindow, unpacker: Any) -> None:
        self._window, self._unpacker = window, unpacker
        self.index, self.offset = 0, int(unpacker.tell())
        self._step = 1
        self._starts = array("q")
        self._form: ItemForm | None = None
        self._look, self._pause = FIRST_LOOK, 1

    def pass_over(self, count: int) -> None:
        """Pass over so many items. Each is remembered if the first of them are large, else one of every block."""
        start, first = self.offset, min(count, PER_BLOCK)
        self._up_to(first)
        if self.offset - start < first * LARGE_ITEM:
            self._step = PER_BLOCK
            del self._starts[1:]
        self._up_to(count)

    def column(self, *, is_cut: bool) -> LogColumn:
        """The streams found so far."""
        starts: Int64Array = np.array(self._starts, np.int64)
        return LogColumn(count=self.index, begins=starts, end=self.offset, step=self._step, is_cut=is_cut)

    def _up_to(self, count: int) -> None:
        while self.index < count:
            size = self._one_by_one(min(self._pause, count - self.index))
            if self.index < count and size <= LARGEST:
                self._run(size, count - self.index)

    def _one_by_one(self, count: int) -> int:
        """Pass over so many items; the size of the last."""
        skip, position, mark, step, size = self._unpacker.skip, self._unpacker.tell, self._window.mark, self._step, 0
        for _ in range(count):
            start = self.offset
            mark(start)
            skip()
            if not self.index % step:
                self._starts.append(start)
            self.offset = position()
            self.index += 1
            size = self.offset - start
        return size

    def _run(self, size: int, maximum: int) -> None:
        """Pass over those that are of the form of the last, as far as they are read already."""
        start, available = self.offset, self._window.available
        ahead = self._window.bytes_between(start - size, min(available, start + size * min(maximum, self._look)))
        rows = np.frombuffer(ahead, np.uint8, len(ahead) // size * size).reshape(-1, size)
        if len(rows) <= min(maximum, FEWEST_ALIKE):
            return
        fitting = self._fitting(rows) - 1
        is_complete = fitting == len(rows) - 1
        self._look = min(8 * self._look, LONGEST_LOOK) if is_complete else FIRST_LOOK
        self._pause = 1 if fitting >= min(maximum, FEWEST_ALIKE) else min(2 * self._pause, LONGEST_PAUSE)
        if fitting <= 0:
            return
        self._unpacker.read_bytes(fitting * size)
        starts = start + size * np.arange(-self.index % self._step, fitting, self._step, dtype=np.int64)
        self._starts.frombytes(starts.tobytes())
        self.index += fitting
        self.offset = start + size * fitting

    def _fitting(self, rows: np.ndarray[Any, np.dtype[np.uint8]]) -> int:
        """Count the rows (n, size) from the first on that have its form."""
        if self._form is None or not self._form.fitting(rows[:1]):
            self._form = form_of(rows[0].tobytes())
        return self._form.fitting(rows) if self._form is not None else 0


class _ScanError(Exception):
    """The position and the reason at which a log becomes unreadable."""


def index_of_log(file: BinaryIO, moved: Callable[[int], None]) -> FileIndex:
    """The index of a log up to its first issue."""
    return _Scan(file, moved).index()


class _Scan:
    def __init__(self, file: BinaryIO, moved: Callable[[int], None]) -> None:
        self._window = FileWindow(file, moved)
        self._unpacker: Any = msgpack.Unpacker(
            self._window, read_size=CHUNK, raw=False, unicode_errors=UNKNOWN_TEXT, max_buffer_size=LARGEST_ITEM,
            max_str_len=LONGEST_TEXT, max_array_len=64, max_map_len=64, strict_map_key=False,
        )  # fmt: skip
        self._label = "the file"
        self._growing: dict[str, GrowingPart] = {}
        self._parts: list[StreamPart] = []
        self._issues: list[tuple[str, str]] = []
        self._settings = 0

    def index(self) -> FileIndex:
        try:
            self._maps()
        except (_ScanError, ArchiveError, OSError, *DECODE_ERRORS) as error:
            self._issues.append(self._issue(error))
        self._finish_map()
        parts = tuple(part for part in self._parts if len(part) or part.has_meta)
        return FileIndex(parts=parts, is_settings=bool(self._settings) and not parts, issues=tuple(self._issues))

    def _issue(self, error: BaseException) -> tuple[str, str]:
        start, end = self._start, self._window.end
        near, is_cut = f"{NEAR}{start}:", isinstance(error, msgpack.exceptions.OutOfData)
        if isinstance(error, ArchiveError | OSError):
            return "corrupt_log", f"{near} {self._label}: {error}"
        rest = self._window.bytes_between(start, end) if self._is_sample else b""
        if is_cut and not holds_another(rest):
            cut = f"the file ends at byte {end} within {self._label}"
            return "truncated_log", f"{near} {cut}; what is before it is read"
        reason = HOLDS_ANOTHER if is_cut else str(error) if isinstance(error, _ScanError) else why(error)
        if not isinstance(error, _ScanError) and not is_cut and not reason.startswith("expected"):
            reason = f"{ITEM}, got {reason}"
        return "corrupt_log", f"{near} {self._label}: {reason}{missing_list_hint(rest)}; nothing behind it can be read"

    _start = 0
    _last_stream = ""
    _tail = b""  # of its last sample
    _is_sample = False

    def _at(self, label: str, *, is_sample: bool = False) -> int:
        """Record the start of an item."""
        self._start = int(self._unpacker.tell())
        self._label, self._is_sample = label, is_sample
        self._window.mark(self._start)
        return self._start

    def _maps(self) -> None:
        """All maps of a file; several are several logs that were joined."""
        while True:
            self._at("what is behind the log" if self._parts else "the head of a log")
            try:
                count = self._unpacker.read_map_header()
            except msgpack.exceptions.OutOfData:
                if self._start and self._start == self._window.end:
                    return
                raise
            for _ in range(count):
                self._at("a stream's name")
                name = self._unpacker.unpack()
                self._entry(name)
            self._finish_map()

    def _finish_map(self) -> None:
        self._parts += [part.part(stream) for stream, part in self._growing.items()]
        self._growing = {}

    def _entry(self, name: object) -> None:
        if not isinstance(name, str | list | tuple):
            self._take_back(name)
        start = self._at(f"what belongs to '{name}'")
        if not isinstance(name, str):
            self._settings += 1
            self._unpacker.skip()
            return
        first = self._first_byte(start)
        column = COLUMN.fullmatch(name)
        if name.endswith(META) and is_map(first):
            self._meta(name[: -len(META)])
        elif column and column["meta"]:
            self._meta_field(column["stream"], column["field"])
        elif column and list_header(bytes((first, 0, 0, 0, 0)), 0):
            self._column(column["stream"], column["field"])
        elif list_header(bytes((first, 0, 0, 0, 0)), 0):
            self._samples(name)
        else:
            self._settings += is_map(first)
            self._unpacker.skip()

    def _take_back(self, name: object) -> NoReturn:
        """Report that the previous sample has consumed this stream's name, as the value in its place shows."""
        part = self._growing.get(self._last_stream)
        is_next = part is not None and len(part.samples) and part.samples.stop == self._start
        if part is None or not is_next or not ends_with_name(self._tail):
            raise _ScanError(f"expected a text, got {type(name).__name__}")
        self._start = part.samples.take_back()
        self._label, self._is_sample = f"sample {len(part.samples)} of {self._last_stream}", True
        raise _ScanError(f"it holds the name of what follows it in the place of a value, got {type(name).__name__}")

    def _first_byte(self, start: int) -> int:
        first = self._window.bytes_between(start, start + 1)
        if not first:
            raise msgpack.exceptions.OutOfData("No more data to unpack.")
        return first[0]

    def _of(self, stream: str) -> GrowingPart:
        return self._growing.setdefault(stream, GrowingPart())

    def _start_new_part(self, stream: str) -> GrowingPart:
        """A stream that occurs in a map again: its samples are a part of its own."""
        self._parts.append(self._growing.pop(stream).part(stream))
        message = f"{stream} stands in the log more than once: its samples are taken one after the other"
        if ("repeated_stream", message) not in self._issues:
            self._issues.append(("repeated_stream", message))
        return self._of(stream)

    def _meta(self, stream: str) -> None:
        for _ in range(self._unpacker.read_map_header()):
            name = self._unpacker.unpack()
            self._meta_field(stream, str(name))

    def _meta_field(self, stream: str, name: str) -> None:
        part = self._of(stream)
        if name == "timestamps":
            part = self._start_new_part(stream) if len(part.logged) else part
            self._numbers(f"the times of {stream}", part.logged)
            part.has_meta = True
        elif name == "type":
            if is_text(self._first_byte(self._at(f"the type of {stream}"))):
                part.type = self._unpacker.unpack()
            else:
                self._unpacker.skip()
            part.has_meta = True
        else:
            self._unpacker.skip()

    def _numbers(self, label: str, blocks: GrowingBlocks) -> None:
        """A list of integers, many at once; other items have NO_TIME, and no list has no times."""
        unpacker, window = self._unpacker, self._window
        if not list_header(bytes((self._first_byte(self._at(label)), 0, 0, 0, 0)), 0):
            unpacker.skip()
            return
        count = unpacker.read_array_header()
        while len(blocks) < count:
            start, maximum = self._at(label), min(count - len(blocks), AT_ONCE)
            ahead = window.bytes_between(start, min(window.available, start + WIDTH * maximum))
            values, stops = numbers_ahead(ahead, maximum)
            if len(values):
                unpacker.read_bytes(int(stops[-1]))
                blocks.extend(start + np.append(0, stops[:-1]), values, start + int(stops[-1]))
            else:  # one that is not read to its end yet, or too large to be a number
                unpacker.skip()
                end = int(unpacker.tell())
                values, _ = numbers_ahead(window.bytes_between(start, end), 1)
                blocks.add(start, int(values[0]), end)

    def _samples(self, stream: str) -> None:
        blocks, finder, window, unpacker = self._of(stream), TimeFinder(), self._window, self._unpacker
        is_there = len(blocks.samples) or blocks.columns
        blocks, self._last_stream = self._start_new_part(stream) if is_there else blocks, stream
        samples, count, bulk = blocks.samples, unpacker.read_array_header(), SampleRuns(window, unpacker)
        while len(samples) < count:
            start = self._at(f"sample {len(samples)} of {stream}", is_sample=True)
            self._pass_sample(DEEPEST_NAMES)
            end = unpacker.tell()
            data = window.bytes_between(start, end)
            if len(data) > LARGE and holds_another(data):
                raise _ScanError(HOLDS_ANOTHER)
            samples.add(start, finder.time(data), end)
            bulk.add(data, start, count - len(samples), blocks=samples, finder=finder)
        self._tail = window.bytes_between(max(samples.stop - LONGEST_NAME, self._start), samples.stop)

    def _pass_sample(self, depth: int) -> None:
        """Pass over an item and check the names in its maps.

        A list or map as a name indicates a missing value. So do other names that are no texts, if from there to the
        end of the map the names are in the position of values; if not, the bytes are in step, and the sample alone is
        damaged.
        """
        unpacker = self._unpacker
        if not is_map(self._first_byte(int(unpacker.tell()))):
            unpacker.skip()
            return
        count, odd = unpacker.read_map_header(), ""
        for index in range(count):
            name = odd_name(unpacker.unpack())
            odd = odd or (name if index else "")  # before the first name is no value that could be missing
            if odd and not self._may_be_shifted(is_last=index == count - 1):
                odd = ""
            if depth:
                self._pass_sample(depth - 1)
            else:
                unpacker.skip()
        if odd:
            raise _ScanError(f"{NO_NAME}{odd}")

    def _may_be_shifted(self, *, is_last: bool) -> bool:
        offset = int(self._unpacker.tell())
        value, sample = (self._window.bytes_between(at, at + ALIKE) for at in (offset, self._start))
        return may_be_shifted(value, sample, is_last=is_last)

    def _column(self, stream: str, name: str) -> None:
        """A field of all samples; of names that are written once, there is one list instead of many."""
        start = self._at(f"the column {name} of {stream}")
        count = self._unpacker.read_array_header()
        if name in self._of(stream).columns or len(self._of(stream).samples):
            self._start_new_part(stream)
        items, columns, is_constant = ColumnRuns(self._window, self._unpacker), self._of(stream).columns, False
        try:
            if count and plain_name(name.rpartition("/")[2]) == "names":
                is_constant = is_text(self._first_byte(items.offset))
            items.pass_over(count)
        finally:
            self._label, self._start = f"item {items.index} of the column {name} of {stream}", items.offset
            if not is_constant and 0 < items.index < count:
                columns[name] = items.column(is_cut=True)
        column = items.column(is_cut=False)
        columns[name] = replace(column, begins=np.array([start]), is_constant=True) if is_constant else column


def issue_offset(message: str) -> int | None:
    """Return the byte that the issue of a log names, if it names one."""
    match = re.match(rf"{NEAR}(\d+)", message)
    return None if match is None else int(match[1])
