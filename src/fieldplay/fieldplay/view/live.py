"""Live messages in Rerun, as they come."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import rerun as rr

from fieldplay.core.errors import counted
from fieldplay.datasets.registry import robot_file, spec_of_dataset
from fieldplay.messages.message_batches import Topic, parts_of_lengths
from fieldplay.messages.record_decoder import FramedRecord, RecordDecoder
from fieldplay.view.layout import Layout, view_of
from fieldplay.view.receive_queue import LiveMessage
from fieldplay.view.rerun_stream import Recording
from fieldplay.view.robot import send_robot


class LiveShow:
    """What is heard, sent at the times of the headers; what has none is of the last time that was told.

    With a `dataset` its layout and its robot are shown, else what fits the topics.
    """

    def __init__(
        self, stream: rr.RecordingStream, tell: Callable[[str], None], *, dataset: str, namespace: str, every: int
    ) -> None:
        self._stream, self._dataset, self._namespace = stream, dataset, namespace
        self._recording = Recording(stream, [], tell, every)
        self._decoders: dict[str, RecordDecoder] = {}
        self._topics: list[Topic] = []
        self._now_ns = 0
        self._shown: tuple[str, int] | None = None

    def know(self, topics: Iterable[Topic]) -> None:
        """The topics that are heard."""
        self._topics = list(topics)
        self._recording.know(topic.name for topic in self._topics)

    def take(self, messages: Iterable[LiveMessage]) -> None:
        """Show further messages."""
        for message in messages:
            for framed in self._records(message):
                self._recording.take(Topic(message.topic, message.msgtype), framed)
        self._recording.flush()
        self._lay_out()

    @property
    def unreadable(self) -> int:
        """How many messages were not of their type."""
        return sum(decoder.failed for decoder in self._decoders.values())

    def summary(self) -> str:
        """What was shown, in words."""
        counts = self._recording.counts
        told = f"{counted(counts.total(), 'message')} on {counted(len(counts), 'topic')}"
        return f"{told}, {self.unreadable} could not be read" if self.unreadable else told

    def _records(self, message: LiveMessage) -> Iterable[FramedRecord]:
        decoder = self._decoders.setdefault(message.msgtype, RecordDecoder(message.msgtype))
        log_ns = self._now_ns or message.heard_ns
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
