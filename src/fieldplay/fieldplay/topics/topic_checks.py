"""Looks for every defect of an archive: reads all of it, and asks the dataset's own checks."""

from collections.abc import Iterator

import numpy as np

from fieldplay.core.errors import Defect
from fieldplay.core.progress import Progress, no_progress
from fieldplay.datasets.archive import Archive
from fieldplay.streams.topic_stream import TopicStream
from fieldplay.topics.archive_topics import DATA, archive_topic_streams
from fieldplay.topics.availability import missing_outputs
from fieldplay.topics.selection import Selection


def check(archive: Archive, selection: Selection, *, progress: Progress = no_progress) -> list[Defect]:
    """All defects of an archive, those found when it was opened among them.

    The spans are read in the order of time, one after the other: the topics of one table share what is read of it, and
    no more is held than that.
    """
    feeds = [feed for feed in archive_topic_streams(archive, selection) if feed.stream and feed.rank == DATA]
    total = sum(span.count for feed in feeds for span in feed.spans)
    places = ((feed.spans[index].first_ns, place, index) for place, feed in enumerate(feeds) for index in _all(feed))
    done = 0
    for _, place, index in sorted(places):
        for rows in _read(feeds[place], index):
            done += rows
            progress(min(done / max(total, 1), 1.0), done)
    check_settings(archive)
    for dataset_check in archive.slow_checks:
        dataset_check(archive)
    return archive.defects.kept


def check_settings(archive: Archive) -> None:
    """Measure in samples of the data whether the dataset's parameters fit them, and note what cannot be computed."""
    for dataset_check in archive.checks:
        dataset_check(archive)
    archive.notes += missing_outputs(archive, Selection(derived=True))


def _all(feed: TopicStream) -> range:
    return range(len(feed.spans))


def _read(feed: TopicStream, index: int) -> Iterator[int]:
    """Make the messages of a span, one by one where they are large, so that defective rows are reported."""
    stamps, messages = feed.load(index)
    if not messages.heavy:
        yield len(stamps)
        return
    for row in range(len(stamps)):
        messages.payloads(np.array([row]))
        yield 1
