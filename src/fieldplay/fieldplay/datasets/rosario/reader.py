"""The Rosario dataset: a sequence as raw folder, or the authors' bag of it, in parts or whole, of ROS 1 or ROS 2."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fieldplay.bags.bag_reader import Ros2Bag
from fieldplay.bags.bag_topics import Bag, TopicReader
from fieldplay.bags.open_bag import open_ros1_bag
from fieldplay.core.errors import (
    ArchiveError,
    BagError,
    Defect,
    Report,
)
from fieldplay.core.gaps import GapFinder
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.archive import Archive, note_ignored_files
from fieldplay.datasets.base_reader import DatasetReader
from fieldplay.datasets.rosario import checks, rosario_bags
from fieldplay.datasets.rosario.calibration import (
    Calibration,
    OfBag,
    calibration_from_bytes,
    describe,
    issue_reporter,
)
from fieldplay.datasets.rosario.checks import check_wheels
from fieldplay.datasets.rosario.raw_folder import (
    COMPANION_NUMBER,
    STORAGE,
    TRUTH,
    SequenceSource,
    bags_in,
    companion,
    imu_by_parameters,
    is_sequence_bag,
    number_in,
    open_raw,
    open_truth,
    raw_folders,
    sequence_at,
    source_of,
)
from fieldplay.io.containers import (
    Files,
    ListedFiles,
    is_packed,
)
from fieldplay.messages.records import Images
from fieldplay.streams.stream import Stream

CALIBRATIONS = r"calibration_?\d*\.(ya?ml|txt)"
TYPICAL_TOPICS = {"gps/fix", "gps/vel", "odom"}  # of which a bag of this dataset has some, besides the cameras
MIN_TYPICAL_TOPICS = 2
LEFT, RIGHT = "left", "right"


def recognises(path: Path, files: Files) -> bool:
    """Whether a folder, a zip or a file holds a sequence: by the lines of its logs, its images, its bag's topics."""
    if path.is_file() and not is_packed(path):
        return _is_bag(path)
    return bool(raw_folders(files)) or any(map(_is_bag, bags_in(path, files)))


def _is_bag(path: Path) -> bool:
    """By its topics; one that cannot be read, or has not got that far, by its name."""
    if is_sequence_bag(path):
        return True
    try:
        bag = _open_bag(path, lambda defect: None)
    except ArchiveError:
        return False
    listed = [topic.name for topic in bag.topics] if isinstance(bag, Ros2Bag) else []  # metadata are quicker than all
    topics = {topic.lstrip("/") for topic in listed or bag.kinds}
    bag.close()
    return bool(topics & rosario_bags.IMAGE_TOPICS) and len(topics & TYPICAL_TOPICS) >= MIN_TYPICAL_TOPICS


def _open_ros2_bag(path: Path, report: Report) -> Bag:
    try:
        bag = Ros2Bag(path, report)
    except BagError as error:
        raise ArchiveError(str(error)) from None
    if not bag.topics and not bag.kinds:
        bag.close()
        raise ArchiveError(f"{path}: expected a bag of ROS 2, got nothing that can be read")
    return bag


def _open_bag(path: Path, report: Report) -> Bag:
    if path.is_dir() or path.suffix in STORAGE:
        return _open_ros2_bag(path, report)
    return open_ros1_bag(path, report)


@dataclass(frozen=True)
class _Known:
    """The facts of a sequence in names and files."""

    calibration: Calibration
    number: int | None


class Reader(DatasetReader):
    """A sequence of Rosario: the raw folder, or the authors' bag."""

    def open_files(self) -> Files:
        root = self.archive.root
        if root.is_file() and not is_packed(root):
            return ListedFiles(root.parent, [root.name])
        return super().open_files()

    def make_streams(self) -> Mapping[str, Stream]:
        archive, files = self.archive, self.files
        source = source_of(archive.root, files)
        known = _known_facts(archive, source, files)
        pattern = archive.spec.tables[TRUTH].files
        truth = companion(archive, source, files, pattern=pattern, number=known.number, what="ground truth")
        streams = (
            _raw_streams(archive, files, known) if source.bag is None else _bag_streams(archive, source.bag, known)
        )
        streams |= open_truth(archive, truth)
        if "imu" in streams:
            streams["imu"] = imu_by_parameters(archive, streams["imu"])
        if truth is not None:
            archive.checks.append(lambda opened: checks.check_ground_truth(opened, truth.name))
        return streams


open_archive = Reader.open


def _known_facts(archive: Archive, source: SequenceSource, files: Files) -> _Known:
    """The calibration, empty where there is no file, and the number, which the file's name may have too."""
    number = number_in(source.name)
    file = companion(archive, source, files, pattern=CALIBRATIONS, number=number, what="calibration")
    if file is None:
        archive.notes.append("no calibration file in the archive or next to it: the authors' later numbers are taken")
        return _Known(Calibration(), number)
    if number is None:
        number = number_in(file.name, COMPANION_NUMBER)
    try:
        data = file.files.read(file.name)
    except ArchiveError as error:
        issue_reporter(archive, file.name)("unreadable_calibration", str(error))
        return _Known(Calibration(), number)
    return _Known(calibration_from_bytes(data, issue_reporter(archive, file.name)), number)


