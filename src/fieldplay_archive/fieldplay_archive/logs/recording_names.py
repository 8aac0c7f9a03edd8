"""Streams that lie in files of several recordings, by the files' names: parts of one have the same but for numbers."""

import re
from collections.abc import Iterable, Iterator

import numpy as np

from fieldplay_archive.files.containers import last_part
from fieldplay_archive.logs.index.file_index import NO_TIME, Places
from fieldplay_archive.logs.streams import LogStream
from fieldplay_messages.stamps import NS_PER_S

VARIANT = re.compile(r"(_InFuse)?\.msg(\.zz)?$", re.IGNORECASE)
NUMBERS = re.compile(r"[\d_-]+$")


def recording_of(file: str) -> str:
    """The name of a file without what tells its form, nor the numbers of a part."""
    return NUMBERS.sub("", VARIANT.sub("", last_part(file)))


def notes_of_recordings(streams: Iterable[LogStream]) -> Iterator[str]:
    """Say where a stream goes on in a file of another recording, and how much time lies between."""
    for stream in streams:
        row = 0
        for (file, part), (other, _) in zip(stream.parts, stream.parts[1:], strict=False):
            row += len(part)
            if recording_of(file) != recording_of(other):
                gap = _gap(stream, row, row - len(part))
                text = f"{stream.name} lies in {file} and in {other}, by their names two recordings"
                yield f"{text}: played as one, {gap}"


def _gap(stream: LogStream, row: int, first: int) -> str:
    """The time between the part that begins at a row and that before it."""
    before = max((int(stream.logged_ns(*rows).max()) for rows in stream.ranges(first, row)), default=NO_TIME)
    behind = next((int(known[0]) for rows in stream.ranges(row) if len(known := _known(stream.logged_ns(*rows)))), None)
    if before == NO_TIME or behind is None:
        return "one after the other"
    gap_s = (behind - before) / NS_PER_S
    return f"the second {abs(gap_s):.3f} s {'after the end of' if gap_s >= 0 else 'before the end of'} the first"


def _known(times_ns: Places) -> Places:
    return np.asarray(times_ns[times_ns != NO_TIME], np.int64)
