"""Logs of NMEA sentences: each sentence that nothing touched arrives, and each row is what its sentence says."""

import math
import random
import re
from collections.abc import Hashable
from decimal import InvalidOperation
from functools import reduce

import numpy as np

from campaigns.frame import Found, Inputs, WrongError
from campaigns.memory_files import MemoryFiles
from campaigns.mutations import LARGEST, LINES, TEXTS, changed
from campaigns.tables import PLAUSIBLE_NS, START_S, ns_of_text
from fieldplay.core.errors import Defect, UserError
from fieldplay.datasets.rosario.nmea import (
    BOM,
    GGA,
    NUMBERS,
    RMC,
    NmeaSpec,
)
from fieldplay.io.table import Table

BLANKS = b" \t\r"
LOGS = 25
LONGEST_TIME = 24  # characters: of more some may be digits finer than nanoseconds, and halves are rounded either way
PLACES = {"latitude": (2, "NS"), "longitude": (4, "EW")}
OF_GGA = {"quality": (6,), "hdop": (8,), "altitude": (9, 11)}
OF_RMC = {"speed": (7,), "course": (8,)}
SENTENCE = re.compile(rb"\$([^*\n]*)\*([0-9A-Fa-f]{2})")


def _sentence(body: bytes) -> bytes:
    return b"$%s*%02X" % (body, reduce(lambda a, b: a ^ b, body, 0))


def _lines() -> tuple[bytes, ...]:
    bodies = []
    for row in range(6):
        bodies += [
            f"GPGGA,1525{row:02d}.20,330{row}.8000000,S,06052.{row}00000,W,4,12,0.{row},5{row}.125,M,18.000,M,0.8,0000",
            f"GPRMC,1525{row:02d}.20,A,3301.8000000,S,06052.8000000,W,1.9438{row},09{row}.0,261217,,,A",
        ]
    bodies += ["GPGSA,A,3,1.5", "GNGGA,152600.20,,,,,0,00,99.99,,,,,,"]
    times = (f"{START_S + row}.{row % 10}25 gps: " for row in range(len(bodies)))
    return tuple(time.encode() + _sentence(body.encode()) for time, body in zip(times, bodies, strict=True))


class NmeaLogs(Inputs):
    """See above; so many changed logs stand in one, as each line is by itself and a file takes long."""

    suffix = "log"

    def __init__(self) -> None:
        self._lines = _lines()

    def mutated(self, draw: random.Random) -> bytes:
        return b"\n".join(self._log(draw) for _ in range(LOGS))[:LARGEST]

    def _log(self, draw: random.Random) -> bytes:
        data = b"\n".join(self._lines)
        if draw.random() < 0.5:
            return changed(draw, data, LINES)
        for _ in range(draw.choice((1, 1, 2, 4))):  # sentences with other fields, and the checksum of these
            data = _with_field(draw, data)
        return data if draw.random() < 0.8 else changed(draw, data, LINES)

    def look(self, data: bytes) -> Found:
        lines = data.removeprefix(BOM).split(b"\n")
        defects: list[Defect] = []
        try:
            table = Table(MemoryFiles({"a.log": data}), "a.log", NmeaSpec(), defects.append, plausible_ns=PLAUSIBLE_NS)
        except UserError as error:
            if any(line.strip(BLANKS) in self._lines for line in lines):
                raise WrongError(f"refused though it has sentences that nothing touched: {error}") from error
            raise
        blocks = [table.rows(index) for index in range(len(table.blocks))]
        arrived = {
            line: (stamp, dict(zip(NUMBERS, values, strict=True)))
            for rows in blocks
            for line, stamp, values in zip(
                rows.line.tolist(), rows.stamp_ns.tolist(), rows.columns(*NUMBERS).tolist(), strict=True
            )
        }
        for number, line in enumerate(lines, 1):
            is_row = line.strip(BLANKS) in self._lines and (b"GGA" in line or b"RMC" in line)
            if is_row and number not in arrived:
                raise WrongError(f"a sentence that nothing touched is missing: line {number}, {line!r}")
        for number, (stamp, row) in arrived.items():
            _compare(number, stamp, row, lines[number - 1] if number <= len(lines) else b"")
        what: Hashable = (repr(arrived), tuple(map(str, defects)))
        return Found("told" if defects else "read", what)


def _with_field(draw: random.Random, data: bytes) -> bytes:
    choice = draw.choice(list(SENTENCE.finditer(data)) or [None])
    if choice is None:
        return data
    fields = choice[1].split(b",")
    index = draw.randrange(len(fields))
    how = draw.randrange(6)
    if how < 3:
        fields[index] = draw.choice(TEXTS)
    elif how == 3:
        del fields[index]
    elif how == 4:
        fields.insert(index, fields[draw.randrange(len(fields))])
    else:
        fields[index] += draw.choice((b"0", b".", b" ", b"-", b"e5", b"\xff", b"9" * 40))
    return data[: choice.start()] + _sentence(b",".join(fields)) + data[choice.end() :]


def _compare(number: int, stamp: int, row: dict[str, float], line: bytes) -> None:
    """A row that arrived with what its line says, word by word."""
    text = line.decode("utf-8", "replace").strip()
    head, _, rest = text.partition("$")
    body, _, checksum = rest.partition("*")
    fields = body.split(",")
    try:
        meant_ns = ns_of_text(head.split()[0])
        right = reduce(lambda a, b: a ^ b, body.encode(), 0) == int(checksum, 16)
    except (ValueError, InvalidOperation, ArithmeticError, IndexError):
        raise WrongError(f"a row of a line that is none: line {number}, {line!r}") from None
    is_near = len(head.split()[0]) > LONGEST_TIME and abs(meant_ns - stamp) <= 1
    if not right or not (meant_ns == stamp or is_near):
        raise WrongError(f"a row of another time, or a wrong checksum: line {number}, {line!r}: {stamp}")
    kind = {"GGA": GGA, "RMC": RMC}.get(fields[0][-3:])
    meant = _meant(fields, is_fix=kind == GGA)
    wrong = [name for name, value in meant.items() if not _is_close(row[name], value)]
    if kind != row["sentence"] or wrong:
        raise WrongError(f"a row is not what its sentence says: line {number}, {line!r}: {row}, {wrong}")


def _meant(fields: list[str], *, is_fix: bool) -> dict[str, float]:
    numbers = OF_GGA if is_fix else OF_RMC
    by_name = {name: sum(_number(fields, position) for position in positions) for name, positions in numbers.items()}
    for name, (position, signs) in PLACES.items() if is_fix else ():
        value, side = _number(fields, position), fields[position + 1] if position + 1 < len(fields) else ""
        sign = {signs[0]: 1.0, signs[1]: -1.0}.get(side, np.nan)
        degrees, minutes = divmod(value, 100) if np.isfinite(value) else (np.nan, np.nan)
        by_name[name] = sign * (degrees + minutes / 60) if minutes < 60 else np.nan
    return by_name


def _is_close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-12) or (math.isnan(one) and math.isnan(other))


def _number(fields: list[str], position: int) -> float:
    """A field as a number, NaN where it is none."""
    try:
        text = fields[position] if position < len(fields) else ""
        value = float(text) if text.strip() == text and "_" not in text else np.nan
    except ValueError:
        return np.nan
    return value if np.isfinite(value) else np.nan
