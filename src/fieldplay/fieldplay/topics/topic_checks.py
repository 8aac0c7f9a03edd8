"""Looks for every defect of an archive: reads all of it, and asks the dataset's own checks."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from fieldplay.core.errors import Defect
from fieldplay.core.progress import Progress, no_progress
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.spec import DerivedSpec
from fieldplay.kinematics.computation import ON_TF
from fieldplay.messages import records
from fieldplay.streams.topic_stream import TopicStream
from fieldplay.topics.archive_topics import DATA, archive_topic_streams, window_of
from fieldplay.topics.selection import Selection
from fieldplay.topics.static_tf import why_no_map

COMPARISON = "odometry_evaluation"  # the kind of computation that has two sides


# What is not computed of an archive, and why.


def missing_outputs(archive: Archive, selection: Selection) -> list[str]:
    """A line for each thing that nodes, or `--derived`, do not make of an archive although one might expect it."""
    no_map = ""
    if selection.map_tf or selection.derived:
        no_map = why_no_map(archive, window_of(archive, selection).first_ns)
    return [*_comparisons(archive), *([no_map] if no_map else [])]


def _comparisons(archive: Archive) -> list[str]:
    """Those one side of which the archive lacks; where it has neither, nobody expects them."""
    lines = []
    for spec in archive.spec.derived:
        there = [name in archive.streams and bool(archive.streams[name].spans) for name in spec.streams]
        if spec.kind == COMPARISON and any(there) and not all(there):
            names = [_topic(archive, spec, name) for name in spec.streams]
            missing = " nor ".join(name for name, is_there in zip(names, there, strict=True) if not is_there)
            why = f"as it compares {' with '.join(names)}, and there is no {missing}"
            lines.append(f"{spec.topic}: not computed, {why}")
    return lines


def _topic(archive: Archive, spec: DerivedSpec, name: str) -> str:
    """The topic of a stream; of one that is not there, as the settings have it."""
    topics = {stream.id: stream.topic for stream in archive.spec.streams}
    names = [text for text in spec.settings.values() if isinstance(text, str) and text.replace("/", "_") == name]
    return topics.get(name) or next(iter(names), name)


# How many trees the frames are that an archive's feeds place, and what would join them.


def roots_of_feeds(feeds: Sequence[TopicStream]) -> list[str]:
    """The root of each tree that the feeds of transforms make together."""
    parents: set[str] = set()
    children: set[str] = set()
    for feed in feeds:
        transforms = _transforms(feed)
        if transforms is not None:
            parents |= set(transforms.parents)
            children |= set(transforms.children)
    return sorted(parents - children)


def describe_tf_trees(archive: Archive, selection: Selection) -> str:
    """A line about the trees of what was selected; an empty one where nothing places a frame."""
    roots = [] if archive.bag is not None else roots_of_feeds(archive_topic_streams(archive, selection))
    if not roots:
        return ""
    text = f"frames: {_trees(roots)}"
    if selection.derived:
        return text if len(roots) == 1 else f"{text}; nothing in the archive joins them"
    derived = roots_of_feeds(archive_topic_streams(archive, replace(selection, derived=True)))
    if len(derived) < len(roots):
        return f"{text}; --derived joins them: {_trees(derived)}"
    if len(roots) > 1:
        return f"{text}; nothing in the archive joins them"
    return text if derived == roots else f"{text}; --derived puts {', '.join(derived)} above"


def _trees(roots: Sequence[str]) -> str:
    return f"one tree, root {roots[0]}" if len(roots) == 1 else f"{len(roots)} trees, roots {', '.join(roots)}"


def _transforms(feed: TopicStream) -> records.Transforms | None:
    """The first transforms of a feed, if it has such."""
    for index in range(len(feed.spans)) if feed.msgtype == ON_TF.type else ():
        record = feed.records(index)
        if isinstance(record, records.Transforms) and len(record):
            return record
    return None


def check(archive: Archive, selection: Selection, *, progress: Progress = no_progress) -> list[Defect]:
    """All defects of an archive, those found when it was opened among them.

    The spans are read in the order of time, one after the other: the topics of one table share what is read of it, and
    no more is held than that.
    """
    feeds = [feed for feed in archive_topic_streams(archive, selection) if feed.stream and feed.rank == DATA]
    total = sum(span.count for feed in feeds for span in feed.spans)
    entries = ((feed.spans[index].first_ns, number, index) for number, feed in enumerate(feeds) for index in _all(feed))
    done = 0
    for _, number, index in sorted(entries):
        for rows in _read(feeds[number], index):
            done += rows
            progress(min(done / max(total, 1), 1.0), done)
    check_settings(archive)
    for dataset_check in archive.slow_checks:
        dataset_check(archive)
    return archive.defects.listed


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
    if not messages.is_heavy:
        yield len(stamps)
        return
    for row in range(len(stamps)):
        messages.encode(np.array([row]))
        yield 1
