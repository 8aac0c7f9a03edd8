"""Looks for every defect of an archive: reads all of it, and asks the dataset's own checks."""

from collections.abc import Callable

import numpy as np

from fieldplay_archive.archive import Archive
from fieldplay_archive.errors import Defect
from fieldplay_archive.stamps import NS_PER_S
from fieldplay_archive.streams import Stream
from fieldplay_player.feeds import Feed
from fieldplay_player.options import Selection
from fieldplay_player.outlets import DATA, feeds_of_archive

GAP_PERIODS = 10  # a gap is longer than so many usual steps,
GAP_NS = NS_PER_S // 2  # and than this

Progress = Callable[[float, int], None]


def check(archive: Archive, selection: Selection, *, progress: Progress | None = None) -> list[Defect]:
    """All defects of an archive, those found when it was opened among them."""
    for name, stream in archive.streams.items():
        _find_gaps(archive, name, stream)
    feeds = [feed for feed in feeds_of_archive(archive, selection) if feed.stream and feed.rank == DATA]
    total = sum(len(feed.spans) for feed in feeds)
    done = 0
    for feed in feeds:
        for index in range(len(feed.spans)):
            _read(feed, index)
            done += 1
            if progress is not None:
                progress(done / total, done)
    for dataset_check in archive.checks:
        dataset_check(archive)
    return archive.defects.kept


def _read(feed: Feed, index: int) -> None:
    """Make the messages of a span, one by one where they are large, so that defective rows are reported."""
    stamps, messages = feed.load(index)
    if messages.heavy:
        for row in range(len(stamps)):
            messages.payloads(np.array([row]))


def _find_gaps(archive: Archive, name: str, stream: Stream) -> None:
    stamps = [stream.load(index).stamp_ns for index in range(len(stream.spans))]
    every = np.sort(np.concatenate([np.zeros(0, np.int64), *stamps]))
    steps = np.diff(every)
    if not len(steps):
        return
    limit = max(GAP_PERIODS * int(np.median(steps)), GAP_NS)
    for index in np.flatnonzero(steps > limit):
        message = f"nothing for {steps[index] / NS_PER_S:.3f} s after {int(every[index]) / NS_PER_S:.6f}"
        archive.defects(Defect(file=archive.root.name, kind="gap", stream=name, message=message))
