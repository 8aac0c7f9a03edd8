"""Times as people write them, and as they are told."""

import re
from datetime import datetime, timedelta, timezone

from fieldplay.core.errors import UsageError
from fieldplay.core.timestamps import DIGITS_NS, NS_PER_S, ns_from_text

UNIX_FROM_S = 100_000_000  # from here on a number is a Unix time; recordings are shorter
UTC = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d{1,9}))?(Z|\+00(?::?00)?)?", re.IGNORECASE)


def utc_text(stamp_ns: int) -> str:
    """A time since 1970 as a date and a time of day in UTC."""
    try:
        moment = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=stamp_ns // 1000)
    except OverflowError:
        return f"{stamp_ns} ns"
    return f"{moment:%Y-%m-%d %H:%M:%S}"


def time_of_text(text: str, begin_ns: int) -> int:
    """Nanoseconds of a time: seconds from the begin, seconds since 1970, or a date with a time in UTC."""
    matched = UTC.fullmatch(text.strip())
    if matched:
        return _ns_of_utc(text, *matched.group(1, 2, 3))
    try:
        ns = ns_from_text(text)
    except ValueError:
        message = "expected seconds from the begin, a Unix time or a time as 2008-10-15T06:09:05.437Z (UTC)"
        raise UsageError(f"{message}, got '{text}'") from None
    return ns if ns >= UNIX_FROM_S * NS_PER_S else begin_ns + ns


def _ns_of_utc(text: str, day: str, clock: str, fraction: str | None) -> int:
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=timezone.utc)
    except ValueError as error:
        raise UsageError(f"'{text}' is no time: {error}") from None
    return int(moment.timestamp()) * NS_PER_S + int((fraction or "0").ljust(DIGITS_NS, "0"))


def time_text(stamp_ns: int) -> str:
    """A time as date and time in UTC and as seconds since 1970, both exact."""
    seconds, rest = divmod(stamp_ns, NS_PER_S)
    moment = datetime.fromtimestamp(seconds, timezone.utc)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{rest:09d}Z ({seconds}.{rest:09d})"


def distance_text(stamp_ns: int, other_ns: int, other: str) -> str:
    """How far a time is from another, in words."""
    apart = (stamp_ns - other_ns) / NS_PER_S
    return f"{abs(apart):.6f} s {'after' if apart > 0 else 'before'} {other}" if apart else f"at {other}"
