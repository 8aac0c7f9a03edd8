"""Times written as decimal text become integer nanoseconds, exactly: never through a float."""

import re
from datetime import datetime, timedelta, timezone
from decimal import Decimal, InvalidOperation

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import UsageError

NS_PER_S = 1_000_000_000
NO_TIME = int(np.iinfo(np.int64).min)  # of a row that has none
DIGITS_NS, DIGITS_64 = 9, 19
# 18 digits fit an int64 whatever they are; a Unix time in seconds has 10.
SAFE_DIGITS, SAFE_FIRST_DIGIT = 10, 8  # so many digits of seconds, with at most such a first, fit as nanoseconds
ZERO, POINT = np.uint8(ord("0")), ord(".")
LARGEST_INTEGER_PART = 9_223_372_035
UNIX_FROM_S = 100_000_000  # from here on a number is a Unix time; recordings are shorter
UTC = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d{1,9}))?(Z|\+00(?::?00)?)?", re.IGNORECASE)


def ns_from_text(text: str) -> int:
    """Parse decimal seconds exactly.

    Args:
        text: a number such as '1656931512.123456789'; digits beyond nanoseconds are rounded.

    Returns:
        Nanoseconds.

    Raises:
        ValueError: it is no finite number, or does not fit 64 bits.

    Example:
        >>> ns_from_text("1656931512.1")
        1656931512100000000
    """
    try:
        seconds = Decimal(text.strip())
        if not seconds.is_finite():
            raise ValueError(f"expected seconds as a decimal number, got '{text}'")
        if seconds.adjusted() > DIGITS_64:  # a whole number of so many digits would take for ever
            raise ValueError(f"expected seconds that fit 64 bits of nanoseconds, got '{text}'")
        ns = int((seconds * NS_PER_S).to_integral_value())
    except InvalidOperation:
        raise ValueError(f"expected seconds as a decimal number, got '{text}'") from None
    if abs(ns) > np.iinfo(np.int64).max:
        raise ValueError(f"expected seconds that fit 64 bits of nanoseconds, got '{text}'")
    return ns


