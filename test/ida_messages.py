"""What becomes of an archive of IDA: the messages of the bag that it is converted to, its notes and its defects."""

import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from fieldplay_archive.errors import Defect
from fieldplay_player.conversion import BagOptions, convert
from fieldplay_player.opening import open_dataset
from fieldplay_player.options import Selection

EVERYTHING = Selection()
Messages = dict[str, list[tuple[int, Any]]]


def messages_of(root: Path, selection: Selection = EVERYTHING, **parameters: Any) -> Messages:
    """All messages with their times, by topic below the namespace, as rosbags reads them."""
    found: Messages = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="fieldplay-test-") as folder:
        bag = Path(folder) / "bag"
        with open_dataset(root, None, parameters) as archive:
            convert(archive, bag, selection, BagOptions())
        with AnyReader([bag], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
            for connection, stamp, raw in reader.messages():
                message = reader.deserialize(raw, connection.msgtype)
                found[connection.topic.removeprefix("/ida/")].append((stamp, message))
    return found


def notes_of(root: Path, **parameters: Any) -> list[str]:
    """What is noted of an archive when it is opened."""
    with open_dataset(root, None, parameters) as archive:
        return archive.notes


def defects_of(root: Path) -> list[Defect]:
    """What is defective in the files of an archive; what its numbers say of each other is for the tests of the arm."""
    with open_dataset(root, even_empty=True) as archive:
        return archive.defects.kept


def places_of(defects: list[Defect]) -> list[tuple[str, str, int | None]]:
    """The kind, the file's own name and the line of each."""
    return [(defect.kind, Path(defect.file).name, defect.row) for defect in defects]
