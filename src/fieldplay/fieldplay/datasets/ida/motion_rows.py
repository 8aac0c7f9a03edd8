"""The rows of *_eu.csv: which column is which by heading, label or place, the time of each in UTC, and its codes."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.ida.ida_products import Product
from fieldplay.datasets.ida.lander_clock import FinerTimes, SpacecraftClock, finer_times
from fieldplay.io.delimited import cut_line_issue, rows_from_block
from fieldplay.io.pds4 import LabelledTable
from fieldplay.io.table_format import (
    TableFormat,
    TableSpec,
    format_from_head,
    normal_title,
)
from fieldplay.io.table_rows import IGNORED, TIME, BadLine, Dialect, TimedRows

SMALLEST_READING_S = 100_000_000  # below, column 1 is no reading of the clock but seconds after something
STAT = "stat"
ELAPSED = "elapsed_hr"
FORCES = ("fr", "ft", "fz")  # which are often marked as invalid: where too few joints have power
INVALID = -99999.0
FILLED_HEX = re.compile(r"000[0-9A-Fa-f]{5}")  # the first three digits are the spare bits
MARKED_HEX = re.compile(r"0[xX]([0-9A-Fa-f]+)")
LETTERS = re.compile(r"[A-Fa-f]")
LARGEST = {"tool": 9, "grapple_phase": 5, "stat": 2**32 - 1}
SPARE_BITS = range(20, 32)
IMPOSSIBLE = "impossible_code"

ReportMismatch = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class MotionFormat:
    """How one file is written: the columns in its order, and what makes UTC of its times.

    `dialect` has the dataset's columns, whatever the file's order is (`own`); what a file lacks is NaN.
    """

    dialect: Dialect
    own: Dialect
    first_byte: int
    first_line: int
    mapping: str
    clock: SpacecraftClock
    shift_ns: int  # what makes readings of the clock of the times in column 1
    special: Mapping[str, tuple[float, ...]]
    hexadecimal: bool
    finer: FinerTimes | None  # where column 1 is too coarse

    def rows_of(self, blocks: Sequence[bytes]) -> list[TimedRows]:
        """The rows of blocks of whole lines."""
        return [self._rows(block) for block in blocks]

    def _rows(self, block: bytes) -> TimedRows:
        rows = rows_from_block(self._without_hexadecimal(block), self.own)
        values, reading_ns = self._values(rows.values), rows.stamp_ns + self.shift_ns
        if self.finer is not None:
            reading_ns = self.finer.times(reading_ns, values[:, self.dialect.numbers.index(ELAPSED)])
        stamp_ns = self.clock.unix_ns_from_reading(reading_ns)
        return with_possible_codes(replace(rows, stamp_ns=stamp_ns, values=values), self.dialect.numbers)

    def cut_off(self, line: bytes, before: bytes) -> str | None:
        """A message if the last line is cut within its last number and that is no state of the motors."""
        return None if self.own.columns[-1] == STAT else cut_line_issue(line, before, self.own)

    def _values(self, own: NDArray[np.float64]) -> NDArray[np.float64]:
        requested, had = self.dialect.numbers, self.own.numbers
        indices = [index for index, name in enumerate(requested) if name in had]
        values = np.full((len(own), len(requested)), np.nan)
        values[:, indices] = own[:, [had.index(requested[index]) for index in indices]]
        for name, constants in self.special.items():
            if constants and name in requested:
                column = values[:, requested.index(name)]
                column[np.isin(column, constants)] = np.nan
        return values

    def _without_hexadecimal(self, block: bytes) -> bytes:
        """The block with the states of the motors in decimal."""
        if STAT not in self.own.columns or not (self.hexadecimal or b"x" in block or b"X" in block):
            return block
        index, delimiter = self.own.columns.index(STAT), self.own.delimiter
        lines = block.decode("latin-1").split("\n")
        return "\n".join(_decimal(line, index, delimiter, bare=self.hexadecimal) for line in lines).encode("latin-1")


def _decimal(line: str, index: int, delimiter: str, *, bare: bool) -> str:
    cells = line.split(delimiter)
    if index < len(cells):
        text = cells[index].strip().strip('"')
        marked = MARKED_HEX.fullmatch(text)
        digits = marked[1] if marked else text if bare and re.fullmatch(r"[0-9A-Fa-f]+", text) else ""
        if digits:
            cells[index] = str(int(digits, 16))
    return delimiter.join(cells)


@dataclass(frozen=True, kw_only=True)
class MotionSpec:
    """What is known of one file of rows before it is read: the dataset's columns, its product, the clock."""

    layouts: Sequence[Sequence[str]]
    ranges: Mapping[str, tuple[float, float]]
    product: Product
    clock: SpacecraftClock
    report: ReportMismatch  # of where the label does not fit
    repeated_times: bool = True

    def format_from_head(self, head: bytes) -> MotionFormat:
        """The form of a file by its start; ArchiveError if its columns or times cannot be determined."""
        described = self.product.described
        table = None if described is None else described.table
        table_format = self._format(head, table)
        if table is not None:
            self._compare(head, table_format, table)
        names = tuple(table_format.dialect.columns)
        own = replace(table_format.dialect, partial=True)
        beginning = rows_from_block(head[table_format.first_byte :], own)
        shift_ns = self._shift_ns(beginning.stamp_ns)
        elapsed_hr = beginning.values[:, own.numbers.index(ELAPSED)] if ELAPSED in own.numbers else None
        return MotionFormat(
            dialect=Dialect(tuple(self.layouts[0]), ",", partial=True),
            own=own,
            first_byte=table_format.first_byte,
            first_line=table_format.first_line,
            mapping=table_format.mapping,
            clock=self.clock,
            shift_ns=shift_ns,
            special=_special(names, table),
            finer=finer_times(beginning.stamp_ns + shift_ns, elapsed_hr, self.product.start_ns),
            hexadecimal=_is_hexadecimal(head[table_format.first_byte :], own),
        )

    def _format(self, head: bytes, table: LabelledTable | None) -> TableFormat:
        """By the label where it names all columns, else by the heading, else by the number of columns."""
        labelled = [] if table is None else columns_of_label(table, self.layouts[0])
        try:
            sniffed = format_from_head(head, TableSpec(layouts=self.layouts, header=_titles(self.layouts[0])))
        except ArchiveError:
            if not labelled:
                raise
            sniffed = format_from_head(head, TableSpec(layouts=[labelled]))
        columns = sniffed.dialect.columns
        if len(labelled) != len(columns):
            return sniffed
        if sniffed.mapping != "header":
            return replace(sniffed, dialect=replace(sniffed.dialect, columns=tuple(labelled)), mapping="label")
        wrong = _difference(labelled, columns)
        governs = bool(wrong) and self._is_whole(labelled) and labelled.index(TIME) == columns.index(TIME)
        if wrong:
            winner = "label" if governs else "heading"
            self.report(f"{wrong} by the label {self.product.label_file}; the {winner} counts")
        if not governs:
            return sniffed
        mapping = "label, the heading names other columns"
        return replace(sniffed, dialect=replace(sniffed.dialect, columns=tuple(labelled)), mapping=mapping)

    def _is_whole(self, columns: Sequence[str]) -> bool:
        """Whether these are all columns of a layout, in any order, and no others."""
        return any(sorted(columns) == sorted(layout) for layout in self.layouts)

    def _compare(self, head: bytes, table_format: TableFormat, table: LabelledTable) -> None:
        """ReportMismatch where the label says something else than the file has."""
        columns, label = table_format.dialect.columns, self.product.label_file
        described = self.product.described
        header_bytes = table.offset if described is None or described.header_bytes is None else described.header_bytes
        if header_bytes is not None and header_bytes != table_format.first_byte:
            self.report(
                f"expected a heading of {header_bytes} bytes by the label {label}, got {table_format.first_byte}"
            )
        count = table.stated_fields if table.stated_fields is not None else len(table.fields)
        if count != len(columns) or len(table.fields) not in (0, count):
            expected = f"expected {count} columns by the label {label}, which names {len(table.fields)}"
            self.report(f"{expected}, got {len(columns)}")
        if table.delimiter and table.delimiter != table_format.dialect.delimiter:
            self.report(
                f"expected '{table.delimiter}' between columns by the label, got '{table_format.dialect.delimiter}'"
            )
        if table.line_end and (b"\r\n" in head) != (table.line_end == b"\r\n"):
            self.report(f"expected lines that end in {table.line_end!r} by the label {label}, got others")

    def _shift_ns(self, column_ns: NDArray[np.int64]) -> int:
        """What makes readings of the clock of column 1 (n,): nothing, or what lets it start with the file."""
        first = column_ns[:1]
        if not len(first):
            raise ArchiveError("expected a row with a time in column 1, got none at the start of the file")
        if int(first[0]) >= SMALLEST_READING_S * NS_PER_S:
            return 0
        start_ns = self.product.start_ns
        if start_ns is None:
            message = "column time: expected readings of the clock, or a name or label with the first one"
            raise ArchiveError(f"{message}, got {int(first[0]) / NS_PER_S:.9g} s")
        return start_ns - int(first[0])


