"""Goes through a log once, from its begin to its end or to its first fault, and remembers where everything lies."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, BinaryIO, NoReturn

import msgpack
import numpy as np

from fieldplay.core.errors import ArchiveError
from fieldplay_cdff.logs.index.damage import (
    ALIKE,
    HOLDS_ANOTHER,
    LONGEST_NAME,
    NO_NAME,
    ends_with_name,
    holds_another,
    may_be_shifted,
    odd_name,
    perhaps_left_out,
)
from fieldplay_cdff.logs.index.file_index import (
    FileIndex,
    GrowingBlocks,
    GrowingPart,
    StreamPart,
)
from fieldplay_cdff.logs.index.runs import ColumnRuns, SampleRuns
from fieldplay_cdff.logs.index.times import WIDTH, TimeFinder, numbers_ahead
from fieldplay_cdff.logs.index.window import CHUNK, LARGEST_ITEM, FileWindow
from fieldplay_cdff.logs.msgpack_decode.number_lists import is_map, is_text, list_header
from fieldplay_cdff.logs.msgpack_decode.values import (
    FAULTS,
    UNKNOWN_TEXT,
    plain_name,
    why,
)

META = ".meta"
NEAR = "corrupt near byte "
COLUMN = re.compile(r"(?P<stream>[^.]*\.[^/.]+)(?P<meta>\.meta)?/(?P<field>.+)")  # of a flattened log
LONGEST_TEXT = 1 << 16
ITEM = "expected an item of MessagePack"
LARGE = 1 << 16  # bytes of a sample that may hold others by mistake
AT_ONCE = 1 << 14  # times
DEEPEST_NAMES = 2  # maps within maps of a sample whose names are looked at


class _FaultError(Exception):
    """Where and why a log cannot be read on."""


def index_of_log(file: BinaryIO, moved: Callable[[int], None]) -> FileIndex:
    """The index of a log; what follows its first fault is not in it."""
    return _Scan(file, moved).index()


class _Scan:
    def __init__(self, file: BinaryIO, moved: Callable[[int], None]) -> None:
        self._window = FileWindow(file, moved)
        self._unpacker: Any = msgpack.Unpacker(
            self._window, read_size=CHUNK, raw=False, unicode_errors=UNKNOWN_TEXT, max_buffer_size=LARGEST_ITEM,
            max_str_len=LONGEST_TEXT, max_array_len=64, max_map_len=64, strict_map_key=False,
        )  # fmt: skip
        self._place = "the file"
        self._found: dict[str, GrowingPart] = {}
        self._parts: list[StreamPart] = []
        self._faults: list[tuple[str, str]] = []
        self._settings = 0

    def index(self) -> FileIndex:
        try:
            self._maps()
        except (_FaultError, ArchiveError, OSError, *FAULTS) as error:
            self._faults.append(self._fault(error))
        self._finish_map()
        parts = tuple(part for part in self._parts if len(part) or part.has_meta)
        return FileIndex(parts=parts, is_settings=bool(self._settings) and not parts, faults=tuple(self._faults))

    def _fault(self, error: BaseException) -> tuple[str, str]:
        begin, end = self._begin, self._window.end
        near, is_cut = f"{NEAR}{begin}:", isinstance(error, msgpack.exceptions.OutOfData)
        if isinstance(error, ArchiveError | OSError):
            return "corrupt_log", f"{near} {self._place}: {error}"
        rest = self._window.bytes_between(begin, end) if self._is_sample else b""
        if is_cut and not holds_another(rest):
            cut = f"the file ends at byte {end} within {self._place}"
            return "truncated_log", f"{near} {cut}; what is before it is read"
        reason = HOLDS_ANOTHER if is_cut else str(error) if isinstance(error, _FaultError) else why(error)
        if not isinstance(error, _FaultError) and not is_cut and not reason.startswith("expected"):
            reason = f"{ITEM}, got {reason}"
        return "corrupt_log", f"{near} {self._place}: {reason}{perhaps_left_out(rest)}; nothing behind it can be read"

    _begin = 0
    _last_stream = ""
    _tail = b""  # of its last sample
    _is_sample = False

    def _at(self, place: str, *, is_sample: bool = False) -> int:
        """Remember where something begins."""
        self._begin = int(self._unpacker.tell())
        self._place, self._is_sample = place, is_sample
        self._window.mark(self._begin)
        return self._begin

    def _maps(self) -> None:
        """All maps of a file; several are several logs that were joined."""
        while True:
            self._at("what is behind the log" if self._parts else "the head of a log")
            try:
                count = self._unpacker.read_map_header()
            except msgpack.exceptions.OutOfData:
                if self._begin and self._begin == self._window.end:
                    return
                raise
            for _ in range(count):
                self._at("a stream's name")
                name = self._unpacker.unpack()
                self._entry(name)
            self._finish_map()

    def _finish_map(self) -> None:
        self._parts += [found.part(stream) for stream, found in self._found.items()]
        self._found = {}

    def _entry(self, name: object) -> None:
        if not isinstance(name, str | list | tuple):
            self._take_back(name)
        begin = self._at(f"what belongs to '{name}'")
        if not isinstance(name, str):
            self._settings += 1
            self._unpacker.skip()
            return
        first = self._first_byte(begin)
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
        """What stands where a stream's name should tells that the sample before it has swallowed that name."""
        found = self._found.get(self._last_stream)
        is_next = found is not None and len(found.samples) and found.samples.stop == self._begin
        if found is None or not is_next or not ends_with_name(self._tail):
            raise _FaultError(f"expected a text, got {type(name).__name__}")
        self._begin = found.samples.take_back()
        self._place, self._is_sample = f"sample {len(found.samples)} of {self._last_stream}", True
        raise _FaultError(f"it holds the name of what follows it in the place of a value, got {type(name).__name__}")

    def _first_byte(self, begin: int) -> int:
        first = self._window.bytes_between(begin, begin + 1)
        if not first:
            raise msgpack.exceptions.OutOfData("No more data to unpack.")
        return first[0]

    def _of(self, stream: str) -> GrowingPart:
        return self._found.setdefault(stream, GrowingPart())

    def _anew(self, stream: str) -> GrowingPart:
        """A stream that stands in a map again: what was found of it is a part of its own."""
        self._parts.append(self._found.pop(stream).part(stream))
        message = f"{stream} stands in the log more than once: its samples are taken one after the other"
        if ("repeated_stream", message) not in self._faults:
            self._faults.append(("repeated_stream", message))
        return self._of(stream)

    def _meta(self, stream: str) -> None:
        for _ in range(self._unpacker.read_map_header()):
            name = self._unpacker.unpack()
            self._meta_field(stream, str(name))

    def _meta_field(self, stream: str, name: str) -> None:
        found = self._of(stream)
        if name == "timestamps":
            found = self._anew(stream) if len(found.logged) else found
            self._numbers(f"the times of {stream}", found.logged)
            found.has_meta = True
        elif name == "type":
            if is_text(self._first_byte(self._at(f"the type of {stream}"))):
                found.type = self._unpacker.unpack()
            else:
                self._unpacker.skip()
            found.has_meta = True
        else:
            self._unpacker.skip()

    def _numbers(self, place: str, found: GrowingBlocks) -> None:
        """A list of whole numbers, many at once; what is none of them is no time, what is no list has no times."""
        unpacker, window = self._unpacker, self._window
        if not list_header(bytes((self._first_byte(self._at(place)), 0, 0, 0, 0)), 0):
            unpacker.skip()
            return
        count = unpacker.read_array_header()
        while len(found) < count:
            begin, most = self._at(place), min(count - len(found), AT_ONCE)
            ahead = window.bytes_between(begin, min(window.given, begin + WIDTH * most))
            values, ends = numbers_ahead(ahead, most)
            if len(values):
                unpacker.read_bytes(int(ends[-1]))
                found.extend(begin + np.append(0, ends[:-1]), values, begin + int(ends[-1]))
            else:  # one that is not read to its end yet, or too large to be a number
                unpacker.skip()
                end = int(unpacker.tell())
                values, _ = numbers_ahead(window.bytes_between(begin, end), 1)
                found.add(begin, int(values[0]), end)

    def _samples(self, stream: str) -> None:
        found, finder, window, unpacker = self._of(stream), TimeFinder(), self._window, self._unpacker
        is_there = len(found.samples) or found.columns
        found, self._last_stream = self._anew(stream) if is_there else found, stream
        samples, count, bulk = found.samples, unpacker.read_array_header(), SampleRuns(window, unpacker)
        while len(samples) < count:
            begin = self._at(f"sample {len(samples)} of {stream}", is_sample=True)
            self._pass_sample(DEEPEST_NAMES)
            end = unpacker.tell()
            data = window.bytes_between(begin, end)
            if len(data) > LARGE and holds_another(data):
                raise _FaultError(HOLDS_ANOTHER)
            samples.add(begin, finder.time(data), end)
            bulk.add(data, begin, count - len(samples), found=samples, finder=finder)
        self._tail = window.bytes_between(max(samples.stop - LONGEST_NAME, self._begin), samples.stop)

    def _pass_sample(self, depth: int) -> None:
        """Pass over an item, the names in its maps looked at.

        A list or map among them tells of a missing value. So do others that are no texts, if from there to the end of
        the map names stand in the place of values; where not, the bytes are in step, and the sample alone is damaged.
        """
        unpacker = self._unpacker
        if not is_map(self._first_byte(int(unpacker.tell()))):
            unpacker.skip()
            return
        count, odd = unpacker.read_map_header(), ""
        for index in range(count):
            found = odd_name(unpacker.unpack())
            odd = odd or (found if index else "")  # before the first name is no value that could be missing
            if odd and not self._may_be_shifted(is_last=index == count - 1):
                odd = ""
            if depth:
                self._pass_sample(depth - 1)
            else:
                unpacker.skip()
        if odd:
            raise _FaultError(f"{NO_NAME}{odd}")

    def _may_be_shifted(self, *, is_last: bool) -> bool:
        place = int(self._unpacker.tell())
        value, sample = (self._window.bytes_between(at, at + ALIKE) for at in (place, self._begin))
        return may_be_shifted(value, sample, is_last=is_last)

    def _column(self, stream: str, name: str) -> None:
        """A field of all samples; of names that are written once, there is one list instead of many."""
        begin = self._at(f"the column {name} of {stream}")
        count = self._unpacker.read_array_header()
        if name in self._of(stream).columns or len(self._of(stream).samples):
            self._anew(stream)
        items, columns, is_constant = ColumnRuns(self._window, self._unpacker), self._of(stream).columns, False
        try:
            if count and plain_name(name.rpartition("/")[2]) == "names":
                is_constant = is_text(self._first_byte(items.place))
            items.pass_over(count)
        finally:
            self._place, self._begin = f"item {items.index} of the column {name} of {stream}", items.place
            if not is_constant and 0 < items.index < count:
                columns[name] = items.column(is_cut=True)
        column = items.column(is_cut=False)
        columns[name] = replace(column, begins=np.array([begin]), is_constant=True) if is_constant else column


def byte_of_fault(message: str) -> int | None:
    """The byte that the fault of a log names, if it names one."""
    found = re.match(rf"{NEAR}(\d+)", message)
    return None if found is None else int(found[1])
