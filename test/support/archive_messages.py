"""What becomes of an archive: the messages of the bag that it is converted to, and what is noted of it."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fieldplay.convert.conversion import BagOptions, convert
from fieldplay.datasets.registry import open_dataset
from fieldplay.topics.selection import Selection
from support.bag_messages import messages_of_bag, stored_in

EVERYTHING = Selection()
Messages = dict[str, list[tuple[int, Any]]]
Stored = list[tuple[int, str, bytes]]  # time, topic, bytes


def messages_of(
    root: Path, selection: Selection = EVERYTHING, *, dataset: str | None = None, **parameters: Any
) -> Messages:
    """All messages with their times, by topic below the namespace, as rosbags reads them."""
    with bag_of(root, selection, dataset, **parameters) as (bag, namespace):
        return messages_in(bag, namespace)


def messages_in(bag: Path, namespace: str) -> Messages:
    """All messages of a bag, likewise."""
    return {topic.removeprefix(f"/{namespace}/"): result for topic, result in messages_of_bag(bag).items()}


def stored_of(
    root: Path, selection: Selection = EVERYTHING, *, dataset: str | None = None, **parameters: Any
) -> Stored:
    """All messages as they are stored: to be compared as a whole."""
    with bag_of(root, selection, dataset, **parameters) as (bag, _):
        return [(stamp, topic, data) for topic, _, stamp, data in stored_in(bag)]


@contextmanager
def bag_of(root: Path, selection: Selection, dataset: str | None, **parameters: Any) -> Iterator[tuple[Path, str]]:
    """The bag that an archive is converted to, and its namespace."""
    with tempfile.TemporaryDirectory(prefix="fieldplay-test-") as folder:
        bag = Path(folder) / "bag"
        with open_dataset(root, dataset, parameters) as archive:
            convert(archive, bag, selection, BagOptions())
            namespace = archive.spec.namespace
        yield bag, namespace


def notes_of(root: Path, **parameters: Any) -> list[str]:
    """What is noted of an archive when it is opened."""
    with open_dataset(root, None, parameters) as archive:
        return archive.notes


def xyz(vector: Any) -> list[float]:
    return [vector.x, vector.y, vector.z]


def xyzw(quaternion: Any) -> list[float]:
    return [quaternion.x, quaternion.y, quaternion.z, quaternion.w]
