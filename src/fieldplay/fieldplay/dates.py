"""Times for people."""

from datetime import datetime, timedelta, timezone


def utc_text(stamp_ns: int) -> str:
    """A time since 1970 as a date and a time of day in UTC."""
    try:
        moment = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=stamp_ns // 1000)
    except OverflowError:
        return f"{stamp_ns} ns"
    return f"{moment:%Y-%m-%d %H:%M:%S}"
