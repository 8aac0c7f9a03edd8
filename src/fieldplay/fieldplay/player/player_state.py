"""The state of playback, and what the player reports of it: lines of text, diagnostics, and when it falls behind."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import lru_cache

from fieldplay.core.errors import UsageError, pluralize
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.archive import Archive, IssueLog
from fieldplay.messages.restamp import Restamp, restamp_of_type
from fieldplay.player.options import PlayOptions
from fieldplay.player.read_ahead import (
    QueuedMessage,
    ReadAhead,
    Workers,
    message_tasks,
    messages_of_span,
)
from fieldplay.streams.topic_stream import TopicStream
from fieldplay.topics.archive_topics import (
    archive_topic_streams,
    rate_hz,
    static_feed,
    window_of,
)
from fieldplay.topics.plain_bag_topics import kind_of_feed
from fieldplay.topics.selection import Selection
from fieldplay.topics.topic_checks import missing_outputs

MIN_RATE_HZ = 1.0
BEHIND_NS = 100_000_000
CAUGHT_UP_NS = 20_000_000
SILENCE_NS = 5 * NS_PER_S


# What is played of an archive, and how it is read.


@dataclass(frozen=True, kw_only=True)
class PlayPlan:
    """What is played: `static_messages` before everything and once, then from first_ns to last_ns, then perhaps again.

    `gap_ns` lies between the last message of a round and the first of the next. A seek may go back to archive_ns.
    What is `latched`, by feed, is kept for those who come late.
    `restamps` by feed move the times inside its messages, None where there are none. `static_tf_at` is what stands when
    playing goes on from a time to which it has jumped: the odometry starts anew there, on the truth.
    """

    static_messages: Sequence[QueuedMessage]
    restamps: Sequence[Restamp | None]
    archive_ns: int
    first_ns: int
    last_ns: int
    gap_ns: int
    static_tf_at: Callable[[int], Sequence[QueuedMessage]] = lambda stamp_ns: []
    latched: frozenset[int] = frozenset()


def play_plan(
    archive: Archive, selection: Selection, *, is_left_out: Callable[[TopicStream], bool] = lambda feed: False
) -> tuple[PlayPlan, list[TopicStream]]:
    """Plan what is played, and its feeds by number; images are raw by default."""
    is_as_it_is = archive.bag is not None and selection.images in (None, "raw")  # raw is the node's default
    images = None if is_as_it_is else selection.images or "raw"
    chosen = replace(selection, images=images)
    feeds = [feed for feed in archive_topic_streams(archive, chosen) if not is_left_out(feed)]
    if not feeds:
        raise UsageError(f"{archive.root}: no topic of it can be played here")
    window = window_of(archive, chosen)
    moving = [feed for feed in feeds if not feed.static]
    last_ns = max(span.last_ns for feed in moving for span in feed.spans)
    if window.first_ns > last_ns:
        length_s = (last_ns - window.archive_ns) / NS_PER_S
        raise UsageError(f"start: expected less than the {length_s:.3f} s of the archive, got {chosen.start_s} s")

    @lru_cache(maxsize=4)
    def static_tf_at(stamp_ns: int) -> Sequence[QueuedMessage]:
        static = static_feed(archive, chosen, window.first_ns, stamp_ns)
        numbers = [number for number, feed in enumerate(feeds) if feed.static]
        return _all(static, numbers[0]) if static is not None and numbers else []

    plan = PlayPlan(
        static_messages=[message for number, feed in enumerate(feeds) if feed.static for message in _all(feed, number)],
        restamps=[restamp_of_type(feed.msgtype, kind_of_feed(feed).definitions) for feed in feeds],
        archive_ns=window.archive_ns,
        first_ns=window.first_ns,
        last_ns=last_ns if window.last_ns is None else min(window.last_ns, last_ns),
        gap_ns=round(NS_PER_S / max(MIN_RATE_HZ, *(rate_hz(feed) for feed in moving))),
        static_tf_at=static_tf_at,
        latched=frozenset(number for number, feed in enumerate(feeds) if feed.latched),
    )
    return plan, feeds


def reader_of_feeds(feeds: Sequence[TopicStream], plan: PlayPlan, workers: Workers) -> Callable[[int], ReadAhead]:
    """What opens a reader at some time of the archive."""

    def open_reader(first_ns: int) -> ReadAhead:
        return workers.open(lambda check: message_tasks(feeds, first_ns, plan.last_ns, check))

    return open_reader


def _all(feed: TopicStream, number: int) -> list[QueuedMessage]:
    return [message for index in range(len(feed.spans)) for message in messages_of_span(feed, number, index)]


@dataclass(frozen=True, kw_only=True)
class Status:
    """How playing stands: the play head in the archive's time, how late the last message left, counts by feed."""

    position_ns: int
    rate: float
    state: str
    paused: bool
    lag_ns: int
    published: tuple[int, ...]
    skipped: tuple[int, ...]


