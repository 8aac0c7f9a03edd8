"""A bag of ROS 2 as a source: what it is, its messages, and what the reader found wrong with it."""

from collections.abc import Iterator
from pathlib import Path

from fieldplay.report.html.ticks import many
from fieldplay.sources.archive import size_of_files
from fieldplay.sources.source import Findings, Subject
from fieldplay_messages.bags.reader import Ros2Bag
from fieldplay_messages.batches import Batch, Topic
from fieldplay_messages.errors import Defect
from fieldplay_messages.progress import Progress


class BagSource:
    """A bag on the disk. It may be damaged: what can be read is given, and what cannot is told."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.findings = Findings()
        self._bag = Ros2Bag(path, self._tell, self.findings.note)

    @property
    def topics(self) -> list[Topic]:
        return self._bag.topics

    @property
    def subject(self) -> Subject:
        facts = [("storage", " and ".join(self._bag.storages))]
        for name, key in (("ROS distribution", "ros_distro"), ("compression", "compression_format")):
            if self._bag.information.get(key):
                facts.append((name, str(self._bag.information[key])))
        if len(self._bag.files) > 1:
            facts.append(("files", str(len(self._bag.files))))
        return Subject(
            title=self._path.resolve().name,
            name=self._path.resolve().name,
            kind="rosbag2 bag",
            size_bytes=size_of_files(self._path),
            facts=tuple(facts),
        )

    def batches(self, progress: Progress) -> Iterator[Batch]:
        """All messages that can be read, by topic in batches."""
        told = False
        for batch in self._bag.batches(progress):
            if not told:
                told = True
                self._tell_early()
            yield batch

    def _tell_early(self) -> None:
        early = self._bag.early
        text = f"{many(early, 'message')} logged at time 0, before the recorder had a clock: put to the start"
        self.findings.add("without_time", self._path.resolve().name, text, count=early)

    def _tell(self, defect: Defect) -> None:
        self.findings.add(defect.kind, defect.file, defect.message)
