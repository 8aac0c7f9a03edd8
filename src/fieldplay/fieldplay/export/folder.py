"""What every export shares: the topics that it takes, and the list of them that it leaves beside the files."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.core.progress import Progress
from fieldplay.datasets.archive import WARNING, Archive
from fieldplay.messages.records import Record
from fieldplay.recording.archive_recording import batches_of_feeds
from fieldplay.streams.topic_batches import Window
from fieldplay.streams.topic_stream import TopicStream
from fieldplay.topics.archive_topics import archive_topic_streams, full_topic, window_of
from fieldplay.topics.plain_bag_topics import feeds_with_latched_history
from fieldplay.topics.selection import Selection, chosen_topics

TOPICS = "topics.json"

Watch = Callable[[str], AbstractContextManager[Progress]]  # of a title, a progress


@dataclass(frozen=True, kw_only=True)
class ExportedTopic:
    """What became of a topic: its file or folder in OUT, how many rows or files, columns or fields with their units."""

    topic: str
    type: str
    path: str
    count: int
    frame: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class ExportedFeeds:
    """What is exported: feeds by topic, a window of time, and the progress."""

    archive: Archive
    selection: Selection
    feeds: Mapping[str, Sequence[TopicStream]]
    window: Window
    watch: Watch

    def units(self, topic: str) -> Mapping[str, str]:
        """The units of a topic's fields in a dataset's description."""
        streams = self.archive.spec.streams
        return next((s.units for s in streams if full_topic(self.archive, self.selection, s.topic) == topic), {})

    def records(self, topic: str) -> Iterator[tuple[Record, str, str]]:
        """The rows of a topic with the frames they are about; those that cannot be read are reported and left out."""
        feeds = self.feeds[topic]
        total, done = max(sum(span.count for feed in feeds for span in feed.spans), 1), 0
        with self.watch(f"exporting {topic}") as progress:
            for batch, count in batches_of_feeds(feeds, self.window.first_ns, self.window.last_ns):
                done += count
                progress(min(done / total, 1.0), done)
                yield from batch.records if batch is not None else ()

    def rows(self, topic: str) -> Iterator[tuple[Record, int]]:
        """The same, row by row."""
        for record, *_ in self.records(topic):
            yield from ((record, row) for row in range(len(record)))

    def report(self, topic: str, kind: str, error: Exception, effect: str = "it is left out") -> None:
        """Report a message, or a topic, that cannot be written as it should be."""
        self.archive.defects(Defect(file=topic, kind=kind, message=f"{error}; {effect}"))


def feeds_to_export(
    archive: Archive, selection: Selection, types: Sequence[str], *, what: str, watch: Watch
) -> ExportedFeeds:
    """The topics that are wanted and of some types, all if none are named; ArchiveError where there are none."""
    feeds = dict[str, list[TopicStream]]()
    window = window_of(archive, selection)
    all_feeds, notes = feeds_with_latched_history(archive, archive_topic_streams(archive, selection), window)
    archive.notes += [WARNING + note for note in notes]
    requested = chosen_topics(selection, {feed.topic for feed in all_feeds})
    for feed in all_feeds:
        if feed.spans and feed.topic in requested and (not types or feed.msgtype in types):
            feeds.setdefault(feed.topic, []).append(feed)
    if not feeds:
        chosen = f" that matches {selection.shown}" if selection.patterns else ""
        raise ArchiveError(f"{archive.root}: no topic of {what}{chosen}")
    return ExportedFeeds(archive=archive, selection=selection, feeds=feeds, window=window, watch=watch)


def as_json(topics: Sequence[ExportedTopic]) -> str:
    """What became of each topic."""
    return json.dumps([{name: own for name, own in asdict(each).items() if own} for each in topics], indent=2)


def write_topics(folder: Path, topics: Sequence[ExportedTopic]) -> None:
    """The same in a file beside the topics' own."""
    (folder / TOPICS).write_text(as_json(topics) + "\n", "utf-8")