def columns_of_label(table: LabelledTable, known: Sequence[str]) -> list[str]:
    """The dataset's names of a label's columns; where one is unknown, or one comes twice, it is passed over."""
    titles = _titles(known)
    names: list[str] = []
    for number, labelled in enumerate(table.fields):
        title = normal_title(labelled.name)
        name = next((name for name, patterns in titles.items() if re.fullmatch(patterns[0], title)), "")
        names.append(name if name and name not in names else f"{IGNORED}{number}")
    return names if TIME in names and not table.groups else []


def _titles(columns: Sequence[str]) -> dict[str, tuple[str]]:
    """Regular expressions of how the columns are called: `_` may be lost, l and 1 mistaken for each other."""
    return {name: (_lenient("elapsed_time" if name == "elapsed_hr" else name),) for name in columns}


def _lenient(name: str) -> str:
    return "".join({"_": "_?", "l": "[l1]", "1": "[1l]"}.get(char, char) for char in name)


def _difference(labelled: Sequence[str], columns: Sequence[str]) -> str:
    """The first column that a label names otherwise than the heading."""
    for number, (expected, got) in enumerate(zip(labelled, columns, strict=False), start=1):
        if expected != got and not expected.startswith(IGNORED) and not got.startswith(IGNORED):
            return f"expected column {number} to be {expected}, got {got},"
    return ""


