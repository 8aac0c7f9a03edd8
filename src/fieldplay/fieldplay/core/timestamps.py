"""Times written as decimal text become integer nanoseconds, exactly: never through a float."""

from decimal import Decimal, InvalidOperation

import numpy as np
from numpy.typing import NDArray

NS_PER_S = 1_000_000_000
NO_TIME = int(np.iinfo(np.int64).min)  # of a row that has none
DIGITS_NS, DIGITS_64 = 9, 19
# 18 digits fit an int64 whatever they are; a Unix time in seconds has 10.
SAFE_DIGITS, SAFE_FIRST_DIGIT = 10, 8  # so many digits of seconds, with at most such a first, fit as nanoseconds
ZERO, POINT = np.uint8(ord("0")), ord(".")
LARGEST_INTEGER_PART = 9_223_372_035


def ns_from_text(text: str) -> int:
    """Nanoseconds of a decimal number of seconds such as '1656931512.123456789'; finer digits are rounded."""
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
    """Nanoseconds of many texts (n,) at once, and which of them are times; where not, the value is 0.

    Plain digits with at most one point are done column by column of the characters; the few others one by one.
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
        is_behind = column == 0
        plain &= (is_digit & ~seen_end) | (is_point & ~seen_point & ~seen_end) | is_behind
        seen_end |= is_behind
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
