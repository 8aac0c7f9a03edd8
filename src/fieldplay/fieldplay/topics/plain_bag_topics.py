"""The topics of a bag as feeds: the very bytes that lie in it, offered as they were."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fieldplay.bags.bag_stream import BagStream, raw_messages
from fieldplay.bags.bag_topics import Bag
from fieldplay.bags.qos import channel_of_indexed
from fieldplay.bags.storage import Channel, Qos
from fieldplay.core.errors import ArchiveError, UsageError, pluralize
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.archive import WARNING, Archive
from fieldplay.kinematics.computation import TF
from fieldplay.messages.cdr_layout import MessageKind, kind_of_type
from fieldplay.streams.stream import Span
from fieldplay.streams.topic_batches import Window
from fieldplay.streams.topic_stream import TopicStream
from fieldplay.topics.selection import Selection, chosen_topics, remapped_topics

STATIC = "/tf_static"
GLOBAL = {TF, STATIC, "/clock", "/diagnostics", "/parameter_events", "/rosout"}  # whose names no namespace changes
MAX_STATIC = 1000  # messages of static transforms that one publisher keeps in place of all that there were


@dataclass(frozen=True, kw_only=True)
class StoredFeed(TopicStream):
    """A topic of a bag, how it is offered, and how its messages are laid out."""

    channel: Channel
    kind: MessageKind


def kind_of_feed(feed: TopicStream) -> MessageKind:
    """How the messages of a feed are laid out."""
    return feed.kind if isinstance(feed, StoredFeed) else kind_of_type(feed.msgtype)


def feeds_of_bag(
    archive: Archive, bag: Bag, selection: Selection, first_ns: int, *, more: Sequence[TopicStream] = ()
) -> list[TopicStream]:
    """The topics that are wanted, latched ones first; of static transforms all that were sent before first_ns, too.

    `more` are topics that are made of the bag's, of which those that are wanted are among them.
    """
    _require_possible(archive, selection)
    last_ns = max(span.last_ns for span in _spans(archive))
    if first_ns > last_ns:
        length_s = (last_ns - min(span.first_ns for span in _spans(archive))) / NS_PER_S
        raise UsageError(f"start: expected less than the {length_s:.3f} s of the bag, got {selection.start_s:g} s")
    feeds: list[TopicStream] = [*more, *_feeds(archive, bag, selection, first_ns)]
    requested = chosen_topics(selection, [feed.topic for feed in feeds])
    feeds = [feed for feed in feeds if feed.topic in requested]
    if not feeds:
        there = ", ".join(sorted(archive.streams))
        raise ArchiveError(f"no topic matches {selection.shown or 'what is wanted'}; there are {there}")
    new = remapped_topics(selection, {feed.topic: feed.msgtype for feed in feeds})
    renamed = (_rename(feed, new[feed.topic]) for feed in feeds)
    return sorted(renamed, key=lambda feed: feed.rank)


def _rename(feed: TopicStream, topic: str) -> TopicStream:
    """Give a feed another topic."""
    if isinstance(feed, StoredFeed):
        return replace(feed, topic=topic, channel=replace(feed.channel, topic=topic))
    return replace(feed, topic=topic)


def _spans(archive: Archive) -> Iterator[Span]:
    return (span for stream in archive.streams.values() for span in stream.spans)


def _feeds(archive: Archive, bag: Bag, selection: Selection, first_ns: int) -> Iterator[StoredFeed]:
    for name, stream in archive.streams.items():
        topic = topic_in_namespace(name, selection.namespace)
        if not isinstance(stream, BagStream):
            continue
        indexed = bag.indexed[name]
        channel = channel_of_indexed(topic, indexed, bag.profiles.get(name))
        if topic == STATIC:
            stream, channel = (
                stream.since(first_ns),
                replace(channel, qos=_qos_of_static(len(indexed.offsets.stamp_ns) + selection.rectify)),
            )
        is_latched = channel.qos.durability == "transient_local"
        yield StoredFeed(
            topic=topic,
            msgtype=stream.msgtype,
            spans=stream.spans,
            records=stream.load,
            messages=raw_messages,
            rank=0 if is_latched else 1,
            latched=is_latched,
            stream=name,
            channel=channel,
            kind=indexed.kind,
        )


def feeds_with_latched_history(
    archive: Archive, feeds: Sequence[TopicStream], window: Window
) -> tuple[list[TopicStream], list[str]]:
    """The feeds to write a part of a bag, with latched messages from before it, and notes about them.

    Of a latched topic the last message before the part is written at its start where the part has none: elsewhere it
    would be an old measurement with a new time. Static transforms hold at all times.
    """
    if archive.bag is None or window.first_ns <= window.archive_ns:
        return list(feeds), []
    carried, lines = list[TopicStream](), list[str]()
    for feed in feeds:
        if not isinstance(feed, StoredFeed):
            carried.append(feed)
            continue
        stamp_ns = archive.bag.indexed[feed.stream].offsets.stamp_ns
        before = int(np.searchsorted(stamp_ns, window.first_ns))
        until = len(stamp_ns) if window.last_ns is None else int(np.searchsorted(stamp_ns, window.last_ns, "right"))
        is_static = feed.topic == STATIC
        feed = replace(feed, is_carried=is_static or until == before)
        if before and feed.carries:
            count = pluralize(before, "message")
            what = f"{count} from before the start" if is_static else "its last message before it"
            lines.append(f"{feed.topic}: {what} {'are' if is_static and before > 1 else 'is'} written at the start")
        carried.append(feed)
    return carried, lines


def warnings_of_chosen(archive: Archive, selection: Selection) -> list[str]:
    """The warnings about an archive, without those about topics of a bag that are not taken."""
    if archive.bag is None:
        return archive.warnings
    topics = {name: topic_in_namespace(name, selection.namespace) for name in archive.streams}
    requested = chosen_topics(selection, topics.values())
    others = tuple(f"{WARNING}{name}: " for name, topic in topics.items() if topic not in requested)
    return [line for line in archive.warnings if not line.startswith(others)]


def topic_in_namespace(name: str, namespace: str | None) -> str:
    """A topic of a bag with a namespace before it; one that all nodes share has none."""
    name = "/" + name.strip("/")
    before = (namespace or "").strip("/")
    return name if name in GLOBAL or not before else f"/{before}{name}"


def _qos_of_static(count: int) -> Qos:
    """One publisher stands for all that there were: who comes late gets all transforms, not the last one's alone."""
    return Qos(durability="transient_local", depth=max(1, min(count, MAX_STATIC)))


def _require_possible(archive: Archive, selection: Selection) -> None:
    """UsageError where something is asked for that is made of an archive's rows."""
    is_derived = selection.derived and archive.origin is None
    requested = {"--derived": is_derived, "map_tf": selection.map_tf, "--frame-prefix": bool(selection.frame_prefix)}
    requested["--images"] = selection.images is not None
    reasons = {"--derived": "is computed of an archive of a dataset, when that is converted"}
    for option, is_requested in requested.items():
        if is_requested:
            reason = reasons.get(option, "is for archives of a dataset")
            raise UsageError(f"{option} {reason}: {archive.root} is a bag, whose messages stay as they are")
