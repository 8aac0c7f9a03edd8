"""Logs of lines `*<seconds> TYPE numbers`: what a line says arrives, or the line is told of."""

import random
import re
from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from campaigns.frame import Found, Inputs, WrongError
from campaigns.memory_files import MemoryFiles
from campaigns.mutations import LINES, changed
from campaigns.tables import PLAUSIBLE_NS, START_S, ns_of_text
from fieldplay.core.errors import Defect, UserError
from fieldplay.io.table import Table
from fieldplay.io.table_rows import TimedRows
from fieldplay.io.tagged_lines import TaggedLines, TaggedSpec

SIGNS = re.compile(r" *, *| +")
LONG = 24  # characters, of which some may be digits finer than nanoseconds: halves are rounded either way
ROWS = 8
ANGLES = ("start", "step", "end")
KINDS = (
    TaggedLines(types={"RANGE_DATA": (*ANGLES, "unit", "n")}, values="n", angles=ANGLES),
    TaggedLines(types={"SENSOR": ("id", "value"), "BRAKE": ("left", "right", "value")}),
    TaggedLines(types={"SPECTRUM": ("angle",)}, values="any"),
)


class Log(NamedTuple):
    """A log as it was before anything was changed."""

    tagged: TaggedLines
    lines: tuple[bytes, ...]


def _log(number: int, marked: TaggedLines) -> Log:
    lines = []
    for row in range(ROWS):
        word = list(marked.types)[row % len(marked.types)]
        values = [row % 3 + 1 + index for index in range(3)]
        own: dict[str, list[float]] = {"RANGE_DATA": [0, 0.5, 1, 1, 3, *values], "SENSOR": [*values[:2]]}
        blank, star = (" ", ", ", "\t")[number], ("*", "", "* ")[number]
        time = f"{star}{START_S + 1000 * number + row * 0.125:.6f}"
        lines.append(blank.join([time, word, *map(str, own.get(word, values))]))
    return Log(marked, tuple(line.encode() for line in lines))


class Marked(Inputs):
    """See above."""

    suffix = "txt"

    def __init__(self) -> None:
        self._logs = [_log(number, marked) for number, marked in enumerate(KINDS)]

    def mutated(self, draw: random.Random) -> bytes:
        return changed(draw, b"\n".join([*draw.choice(self._logs).lines, b""]), LINES)

    def look(self, data: bytes) -> Found:
        lines = data.split(b"\n")
        known = [sum(as_written(line) in log.lines for line in lines) for log in self._logs]
        log = self._logs[known.index(max(known))]
        defects: list[Defect] = []
        try:
            table = Table(
                MemoryFiles({"a.txt": data}),
                "a.txt",
                TaggedSpec(tagged=log.tagged),
                defects.append,
                plausible_ns=PLAUSIBLE_NS,
            )
        except UserError as error:
            if max(known):
                raise WrongError(f"refused though it has lines that nothing touched: {error}") from error
            raise
        blocks = [table.rows(index) for index in range(len(table.blocks))]
        there = {int(line) for rows in blocks for line in rows.line}
        for number, line in enumerate(lines, 1):
            if as_written(line) in log.lines and number not in there:
                raise WrongError(f"a line that nothing touched is missing: line {number}, {line!r}")
        for rows in blocks:
            self._compare(rows, lines, log.tagged)
        what: Hashable = tuple(
            (rows.stamp_ns.tobytes(), rows.values.tobytes(), rows.lists.tobytes()) for rows in blocks
        )
        return Found("told" if defects else "read", (what, tuple(map(str, defects))))

    def _compare(self, rows: TimedRows, lines: list[bytes], marked: TaggedLines) -> None:
        several = len(marked.types) > 1
        for row, number in enumerate(rows.line.tolist()):
            names = list(marked.types.values())[int(rows["type"][row]) if several else 0]
            arrived = np.concatenate([rows.columns(*names)[row], rows.lists[row]])
            line = lines[number - 1] if number <= len(lines) else b""
            meant = numbers_of_line(line, marked)
            value = [int(rows.stamp_ns[row]), *arrived[~np.isnan(arrived)].tolist()]
            is_tie = meant is not None and len(line) > LONG and abs(meant[0] - value[0]) <= 1
            if meant != value and not (is_tie and meant is not None and meant[1:] == value[1:]):
                raise WrongError(f"a row holds what its line does not: line {number}, {line!r}: {arrived}, not {meant}")


def as_written(line: bytes) -> bytes:
    """A line without the blanks around it and the carriage return of its end."""
    return line.removesuffix(b"\r").strip(b" \t")


def numbers_of_line(line: bytes, marked: TaggedLines) -> list[float] | None:
    """The time in nanoseconds and the numbers of a line, word by word; None where it is no such line."""
    text = line.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").strip(" \t\r").removeprefix("*")
    arguments = SIGNS.split(text.replace("\t", " ").strip(" ,"))
    if arguments[1:2] and arguments[1].upper() in marked.types:
        del arguments[1]
    try:
        return [ns_of_text(arguments[0]), *map(float, arguments[1:])]
    except (ValueError, ArithmeticError):
        return None
