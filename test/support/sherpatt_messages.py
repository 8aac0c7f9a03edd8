"""What becomes of CDFF logs: the messages of the bag that they are converted to."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from fieldplay.core.errors import Defect
from fieldplay.datasets.registry import open_dataset
from fieldplay.topics.topic_checks import check, check_settings
from support import archive_messages
from support.archive_messages import EVERYTHING, Messages

Matrix = NDArray[np.float64]


messages_of = partial(archive_messages.messages_of, dataset="sherpatt")
messages_in = partial(archive_messages.messages_in, namespace="sherpatt")
raw_of = partial(archive_messages.stored_of, dataset="sherpatt")


def defects_of(root: Path, **parameters: Any) -> list[Defect]:
    """Every defect, as `check` finds them."""
    with open_dataset(root, "sherpatt", parameters) as archive:
        return check(archive, EVERYTHING)


def notes_of(root: Path, **parameters: Any) -> list[str]:
    with open_dataset(root, "sherpatt", parameters) as archive:
        check_settings(archive)
        return archive.notes


def matrix_of(position: Any, turn: Any) -> Matrix:
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_quat([turn.x, turn.y, turn.z, turn.w]).as_matrix()
    matrix[:3, 3] = [position.x, position.y, position.z]
    return matrix


def static_frames(messages: Messages) -> dict[tuple[str, str], Matrix]:
    ((_, message),) = messages["/tf_static"]
    return {
        (item.header.frame_id, item.child_frame_id): matrix_of(item.transform.translation, item.transform.rotation)
        for item in message.transforms
    }


def stamp_ns(message: Any) -> int:
    return int(message.header.stamp.sec) * 10**9 + int(message.header.stamp.nanosec)
