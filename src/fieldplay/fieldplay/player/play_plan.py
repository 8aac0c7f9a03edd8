"""What is played of an archive, and how it is read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from fieldplay.core.errors import UsageError
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.archive import Archive
from fieldplay.messages.restamp import Restamp, restamp_of_type
from fieldplay.player.message_source import (
    DueMessage,
    Run,
    messages_of_span,
    works,
)
from fieldplay.player.read_ahead import ReadAhead, Workers
from fieldplay.streams.topic_stream import TopicStream
from fieldplay.topics.archive_topics import (
    archive_topic_streams,
    rate_hz,
    static_feed,
    window_of,
)
from fieldplay.topics.plain_bag_topics import kind_of_feed
from fieldplay.topics.selection import Selection

LEAST_RATE_HZ = 1.0


@dataclass(frozen=True, kw_only=True)
class PlayPlan:
    """What is played: `standing` before everything and once, then from first_ns to last_ns, then perhaps again.

    `gap_ns` lies between the last message of a round and the first of the next. A seek may go back to archive_ns.
    What is `latched`, by feed, is kept for those who come late.
    `restamps` by feed move the times inside its messages, None where there are none. `static_tf_at` is what stands when
    playing goes on from a time to which it has jumped: the odometry starts anew there, on the truth.
    """

    standing: Run
    restamps: Sequence[Restamp | None]
    archive_ns: int
    first_ns: int
    last_ns: int
    gap_ns: int
    static_tf_at: Callable[[int], Run] = lambda stamp_ns: []
    latched: frozenset[int] = frozenset()


def program_of_archive(
    archive: Archive, selection: Selection, *, is_left_out: Callable[[TopicStream], bool] = lambda feed: False
) -> tuple[PlayPlan, list[TopicStream]]:
    """What is played, and the feeds by number; pictures are raw where nothing else is chosen."""
    is_as_it_is = archive.bag is not None and selection.images in (None, "raw")  # raw is the node's default
    images = None if is_as_it_is else selection.images or "raw"
    chosen = replace(selection, images=images)
    feeds = [feed for feed in archive_topic_streams(archive, chosen) if not is_left_out(feed)]
    if not feeds:
        raise UsageError(f"{archive.root}: no topic of it can be played here")
    window = window_of(archive, chosen)
    moving = [feed for feed in feeds if not feed.standing]
    last_ns = max(span.last_ns for feed in moving for span in feed.spans)
    if window.first_ns > last_ns:
        length_s = (last_ns - window.archive_ns) / NS_PER_S
        raise UsageError(f"start: expected less than the {length_s:.3f} s of the archive, got {chosen.start_s} s")

    @lru_cache(maxsize=4)
    def static_tf_at(stamp_ns: int) -> Run:
        found = static_feed(archive, chosen, window.first_ns, stamp_ns)
        numbers = [number for number, feed in enumerate(feeds) if feed.standing]
        return _all(found, numbers[0]) if found is not None and numbers else []

    program = PlayPlan(
        standing=[message for number, feed in enumerate(feeds) if feed.standing for message in _all(feed, number)],
        restamps=[restamp_of_type(feed.msgtype, kind_of_feed(feed).definitions) for feed in feeds],
        archive_ns=window.archive_ns,
        first_ns=window.first_ns,
        last_ns=last_ns if window.last_ns is None else min(window.last_ns, last_ns),
        gap_ns=round(NS_PER_S / max(LEAST_RATE_HZ, *(rate_hz(feed) for feed in moving))),
        static_tf_at=static_tf_at,
        latched=frozenset(number for number, feed in enumerate(feeds) if feed.latched),
    )
    return program, feeds


def reader_of_feeds(feeds: Sequence[TopicStream], program: PlayPlan, workers: Workers) -> Callable[[int], ReadAhead]:
    """What opens a reader at some time of the archive."""

    def open_reader(first_ns: int) -> ReadAhead:
        return workers.open(lambda check: works(feeds, first_ns, program.last_ns, check))

    return open_reader


def _all(feed: TopicStream, number: int) -> list[DueMessage]:
    return [message for index in range(len(feed.spans)) for message in messages_of_span(feed, number, index)]
