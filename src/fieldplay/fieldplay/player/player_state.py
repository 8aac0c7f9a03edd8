"""How playing stands, and what the player tells of it: lines of text, diagnostics, and when it falls behind."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from fieldplay.core.errors import counted
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.archive import Archive, DefectLog
from fieldplay.player.options import PlayOptions
from fieldplay.player.play_plan import PlayPlan
from fieldplay.streams.topic_stream import TopicStream
from fieldplay.topics.availability import missing_outputs

BEHIND_NS = 100_000_000
CAUGHT_UP_NS = 20_000_000
SILENCE_NS = 5 * NS_PER_S


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
    """Hears how late each message left, and gives a line when there is something to say."""

    def __init__(self) -> None:
        self._said = False
        self._worst_ns = 0
        self._silent_until_ns: int | None = None

    def hear(self, lag_ns: int, now_ns: int) -> str | None:
        """What to say at a monotonic time, if anything."""
        if lag_ns >= BEHIND_NS:
            return self._behind(lag_ns, now_ns)
        if lag_ns >= CAUGHT_UP_NS:
            return None
        worst_ns, self._worst_ns = self._worst_ns, 0
        if not self._said:
            return None
        self._said = False
        return f"has caught up; it was up to {worst_ns / NS_PER_S:.2f} s behind"

    def _behind(self, lag_ns: int, now_ns: int) -> str | None:
        self._worst_ns = max(self._worst_ns, lag_ns)
        if self._silent_until_ns is not None and now_ns < self._silent_until_ns:
            return None
        self._said, self._silent_until_ns = True, now_ns + SILENCE_NS
        return f"is behind by {lag_ns / NS_PER_S:.2f} s; nothing is dropped, messages leave late"


def awaited(options: PlayOptions) -> str:
    """Whom playing waits for before it starts, and for how long."""
    wanted = options.wait_for_subscribers
    who = [counted(wanted, "subscriber")] if wanted else []
    streams = [reading.stream for reading in options.wait_for_streams]
    who += [f"subscribers of {', '.join(streams)}"] if streams else []
    limit = f" (at most {options.wait_timeout_s:g} s)" if options.wait_timeout_s else ""
    return f"{' and '.join(who)}{limit}"


def beginning(archive: Archive, program: PlayPlan, feeds: Sequence[TopicStream], options: PlayOptions) -> str:
    """What is played, how long it is, on how many topics; and what the nodes beside it cannot compute of it."""
    length_s = (program.last_ns - program.first_ns) / NS_PER_S
    since = datetime.fromtimestamp(program.first_ns // NS_PER_S, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
    topics = len({feed.topic for feed in feeds})
    how = f" at {options.rate:g} times its pace" if options.rate != 1 else ""
    how += ", again and again" if options.loop else ""
    what = f"{counted(topics, 'topic')}{how}"
    plays = f"plays {archive.root} ({archive.spec.name}): {length_s:.1f} s from {since} UTC on {what}"
    return "; ".join([plays, *missing_outputs(archive, options.selection)])


def ending(status: Status, log: DefectLog) -> list[str]:
    """The counts, and what was left out with its place."""
    topics = sum(1 for count in status.published if count)
    published = f"{counted(sum(status.published), 'message')} on {counted(topics, 'topic')}"
    played = f"published {published}, skipped {sum(status.skipped)}"
    return [played, *log.in_short()]


def is_behind(status: Status) -> bool:
    """Whether messages leave later than they should."""
    return status.lag_ns >= BEHIND_NS


def diagnostics(status: Status, program: PlayPlan, feeds: Sequence[TopicStream], defects: int) -> dict[str, str]:
    """The values of the player's diagnostics; position and lag in seconds, the position from the archive's begin."""
    values = {
        "state": status.state,
        "position": f"{(status.position_ns - program.archive_ns) / NS_PER_S:.3f}",
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
