"""What grows of a stream while its log is gone through: a sample at a time, or many at once that are alike."""

from array import array
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fieldplay_archive.msgpack_logs.file_index import NO_TIME, Column, Part, Places
from fieldplay_archive.msgpack_logs.sample_time import TimeFinder
from fieldplay_archive.msgpack_logs.template import Number, Template, column, template_of
from fieldplay_archive.msgpack_logs.window import Window

SMALL_SAMPLE, FEWEST_ALIKE, MOST_FAILURES = 1 << 14, 8, 20


@dataclass
class Growing:
    """What is found of a stream in one map."""

    type: str = ""
    begins: "array[int]" = field(default_factory=lambda: array("q"))
    stop: int = 0
    own: "array[int]" = field(default_factory=lambda: array("q"))
    logged: Places = field(default_factory=lambda: np.zeros(0, np.int64))
    columns: dict[str, Column] = field(default_factory=dict)
    has_meta: bool = False

    def part(self, stream: str) -> Part:
        return Part(
            stream=stream,
            type=self.type,
            begins=places_of(self.begins),
            stop=self.stop,
            own=places_of(self.own),
            logged=self.logged,
            columns=self.columns,
            has_meta=self.has_meta,
        )


class Alikes:
    """Passes over samples that are as the last but for their numbers, as far as they are read already."""

    def __init__(self, window: Window, unpacker: Any) -> None:
        self._window, self._unpacker = window, unpacker
        self._template: Template | None = None
        self._failures = 0

    def add(self, data: bytes, begin: int, most: int, *, found: Growing, finder: TimeFinder) -> int:
        """Add those that follow one, `most` at most; how many there were."""
        size, prefix = len(data), finder.prefix
        if (
            self._failures > MOST_FAILURES
            or not size
            or size > SMALL_SAMPLE
            or not data.startswith(prefix)
            or not prefix
        ):
            return 0
        ahead = self._window.bytes_between(begin + size, min(self._window.given, begin + size * (most + 1)))
        rows = np.frombuffer(ahead, np.uint8, len(ahead) // size * size).reshape(-1, size)
        if len(rows) < FEWEST_ALIKE:
            return 0
        template = self._template
        if template is None or not template.data.startswith(prefix) or not template.fitting(rows[:1]):
            template = self._template = template_of(data)
        fitting = template.fitting(rows) if template is not None else 0
        self._failures = 0 if fitting >= FEWEST_ALIKE else self._failures + 1
        if not fitting:
            return 0
        self._unpacker.read_bytes(fitting * size)
        places = begin + size * np.arange(1, fitting + 1, dtype=np.int64)
        found.begins.frombytes(places.tobytes())
        found.stop = begin + size * (fitting + 1)
        times = column(rows[:fitting], Number(len(prefix), ">u8")).astype(np.int64)  # negative beyond its range
        found.own.frombytes(np.where(times > 0, times, NO_TIME).tobytes())
        return fitting


def places_of(values: "array[int]") -> Places:
    """The numbers (n,) of an array that grew."""
    return np.frombuffer(values, np.int64).copy() if len(values) else np.zeros(0, np.int64)
