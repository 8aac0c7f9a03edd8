"""The bag of a stereo camera: rectified grey images with their cameras, and the tree of the two cameras."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores

from fieldplay_samples.writers.ros_messages import Message, messages_of, write_messages
from fieldplay_samples.writers.stereo.street import SIDES, StreetScenario

VERSION: Final = 9
ROS = messages_of(Stores.ROS2_JAZZY)
FRAMES = {"left": "left_camera", "right": "right_camera"}


def write_bag(path: Path, scenario: StreetScenario, images: Path) -> None:
    """Write the images of a folder and what belongs to them, in the order of time."""
    with Writer(path, version=VERSION, storage_plugin=StoragePlugin.MCAP) as writer:
        write_messages(writer, ROS, _messages(scenario, images), offered=lambda _: {})


def _messages(scenario: StreetScenario, images: Path) -> Iterator[Message]:
    width, height = scenario.size
    for number, stamp in enumerate(scenario.stamp_ns.tolist()):
        if number == 0:
            link = (FRAMES["left"], FRAMES["right"], (scenario.baseline_m, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
            yield "/tf_static", stamp, ROS.transforms(stamp, [link])
        for side in SIDES:
            data = np.frombuffer((images / f"{side}_{number}.npy").read_bytes(), np.uint8).reshape(height, width)
            yield f"/stereo/{side}/camera_info", stamp, _camera_info(stamp, scenario, side)
            yield f"/stereo/{side}/image_raw", stamp, ROS.image(stamp, FRAMES[side], data)


def _camera_info(stamp_ns: int, scenario: StreetScenario, side: str) -> Any:
    projection = np.hstack([scenario.matrix, np.zeros((3, 1))])
    projection[0, 3] = -scenario.baseline_m * scenario.matrix[0, 0] if side == "right" else 0.0
    numbers = {"D": np.zeros(5), "K": scenario.matrix, "R": np.eye(3), "P": projection}
    return ROS.camera_info(stamp_ns, FRAMES[side], size=scenario.size, numbers=numbers)
