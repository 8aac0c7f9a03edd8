"""Text tables in many forms; each row that nothing touched must arrive, and none that the file does not hold."""

import random
from collections import Counter
from collections.abc import Hashable
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from typing import NamedTuple

from campaigns.frame import Found, Inputs, WrongError
from campaigns.memory_files import MemoryFiles
from campaigns.mutations import LINES, changed
from fieldplay.core.errors import Defect, UserError
from fieldplay.io.table import Table
from fieldplay.io.table_format import TableSpec

SPEC = TableSpec(layouts=[["time", "x", "y"]], header={"time": ["t", "stamp.*"], "x": ["pos.*"], "y": ["speed"]})
PLAUSIBLE_NS = (946_684_800 * 10**9, 4_102_444_800 * 10**9)
BLANKS = b" \t\r"
START_S, ROWS = 1_656_931_512, 12
ENOUGH = 0.7  # of the rows: where fewer are as they were, the table may be taken for another


class Form(NamedTuple):
    """A way to write a table: what stands before the rows, and how these are written."""

    head: str
    delimiter: str
    digits: int = 0
    decimal: str = "."
    end: str = "\n"
    quote: str = ""
    blank: str = ""


FORMS = (
    Form("", ","),
    Form("time,x,y\n", ","),
    Form("# a comment\n# time; pos [m]; speed\n", ";"),
    Form("stamp\tpos\tspeed\r\n", "\t", end="\r\n"),
    Form("time;x;y\n", ";", decimal=","),
    Form('"time","x","y"\n', ",", quote='"'),
    Form("time, x, y\n", ",", blank=" "),
    Form("\ufefft,x,y\n", ",", digits=9),
    Form("% ms\n", ",", digits=3),
)


class Row(NamedTuple):
    """What a line means, by an independent reading of it."""

    stamp_ns: int
    values: tuple[float, ...]


class Text(NamedTuple):
    """A table as it was before anything was changed."""

    form: Form
    head: bytes
    lines: tuple[bytes, ...]


def _text(number: int, form: Form) -> Text:
    lines = []
    for row in range(ROWS):
        time = (Decimal(START_S + 1000 * number) + row * Decimal("0.05")).scaleb(form.digits)
        x, y = Decimal(row * 37 + number) / 8 - 20, Decimal(row) / 1000
        fields = [f"{form.quote}{value:f}{form.quote}".replace(".", form.decimal) for value in (time, x, y)]
        lines.append((form.delimiter + form.blank).join(fields) + form.end)
    return Text(form, form.head.encode(), tuple(line.encode() for line in lines))


class Tables(Inputs):
    """See above."""

    suffix = "csv"

    def __init__(self) -> None:
        self._texts = [_text(number, form) for number, form in enumerate(FORMS)]
        self._number = {line.strip(BLANKS): number for number, text in enumerate(self._texts) for line in text.lines}

    def mutated(self, draw: random.Random) -> bytes:
        text = draw.choice(self._texts)
        return changed(draw, text.head + b"".join(text.lines), LINES)

    def look(self, data: bytes) -> Found:
        defects: list[Defect] = []
        text = self._text_of(data)
        files = MemoryFiles({"a.csv": data})
        try:
            table = Table(files, "a.csv", SPEC, defects.append, plausible_ns=PLAUSIBLE_NS)
        except UserError as error:
            if text is not None:
                raise WrongError(f"refused though most rows are untouched: {error}") from error
            raise
        blocks = [table.rows(index) for index in range(len(table.blocks))]
        arrived = [
            (line, Row(stamp, tuple(values)))
            for rows in blocks
            for stamp, line, values in zip(
                rows.stamp_ns.tolist(), rows.line.tolist(), rows.columns("x", "y").tolist(), strict=True
            )
        ]
        if text is not None:
            self._compare(data, text, arrived, defects)
        what: Hashable = (tuple(arrived), tuple(map(str, defects)), table.format.mapping)
        return Found("told" if defects else "read", what)

    def _text_of(self, data: bytes) -> Text | None:
        """The table that it was, if its beginning and enough of its rows are as they were."""
        there = Counter(self._number[line] for raw in data.split(b"\n") if (line := raw.strip(BLANKS)) in self._number)
        number, count = there.most_common(1)[0] if there else (0, 0)
        text = self._texts[number]
        rest = data.count(b"\n") + 1 - text.head.count(b"\n")
        is_same = data.startswith(text.head + text.lines[0]) and count >= ENOUGH * max(rest, ROWS)
        return text if is_same else None

    def _compare(self, data: bytes, text: Text, arrived: list[tuple[int, Row]], defects: list[Defect]) -> None:
        lines = data.split(b"\n")
        there = {line for line, _ in arrived}
        is_cut = any(defect.kind == "cut_off_line" for defect in defects)
        for number, line in enumerate(lines, 1):
            is_known = line.strip(BLANKS) in text_lines(text) and not (is_cut and number == len(lines))
            if is_known and number not in there:
                raise WrongError(f"a row that nothing touched is missing: line {number}, {line!r}")
        for number, row in arrived:
            line = lines[number - 1] if number <= len(lines) else b""
            meant = [row_of_line(part, text.form) for part in line.split(b"\r")]
            if row not in meant:
                raise WrongError(f"a row holds what its line does not: line {number}, {line!r}: {row}, not {meant}")


def text_lines(text: Text) -> set[bytes]:
    """The rows as they were, without the blanks around them."""
    return {line.strip(BLANKS) for line in text.lines}


def row_of_line(line: bytes, form: Form) -> Row | None:
    """What a line means, read field by field; None where it is no row."""
    try:
        fields = [field.strip(' \t\r"') for field in line.decode().split(form.delimiter)]
        time, *values = [field.replace(",", ".") if form.delimiter != "," else field for field in fields]
        return Row(ns_of_text(time, form.digits), tuple(float(value) for value in values))
    except (ValueError, InvalidOperation, ArithmeticError):
        return None


def ns_of_text(text: str, digits: int = 0) -> int:
    """Nanoseconds of a time in seconds, or in so many decimal digits of one."""
    return int(Decimal(text).scaleb(9 - digits).quantize(Decimal(1), ROUND_HALF_EVEN))
