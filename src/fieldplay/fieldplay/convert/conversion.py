"""An archive becomes a rosbag2 bag."""

import os
import signal
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay.bags.compression import Compression
from fieldplay.bags.storage import Contents
from fieldplay.bags.writer import BagWriter, StorageName
from fieldplay.core.errors import BagError, Defect, UserError, pluralize
from fieldplay.core.progress import Progress, no_progress
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.origins import custom_data_of
from fieldplay.io.parser_processes import has_threads, lose_threads
from fieldplay.messages.point_clouds import CLOUD
from fieldplay.messages.records import Record
from fieldplay.streams.image_topics import COMPRESSED, RAW
from fieldplay.streams.message_block import MergedBlock
from fieldplay.streams.topic_batches import Window, batches
from fieldplay.streams.topic_stream import DERIVED, LazyBlock, TopicStream
from fieldplay.topics.archive_topics import archive_topic_streams, channel_of_feed, window_of
from fieldplay.topics.plain_bag_topics import feeds_with_latched_history
from fieldplay.topics.selection import Selection

WEIGHTS = {RAW: 400, COMPRESSED: 50, CLOUD: 50}  # what a message costs, beside one of a few numbers
POINTS = 8  # of a span at which its cost is put
LOOK_EVERY_S = 0.2
ReportProgress = Callable[[int, int], None]  # how many messages are written, and about how many ns of the data that are


# Slices of time of many feeds: together they give the very messages that the feeds give as a whole, in their order.
#
# What an archive holds is loaded slice by slice. What is computed of it may have a state: a slice computes all that
# lies before it too, and makes no messages of that.


class TimeSlice(NamedTuple):
    """The messages from one time up to another, that included; None is to the end."""

    from_ns: int
    last_ns: int | None


def time_slices(feeds: Sequence[TopicStream], window: Window, count: int) -> list[TimeSlice]:
    """The window in so many slices, or fewer, that cost about the same."""
    points, costs = [np.zeros(0)], [np.zeros(0)]
    for feed in feeds:
        for span in feed.spans:
            points.append(np.linspace(span.first_ns, span.last_ns, POINTS))
            costs.append(np.full(POINTS, span.count * WEIGHTS.get(feed.msgtype, 1) / POINTS))
    times, cost = np.concatenate(points), np.concatenate(costs)
    inside = (times > window.first_ns) & (times <= (np.inf if window.last_ns is None else window.last_ns))
    order = np.argsort(times[inside], kind="stable")
    times, summed = times[inside][order], np.cumsum(cost[inside][order])
    fractions = summed[-1] * np.arange(1, count) / count if len(summed) else np.zeros(0)
    borders = {int(times[index]) for index in np.searchsorted(summed, fractions).tolist()}
    later_borders = [*sorted(border for border in borders if border > window.first_ns)]
    starts = [window.first_ns, *later_borders]
    return [
        *(TimeSlice(start, end - 1) for start, end in pairwise(starts)),
        TimeSlice(starts[-1], window.last_ns),
    ]


def feeds_of_slice(feeds: Sequence[TopicStream], part: TimeSlice) -> list[TopicStream]:
    """The feeds as far as a slice needs them: without the spans before it, but for what is computed or kept."""
    return [_with_late_messages(feed) if feed.stream == DERIVED else _since(feed, part.from_ns) for feed in feeds]


def _since(feed: TopicStream, from_ns: int) -> TopicStream:
    indices = [number for number, span in enumerate(feed.spans) if span.last_ns >= from_ns or feed.latched]
    spans = [feed.spans[number] for number in indices]
    return replace(feed, spans=spans, records=lambda index: feed.records(indices[index]))


def _with_late_messages(feed: TopicStream) -> TopicStream:
    return replace(feed, messages=lambda record: _late_messages(feed, record))


def _late_messages(feed: TopicStream, record: Record) -> LazyBlock:
    """Messages that are made when the first of them is requested."""
    messages = cache(lambda: feed.messages(record))
    return LazyBlock(lambda rows: messages().encode(rows))


