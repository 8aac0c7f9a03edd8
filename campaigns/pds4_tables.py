"""Tables with labels of PDS4: each row holds what its line says, whatever becomes of the label, and none is lost."""

import random
from collections.abc import Hashable
from contextlib import suppress
from decimal import Decimal

import numpy as np

from campaigns.frame import Found, Inputs, WrongError
from campaigns.labels import FIELDS, LABEL
from campaigns.memory_files import MemoryFiles
from campaigns.mutations import LINES, XML_PARTS, changed, with_parts
from campaigns.tables import PLAUSIBLE_NS
from fieldplay.core.errors import ArchiveError, Defect, UserError
from fieldplay.datasets.ida.ida_products import Product, name_from_file
from fieldplay.datasets.ida.lander_clock import clock_from_rows
from fieldplay.datasets.ida.motion_rows import LARGEST, MotionFormat, MotionSpec
from fieldplay.io.pds4 import label_from_xml
from fieldplay.io.table import Table
from fieldplay.io.table_rows import TimedRows

COLUMNS = ("time", "elapsed_hr", "enc1", "x_enc", "stat", "tool", "grapple_phase")
HEADING = b"#time(s),elapsed_time(hr),enc1(rad),x_enc(m),stat(none),tool(none),grapple_phase(none)\r\n"
FILE = "A0087_0209_615088547_615088547_190629192905_eu.csv"
EPOCH_S, START_S, ROWS = 946_728_000, 615_088_547, 12
NEAR_NS = 1000  # times are floats here
NONE = (-99999.0, -99999.25)  # what stands for no number, by the archive and by the label
BETWEEN = b"\n=====\n"
ENOUGH = 0.7  # of the rows: where fewer are as they were, columns may be taken for others
BLANKS = b' \t\r"'


def _rows() -> tuple[bytes, ...]:
    rows = []
    for row in range(ROWS):
        time, angle = f"{START_S + row / 10:.1f}", -99999 if row == 5 else 0.1 + row / 1000
        rows.append(f"{time},{row / 36000:.7f},{angle:.4f},{0.5 + row / 8:.4f},{61441 + row},2,{row % 4}\r\n".encode())
    return tuple(rows)


def _label(rows: tuple[bytes, ...]) -> bytes:
    fields = "".join(
        FIELDS.splitlines()[0].replace("time", name).replace("-99999.0", str(NONE[1])) + "\n"
        for name in ("time", "elapsed_time", *COLUMNS[2:])
    )
    return (
        LABEL.replace(FIELDS.encode(), fields.encode())
        .replace(b"Data.CSV", FILE.encode())
        .replace(b"<records>3<", b"<records>%d<" % len(rows))
        .replace(b"<fields>3<", b"<fields>%d<" % len(COLUMNS))
        .replace(b">20</object_length>", b">%d</object_length>" % len(HEADING))
        .replace(b">20</offset>", b">%d</offset>" % len(HEADING))
    )


