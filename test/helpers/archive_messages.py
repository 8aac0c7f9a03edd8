"""What becomes of an archive: the messages of the bag that it is converted to, and what is noted of it."""

import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from fieldplay.data.conversion import BagOptions, convert
from fieldplay_archive.datasets import open_dataset
from fieldplay_archive.outlets.selection import Selection

EVERYTHING = Selection()
Messages = dict[str, list[tuple[int, Any]]]


def messages_of(
    root: Path, selection: Selection = EVERYTHING, *, dataset: str | None = None, **parameters: Any
) -> Messages:
    """All messages with their times, by topic below the namespace, as rosbags reads them."""
    with tempfile.TemporaryDirectory(prefix="fieldplay-test-") as folder:
        bag = Path(folder) / "bag"
        with open_dataset(root, dataset, parameters) as archive:
            convert(archive, bag, selection, BagOptions())
            namespace = archive.spec.namespace
        return messages_in(bag, namespace)


def messages_in(bag: Path, namespace: str) -> Messages:
    """All messages of a bag, likewise."""
    found: Messages = defaultdict(list)
    with AnyReader([bag], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
        for connection, stamp, raw in reader.messages():
            message = reader.deserialize(raw, connection.msgtype)
            found[connection.topic.removeprefix(f"/{namespace}/")].append((stamp, message))
    return dict(found)


def text_of(messages: Messages) -> str:
    """All of the messages as one text in which every number has all its digits, to be compared as a whole."""
    with np.printoptions(floatmode="unique", threshold=10**9):
        return repr(messages)


def notes_of(root: Path, **parameters: Any) -> list[str]:
    """What is noted of an archive when it is opened."""
    with open_dataset(root, None, parameters) as archive:
        return archive.notes


def xyz(vector: Any) -> list[float]:
    return [vector.x, vector.y, vector.z]


def xyzw(quaternion: Any) -> list[float]:
    return [quaternion.x, quaternion.y, quaternion.z, quaternion.w]