# A bag that several processes write: each the messages of a slice of time, into a file of its own.
#
# The processes are forked from the one that has the archive open, and begin where it is. They ignore interrupts: the
# one that began them does, and ends them. Whoever loses the other side of the pipe between them ends too.


class _SliceResult(NamedTuple):
    """What a process reports when its part is written: its contents, defects and notes."""

    contents: Contents
    defects: list[Defect]
    counts: "Counter[tuple[str, str]]"
    notes: list[str]


@dataclass
class _Part:
    """A part that is being written, as the process sees it that waits."""

    process: ForkProcess
    receiver: Connection
    start_ns: int
    done: int = 0
    passed_ns: int = 0
    finished: _SliceResult | None = field(default=None)


def write_in_parts(
    archive: Archive,
    feeds: Sequence[TopicStream],
    channels: Sequence[int],
    window: Window,
    *,
    writer: BagWriter,
    jobs: int,
    received: ReportProgress,
) -> None:
    """Write all messages of a window by so many processes."""
    slices, had_threads = time_slices(feeds, window, jobs), has_threads()
    context = get_context("fork")
    pipes = [context.Pipe(duplex=False) for _ in slices]
    parts: list[_Part] = []
    try:
        for number, (part, (receiver, sender)) in enumerate(zip(slices, pipes, strict=True)):

            def write_slice(number: int = number, part: TimeSlice = part, sender: Connection = sender) -> None:
                for other, _ in pipes:
                    other.close()
                if had_threads:
                    lose_threads()
                taken = window if part.last_ns is None else Window(window.archive_ns, window.first_ns, part.last_ns)
                slice_batches = batches(feeds_of_slice(feeds, part), channels, taken, from_ns=part.from_ns)
                _write_slice(archive, writer, number, slice_batches, sender)

            process = context.Process(target=write_slice)
            process.start()
            sender.close()
            parts.append(_Part(process, receiver, part.from_ns))
        _wait(parts, received)
    finally:
        for each in parts:
            each.process.kill()
            each.process.join()
            each.receiver.close()
    for number, each in enumerate(parts):
        assert each.finished is not None
        writer.take_part(number, each.finished.contents)
        archive.defects.join(each.finished.defects, each.finished.counts)
        archive.notes.extend(note for note in each.finished.notes if note not in archive.notes)


def _wait(parts: Sequence[_Part], received: ReportProgress) -> None:
    """Receive the reports of all parts until the last is finished; BagError where one exits before."""
    open_parts = {part.receiver: part for part in parts}
    while open_parts:
        for receiver in wait(list(open_parts), LOOK_EVERY_S):
            part = next(own for other, own in open_parts.items() if other is receiver)
            try:
                report = part.receiver.recv()
            except EOFError:
                part.process.join()
                code = part.process.exitcode or 0
                how = f"by signal {-code}" if code < 0 else f"with code {code}"
                raise BagError(f"a process that wrote a part of the bag has ended {how}: nothing was written") from None
            if isinstance(report, UserError):
                raise report
            if isinstance(report, _SliceResult):
                part.finished = report
                del open_parts[part.receiver]
            else:
                part.done, last_ns = report
                part.passed_ns = last_ns - part.start_ns
        received(sum(part.done for part in parts), sum(part.passed_ns for part in parts))


