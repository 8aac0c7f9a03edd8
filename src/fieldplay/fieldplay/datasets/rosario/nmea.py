"""Logs of NMEA 0183 sentences, each behind the time at which it came: GGA (fixes) and RMC (velocities) as rows.

Whole blocks of lines are taken apart by columns; libraries, which take sentence after sentence, are much slower.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars

from fieldplay.core.errors import ArchiveError
from fieldplay.core.timestamps import ns_from_texts
from fieldplay.io.table_rows import SHOWN, BadLine, Dialect, TimedRows

GGA, RMC = 0.0, 1.0  # what the column `sentence` holds
# Latitude, longitude and course in degrees, the altitude above the ellipsoid, HDOP, the quality and the number of
# satellites as in GGA, the speed in knots, whether RMC calls itself valid, and the receiver's own time since 1970 by
# RMC. What a sentence does not hold, or leaves empty, is NaN.
BOM = b"\xef\xbb\xbf"
NUMBERS = (
    "sentence",
    "latitude",
    "longitude",
    "quality",
    "satellites",
    "hdop",
    "altitude",
    "speed",
    "course",
    "valid",
    "utc",
)
DIALECT = Dialect(("time", *NUMBERS), " ")
LINE = r"^\s*(?<time>[^\s,]+)(?:\s[^$]*)?\$(?<body>[^*]*)\*(?<sum>[0-9A-Fa-f]{2})\s*$"
MIN_FIELDS = {"GGA": 12, "RMC": 9}
CHECKED = {"quality": 6, "hdop": 8, "altitude": 9, "separation": 11, "speed": 7, "course": 8}  # fields with numbers
LARGEST_DEG = {"latitude": 90, "longitude": 180}


@dataclass(frozen=True)
class NmeaFormat:
    """A log that begins with its first line."""

    dialect: Dialect = DIALECT
    first_byte: int = 0
    first_line: int = 1
    mapping: str = "NMEA sentence"

    def rows_of(self, blocks: Sequence[bytes]) -> list[TimedRows]:
        """The rows of blocks of whole lines; other sentences than GGA and RMC are none, and no fault."""
        return [rows_from_log(block) for block in blocks]

    def cut_off(self, line: bytes, before: bytes) -> str | None:
        """Nothing: a sentence that is cut has no checksum."""
        return None


@dataclass(frozen=True)
class NmeaSpec:
    """What is known of such a log before it is seen; rows of two sentences may well have one time."""

    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    repeated_times: bool = True

    def format_from_head(self, head: bytes) -> NmeaFormat:
        """ArchiveError if no line at the file's start is a sentence after a time."""
        lines = polars.Series(_texts(head.removeprefix(BOM)), dtype=polars.String())
        if not lines.str.contains(LINE).any():
            raise ArchiveError("expected lines of a time, a label and an NMEA sentence with its checksum, got none")
        return NmeaFormat(first_byte=len(BOM) if head.startswith(BOM) else 0)


def rows_from_log(block: bytes) -> TimedRows:
    """The rows of GGA and RMC in a block of whole lines."""
    texts = polars.DataFrame({"text": polars.Series(_texts(block), dtype=polars.String())}).with_row_index("line")
    texts = texts.filter(polars.col("text").str.strip_chars() != "")
    parts = texts.with_columns(polars.col("text").str.extract_groups(LINE).struct.unnest())
    issues = parts.filter(polars.col("sum").is_null()).select("line", fault=_checksum_issue("not_nmea", _no_sentence()))
    parts = parts.filter(polars.col("sum").is_not_null())
    parts = parts.with_columns(computed=polars.Series(_checksums(parts["body"]), dtype=polars.String()))
    wrong = polars.col("computed") != polars.col("sum").str.to_uppercase()
    issues.extend(parts.filter(wrong).select("line", fault=_checksum_issue("wrong_checksum", _wrong_sum())))
    split = polars.col("body").str.split(",")
    parts = parts.filter(~wrong).with_columns(fields=split, kind=split.list.first().str.slice(-3))
    return _rows(parts.filter(polars.col("kind").is_in(list(MIN_FIELDS))), issues)


def _texts(block: bytes) -> list[str]:
    return block.decode("utf-8", "replace").split("\n")


def _checksums(bodies: polars.Series) -> list[str]:
    """The exclusive or of the bytes of each text, in two hexadecimal digits."""
    texts = np.array(bodies.cast(polars.Binary).to_list(), dtype=np.bytes_)
    sums = np.bitwise_xor.reduce(texts.view(np.uint8).reshape(len(texts), texts.dtype.itemsize), axis=1)
    hexadecimal = np.array([f"{value:02X}" for value in range(256)])
    checksums: list[str] = hexadecimal[sums].tolist()
    return checksums


def _checksum_issue(kind: str, message: polars.Expr) -> polars.Expr:
    return polars.struct(polars.lit(kind).alias("kind"), message.alias("message"))


def _no_sentence() -> polars.Expr:
    expected = "expected a time, a label and an NMEA sentence with its checksum, got '"
    return polars.lit(expected) + _shown_text("text") + "'"


def _wrong_sum() -> polars.Expr:
    return polars.format("expected the checksum {}, got {}: '${}'", "computed", "sum", _shown_text("body"))


