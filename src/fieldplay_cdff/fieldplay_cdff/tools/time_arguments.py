"""Parse times and indexes of the command line, and format times for output."""

import re
from datetime import datetime, timezone

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import UsageError
from fieldplay.core.timestamps import NS_PER_S, time_of_text
from fieldplay_cdff.logs.file_index import NO_TIME
from fieldplay_cdff.logs.log import Log

INDEX_BELOW = 10**8  # an integer from here on is a time:
MICROSECONDS_FROM, NANOSECONDS_FROM = 10**14, 10**17  # seconds since 1970, or as in the logs
WHOLE = re.compile(r"\d+")
EXPECTED = (
    "expected an index (120), seconds from the start of the log (2.5 or 2s), a Unix time (1543311000.25), one as in "
    "the log (1543311000250000) or a time in UTC (2018-11-27T09:30:00.25Z)"
)


def index_of_word(word: str) -> int | None:
    """The index that a word is; None where it is a time."""
    return int(word) if WHOLE.fullmatch(word) and int(word) < INDEX_BELOW else None


def time_of_word(word: str, start_ns: int) -> int:
    """Nanoseconds of a time in one of the forms above; an integer counts as seconds."""
    if word.startswith("-"):
        raise UsageError(f"expected a time from the start on, got '{word}'")
    if WHOLE.fullmatch(word) and int(word) >= MICROSECONDS_FROM:
        value = int(word)
        return min(value if value >= NANOSECONDS_FROM else value * 1000, np.iinfo(np.int64).max)
    try:
        return time_of_text(word.removesuffix("s"), start_ns)
    except UsageError:
        raise UsageError(f"{EXPECTED}, got '{word}'") from None


def start_of_log(log: Log) -> int:
    """Logging time of the first sample of a log, in nanoseconds; 0 where no sample has a time."""
    firsts = [first for stream in log.streams.values() if (first := stream.first_logged_ns()) != NO_TIME]
    return min(firsts, default=0)


def known_times(times_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """The known times (m,) among (n,)."""
    known: NDArray[np.int64] = times_ns[times_ns != NO_TIME]
    return known


def utc_text(time_ns: int) -> str:
    """A time in UTC with as many decimals as it has, six at least."""
    seconds, rest = divmod(time_ns, NS_PER_S)
    try:
        moment = datetime.fromtimestamp(seconds, timezone.utc)
    except (OverflowError, ValueError, OSError):
        return f"{time_ns} ns"
    decimals = f"{rest:09d}"
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{decimals if rest % 1000 else decimals[:6]}Z"
