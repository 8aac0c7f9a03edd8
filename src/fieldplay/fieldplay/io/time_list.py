"""Files that list times, one a line, perhaps each with the name of the file that was recorded then; parsed exactly.

A line is a date and time in UTC with up to nanoseconds (`2011-09-26 13:02:25.967790592`), decimal seconds
(`1.037359e-01`), or a count of milli-, micro- or nanoseconds; then, behind a comma or blanks, perhaps a name.
"""

import re
from dataclasses import dataclass

import numpy as np
import polars  # early: it replaces the handler of SIGINT, so ours must be installed after it
from numpy.typing import NDArray

from fieldplay.core.timestamps import DIGITS_NS, LARGEST_INTEGER_PART, ns_from_texts
from fieldplay.io.delimited import without_nulls
from fieldplay.io.table_format import BRACKETS, CLOCK_DIGITS, COMMENT
from fieldplay.io.table_rows import BadLine, digits_of_time, in_seconds, short_text

NAME = r"(?:\s*[,;\s]\s*(?<name>[^,;\s].*?))?\s*[,;]?\s*$"
DATE = (
    r"^\s*(?<moment>[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2})"
    r"(?:[.](?<fraction>[0-9]+))?(?:Z|\+00:?00)?" + NAME
)
NUMBER = r"^\s*(?<number>[+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]{1,3})?)" + NAME
BEHIND_COMMA = r",\s*([^,]*[^,\s])\s*$"
LONGEST_LINE = 4096  # bytes; names of files are shorter
TITLE = re.compile(r"\s*\"?[A-Za-z]")  # how a header without a `#` starts


@dataclass(frozen=True, kw_only=True, eq=False)
class TimeList:
    """The times of a file, line by line.

    Args:
        stamp_ns: times (n,) in ns since 1970, in the order of the lines; 0 where `is_time` is false.
        is_time: which of the lines (n,) have a time.
        line: their numbers (n,) in the file, from 1.
        names: what follows the time on each line; empty where nothing does.
        bad: the lines without a time, numbered from 1.
    """

    stamp_ns: NDArray[np.int64]
    is_time: NDArray[np.bool_]
    line: NDArray[np.int64]
    names: tuple[str, ...]
    bad: tuple[BadLine, ...]

    def __len__(self) -> int:
        return len(self.stamp_ns)

    @property
    def has_names(self) -> bool:
        """Whether the lines name files."""
        return any(self.names)


def time_list_from_bytes(data: bytes) -> TimeList:
    """Parse a file of times.

    Args:
        data: its content; empty lines, comments and a first line without a time are left out.

    Returns:
        A row for each other line, so that a line that is no time keeps its place in the order.

    Example:
        >>> time_list_from_bytes(b"2011-09-26 13:02:25.967790592").stamp_ns.tolist()
        [1317042145967790592]
    """
    lines = without_nulls(data).decode("utf-8-sig", "replace").splitlines()
    texts = [line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] for line in lines]
    numbered = [(number, text) for number, text in enumerate(texts, start=1) if text.strip()]
    header = [text for _, text in numbered if text.lstrip().startswith(COMMENT)]
    rows = [(number, text) for number, text in numbered if not text.lstrip().startswith(COMMENT)]
    parsed = _parse([text for _, text in rows], header)
    if rows and not parsed[1][0] and TITLE.match(rows[0][1]):
        header, rows = [rows[0][1], *header], rows[1:]
        parsed = _parse([text for _, text in rows], header)
    stamp_ns, is_time, names = parsed
    bad = tuple(
        BadLine(rows[row][0], "not_a_time", f"expected a time, got '{short_text(rows[row][1])}'")
        for row in np.flatnonzero(~is_time).tolist()
    )
    line = np.array([number for number, _ in rows], np.int64)
    return TimeList(stamp_ns=stamp_ns, is_time=is_time, line=line, names=names, bad=bad)


def _parse(texts: list[str], header: list[str]) -> tuple[NDArray[np.int64], NDArray[np.bool_], tuple[str, ...]]:
    """Times, which texts have one, and the names behind them."""
    column = polars.Series("text", texts, dtype=polars.String())
    dates, numbers = (column.str.extract_groups(pattern).struct.unnest() for pattern in (DATE, NUMBER))
    date_ns, is_date = _ns_from_dates(dates)
    number_ns, is_number = _ns_from_numbers(numbers["number"], header)
    behind = column.str.extract(BEHIND_COMMA, 1)  # so that a file keeps its line, though that has no time
    names = dates["name"].fill_null(numbers["name"]).fill_null(behind).fill_null("")
    return np.where(is_date, date_ns, number_ns), is_date | is_number, tuple(names.str.strip_chars('"').to_list())


def _ns_from_dates(dates: polars.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Dates and times of day as ns: whole seconds by the calendar, the digits behind them as they are."""
    moments = dates["moment"].str.replace("T", " ", literal=True)
    seconds = moments.str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False).dt.epoch("s")
    is_date = (seconds.abs() <= LARGEST_INTEGER_PART).fill_null(False).to_numpy()  # which fit as nanoseconds
    digits = dates["fraction"].fill_null("").str.head(DIGITS_NS).str.pad_end(DIGITS_NS, "0")
    ns = np.where(is_date, seconds.fill_null(0).to_numpy(), 0) * 10**DIGITS_NS + digits.cast(polars.Int64).to_numpy()
    return np.where(is_date, ns, 0), is_date


def _ns_from_numbers(numbers: polars.Series, header: list[str]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Numbers as ns, in the unit that follows from their size, else that of a header, else seconds."""
    values = numbers.cast(polars.Float64, strict=False).drop_nulls()
    digits = digits_of_time(float(values.median())) if len(values) else None
    if digits is None:
        units = (inside.strip() for text in header for pair in BRACKETS.findall(text) for inside in pair)
        digits = next((CLOCK_DIGITS[unit] for unit in units if unit in CLOCK_DIGITS), 0)
    texts = in_seconds(numbers, digits).cast(polars.Binary).fill_null(b"").to_list()
    ns, is_number = ns_from_texts(np.array(texts, dtype=np.bytes_) if texts else np.zeros(0, "S1"))
    return ns, is_number & numbers.is_not_null().to_numpy()