def _shown_text(column: str) -> polars.Expr:
    return polars.col(column).str.strip_chars().str.slice(0, SHOWN).str.replace_all(r"[^[:print:]]", "\ufffd")


def _rows(parts: polars.DataFrame, issues: polars.DataFrame) -> TimedRows:
    """The sentences as numbers; one that is not what it should be is a fault."""
    stamp_ns, is_time = ns_from_texts(np.array(parts["time"].cast(polars.Binary).to_list(), dtype=np.bytes_))
    is_time &= ~parts["time"].str.contains("\0", literal=True).to_numpy()  # NumPy takes zero bytes for a text's end
    frame = parts.with_columns(is_time=polars.Series(is_time, dtype=polars.Boolean)).with_columns(**_columns())
    frame = frame.with_columns(fault=_first_issue())
    good = frame["fault"].is_null().to_numpy()
    issue_rows = [
        *issues.iter_rows(),
        *frame.filter(polars.col("fault").is_not_null()).select("line", "fault").iter_rows(),
    ]
    values = [frame[name].cast(polars.Float64).fill_null(np.nan).to_numpy()[good] for name in NUMBERS]
    return TimedRows(
        dialect=DIALECT,
        stamp_ns=stamp_ns[good],
        clock_ns=np.zeros((int(good.sum()), 0), np.int64),
        values=np.stack(values, axis=1),
        line=frame["line"].cast(polars.Int64).to_numpy()[good],
        bad=tuple(sorted(BadLine(line, issue["kind"], issue["message"]) for line, issue in issue_rows)),
    )


def _columns() -> dict[str, polars.Expr]:
    gga, rmc = polars.col("kind") == "GGA", polars.col("kind") == "RMC"

    def of(sentence: polars.Expr, value: polars.Expr) -> polars.Expr:
        return polars.when(sentence).then(value)

    return {
        "sentence": polars.when(gga).then(GGA).otherwise(RMC),
        "latitude": of(gga, _degrees(2, "N", "S")),
        "longitude": of(gga, _degrees(4, "E", "W")),
        "quality": of(gga, _number(6)),
        "satellites": of(gga, _number(7)),
        "hdop": of(gga, _number(8)),
        "altitude": of(gga, _number(9) + _number(11)),
        "speed": of(rmc, _number(7)),
        "course": of(rmc, _number(8)),
        "valid": of(rmc, (_text(2) == "A").cast(polars.Float64)),
        "utc": of(rmc, _utc(_text(9), _text(1))),
    }


def _text(index: int) -> polars.Expr:
    return polars.col("fields").list.get(index, null_on_oob=True)


def _number(index: int) -> polars.Expr:
    value = _text(index).cast(polars.Float64, strict=False)
    return polars.when(value.is_finite()).then(value)


def _degrees(index: int, positive: str, negative: str) -> polars.Expr:
    """Degrees and minutes, dddmm.mm, with their hemisphere behind them."""
    value, side = _number(index), _text(index + 1)
    minutes = value % 100
    direction = polars.when(side == positive).then(1.0).when(side == negative).then(-1.0)
    return polars.when(minutes < 60).then(direction * ((value - minutes) / 100 + minutes / 60))


def _utc(date: polars.Expr, time: polars.Expr) -> polars.Expr:
    """Seconds since 1970 of ddmmyy and hhmmss.ss."""
    days = date.str.strptime(polars.Date, "%d%m%y", strict=False).cast(polars.Int64)
    clock = time.cast(polars.Float64, strict=False)
    hours, minutes = clock // 10000, clock // 100 % 100
    return days * 86400 + hours * 3600 + minutes * 60 + clock % 100


def _first_issue() -> polars.Expr:
    """The first issue of a sentence, null where there is none."""
    few = polars.col("fields").list.len() < polars.col("kind").replace_strict(MIN_FIELDS, return_dtype=polars.UInt32)
    got = polars.format("expected more fields of {}, got {}", "kind", polars.col("fields").list.len())
    no_time = polars.format("column time: expected a time in seconds, got '{}'", _shown_text("time"))
    issues = [
        (~polars.col("is_time"), _checksum_issue("not_a_number", no_time)),
        (few, _checksum_issue("short_row", got)),
    ]
    for name, index in CHECKED.items():
        of = "RMC" if name in ("speed", "course") else "GGA"
        is_given = (polars.col("kind") == of) & ((_text(index) != "") | polars.lit(name == "quality"))
        issues.append((is_given & _number(index).is_null(), _checksum_issue("not_a_number", _no_number(name, index))))
    for name, index in {"latitude": 2, "longitude": 4}.items():
        is_given = (polars.col("kind") == "GGA") & ((_text(index) != "") | (polars.col("quality") > 0))
        wrong = polars.col(name).is_null() | (polars.col(name).abs() > LARGEST_DEG[name])
        issues.append((is_given & wrong, _checksum_issue("not_a_number", _no_degrees(name, index))))
    return polars.coalesce([polars.when(condition).then(issue) for condition, issue in issues])


def _no_number(name: str, index: int) -> polars.Expr:
    return polars.format("column " + name + ": expected a number, got '{}'", _text(index))


def _no_degrees(name: str, index: int) -> polars.Expr:
    expected = f"column {name}: expected degrees and minutes and their hemisphere, got "
    return polars.format(expected + "'{},{}'", _text(index), _text(index + 1))