class LagWatch:
    """Watches how late messages leave, and returns a line when that changes."""

    def __init__(self) -> None:
        self._is_behind = False
        self._worst_ns = 0
        self._silent_until_ns: int | None = None

    def update(self, lag_ns: int, now_ns: int) -> str | None:
        """The line to log at a monotonic time, if any."""
        if lag_ns >= BEHIND_NS:
            return self._behind(lag_ns, now_ns)
        if lag_ns >= CAUGHT_UP_NS:
            return None
        worst_ns, self._worst_ns = self._worst_ns, 0
        if not self._is_behind:
            return None
        self._is_behind = False
        return f"has caught up; it was up to {worst_ns / NS_PER_S:.2f} s behind"

    def _behind(self, lag_ns: int, now_ns: int) -> str | None:
        self._worst_ns = max(self._worst_ns, lag_ns)
        if self._silent_until_ns is not None and now_ns < self._silent_until_ns:
            return None
        self._is_behind, self._silent_until_ns = True, now_ns + SILENCE_NS
        return f"is behind by {lag_ns / NS_PER_S:.2f} s; nothing is dropped, messages leave late"


def wait_description(options: PlayOptions) -> str:
    """Describe the subscribers that playback waits for, and for how long."""
    requested = options.wait_for_subscribers
    who = [pluralize(requested, "subscriber")] if requested else []
    streams = [reading.stream for reading in options.wait_for_streams]
    who += [f"subscribers of {', '.join(streams)}"] if streams else []
    limit = f" (at most {options.wait_timeout_s:g} s)" if options.wait_timeout_s else ""
    return f"{' and '.join(who)}{limit}"


def start_message(archive: Archive, plan: PlayPlan, feeds: Sequence[TopicStream], options: PlayOptions) -> str:
    """Describe what is played, its length and topics, and what nodes cannot compute of it."""
    length_s = (plan.last_ns - plan.first_ns) / NS_PER_S
    since = datetime.fromtimestamp(plan.first_ns // NS_PER_S, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
    topics = len({feed.topic for feed in feeds})
    how = f" at {options.rate:g} times its pace" if options.rate != 1 else ""
    how += ", again and again" if options.loop else ""
    what = f"{pluralize(topics, 'topic')}{how}"
    plays = f"plays {archive.root} ({archive.spec.name}): {length_s:.1f} s from {since} UTC on {what}"
    return "; ".join([plays, *missing_outputs(archive, options.selection)])


def end_summary(status: Status, log: IssueLog) -> list[str]:
    """Describe the counts, and the defects with their locations."""
    topics = sum(1 for count in status.published if count)
    published = f"{pluralize(sum(status.published), 'message')} on {pluralize(topics, 'topic')}"
    played = f"published {published}, skipped {sum(status.skipped)}"
    return [played, *log.summary_lines()]


def is_behind(status: Status) -> bool:
    """Whether messages leave later than they should."""
    return status.lag_ns >= BEHIND_NS


def diagnostics(status: Status, plan: PlayPlan, feeds: Sequence[TopicStream], defects: int) -> dict[str, str]:
    """The values of the player's diagnostics; position and lag in seconds, the position from the archive's begin."""
    values = {
        "state": status.state,
        "position": f"{(status.position_ns - plan.archive_ns) / NS_PER_S:.3f}",
        "stamp": f"{status.position_ns // NS_PER_S}.{status.position_ns % NS_PER_S:09d}",
        "rate": f"{status.rate:g}",
        "paused": str(status.paused).lower(),
        "lag": f"{status.lag_ns / NS_PER_S:.3f}",
        "published": str(sum(status.published)),
        "skipped": str(sum(status.skipped)),
        "defects": str(defects),
    }
    for feed, published, skipped in zip(feeds, status.published, status.skipped, strict=True):
        values[f"published {feed.topic}"] = str(published)
        values[f"skipped {feed.topic}"] = str(skipped)
    return values
