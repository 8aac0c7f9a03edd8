"""Clocks that count parts of a second: their unit, by how large their numbers are, and their texts in seconds."""

import polars

UNITS = {0: "seconds", 3: "milliseconds", 6: "microseconds", 9: "nanoseconds"}  # by their decimal digits of a second
EARLIEST_S, LATEST_S = 946_684_800, 4_102_444_800  # of this century
PLAIN = r"^\s*(?<whole>[0-9]+)(?:\.(?<rest>[0-9]*))?\s*$"
WITH_EXPONENT = r"^\s*(?<mantissa>[+-]?[0-9]*\.?[0-9]*)[eE](?<exponent>[+-]?[0-9]{1,3})\s*$"


def unit_of_digits(digits: int) -> str:
    """The name of the unit that has so many decimal digits of a second."""
    return UNITS[digits]


def digits_of_time(number: float) -> int | None:
    """By which unit a number is a time since 1970 of this century, as decimal digits of a second; None by no one."""
    return next((digits for digits in UNITS if EARLIEST_S <= number / 10**digits < LATEST_S), None)


def in_seconds(texts: polars.Series, digits: int) -> polars.Series:
    """Texts (n,) of numbers in such a unit as texts of seconds, digit for digit; null where one is no number."""
    if not digits:
        return texts
    parts = texts.to_frame("text").select(
        polars.col("text").str.extract_groups(PLAIN).struct.unnest(),
        polars.col("text").str.extract_groups(WITH_EXPONENT).struct.unnest(),
    )
    whole = polars.col("whole").str.zfill(digits + 1)
    plain = whole.str.head(-digits) + "." + whole.str.tail(digits) + polars.col("rest").fill_null("")
    exponent = (polars.col("exponent").cast(polars.Int64) - digits).cast(polars.String)
    return parts.select(polars.coalesce(plain, polars.col("mantissa") + "e" + exponent)).to_series()
