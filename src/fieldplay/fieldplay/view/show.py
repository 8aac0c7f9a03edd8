"""An archive or a bag on its way to Rerun: its records, its robot, its layout."""

from collections.abc import Callable

import rerun as rr

from fieldplay.core.errors import counted
from fieldplay.core.progress import Progress
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.registry import robot_file
from fieldplay.recording.archive_source import ArchiveSource
from fieldplay.topics.selection import Selection
from fieldplay.view.layout import Layout, view_of
from fieldplay.view.rerun_stream import Recording, not_shown
from fieldplay.view.robot import send_robot


class Shown:
    """What is sent of an archive. `tell` hears what is noticed."""

    def __init__(
        self,
        archive: Archive,
        selection: Selection,
        stream: rr.RecordingStream,
        *,
        tell: Callable[[str], None],
        every: int = 1,
    ) -> None:
        self._archive, self._prefix, self._stream, self._tell = archive, selection.frame_prefix, stream, tell
        self._source = ArchiveSource(archive, selection)
        topics = self._source.topics
        dataset = "" if archive.bag is not None else archive.spec.name
        namespace = selection.namespace if selection.namespace is not None else archive.spec.namespace
        spec, namespace = view_of(topics, dataset, namespace if dataset else "")
        self._layout = Layout(spec, namespace, topics)
        self._recording = Recording(stream, [topic.name for topic in topics], tell, every)
        self._root: str | None = None
        self._defects = 0  # that were sent
        stream.send_recording_name(archive.root.resolve().name)

    def send(self, progress: Progress) -> None:
        """All of it, in the order of time."""
        left = not_shown(self._source.topics)
        if left:
            self._tell(left)
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
        return f"{counted(counts.total(), 'message')} on {counted(len(counts), 'topic')}"

    def _send_defects(self) -> None:
        kept = self._archive.defects.kept
        for defect in kept[self._defects :]:
            self._recording.defect(defect)
        self._defects = len(kept)

    def _lay_out(self) -> None:
        """The robot, and what is shown where; as soon as the frames are known."""
        first, self._root = self._root is None, self._layout.root(self._recording.tree)
        model = robot_file(self._archive.spec.robot) if self._archive.bag is None else None
        if model is not None and first:
            send_robot(self._stream, model.read_text("utf-8"), self._recording.tree.parents, self._prefix)
        self._stream.send_blueprint(self._layout.blueprint(self._root), make_active=True, make_default=True)
