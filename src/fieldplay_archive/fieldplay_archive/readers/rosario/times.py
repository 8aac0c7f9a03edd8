"""The times of a Rosario sequence's streams: pictures without their partner, gaps in bags, and which sequence it is."""

from collections.abc import Mapping

from fieldplay_archive.archive import Archive
from fieldplay_archive.readers.rosario.places import sequence_at
from fieldplay_messages.bags.topics import TopicReader
from fieldplay_messages.errors import Defect
from fieldplay_messages.gaps import GapFinder
from fieldplay_messages.records import Pictures
from fieldplay_messages.stamps import NS_PER_S
from fieldplay_messages.streams import Stream

LEFT, RIGHT = "left", "right"


def report_unpaired(archive: Archive, streams: Mapping[str, Stream]) -> None:
    """Report the pictures of one camera that have none of the other at their time; they play."""
    if LEFT not in streams or RIGHT not in streams:
        return
    names = {key: _names_by_time(streams[key]) for key in (LEFT, RIGHT)}
    for key, other in ((LEFT, RIGHT), (RIGHT, LEFT)):
        for stamp_ns in sorted(names[key].keys() - names[other].keys()):
            message = f"expected a picture of the {other} camera at the same time, got none; it plays alone"
            archive.defects(Defect(file=names[key][stamp_ns], kind="unpaired_picture", stream=key, message=message))


def _names_by_time(stream: Stream) -> dict[int, str]:
    found: dict[int, str] = {}
    for index in range(len(stream.spans)):
        record = stream.load(index)
        if isinstance(record, Pictures):
            found |= dict(zip(record.stamp_ns.tolist(), record.names, strict=True))
    return found


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
    found = sequence_at(sequences, first)
    if found is not None:
        archive.notes.append(f"taken for sequence {found} of the paper by its time, as no name tells its number")
    return found