def _raw_streams(archive: Archive, files: Files, known: _Known) -> dict[str, Stream]:
    raw = open_raw(archive, files, known.calibration)
    read = [*raw.logs, *files.matching(CALIBRATIONS), *files.matching(archive.spec.tables[TRUTH].files)]
    note_ignored_files(archive, files, read=read)
    _finish(archive, raw.streams, known, of_bag=OfBag())
    report_unpaired(archive, raw.streams)
    log = raw.tables["imu"].tables[0].name if "imu" in raw.tables else ""
    archive.checks.append(lambda opened: checks.check_imu(opened, log))
    archive.checks.append(lambda opened: checks.check_nmea(opened, raw.tables))
    archive.checks.append(lambda opened: check_wheels(opened, raw.tables.get("odometry")))
    return dict(raw.streams)


def _bag_streams(archive: Archive, path: Path, known: _Known) -> dict[str, Stream]:
    bag = _open_bag(path, archive.defects)
    archive.on_close.callback(bag.close)
    topics = rosario_bags.streams_of_bag(archive, bag)
    streams: dict[str, Stream] = dict(topics)
    of_bag = OfBag(
        cameras=rosario_bags.cameras_of_bag(archive, bag), extrinsics=rosario_bags.extrinsics_of_bag(archive, bag)
    )
    _finish(archive, streams, known, of_bag=of_bag)
    archive.notes.append(f"{bag.name}: the authors' bags hold no wheels; odom_archived is their own odometry")
    report_gaps(archive, bag.name, {name: stream.topic for name, stream in topics.items()})
    report_unpaired(archive, streams)
    archive.checks.append(lambda opened: checks.check_imu(opened, bag.name))
    return streams


def _finish(archive: Archive, streams: Mapping[str, Stream], known: _Known, *, of_bag: OfBag) -> None:
    """Put what is known of the sequence into the archive's description."""
    sequence = sequence_of(archive, streams, known.number)
    describe(archive, known.calibration, sequence, of_bag=of_bag)
    facts = archive.spec.constants["sequences"].get(sequence)
    if facts is not None:
        archive.recording |= {"name": f"sequence {sequence}", "area": "soybean fields near Rosario, Argentina"}
        archive.recording |= {"condition": facts["difficulty"], "notes": facts["about"]}
    archive.checks.append(lambda opened: checks.check_length(opened, sequence))


def report_unpaired(archive: Archive, streams: Mapping[str, Stream]) -> None:
    """Report the images of one camera that have none of the other at their time; they play."""
    if LEFT not in streams or RIGHT not in streams:
        return
    names = {key: _names_by_time(streams[key]) for key in (LEFT, RIGHT)}
    for key, other in ((LEFT, RIGHT), (RIGHT, LEFT)):
        for stamp_ns in sorted(names[key].keys() - names[other].keys()):
            message = f"expected an image of the {other} camera at the same time, got none; it plays alone"
            archive.defects(Defect.at(names[key][stamp_ns], kind="unpaired_picture", stream=key, message=message))


def _names_by_time(stream: Stream) -> dict[int, str]:
    names: dict[int, str] = {}
    for index in range(len(stream.spans)):
        record = stream.load(index)
        if isinstance(record, Images):
            names |= dict(zip(record.stamp_ns.tolist(), record.names, strict=True))
    return names


def report_gaps(archive: Archive, bag: str, topics: Mapping[str, TopicReader]) -> None:
    """Report where the topics of the streams pause."""
    for stream, topic in topics.items():
        finder = GapFinder()
        for stamp_ns in map(topic.stamps, range(len(topic.spans))):
            for row, gap_ns in finder.gaps(stamp_ns):
                at = f"at {int(stamp_ns[row]) / NS_PER_S:.6f} s"
                message = f"{topic.name}: no message for {gap_ns / NS_PER_S:.3f} s before the one {at}"
                archive.defects(Defect(file=bag, kind="gap", stream=stream, message=message))


def sequence_of(archive: Archive, streams: Mapping[str, Stream], number: int | None) -> int | None:
    """The number of the sequence: that of its name, else that which was recorded at its time."""
    sequences = archive.spec.constants["sequences"]
    first = min((span.first_ns for stream in streams.values() for span in stream.spans), default=None)
    if number in sequences or first is None:
        return number
    sequence = sequence_at(sequences, first)
    if sequence is not None:
        archive.notes.append(f"taken for sequence {sequence} of the paper by its time, as no file name has its number")
    return sequence
