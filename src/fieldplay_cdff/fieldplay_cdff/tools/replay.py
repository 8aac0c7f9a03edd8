"""Samples of logs in the order of the framework's own log iterators. All are lazy, and empty ones do no harm.

- replay: the streams of a log merged by logging time; at equal times the stream that is named first goes first, and
  within a stream the order of the file is kept.
- replay_join: iterators merged by the times of their next samples, at equal times the first iterator's.
- replay_sequence: one iterator after the other.
- replay_files: groups of logs, each one after the other, merged by time.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from fieldplay.core.errors import ArchiveError
from fieldplay_cdff.logs.log import Entry, Log


def replay(log: Log, names: Sequence[str] | None = None) -> Iterator[Entry]:
    """The samples of some streams, or of all; ArchiveError for a stream that is not there names those that are."""
    return log.entries(names)


def replay_join(iterators: Iterable[Iterable[Entry]]) -> Iterator[Entry]:
    """Several replays at once. One that is not in the order of time is not sorted: its next sample alone counts."""
    return heapq.merge(*iterators, key=lambda entry: entry.time_ns)


def replay_sequence(iterators: Iterable[Iterable[Entry]]) -> Iterator[Entry]:
    """Several replays one after the other, whatever their times."""
    return chain.from_iterable(iterators)


def replay_files(groups: Sequence[Sequence[Log]], names: Sequence[str] | None = None) -> Iterator[Entry]:
    """Several recordings at once, each a row of logs; a stream must be in one of the logs at least."""
    present = list(dict.fromkeys(name for logs in groups for log in logs for name in log.streams))
    unknown = [name for name in names or () if name not in present]
    if unknown:
        raise ArchiveError(f"there is no stream {', '.join(unknown)}; there are {', '.join(present) or 'none'}")
    return replay_join([replay_sequence(_replay_present(log, names) for log in logs) for logs in groups])


def _replay_present(log: Log, names: Sequence[str] | None) -> Iterator[Entry]:
    """The streams that a log has; a part of a recording need not have all."""
    yield from log.entries(names if names is None else [name for name in names if name in log.streams])
