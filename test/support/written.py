"""What a conversion writes, to be compared with what was heard live."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from fieldplay.convert.conversion import BagOptions, convert
from fieldplay.datasets.registry import open_dataset
from fieldplay.topics.selection import Selection
from support.bag_messages import messages_of_bag


def derived_messages(root: Path, bag: Path, topics: Iterable[str], **parameters: Any) -> dict[str, list[Any]]:
    """What `convert --derived` writes of these topics, and of /tf_static."""
    requested = {*topics, "/tf_static"}
    with open_dataset(root, parameters=parameters) as archive:
        convert(archive, bag, Selection(derived=True), BagOptions())
    return {topic: [message for _, message in result] for topic, result in messages_of_bag(bag, requested).items()}


def numbers(message: Any) -> list[float]:
    """All numbers in a message of either library, in order."""
    if isinstance(message, bool | int | float | np.number):
        return [float(message)]
    if isinstance(message, str):
        return [float(sum(message.encode()))]
    if hasattr(message, "get_fields_and_field_types"):
        return [n for name in message.get_fields_and_field_types() for n in numbers(getattr(message, name))]
    if hasattr(message, "__dataclass_fields__"):
        names = [name for name in message.__dataclass_fields__ if not name.startswith("__")]
        return [n for name in names for n in numbers(getattr(message, name))]
    return [n for item in message for n in numbers(item)]


def key(message: Any) -> tuple[Any, ...]:
    """Time and frame, by which messages of one topic are told apart whatever order they came in."""
    if hasattr(message, "transforms"):
        first = message.transforms[0]
        return first.header.stamp.sec, first.header.stamp.nanosec, first.child_frame_id
    return message.header.stamp.sec, message.header.stamp.nanosec