def _special(columns: Sequence[str], table: LabelledTable | None) -> dict[str, tuple[float, ...]]:
    """The numbers that stand for none, by column: those of the label, and the archive's own one in any case."""
    constants: dict[str, tuple[float, ...]] = dict.fromkeys(columns, (INVALID,))
    if table is not None and len(table.fields) == len(columns):
        for name, labelled in zip(columns, table.fields, strict=True):
            constants[name] = (*constants.get(name, ()), *labelled.special)
    return constants


def _is_hexadecimal(rows: bytes, own: Dialect) -> bool:
    """Whether the states of the motors are hexadecimal without a mark: some have letters, or all eight digits.

    Decimal is the rule, also for numbers of eight digits, but where all begin with the zeros of the spare bits.
    """
    if STAT not in own.columns:
        return False
    index = own.columns.index(STAT)
    lines = (line.split(own.delimiter) for line in rows.decode("latin-1").splitlines())
    texts = [cells[index].strip().strip('"') for cells in lines if len(cells) == len(own.columns)]
    bare = [text for text in texts if not MARKED_HEX.fullmatch(text)]
    with_letters = [text for text in bare if LETTERS.search(text) and re.fullmatch(r"[0-9A-Fa-f]+", text)]
    return len(with_letters) > 1 or (bool(bare) and all(FILLED_HEX.fullmatch(text) for text in bare))


def with_possible_codes(rows: TimedRows, numbers: Sequence[str]) -> TimedRows:
    """The rows, NaN in place of codes that cannot be, which are reported. Their columns are `numbers`."""
    values, issues = rows.values.copy(), []
    for name, largest in LARGEST.items():
        codes = values[:, numbers.index(name)]
        wrong = np.isfinite(codes) & ((codes < 0) | (codes > largest) | (codes != np.floor(codes)))
        expected = f"column {name}: expected a whole number from 0 to {largest}, got "
        issues += [
            BadLine(int(rows.line[row]), IMPOSSIBLE, f"{expected}{codes[row]:.12g}")
            for row in np.flatnonzero(wrong).tolist()
        ]
        codes[wrong] = np.nan
    issues += _with_spare_bits(rows.line, values[:, numbers.index(STAT)])
    return replace(rows, values=values).with_bad(tuple(issues)) if issues else rows


def _with_spare_bits(line: NDArray[np.int64], stat: NDArray[np.float64]) -> Iterator[BadLine]:
    """The rows with a bit that has no meaning: those that have one may be what they seem."""
    for row in np.flatnonzero(stat >= 1 << SPARE_BITS.start).tolist():
        expected = f"column {STAT}: expected no bits from {SPARE_BITS.start} to {SPARE_BITS.stop - 1}, which are spare"
        yield BadLine(
            int(line[row]), IMPOSSIBLE, f"{expected}, got {int(stat[row])} ({int(stat[row]):#x}); the others count"
        )