def _write_slice(
    archive: Archive, writer: BagWriter, number: int, slice_batches: Iterator[MergedBlock], sender: Connection
) -> None:
    """Write a slice in a worker process, and report each batch."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    _reopen_files()
    defect_count, counts, notes = len(archive.defects.listed), Counter(archive.defects.counts), len(archive.notes)

    def reported_batches() -> Iterator[MergedBlock]:
        done = 0
        for batch in slice_batches:
            yield batch
            done += len(batch)
            sender.send((done, int(batch.stamp_ns[-1])))

    with suppress(BrokenPipeError):  # nobody waits any more
        try:
            contents = writer.write_part(number, reported_batches())
        except UserError as error:
            sender.send(error)
            return
        except BrokenPipeError:
            return
        log = archive.defects
        sender.send(_SliceResult(contents, log.listed[defect_count:], log.counts - counts, archive.notes[notes:]))


def _reopen_files() -> None:
    """Reopen the files that are open for reading: processes that share one would move each other's offset."""
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            number = int(name)
            if not stat.S_ISREG(os.fstat(number).st_mode) or _is_written(number):
                continue
            offset = os.lseek(number, 0, os.SEEK_CUR)
            descriptor = os.open(f"/proc/self/fd/{number}", os.O_RDONLY | os.O_CLOEXEC)
            os.lseek(descriptor, offset, os.SEEK_SET)
            os.dup2(descriptor, number, inheritable=False)
            os.close(descriptor)


def _is_written(number: int) -> bool:
    with open(f"/proc/self/fdinfo/{number}", encoding="ascii") as lines:
        flags = next(int(line.split()[1], 8) for line in lines if line.startswith("flags:"))
    return flags & os.O_ACCMODE != os.O_RDONLY


@dataclass(frozen=True, kw_only=True)
class BagOptions:
    """How a bag is stored.

    Args:
        storage: `mcap` or `sqlite3`.
        compression: `none`, or `zstd` with mcap.
        overwrite: replace an existing bag; a folder that is no bag is never replaced.
        strict: refuse an archive with defects.
        jobs: number of processes, each of which writes a file; a bag without a dataset is written by one.
    """

    storage: StorageName = "mcap"
    compression: Compression = "none"
    overwrite: bool = False
    strict: bool = False  # no bag where there is any defect
    jobs: int = 1  # processes, each of which writes a file; those of a bag without a dataset are its own, one


@dataclass(frozen=True, kw_only=True, eq=False)
class Converted:
    """What was written.

    Args:
        topics: names of the topics.
        counts: messages of each topic (n,).
        notes: lines for people.
    """

    topics: tuple[str, ...]
    counts: NDArray[np.int64]
    notes: tuple[str, ...] = ()


def convert(
    archive: Archive, target: Path, selection: Selection, options: BagOptions, *, progress: Progress = no_progress
) -> Converted:
    """Write the selected part of an archive into a new bag.

    Args:
        archive: the open archive.
        target: the folder to make; it appears when it is complete.
        selection: time range, topics and message options.
        options: how the bag is stored.
        progress: called with the fraction that is written (0 to 1) and the number of messages.

    Returns:
        The topics with their counts, and notes.

    Raises:
        UserError: the folder exists, the disk is full, nothing is selected, or `strict` found defects.
    """
    _refuse_defects(archive, options)
    feeds = archive_topic_streams(archive, selection)
    window = window_of(archive, selection)
    feeds, notes = feeds_with_latched_history(archive, feeds, window)
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

        def report(done: int, passed_ns: int) -> None:
            progress(min(max(passed_ns / length, 0.0), 1.0), done)

        if jobs > 1:
            write_in_parts(archive, feeds, channels, window, writer=writer, jobs=jobs, received=report)
        else:
            done = 0
            for batch in batches(feeds, channels, window):
                writer.write(batch)
                done += len(batch)
                report(done, int(batch.stamp_ns[-1]) - window.first_ns)
        _refuse_defects(archive, options)
        counts = writer.counts
        static_topics = {feed.topic for feed in feeds if feed.static}
        if not any(count for topic, count in zip(numbers, counts, strict=True) if topic not in static_topics):
            raise BagError(f"{archive.root}: nothing in the chosen part of it that can be written")
    return Converted(topics=tuple(numbers), counts=counts, notes=tuple(notes))


def _refuse_defects(archive: Archive, options: BagOptions) -> None:
    if options.strict and archive.defects.total:
        defects = pluralize(archive.defects.total, "defect")
        raise BagError(f"{archive.root}: {defects}, and none is allowed: nothing was written")
