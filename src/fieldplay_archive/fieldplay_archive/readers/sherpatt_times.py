"""Times in logs that are none: samples' own, for which that of logging stands in, and those of logging."""

from typing import Any

import numpy as np

from fieldplay_archive.errors import ArchiveError
from fieldplay_archive.msgpack_logs.file_index import NO_TIME
from fieldplay_archive.msgpack_logs.ordered import Teller
from fieldplay_archive.msgpack_logs.sample_time import INNER, TIMES, plain_name
from fieldplay_archive.msgpack_logs.streams import LogStream

MOST_LOOKED_AT = 200  # samples without a time


def tell_broken_times(log: LogStream, tell: Teller) -> None:
    """Report, counted, which of a stream's times are broken though the samples play."""
    _tell_own(log, tell)
    _tell_logged(log, tell)


def _tell_own(log: LogStream, tell: Teller) -> None:
    """Samples that have a time that is none; what has no fields, and kinds that never have a time, are no fault."""
    lost = np.flatnonzero((log.own_ns == NO_TIME) & (log.logged_ns != NO_TIME))
    if not len(lost):
        return
    has_others = bool((log.own_ns != NO_TIME).any())
    looked_at = lost[:MOST_LOOKED_AT].tolist() if has_others else [log.first_row]
    broken = [row for row in looked_at if _lacks_time(log, row, has_others=has_others)]
    if not broken:
        return
    count = len(broken) + len(lost) - len(looked_at)
    place = log.place(broken[0])
    message = f"{log.name}: expected each sample's own time, {count} of {len(log)} have none that is one, the first: "
    tell(place.file, "no_own_time", f"{message}{place.what}; they are stamped with the time of logging")


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
    first = 0
    for file, part in log.parts:
        count = min(len(part), len(part.logged))
        broken = (part.logged[:count] <= 0) & (log.own_ns[first : first + count] != NO_TIME)
        if bool(broken.any()):
            at = int(np.argmax(broken))
            message = f"{log.name}.meta: expected times of logging, {int(broken.sum())} of {count} are none, the first "
            tell(file, "no_log_time", f"{message}that of sample {at}; the samples' own stand in")
        first += len(part)
