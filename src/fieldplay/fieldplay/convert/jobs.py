"""A bag that several processes write: each the messages of a slice of time, into a file of its own.

The processes are forked from the one that has the archive open, and begin where it is. They hear no interrupt: the one
that began them does, and ends them. Whoever loses the other side of the pipe between them ends too.
"""

import os
import signal
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import NamedTuple

from fieldplay.bags.channels import Contents
from fieldplay.bags.writer import BagWriter
from fieldplay.core.errors import BagError, Defect, UserError
from fieldplay.datasets.archive import Archive
from fieldplay.io.table_worker import has_threads, lose_threads
from fieldplay.streams.message_block import Messages
from fieldplay.streams.time_slices import TimeSlice, feeds_of_slice, time_slices
from fieldplay.streams.topic_batches import Window, batches
from fieldplay.streams.topic_stream import TopicStream

LOOK_EVERY_S = 0.2

Heard = Callable[[int, int], None]  # how many messages are written, and about how many ns of the data that are


class _Finished(NamedTuple):
    """What a process tells when its part is written: what is in it, and what it found besides."""

    contents: Contents
    kept: list[Defect]
    counts: "Counter[tuple[str, str]]"
    notes: list[str]


@dataclass
class _Part:
    """A part that is being written, as the process sees it that waits."""

    process: ForkProcess
    receiver: Connection
    begin_ns: int
    done: int = 0
    passed_ns: int = 0
    finished: _Finished | None = field(default=None)


def write_in_parts(
    archive: Archive,
    feeds: Sequence[TopicStream],
    channels: Sequence[int],
    window: Window,
    *,
    writer: BagWriter,
    jobs: int,
    heard: Heard,
) -> None:
    """Write all messages of a window by so many processes."""
    slices, had_threads = time_slices(feeds, window, jobs), has_threads()
    context = get_context("fork")
    pipes = [context.Pipe(duplex=False) for _ in slices]
    parts: list[_Part] = []
    try:
        for number, (part, (receiver, sender)) in enumerate(zip(slices, pipes, strict=True)):

            def work(number: int = number, part: TimeSlice = part, sender: Connection = sender) -> None:
                for other, _ in pipes:
                    other.close()
                if had_threads:
                    lose_threads()
                taken = window if part.last_ns is None else Window(window.archive_ns, window.first_ns, part.last_ns)
                found = batches(feeds_of_slice(feeds, part), channels, taken, from_ns=part.from_ns)
                _work(archive, writer, number, found, sender)

            process = context.Process(target=work)
            process.start()
            sender.close()
            parts.append(_Part(process, receiver, part.from_ns))
        _wait(parts, heard)
    finally:
        for each in parts:
            each.process.kill()
            each.process.join()
            each.receiver.close()
    for number, each in enumerate(parts):
        assert each.finished is not None
        writer.take_part(number, each.finished.contents)
        archive.defects.join(each.finished.kept, each.finished.counts)
        archive.notes.extend(note for note in each.finished.notes if note not in archive.notes)


def _wait(parts: Sequence[_Part], heard: Heard) -> None:
    """Hear all parts until the last is finished; BagError where one ends before."""
    open_parts = {part.receiver: part for part in parts}
    while open_parts:
        for receiver in wait(list(open_parts), LOOK_EVERY_S):
            part = next(own for other, own in open_parts.items() if other is receiver)
            try:
                told = part.receiver.recv()
            except EOFError:
                part.process.join()
                code = part.process.exitcode or 0
                how = f"by signal {-code}" if code < 0 else f"with code {code}"
                raise BagError(f"a process that wrote a part of the bag has ended {how}: nothing was written") from None
            if isinstance(told, UserError):
                raise told
            if isinstance(told, _Finished):
                part.finished = told
                del open_parts[part.receiver]
            else:
                part.done, last_ns = told
                part.passed_ns = last_ns - part.begin_ns
        heard(sum(part.done for part in parts), sum(part.passed_ns for part in parts))


def _work(archive: Archive, writer: BagWriter, number: int, found: Iterator[Messages], sender: Connection) -> None:
    """What a process does: a part, telling of each batch."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    _have_own_files()
    kept, counts, notes = len(archive.defects.kept), Counter(archive.defects.counts), len(archive.notes)

    def telling() -> Iterator[Messages]:
        done = 0
        for batch in found:
            yield batch
            done += len(batch)
            sender.send((done, int(batch.stamp_ns[-1])))

    with suppress(BrokenPipeError):  # nobody waits any more
        try:
            contents = writer.write_part(number, telling())
        except UserError as error:
            sender.send(error)
            return
        except BrokenPipeError:
            return
        log = archive.defects
        sender.send(_Finished(contents, log.kept[kept:], log.counts - counts, archive.notes[notes:]))


def _have_own_files() -> None:
    """Open the files anew that are open for reading: where two processes read through one, each moves it for both."""
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            number = int(name)
            if not stat.S_ISREG(os.fstat(number).st_mode) or _is_written(number):
                continue
            place = os.lseek(number, 0, os.SEEK_CUR)
            own = os.open(f"/proc/self/fd/{number}", os.O_RDONLY | os.O_CLOEXEC)
            os.lseek(own, place, os.SEEK_SET)
            os.dup2(own, number, inheritable=False)
            os.close(own)


def _is_written(number: int) -> bool:
    with open(f"/proc/self/fdinfo/{number}", encoding="ascii") as lines:
        flags = next(int(line.split()[1], 8) for line in lines if line.startswith("flags:"))
    return flags & os.O_ACCMODE != os.O_RDONLY
