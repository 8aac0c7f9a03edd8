"""Goes through a log once, from its begin to its end or to its first fault, and remembers where everything lies."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, BinaryIO, NoReturn

import msgpack
import numpy as np

from fieldplay_archive.errors import ArchiveError
from fieldplay_archive.msgpack_logs.bulk import Bulk
from fieldplay_archive.msgpack_logs.column_scanning import ColumnItems
from fieldplay_archive.msgpack_logs.damage import HOLDS_ANOTHER, perhaps_left_out
from fieldplay_archive.msgpack_logs.file_index import FileIndex, Part
from fieldplay_archive.msgpack_logs.growing import Growing, GrowingBlocks
from fieldplay_archive.msgpack_logs.packed_numbers import is_map, list_header
from fieldplay_archive.msgpack_logs.sample_time import TimeFinder, holds_another, plain_name
from fieldplay_archive.msgpack_logs.time_lists import whole_number, whole_numbers
from fieldplay_archive.msgpack_logs.unpacking import FAULTS, UNKNOWN_TEXT, why
from fieldplay_archive.msgpack_logs.window import CHUNK, LARGEST_ITEM, Window

META = ".meta"
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
        self._window = Window(file, moved)
        self._unpacker: Any = msgpack.Unpacker(
            self._window, read_size=CHUNK, raw=False, unicode_errors=UNKNOWN_TEXT, max_buffer_size=LARGEST_ITEM,
            max_str_len=LONGEST_TEXT, max_array_len=64, max_map_len=64, strict_map_key=False,
        )  # fmt: skip
        self._place = "the file"
        self._found: dict[str, Growing] = {}
        self._parts: list[Part] = []
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
        near, is_cut = f"corrupt near byte {begin}:", isinstance(error, msgpack.exceptions.OutOfData)
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
        if found is None or not len(found.samples) or found.samples.stop != self._begin:
            raise _FaultError(f"expected a text, got {type(name).__name__}")
        self._begin = found.samples.take_back()
        self._place, self._is_sample = f"sample {len(found.samples)} of {self._last_stream}", True
        raise _FaultError(f"it holds the name of what follows it in the place of a value, got {type(name).__name__}")

    def _first_byte(self, begin: int) -> int:
        first = self._window.bytes_between(begin, begin + 1)
        if not first:
            raise msgpack.exceptions.OutOfData("No more data to unpack.")
        return first[0]

    def _of(self, stream: str) -> Growing:
        return self._found.setdefault(stream, Growing())

    def _anew(self, stream: str) -> Growing:
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
            self._at(f"the type of {stream}")
            kind = self._unpacker.unpack()
            found.type, found.has_meta = kind if isinstance(kind, str) else "", True
        else:
            self._unpacker.skip()

    def _numbers(self, place: str, found: GrowingBlocks) -> None:
        """A list of whole numbers, some at once where they have eight bytes each; what is none of them is no time."""
        self._at(place)
        count, unpacker = self._unpacker.read_array_header(), self._unpacker
        while len(found) < count:
            begin = self._at(place)
            most = 9 * min(count - len(found), AT_ONCE)
            ahead = self._window.bytes_between(begin, min(self._window.given, begin + most))
            values = whole_numbers(ahead)
            if len(values):
                unpacker.read_bytes(9 * len(values))
                found.extend(begin + 9 * np.arange(len(values)), values, begin + 9 * len(values))
            else:
                value = unpacker.unpack()
                found.add(begin, whole_number(value), int(unpacker.tell()))

    def _samples(self, stream: str) -> None:
        found, finder, window, unpacker = self._of(stream), TimeFinder(), self._window, self._unpacker
        found, self._last_stream = self._anew(stream) if len(found.samples) else found, stream
        samples, count, bulk = found.samples, unpacker.read_array_header(), Bulk(window, unpacker)
        while len(samples) < count:
            begin = self._at(f"sample {len(samples)} of {stream}", is_sample=True)
            self._pass_sample(DEEPEST_NAMES)
            end = unpacker.tell()
            data = window.bytes_between(begin, end)
            if len(data) > LARGE and holds_another(data):
                raise _FaultError(HOLDS_ANOTHER)
            samples.add(begin, finder.time(data), end)
            bulk.add(data, begin, count - len(samples), found=samples, finder=finder)

    def _pass_sample(self, depth: int) -> None:
        """Pass over an item, the names in its maps looked at: a list or map among them tells of a missing value."""
        unpacker = self._unpacker
        if not is_map(self._first_byte(int(unpacker.tell()))):
            unpacker.skip()
            return
        for _ in range(unpacker.read_map_header()):
            name = unpacker.unpack()
            if isinstance(name, list | dict):
                raise _FaultError(f"expected the name of a field, got {type(name).__name__}")
            if depth:
                self._pass_sample(depth - 1)
            else:
                unpacker.skip()

    def _column(self, stream: str, name: str) -> None:
        """A field of all samples; of names that are written once, there is one list instead of many."""
        begin = self._at(f"the column {name} of {stream}")
        count = self._unpacker.read_array_header()
        if name in self._of(stream).columns:
            self._anew(stream)
        items, columns, is_constant = ColumnItems(self._window, self._unpacker), self._of(stream).columns, False
        try:
            if count and plain_name(name.rpartition("/")[2]) == "names":
                is_constant = _is_text(self._first_byte(items.place))
            items.pass_over(count)
        finally:
            self._place, self._begin = f"item {items.index} of the column {name} of {stream}", items.place
            if not is_constant and 0 < items.index < count:
                columns[name] = items.column(is_cut=True)
        column = items.column(is_cut=False)
        columns[name] = replace(column, begins=np.array([begin]), is_constant=True) if is_constant else column


def _is_text(first: int) -> bool:
    return 0xA0 <= first <= 0xBF or 0xD9 <= first <= 0xDB
