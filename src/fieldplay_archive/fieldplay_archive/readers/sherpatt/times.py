"""Times in logs that are none: samples' own, for which that of logging stands in, and those of logging."""

from typing import Any

import numpy as np

from fieldplay_archive.logs.field_names import plain_name
from fieldplay_archive.logs.file_index import NO_TIME
from fieldplay_archive.logs.record_streams import Teller
from fieldplay_archive.logs.sample_time import INNER, TIMES
from fieldplay_archive.logs.streams import LogStream
from fieldplay_archive.logs.timed_rows import LATEST_US, MICROSECONDS
from fieldplay_messages.errors import ArchiveError

MOST_LOOKED_AT = 200  # samples without a time


def tell_broken_times(log: LogStream, tell: Teller) -> None:
    """Report, counted, which of a stream's times are broken though the samples play."""
    _tell_own(log, tell)
    _tell_logged(log, tell)


def _tell_own(log: LogStream, tell: Teller) -> None:
    """Samples that have a time that is none; what has no fields, and kinds that never have a time, are no fault."""
    has_others = log.has_own_times
    if not has_others and not _lacks_time(log, log.first_row, has_others=False):
        return
    lost, count = _lost_rows(log)
    looked_at = lost if has_others or not count else [log.first_row]
    broken = [row for row in looked_at if _lacks_time(log, row, has_others=has_others)]
    if not broken:
        return
    count += len(broken) - len(looked_at)
    place = log.place(broken[0])
    message = f"{log.name}: expected each sample's own time, {count} of {len(log)} have none that is one, the first: "
    tell(place.file, "no_own_time", f"{message}{place.what}; they are stamped with the time of logging")


def _lost_rows(log: LogStream) -> tuple[list[int], int]:
    """The first rows that have a time of logging alone, and how many there are."""
    counts, borders = np.diff(log.first_rows), log.first_rows
    found: list[int] = []
    count = 0
    for begin, end in log.ranges():
        blocks = slice(*np.searchsorted(borders, [begin, end]))
        if bool((log.blocks["known"][blocks] < counts[blocks]).any()):
            rows = begin + np.flatnonzero((log.own_ns(begin, end) == NO_TIME) & (log.logged_ns(begin, end) != NO_TIME))
            found += rows[: MOST_LOOKED_AT - len(found)].tolist()
            count += len(rows)
    return found, count


def _lacks_time(log: LogStream, row: int, *, has_others: bool) -> bool:
    try:
        sample = log.sample(row, arrays=True)
    except ArchiveError:
        return False  # it is reported when it is read
    return isinstance(sample, dict) and bool(sample) and (has_others or _has_time(sample, depth=2))


def _has_time(sample: dict[Any, Any], depth: int) -> bool:
    """Whether a sample has a field for its time."""
    for key, inner in sample.items():
        name = plain_name(str(key))
        if name in TIMES or (name in INNER and depth and isinstance(inner, dict) and _has_time(inner, depth - 1)):
            return True
    return False


def _tell_logged(log: LogStream, tell: Teller) -> None:
    """Times in `.meta` that are none, of samples with their own; those without either are reported where they leave."""
    first, latest = 0, LATEST_US if log.logged_unit == MICROSECONDS else np.iinfo(np.int64).max
    for file, part in log.parts:
        count, table = min(len(part), part.logged.count), part.logged.table
        broken, at = 0, 0
        if int(table["known"].sum()) < part.logged.count or bool((table["high"] > latest).any()):
            for begin, end in log.ranges(first, first + count):
                raw = log.logged_raw(begin, end)
                is_broken = ((raw <= 0) | (raw > latest)) & (log.own_ns(begin, end) != NO_TIME)
                at = begin - first + int(np.argmax(is_broken)) if is_broken.any() and not broken else at
                broken += int(is_broken.sum())
        if broken:
            message = f"{log.name}.meta: expected times of logging, {broken} of {count} are none, the first "
            tell(file, "no_log_time", f"{message}that of sample {at}; the samples' own stand in")
        first += len(part)
