"""The first sound sample of a stream: what it is like says what the stream is like, whatever stands before it."""

from collections.abc import Callable
from typing import Any, NamedTuple

from fieldplay_archive.logs import depths, frames, kinds
from fieldplay_archive.logs.rows import field
from fieldplay_archive.logs.streams import LogStream
from fieldplay_messages.errors import ArchiveError


class First(NamedTuple):
    """A sample, its row, and where none is sound the reason why the very first one is not."""

    row: int
    sample: Any
    fault: str = ""


def first_sound(log: LogStream, *, side: str = "") -> First:
    """The first sample from which its kind can be told; the very first with its fault where there is none.

    Of a pair, the first one whose picture of that side is sound.
    """
    fault = ""
    for row in range(min(log.first_row, len(log)), len(log)):
        try:
            sample = log.sample(row, arrays=True)
            _look_at(log, sample, row, side)
        except ArchiveError as error:
            fault = fault or f"{log.place(row).what}: {error}"
            continue
        return First(row, sample)
    return First(0, None, fault or "no samples")


def _look_at(log: LogStream, sample: Any, row: int, side: str) -> None:
    """ArchiveError where a sample does not tell what its kind's samples are like."""
    look: dict[str, Callable[[], object]] = {
        kinds.FRAME: lambda: frames.frame_shape(sample),
        kinds.PAIR: lambda: frames.frame_shape(field(sample, side)) if side else None,
        kinds.CLOUD: lambda: depths.points_from_cloud(sample),
        kinds.DEPTHS: lambda: depths.points_from_depth_map(sample, max(int(log.own_ns(row, row + 1)[0]), 0), 1),
    }
    if log.kind in look:
        look[log.kind]()
