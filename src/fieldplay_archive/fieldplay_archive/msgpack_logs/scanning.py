"""Goes through a log once, from its begin to its end or to its first fault, and remembers where everything lies."""

import re
from array import array
from collections.abc import Callable
from typing import Any, BinaryIO

import msgpack
import numpy as np

from fieldplay_archive.errors import ArchiveError
from fieldplay_archive.msgpack_logs.file_index import (
    LARGE_ITEM,
    NO_TIME,
    PER_BLOCK,
    Column,
    FileIndex,
    Part,
    Places,
)
from fieldplay_archive.msgpack_logs.growing import Alikes, Growing, places_of
from fieldplay_archive.msgpack_logs.packed_numbers import is_map, list_header
from fieldplay_archive.msgpack_logs.sample_time import TimeFinder, holds_another, plain_name
from fieldplay_archive.msgpack_logs.template import Number, column
from fieldplay_archive.msgpack_logs.unpacking import FAULTS, UNKNOWN_TEXT, why
from fieldplay_archive.msgpack_logs.window import CHUNK, LARGEST_ITEM, Window

META = ".meta"
COLUMN = re.compile(r"(?P<stream>[^.]*\.[^/.]+)(?P<meta>\.meta)?/(?P<field>.+)")  # of a flattened log
LONGEST_TEXT = 1 << 16
MOST_LEFT_OUT = "1,000,000"
LARGE = 1 << 16  # bytes of a sample that may hold others by mistake
MOST_SAMPLES = 8_000_000  # of a stream in one file
AT_ONCE = 1024  # times
EIGHT_BYTES = 0xCF  # a number of eight bytes follows


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
        begin = self._begin
        if isinstance(error, _FaultError):
            return "corrupt_log", f"corrupt near byte {begin}: {error}"
        rest = self._window.bytes_between(begin, self._window.end)
        if holds_another(rest) and self._is_sample:
            return "corrupt_log", f"corrupt near byte {begin}: {self._place} {_left_out()}"
        if isinstance(error, msgpack.exceptions.OutOfData):
            cut = f"the file ends at byte {self._window.end} within {self._place}"
            return "truncated_log", f"corrupt near byte {begin}: {cut}; what is before it is read"
        return "corrupt_log", f"corrupt near byte {begin}: {self._place}: {why(error)}"

    _begin = 0
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
            self._at("the head of a log")
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
        begin = self._at(f"what belongs to '{name}'")
        if isinstance(name, list | tuple):
            self._settings += 1
            self._unpacker.skip()
            return
        if not isinstance(name, str):
            raise _FaultError(f"expected the name of a stream, got {type(name).__name__}")
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

    def _first_byte(self, begin: int) -> int:
        first = self._window.bytes_between(begin, begin + 1)
        if not first:
            raise msgpack.exceptions.OutOfData("No more data to unpack.")
        return first[0]

    def _of(self, stream: str) -> Growing:
        return self._found.setdefault(stream, Growing())

    def _meta(self, stream: str) -> None:
        for _ in range(self._unpacker.read_map_header()):
            name = self._unpacker.unpack()
            self._meta_field(stream, str(name))

    def _meta_field(self, stream: str, name: str) -> None:
        found = self._of(stream)
        if name == "timestamps":
            found.logged = self._numbers(f"the times of {stream}")
            found.has_meta = True
        elif name == "type":
            self._at(f"the type of {stream}")
            kind = self._unpacker.unpack()
            found.type, found.has_meta = kind if isinstance(kind, str) else "", True
        else:
            self._unpacker.skip()

    def _numbers(self, place: str) -> Places:
        """A list of whole numbers, some at once where they have eight bytes each; what is none of them is no time."""
        self._at(place)
        whole, found, unpacker = self._unpacker.read_array_header(), array("q"), self._unpacker
        count = min(whole, MOST_SAMPLES)
        while len(found) < count:
            begin = self._at(place)
            most = 9 * min(count - len(found), AT_ONCE)
            ahead = self._window.bytes_between(begin, min(self._window.given, begin + most))
            rows = np.frombuffer(ahead, np.uint8, len(ahead) // 9 * 9).reshape(-1, 9)
            other = np.flatnonzero(rows[:, 0] != EIGHT_BYTES)
            alike = int(other[0]) if len(other) else len(rows)
            if alike:
                unpacker.read_bytes(9 * alike)
                found.frombytes(column(rows[:alike], Number(1, ">u8")).astype(np.int64).tobytes())
            else:
                value = unpacker.unpack()
                found.append(value if type(value) is int and 0 <= value < 1 << 63 else NO_TIME)
        self._pass_over(whole - count)
        return places_of(found)

    def _samples(self, stream: str) -> None:
        found, finder, window, unpacker = self._of(stream), TimeFinder(), self._window, self._unpacker
        whole, index, alike = unpacker.read_array_header(), 0, Alikes(window, unpacker)
        count = min(whole, MOST_SAMPLES)
        while index < count:
            begin = self._at(f"sample {index} of {stream}", is_sample=True)
            unpacker.skip()
            end = unpacker.tell()
            data = window.bytes_between(begin, end)
            if len(data) > LARGE and holds_another(data):
                raise _FaultError(f"{self._place} {_left_out()}")
            time = finder.time(data)
            found.begins.append(begin)
            found.own.append(time)
            found.stop = end
            index += 1 + alike.add(data, begin, count - index - 1, found=found, finder=finder)
        if whole > count:
            message = f"{stream}: {whole} samples, of which the first {count} are read"
            self._faults.append(("too_many_samples", message))
        self._pass_over(whole - count)

    def _pass_over(self, count: int) -> None:
        """Leave out so many items."""
        for _ in range(count):
            self._window.mark(int(self._unpacker.tell()))
            self._unpacker.skip()

    def _column(self, stream: str, name: str) -> None:
        """A field of all samples; of names that are written once, there is one list instead of many."""
        begin = self._at(f"the column {name} of {stream}")
        count = self._unpacker.read_array_header()
        begins, is_constant, step = array("q"), False, PER_BLOCK
        for index in range(count):
            place = self._at(f"item {index} of the column {name} of {stream}")
            if not index:
                is_constant = plain_name(name.rpartition("/")[2]) == "names" and _is_text(self._first_byte(place))
            if not index % step:
                begins.append(place)
            self._unpacker.skip()
            if not index and self._unpacker.tell() - place >= LARGE_ITEM:
                step = 1
        end = int(self._unpacker.tell())
        places = np.array([begin]) if is_constant else places_of(begins)
        column = Column(count=count, begins=places, end=end, step=step, is_constant=is_constant)
        self._of(stream).columns[name] = column


def _is_text(first: int) -> bool:
    return 0xA0 <= first <= 0xBF or 0xD9 <= first <= 0xDB


def _left_out() -> str:
    return (
        "holds the next one in the place of a value: a list of more than "
        f"{MOST_LEFT_OUT} items was left out here, as pocolog2msgpack does; nothing behind it can be read"
    )
