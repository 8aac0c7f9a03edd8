"""How many trees the frames are that an archive's feeds place, and what would join them."""

from collections.abc import Sequence
from dataclasses import replace

from fieldplay.datasets.archive import Archive
from fieldplay.kinematics.computation import ON_TF
from fieldplay.messages import records
from fieldplay.streams.topic_stream import TopicStream
from fieldplay.topics.archive_topics import archive_topic_streams
from fieldplay.topics.selection import Selection


def roots_of_feeds(feeds: Sequence[TopicStream]) -> list[str]:
    """The root of each tree that the feeds of transforms make together."""
    parents: set[str] = set()
    children: set[str] = set()
    for feed in feeds:
        found = _transforms(feed)
        if found is not None:
            parents |= set(found.parents)
            children |= set(found.children)
    return sorted(parents - children)


def describe_tf_trees(archive: Archive, selection: Selection) -> str:
    """A line about the trees of what was selected; an empty one where nothing places a frame."""
    roots = [] if archive.bag is not None else roots_of_feeds(archive_topic_streams(archive, selection))
    if not roots:
        return ""
    told = f"frames: {_trees(roots)}"
    if selection.derived:
        return told if len(roots) == 1 else f"{told}; nothing in the archive joins them"
    derived = roots_of_feeds(archive_topic_streams(archive, replace(selection, derived=True)))
    if len(derived) < len(roots):
        return f"{told}; --derived joins them: {_trees(derived)}"
    if len(roots) > 1:
        return f"{told}; nothing in the archive joins them"
    return told if derived == roots else f"{told}; --derived puts {', '.join(derived)} above"


def _trees(roots: Sequence[str]) -> str:
    return f"one tree, root {roots[0]}" if len(roots) == 1 else f"{len(roots)} trees, roots {', '.join(roots)}"


def _transforms(feed: TopicStream) -> records.Transforms | None:
    """The first transforms of a feed, if it has such."""
    for index in range(len(feed.spans)) if feed.msgtype == ON_TF.type else ():
        record = feed.records(index)
        if isinstance(record, records.Transforms) and len(record):
            return record
    return None
