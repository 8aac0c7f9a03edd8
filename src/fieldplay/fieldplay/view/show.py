"""An archive or a bag on its way to Rerun: its records, its robot, its layout."""

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import rerun as rr

from fieldplay.core.errors import pluralize
from fieldplay.core.progress import Progress
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.registry import robot_file, spec_of_dataset
from fieldplay.messages.codec import FramedRecord
from fieldplay.messages.message_batches import Topic, parts_of_lengths
from fieldplay.messages.record_decoder import RecordDecoder
from fieldplay.recording.archive_recording import ArchiveRecording
from fieldplay.streams.message_block import RawMessage
from fieldplay.topics.selection import Selection
from fieldplay.view.layout import Layout, send_robot, view_of
from fieldplay.view.rerun_stream import Recording, not_shown

LARGE = 1 << 14  # from here on a message is one that may be dropped first, as images and clouds


# Live messages on their way to a viewer: no more than so many bytes wait, and what is dropped is counted.


class ReceiveQueue:
    """Filled by one thread, emptied by another. Large messages go first where there is no room, the oldest first."""

    def __init__(self, most_bytes: int) -> None:
        self.received, self.dropped = Counter[str](), Counter[str]()
        self._most, self._bytes = most_bytes, 0
        self._large: deque[tuple[int, RawMessage]] = deque()
        self._small: deque[tuple[int, RawMessage]] = deque()
        self._changed = threading.Condition()
        self._number = 0

    def put(self, message: RawMessage) -> None:
        """One more."""
        with self._changed:
            self.received[message.topic] += 1
            self._number += 1
            (self._large if len(message.data) >= LARGE else self._small).append((self._number, message))
            self._bytes += len(message.data)
            while self._bytes > self._most and (self._large or self._small):
                _, dropped = (self._large or self._small).popleft()
                self._bytes -= len(dropped.data)
                self.dropped[dropped.topic] += 1
            self._changed.notify()

    def take(self, patience_s: float) -> list[RawMessage]:
        """All that wait, in the order in which they came; none where none comes in time."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._large or self._small), patience_s)
            messages = sorted((*self._large, *self._small), key=lambda numbered: numbered[0])
            self._large.clear()
            self._small.clear()
            self._bytes = 0
        return [message for _, message in messages]

    def drop_summary(self) -> str:
        """What was dropped, in words; nothing where nothing was."""
        parts = [f"{count} of {self.received[topic]} on {topic}" for topic, count in sorted(self.dropped.items())]
        return f"dropped, as the viewer was slower: {', '.join(parts)}" if parts else ""


class LiveShow:
    """Received messages, sent at the times of the headers; without one at the last time received.

    With a `dataset` its layout and its robot are shown, else what fits the topics.
    """

    def __init__(
        self, stream: rr.RecordingStream, report: Callable[[str], None], *, dataset: str, namespace: str, every: int
    ) -> None:
        self._stream, self._dataset, self._namespace = stream, dataset, namespace
        self._recording = Recording(stream, [], report, every)
        self._decoders: dict[str, RecordDecoder] = {}
        self._topics: list[Topic] = []
        self._now_ns = 0
        self._shown: tuple[str, int] | None = None

    def set_topics(self, topics: Iterable[Topic]) -> None:
        """The subscribed topics."""
        self._topics = list(topics)
        self._recording.set_topics(topic.name for topic in self._topics)

    def take(self, messages: Iterable[RawMessage]) -> None:
        """Show further messages."""
        for message in messages:
            for framed in self._records(message):
                self._recording.take(Topic(message.topic, message.type), framed)
        self._recording.flush()
        self._lay_out()

    @property
    def unreadable(self) -> int:
        """How many messages were not of their type."""
        return sum(decoder.failed for decoder in self._decoders.values())

    def summary(self) -> str:
        """What was shown, in words."""
        counts = self._recording.counts
        text = f"{pluralize(counts.total(), 'message')} on {pluralize(len(counts), 'topic')}"
        return f"{text}, {self.unreadable} could not be read" if self.unreadable else text

    def _records(self, message: RawMessage) -> Iterable[FramedRecord]:
        decoder = self._decoders.get(message.type)
        if decoder is None:
            decoder = self._decoders[message.type] = RecordDecoder(message.type)
        log_ns = self._now_ns or message.log_time_ns
        for framed in decoder.records(parts_of_lengths(np.array([log_ns]), [message.data])):
            self._now_ns = int(framed.record.stamp_ns[-1]) or self._now_ns
            yield framed._replace(record=replace(framed.record, order_ns=None))

    def _lay_out(self) -> None:
        """Anew when topics or the root of the frames have changed."""
        spec, namespace = view_of(self._topics, self._dataset, self._namespace)
        layout = Layout(spec, namespace, self._topics)
        state = layout.root(self._recording.tree), len(self._topics)
        if not self._recording.counts or state == self._shown:
            return
        if self._shown is None and self._dataset:
            model = robot_file(spec_of_dataset(self._dataset).robot)
            if model is not None:
                send_robot(self._stream, model.read_text("utf-8"))
        self._shown = state
        self._stream.send_blueprint(layout.blueprint(state[0], is_followed=True), make_active=True, make_default=True)


class ArchiveShow:
    """Sends an archive to Rerun. `report` is called with each message."""

    def __init__(
        self,
        archive: Archive,
        selection: Selection,
        stream: rr.RecordingStream,
        *,
        report: Callable[[str], None],
        every: int = 1,
    ) -> None:
        self._archive, self._prefix, self._stream, self._report = archive, selection.frame_prefix, stream, report
        self._source = ArchiveRecording(archive, selection)
        topics = self._source.typed_topics
        dataset = "" if archive.bag is not None else archive.spec.name
        namespace = selection.namespace if selection.namespace is not None else archive.spec.namespace
        spec, namespace = view_of(topics, dataset, namespace if dataset else "")
        self._layout = Layout(spec, namespace, topics)
        self._recording = Recording(stream, [topic.name for topic in topics], report, every)
        self._root: str | None = None
        self._defects = 0  # that were sent
        stream.send_recording_name(archive.root.resolve().name)

    def send(self, progress: Progress) -> None:
        """All of it, in the order of time."""
        left = not_shown(self._source.typed_topics)
        if left:
            self._report(left)
        recording = self._recording
        for batch in self._source.batches(progress):
            recording.add(batch)
            self._send_defects()
            if self._root is None and recording.counts:
                self._lay_out()
        self._send_defects()  # of the settings, which are checked last
        recording.close()
        if self._layout.root(recording.tree) != self._root:
            self._lay_out()

    def summary(self) -> str:
        """What was sent, in words."""
        counts = self._recording.counts
        return f"{pluralize(counts.total(), 'message')} on {pluralize(len(counts), 'topic')}"

    def _send_defects(self) -> None:
        defects = self._archive.defects.listed
        for defect in defects[self._defects :]:
            self._recording.defect(defect)
        self._defects = len(defects)

    def _lay_out(self) -> None:
        """The robot, and what is shown where; as soon as the frames are known."""
        first, self._root = self._root is None, self._layout.root(self._recording.tree)
        model = robot_file(self._archive.spec.robot) if self._archive.bag is None else None
        if model is not None and first:
            send_robot(self._stream, model.read_text("utf-8"), self._recording.tree.parents, self._prefix)
        self._stream.send_blueprint(self._layout.blueprint(self._root), make_active=True, make_default=True)
