"""The topics of a bag as feeds: the very bytes that lie in it, offered as they were."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fieldplay_archive.archive import Archive
from fieldplay_archive.outlets.selection import Selection
from fieldplay_messages.bags.channels import Channel, Qos
from fieldplay_messages.bags.offers import channel_of_indexed
from fieldplay_messages.bags.serialized import SerializedStream, messages_as_they_are
from fieldplay_messages.bags.topics import Bag
from fieldplay_messages.cdr.layout import MessageKind, kind_of_type
from fieldplay_messages.computation import TF
from fieldplay_messages.errors import ArchiveError, UsageError
from fieldplay_messages.feeds.feed import Feed
from fieldplay_messages.stamps import NS_PER_S
from fieldplay_messages.streams import Span

STATIC = "/tf_static"
GLOBAL = {TF, STATIC, "/clock", "/diagnostics", "/parameter_events", "/rosout"}  # whose names no namespace changes
MOST_STATIC = 1000  # messages of static transforms that one publisher keeps in place of all that there were


@dataclass(frozen=True, kw_only=True)
class StoredFeed(Feed):
    """A topic of a bag, how it is offered, and how its messages are laid out."""

    channel: Channel
    kind: MessageKind


def kind_of_feed(feed: Feed) -> MessageKind:
    """How the messages of a feed are laid out."""
    return feed.kind if isinstance(feed, StoredFeed) else kind_of_type(feed.msgtype)


def feeds_of_bag(
    archive: Archive, bag: Bag, selection: Selection, first_ns: int, *, more: Sequence[Feed] = ()
) -> list[Feed]:
    """The topics that are wanted, latched ones first; of static transforms all that were sent before first_ns, too.

    `more` are topics that are made of the bag's, of which those that are wanted are among them.
    """
    _require_possible(archive, selection)
    last_ns = max(span.last_ns for span in _spans(archive))
    if first_ns > last_ns:
        length_s = (last_ns - min(span.first_ns for span in _spans(archive))) / NS_PER_S
        raise UsageError(f"start: expected less than the {length_s:.3f} s of the bag, got {selection.start_s:g} s")
    wanted = re.compile(selection.topics)
    found: list[Feed] = [feed for feed in more if wanted.search(feed.topic)]
    found += _feeds(archive, bag, selection, first_ns)
    if not found:
        there = ", ".join(sorted(archive.streams))
        raise ArchiveError(f"no topic matches '{selection.topics}'; there are {there}")
    return sorted(found, key=lambda feed: feed.rank)


def _spans(archive: Archive) -> Iterator[Span]:
    return (span for stream in archive.streams.values() for span in stream.spans)


def _feeds(archive: Archive, bag: Bag, selection: Selection, first_ns: int) -> Iterator[Feed]:
    wanted = re.compile(selection.topics)
    for name, stream in archive.streams.items():
        topic = topic_in_namespace(name, selection.namespace)
        if not isinstance(stream, SerializedStream) or not wanted.search(topic):
            continue
        found = bag.indexed[name]
        channel = channel_of_indexed(topic, found, bag.profiles.get(name))
        if topic == STATIC:
            stream, channel = (
                stream.since(first_ns),
                replace(channel, qos=_qos_of_static(len(found.places.stamp_ns) + selection.rectify)),
            )
        is_latched = channel.qos.durability == "transient_local"
        yield StoredFeed(
            topic=topic,
            msgtype=stream.msgtype,
            spans=stream.spans,
            records=stream.load,
            messages=messages_as_they_are,
            rank=0 if is_latched else 1,
            latched=is_latched,
            stream=name,
            channel=channel,
            kind=found.kind,
        )


def topic_in_namespace(name: str, namespace: str | None) -> str:
    """A topic of a bag with a namespace before it; one that all nodes share has none."""
    name = "/" + name.strip("/")
    before = (namespace or "").strip("/")
    return name if name in GLOBAL or not before else f"/{before}{name}"


def _qos_of_static(count: int) -> Qos:
    """One publisher stands for all that there were: who comes late gets all transforms, not the last one's alone."""
    return Qos(durability="transient_local", depth=max(1, min(count, MOST_STATIC)))


def _require_possible(archive: Archive, selection: Selection) -> None:
    """UsageError where something is asked for that is made of an archive's rows."""
    asked = {"--derived": selection.derived, "map_tf": selection.map_tf, "--frame-prefix": bool(selection.frame_prefix)}
    asked["--images"] = selection.images is not None
    why = {"--derived": "is computed of an archive of a dataset, when that is converted"}
    for option, is_asked in asked.items():
        if is_asked:
            told = why.get(option, "is for archives of a dataset")
            raise UsageError(f"{option} {told}: {archive.root} is a bag, whose messages stay as they are")