def ns_from_texts(texts: NDArray[np.bytes_]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Parse many decimal seconds exactly and at once.

    Args:
        texts: bytes (n,).

    Returns:
        Nanoseconds (n,), and which of the texts are times; the others are 0.

    Example:
        >>> ns_from_texts(np.array([b"0.5", b"late"]))[1].tolist()
        [True, False]
    """
    texts = np.ascontiguousarray(texts)
    ns = _ns_from_equal_texts(texts)
    if ns is not None:
        return ns, np.ones(len(texts), bool)
    ns, plain = _ns_from_plain_texts(texts)
    good = plain.copy()
    for row in np.flatnonzero(~plain):
        try:
            ns[row] = ns_from_text(texts[row].decode("ascii", "replace"))
            good[row] = True
        except ValueError:
            ns[row] = 0
    return ns, good


def _ns_from_equal_texts(texts: NDArray[np.bytes_]) -> NDArray[np.int64] | None:
    """The times where all are digits with the point at one place, as in 1656931512.123456; None where they are not."""
    characters = texts.view(np.uint8).reshape(len(texts), texts.dtype.itemsize)
    point = texts[0].find(b".") if len(texts) else -1
    point = characters.shape[1] if point < 0 else point
    whole, fraction = characters[:, :point] - ZERO, characters[:, point + 1 :] - ZERO  # below '0' wraps to above 9
    if not (0 < whole.shape[1] <= SAFE_DIGITS and fraction.shape[1] <= DIGITS_NS):
        return None
    if (characters[:, point : point + 1] != POINT).any() or (whole > 9).any() or (fraction > 9).any():
        return None
    if whole.shape[1] == SAFE_DIGITS and (whole[:, 0] > SAFE_FIRST_DIGIT).any():
        return None
    powers = 10 ** np.arange(SAFE_DIGITS + DIGITS_NS - 1, -1, -1, dtype=np.int64)
    seconds_end = len(powers) - DIGITS_NS
    ns: NDArray[np.int64] = whole.astype(np.int64) @ powers[seconds_end - whole.shape[1] : seconds_end]
    ns += fraction.astype(np.int64) @ powers[seconds_end : seconds_end + fraction.shape[1]]
    return ns


def _ns_from_plain_texts(texts: NDArray[np.bytes_]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    count = len(texts)
    whole: NDArray[np.int64] = np.zeros(count, np.int64)
    fraction: NDArray[np.int64] = np.zeros(count, np.int64)
    decimals = np.zeros(count, np.int64)
    digits = np.zeros(count, np.int64)
    round_up: NDArray[np.int64] = np.zeros(count, np.int64)
    seen_point, seen_end = np.zeros(count, bool), np.zeros(count, bool)
    plain = np.ones(count, bool)
    for column in texts.view(np.uint8).reshape(count, texts.dtype.itemsize).T:
        digit = column.astype(np.int64) - ord("0")
        is_digit = (digit >= 0) & (digit <= 9)
        is_point = column == ord(".")
        is_after = column == 0
        plain &= (is_digit & ~seen_end) | (is_point & ~seen_point & ~seen_end) | is_after
        seen_end |= is_after
        in_whole = is_digit & ~seen_point
        in_fraction = is_digit & seen_point & (decimals < DIGITS_NS)
        round_up = np.where(is_digit & seen_point & (decimals == DIGITS_NS), digit >= 5, round_up)
        whole = np.where(in_whole, whole * 10 + digit, whole)
        fraction = np.where(in_fraction, fraction * 10 + digit, fraction)
        decimals += is_digit & seen_point
        digits += is_digit
        plain &= whole <= LARGEST_INTEGER_PART
        whole = np.where(plain, whole, 0)
        seen_point |= is_point
    plain &= digits > 0
    fraction *= 10 ** np.clip(DIGITS_NS - decimals, 0, DIGITS_NS)
    return np.where(plain, whole * NS_PER_S + fraction + round_up, 0), plain


# Times as users write them, and as they are printed.


def utc_text(stamp_ns: int) -> str:
    """Format a time.

    Args:
        stamp_ns: nanoseconds since 1970.

    Returns:
        Date and time of day in UTC, to the second.

    Example:
        >>> utc_text(1656931512 * 10**9)
        '2022-07-04 10:45:12'
    """
    try:
        moment = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=stamp_ns // 1000)
    except OverflowError:
        return f"{stamp_ns} ns"
    return f"{moment:%Y-%m-%d %H:%M:%S}"


def time_of_text(text: str, start_ns: int) -> int:
    """Parse a time as people write it.

    Args:
        text: seconds from the start, seconds since 1970 (from 100,000,000 on), or a date with a time in UTC.
        start_ns: the start of the data in ns since 1970.

    Returns:
        Nanoseconds since 1970.

    Raises:
        UsageError: it is none of these.

    Example:
        >>> time_of_text("1.5", start_ns=10**18) - 10**18
        1500000000
    """
    matched = UTC.fullmatch(text.strip())
    if matched:
        return _ns_of_utc(text, *matched.group(1, 2, 3))
    try:
        ns = ns_from_text(text)
    except ValueError:
        message = "expected seconds from the start, a Unix time or a time as 2008-10-15T06:09:05.437Z (UTC)"
        raise UsageError(f"{message}, got '{text}'") from None
    return ns if ns >= UNIX_FROM_S * NS_PER_S else start_ns + ns


def _ns_of_utc(text: str, day: str, clock: str, fraction: str | None) -> int:
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=timezone.utc)
    except ValueError as error:
        raise UsageError(f"'{text}' is no time: {error}") from None
    return int(moment.timestamp()) * NS_PER_S + int((fraction or "0").ljust(DIGITS_NS, "0"))


def time_text(stamp_ns: int) -> str:
    """Format a time exactly.

    Args:
        stamp_ns: nanoseconds since 1970.

    Returns:
        Date and time in UTC, and seconds since 1970, both with nine decimals.
    """
    seconds, rest = divmod(stamp_ns, NS_PER_S)
    moment = datetime.fromtimestamp(seconds, timezone.utc)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{rest:09d}Z ({seconds}.{rest:09d})"


def time_difference_text(stamp_ns: int, other_ns: int, other: str) -> str:
    """Describe how far a time is from another.

    Args:
        stamp_ns: the time in ns.
        other_ns: the other time in ns.
        other: what the other time is called.

    Returns:
        A text such as "0.500000 s after the start".
    """
    gap_s = (stamp_ns - other_ns) / NS_PER_S
    return f"{abs(gap_s):.6f} s {'after' if gap_s > 0 else 'before'} {other}" if gap_s else f"at {other}"
