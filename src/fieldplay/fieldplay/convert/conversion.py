"""An archive becomes a rosbag2 bag."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fieldplay.bags.compression import Compression
from fieldplay.bags.writer import BagWriter, StorageName
from fieldplay.convert.jobs import write_in_parts
from fieldplay.core.errors import BagError, counted
from fieldplay.core.progress import Progress, no_progress
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.origins import custom_data_of
from fieldplay.streams.topic_batches import batches
from fieldplay.topics.archive_topics import archive_topic_streams, channel_of_feed, window_of
from fieldplay.topics.plain_bag_topics import carried_feeds
from fieldplay.topics.selection import Selection


@dataclass(frozen=True, kw_only=True)
class BagOptions:
    """How the bag is stored."""

    storage: StorageName = "mcap"
    compression: Compression = "none"
    overwrite: bool = False
    strict: bool = False  # no bag where there is any defect
    jobs: int = 1  # processes, each of which writes a file; those of a bag without a dataset are its own, one


@dataclass(frozen=True, kw_only=True, eq=False)
class Converted:
    """What was written: messages by topic, and what is to be said of them."""

    topics: tuple[str, ...]
    counts: NDArray[np.int64]
    notes: tuple[str, ...] = ()


def convert(
    archive: Archive, target: Path, selection: Selection, options: BagOptions, *, progress: Progress = no_progress
) -> Converted:
    """Write the selected part of an archive into a new bag; progress hears of the share done and of the messages."""
    _refuse_defects(archive, options)
    feeds = archive_topic_streams(archive, selection)
    window = window_of(archive, selection)
    feeds, notes = carried_feeds(archive, feeds, window)
    last_ns = max(span.last_ns for feed in feeds for span in feed.spans)
    length = max(min(window.last_ns or last_ns, last_ns) - window.first_ns, 1)
    jobs = 1 if archive.bag is not None else options.jobs
    with BagWriter(
        target,
        storage=options.storage,
        compression=options.compression,
        overwrite=options.overwrite,
        in_parts=jobs > 1,
        custom_data=custom_data_of(archive),
    ) as writer:
        numbers: dict[str, int] = {}  # feeds may share a topic, as /tf
        for feed in feeds:
            if feed.topic not in numbers:
                numbers[feed.topic] = writer.add_channel(channel_of_feed(feed))
        channels = [numbers[feed.topic] for feed in feeds]

        def heard(done: int, passed_ns: int) -> None:
            progress(min(max(passed_ns / length, 0.0), 1.0), done)

        if jobs > 1:
            write_in_parts(archive, feeds, channels, window, writer=writer, jobs=jobs, heard=heard)
        else:
            done = 0
            for batch in batches(feeds, channels, window):
                writer.write(batch)
                done += len(batch)
                heard(done, int(batch.stamp_ns[-1]) - window.first_ns)
        _refuse_defects(archive, options)
        counts = writer.counts
        standing = {feed.topic for feed in feeds if feed.standing}
        if not any(count for topic, count in zip(numbers, counts, strict=True) if topic not in standing):
            raise BagError(f"{archive.root}: nothing in the chosen part of it that can be written")
    return Converted(topics=tuple(numbers), counts=counts, notes=tuple(notes))


def _refuse_defects(archive: Archive, options: BagOptions) -> None:
    if options.strict and archive.defects.total:
        found = counted(archive.defects.total, "defect")
        raise BagError(f"{archive.root}: {found}, and none is allowed: nothing was written")