class Pds4Tables(Inputs):
    """See above; an input is a label, a line that parts, and a table."""

    suffix = "pds4"

    def __init__(self) -> None:
        self._rows = _rows()
        self._known = {row.strip(BLANKS) for row in self._rows}
        self._label = _label(self._rows)
        self._clock = clock_from_rows([[0, 0, 1]], epoch_unix_s=str(EPOCH_S))

    def mutated(self, draw: random.Random) -> bytes:
        label, table = self._label, HEADING + b"".join(self._rows)
        how = draw.randrange(4)
        if how == 0:
            label = with_parts(draw, label, XML_PARTS) if draw.random() < 0.5 else changed(draw, label, LINES)
        if how > 0 or draw.random() < 0.5:
            table = changed(draw, table, LINES)
        return label + BETWEEN + table

    def look(self, data: bytes) -> Found:
        label, _, table = data.partition(BETWEEN)
        messages: list[str] = []
        defects: list[Defect] = []
        lines = table.split(b"\n")
        rows = [line for line in lines[1:] if line.strip(BLANKS)]
        is_same = table.startswith(HEADING + self._rows[0]) and label == self._label
        is_same &= sum(line.strip(BLANKS) in self._known for line in rows) >= ENOUGH * max(len(rows), ROWS)
        spec = MotionSpec(
            layouts=[COLUMNS], ranges={}, product=_product(label, messages), clock=self._clock, report=messages.append
        )
        try:
            read = Table(MemoryFiles({FILE: table}), FILE, spec, defects.append, plausible_ns=PLAUSIBLE_NS)
        except UserError as error:
            if is_same:
                raise WrongError(f"refused though most rows are untouched: {error}") from error
            raise
        blocks = [read.rows(index) for index in range(len(read.blocks))]
        there = {int(line) for block in blocks for line in block.line}
        is_cut = any(defect.kind == "cut_off_line" for defect in defects)
        for number, line in enumerate(lines, 1) if is_same else ():
            if line.strip(BLANKS) in self._known and number not in there and not (is_cut and number == len(lines)):
                raise WrongError(f"a row that nothing touched is missing: line {number}, {line!r}")
        assert isinstance(read.format, MotionFormat)
        for block in blocks:
            _compare(block, lines, read.format, is_same=is_same)
        what: Hashable = tuple((block.stamp_ns.tobytes(), block.columns(*COLUMNS[1:]).tobytes()) for block in blocks)
        return Found("told" if defects or messages else "read", (what, tuple(map(str, defects)), tuple(messages)))


def _product(label: bytes, message: list[str]) -> Product:
    """The table with its label, if that is one."""
    try:
        return Product(file=FILE, name=name_from_file(FILE), label=label_from_xml(label), label_file="a.xml")
    except ArchiveError as error:
        message.append(str(error))
        return Product(file=FILE, name=name_from_file(FILE))


def _compare(rows: TimedRows, lines: list[bytes], form: MotionFormat, *, is_same: bool) -> None:
    for row, number in enumerate(rows.line.tolist()):
        line = lines[number - 1] if number <= len(lines) else b""
        arrived, stamp_ns = rows.columns(*COLUMNS[1:])[row], int(rows.stamp_ns[row]) - EPOCH_S * 10**9
        parts = [part for part in line.split(b"\r") if part.strip(BLANKS)]  # a lone one ends a row, too
        meant = [[_numbers_of_cell(cell, form) for cell in part.split(b",")] for part in parts]
        if is_same and not any(_is_row(stamp_ns, arrived, part, form) for part in meant):
            raise WrongError(f"a row holds what its line does not: line {number}, {line!r}: {arrived}")
        there = {number for part in meant for cell in part for number in cell}
        strange = set(arrived[~np.isnan(arrived)].tolist()) - there
        if strange:
            raise WrongError(f"a number that is not in its line: line {number}, {line!r}: {strange}")


def _is_row(stamp_ns: int, arrived: np.ndarray, meant: list[set[float]], form: MotionFormat) -> bool:
    """Whether a row is what its line says."""
    times_ns = [time * 10**9 + form.shift_ns for time in meant[0]]
    is_time = form.finer is not None or any(abs(stamp_ns - time_ns) <= NEAR_NS for time_ns in times_ns)
    return is_time and all(_fits(value, meant, index) for index, value in enumerate(arrived, 1))


def _fits(value: float, meant: list[set[float]], position: int) -> bool:
    """Whether a number is that of its cell, or none where the cell tells none, or an impossible one."""
    cell = meant[position] if position < len(meant) else set()
    if not np.isnan(value):
        return value in cell
    most = LARGEST.get(COLUMNS[position], np.inf)
    is_impossible = COLUMNS[position] in LARGEST and any(not 0 <= one <= most or one != int(one) for one in cell)
    return not cell or is_impossible or any(one in NONE or np.isnan(one) for one in cell)


def _numbers_of_cell(cell: bytes, form: MotionFormat) -> set[float]:
    """What a cell may stand for; nothing where it is no number."""
    text = cell.decode("latin-1").strip(' \t\r"')
    names = set()
    with suppress(ArithmeticError):
        names.add(float(Decimal(text)))
    with suppress(ValueError, OverflowError):
        if text[:2].lower() == "0x" or form.hexadecimal:
            names.add(float(int(text, 16)))
    return names
