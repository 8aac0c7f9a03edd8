"""Times in the names of files, such as the images and clouds of an archive that has no table of them."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars
from numpy.typing import NDArray

from fieldplay_messages.errors import ArchiveError
from fieldplay_messages.stamps import DIGITS_NS, ns_from_texts

Fraction = Literal["auto", "decimal", "nanoseconds"]
FRACTIONS = ("auto", "decimal", "nanoseconds")

# Whole seconds have nine or ten digits (1973 to 2286), with a fraction or without; milli-, micro- and nanoseconds have
# 13, 16 and 19. After '_' more digits than nanoseconds have are no fraction but the time, and what precedes a prefix.
TAIL = (
    r"(?:^|[^0-9])"
    r"(?:(?<whole>[0-9]{9,10})(?:\.(?<after_point>[0-9]+)|_(?<after_line>[0-9]{1,9}))?"
    r"|(?<count>[0-9]{13}|[0-9]{16}|[0-9]{19}))"
    r"(?:\.[A-Za-z][0-9A-Za-z]*)*$"
)
DIGITS_S = 10


def stamps_from_names(
    names: Sequence[str], *, fraction: Fraction = "auto"
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Nanoseconds since 1970 (n,) from the ends of names or paths, and which of the names have a time; else it is 0.

    The time is the last thing before the extension: '1656931512', '1656931512.123456' or '1656931512_123456', or one
    number of 13, 16 or 19 digits in milli-, micro- or nanoseconds. What precedes it, digits or not, is a prefix.

    `fraction` says what the digits after the whole seconds are: 'decimal' text ('_5' is half a second) or a count of
    'nanoseconds' ('_5' is five). With 'auto' they are decimal after '.', and after '_' the names of one stream tell:
    decimal text is padded with zeros, so that it has the same number of digits in all names (nine digits mean the same
    either way). A count written without leading zeros is shorter than nine digits in every tenth name, so different
    numbers of digits mean nanoseconds. Digits that fit neither, such as '_5' and '_25' alone, are an error: none of
    them is a usual count of nanoseconds. So give 'auto' the names of one stream at a time.
    """
    if fraction not in FRACTIONS:
        raise ValueError(f"expected fraction to be one of {', '.join(FRACTIONS)}, got '{fraction}'")
    return _stamps_from_parts(_parts(names), fraction)


def shares_a_second(names: Sequence[str]) -> NDArray[np.bool_]:
    """Which of the names (n,) of one stream have whole seconds without a fraction that another such name has too.

    The order of such files within the second is not known, so none of them has a usable time.
    """
    parts = _parts(names)
    shared = parts.select(
        polars.col("whole").is_not_null()
        & polars.col("after_point").is_null()
        & polars.col("after_line").is_null()
        & (polars.len().over("whole", "after_point", "after_line") > 1)
    )
    return shared.to_series().to_numpy().astype(bool)


def _parts(names: Sequence[str]) -> polars.DataFrame:
    """The named parts of TAIL for each name, null where there is none."""
    column = polars.Series("name", names, dtype=polars.String())
    return column.str.extract_groups(TAIL).struct.unnest()


def _stamps_from_parts(parts: polars.DataFrame, fraction: Fraction) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Bring all times to the text of decimal seconds, which then becomes integers at once."""
    whole, point, line, count = (polars.col(name) for name in ("whole", "after_point", "after_line", "count"))
    if fraction == "nanoseconds":
        whole = polars.when(point.str.len_bytes() > DIGITS_NS).then(None).otherwise(whole)  # no such count
        point = point.str.zfill(DIGITS_NS)
    if fraction == "nanoseconds" or (fraction == "auto" and _are_counts(parts["after_line"].drop_nulls())):
        line = line.str.zfill(DIGITS_NS)
    seconds = polars.coalesce(whole, count.str.head(DIGITS_S))
    rest = polars.coalesce(point, line, count.str.slice(DIGITS_S), polars.lit(""))
    texts = parts.select((seconds + "." + rest).fill_null("")).to_series()
    return ns_from_texts(np.array(texts.to_list(), dtype=np.bytes_))


def _are_counts(digits: polars.Series) -> bool:
    """Whether the digits after '_' of one stream are counts of nanoseconds rather than decimal text."""
    length = digits.str.len_bytes()
    if length.n_unique() <= 1 or ((length > 1) & digits.str.starts_with("0")).any():  # a count begins with no zero
        return False
    if length.max() != DIGITS_NS:
        short, long = digits[int(length.arg_min() or 0)], digits[int(length.arg_max() or 0)]
        raise ArchiveError(
            f"expected fractions of one length, or counts of nanoseconds, after '_' in file names, got '_{short}' and "
            f"'_{long}': say whether they are decimal or nanoseconds"
        )
    return True
