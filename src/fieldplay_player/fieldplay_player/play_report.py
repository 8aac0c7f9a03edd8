"""What the player tells of itself: lines of text, and the values of its diagnostics."""

from collections.abc import Sequence
from datetime import datetime, timezone

from fieldplay_archive.archive import Archive, DefectLog
from fieldplay_archive.outlets.derived.lacking import lacking_lines
from fieldplay_messages.feeds.feed import Feed
from fieldplay_messages.stamps import NS_PER_S
from fieldplay_player.play_lag import BEHIND_NS
from fieldplay_player.play_options import PlayOptions
from fieldplay_player.play_parts import Program, Status


def beginning(archive: Archive, program: Program, feeds: Sequence[Feed], options: PlayOptions) -> str:
    """What is played, how long it is, on how many topics; and what the nodes beside it cannot compute of it."""
    length_s = (program.last_ns - program.first_ns) / NS_PER_S
    since = datetime.fromtimestamp(program.first_ns // NS_PER_S, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
    topics = len({feed.topic for feed in feeds})
    how = f" at {options.rate:g} times its pace" if options.rate != 1 else ""
    how += ", again and again" if options.loop else ""
    plays = f"plays {archive.root} ({archive.spec.name}): {length_s:.1f} s from {since} UTC on {topics} topics{how}"
    return "; ".join([plays, *lacking_lines(archive)])


def ending(status: Status, log: DefectLog) -> list[str]:
    """The counts, and what was left out with its place."""
    topics = sum(1 for count in status.published if count)
    played = f"published {sum(status.published)} messages on {topics} topics, skipped {sum(status.skipped)}"
    return [played, *log.in_short()]


def is_behind(status: Status) -> bool:
    """Whether messages leave later than they should."""
    return status.lag_ns >= BEHIND_NS


def diagnostics(status: Status, program: Program, feeds: Sequence[Feed], defects: int) -> dict[str, str]:
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
