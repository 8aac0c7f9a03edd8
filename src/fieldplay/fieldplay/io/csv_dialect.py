"""How a table writes its rows: which columns it has, and in which unit its clocks count."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars

TIME = "time"
COUNT = "count"  # the column that tells how many numbers a row's list has
IGNORED = "_"  # how the names of columns begin that nothing is read from, whatever they hold
UNITS = {0: "seconds", 3: "milliseconds", 6: "microseconds", 9: "nanoseconds"}  # by their decimal digits of a second
PLAIN = r"^\s*(?<whole>[0-9]+)(?:\.(?<rest>[0-9]*))?\s*$"
WITH_EXPONENT = r"^\s*(?<mantissa>[+-]?[0-9]*\.?[0-9]*)[eE](?<exponent>[+-]?[0-9]{1,3})\s*$"
EARLIEST_S, LATEST_S = 946_684_800, 4_102_444_800  # of this century


@dataclass(frozen=True)
class Dialect:
    """How a table writes its rows: a column `time`, perhaps other clocks, numbers, and columns that are ignored.

    Args:
        columns: names in the order of the file; those that begin with `_` are ignored.
        delimiter: between fields.
        decimal_comma: whether numbers have a comma for a point.
        whitespace_delimited: blanks separate fields too, beside commas, as in the logs of some robots.
        extract: by column, a regular expression whose first group is the number in its text.
        partial: keep a row with a text that is no number, with NaN in its place; it is reported all the same.
        digits: by clock that counts parts of a second, how many decimal digits these are: 3, 6 or 9.
        factors: by column in another unit than it should have, what its numbers are multiplied by.
    """

    columns: tuple[str, ...]  # in the order of the file
    delimiter: str
    decimal_comma: bool = False
    whitespace_delimited: bool = False
    extract: Mapping[str, str] = field(default_factory=dict)
    partial: bool = False
    digits: Mapping[str, int] = field(default_factory=dict)
    factors: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The columns of plain numbers, in the order of the file."""
        return tuple(name for name in self.columns if not (is_clock(name) or name.startswith(IGNORED)))

    @cached_property
    def clocks(self) -> tuple[str, ...]:
        """The columns of times, that of the rows first."""
        return (TIME, *(name for name in self.columns if is_clock(name) and name != TIME))


def is_clock(column: str) -> bool:
    """Check whether a column holds times, which are parsed exactly.

    Args:
        column: its name.

    Returns:
        Whether it is `time`, or ends with `_time`.
    """
    return column == TIME or (column.endswith(f"_{TIME}") and not column.startswith(IGNORED))


def unit_of_digits(digits: int) -> str:
    """Name a unit of time.

    Args:
        digits: its decimal digits of a second: 0, 3, 6 or 9.

    Returns:
        Its name.
    """
    return UNITS[digits]


def digits_of_time(number: float) -> int | None:
    """By which unit a number is a time since 1970 of this century, as decimal digits of a second; None by no one."""
    return next((digits for digits in UNITS if EARLIEST_S <= number / 10**digits < LATEST_S), None)


def in_seconds(texts: "polars.Series", digits: int) -> "polars.Series":
    """Texts (n,) of numbers in such a unit as texts of seconds, digit for digit; null where one is no number."""
    if not digits:
        return texts
    import polars

    parts = texts.to_frame("text").select(
        polars.col("text").str.extract_groups(PLAIN).struct.unnest(),
        polars.col("text").str.extract_groups(WITH_EXPONENT).struct.unnest(),
    )
    whole = polars.col("whole").str.zfill(digits + 1)
    plain = whole.str.head(-digits) + "." + whole.str.tail(digits) + polars.col("rest").fill_null("")
    exponent = (polars.col("exponent").cast(polars.Int64) - digits).cast(polars.String)
    return parts.select(polars.coalesce(plain, polars.col("mantissa") + "e" + exponent)).to_series()
