"""The demo's views: pictures of the cameras with the frames before them drawn in, and the clouds from above."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from fieldplay.geometry.frames import Frames
from fieldplay.messages.image_pixels import pixels_from_compressed
from fieldplay.messages.point_clouds import points_from_cloud
from fieldplay.messages.record_decoder import camera_of_info
from fieldplay.report.html.plane import plane_of_points
from fieldplay.report.panels.camera_frames import FramesInImage, frames_in_image, lens_from_camera
from fieldplay.report.panels.clouds import relief_of_points

NS_PER_S = 1_000_000_000
AXES = ((40, 60, 220), (60, 170, 60), (220, 110, 30))  # x red, y green, z blue, in BGR
KEPT_POINTS = 40_000  # of each sweep
AROUND_M = 22.0
PAPER = 250
FONT = cv2.FONT_HERSHEY_SIMPLEX

Pixels = NDArray[np.uint8]


class BagViews:
    """Single messages of a bag, drawn."""

    def __init__(self, bag: Path, frames: Frames) -> None:
        self._reader = AnyReader([bag], default_typestore=get_typestore(Stores.ROS2_JAZZY))
        self._frames = frames

    def __enter__(self) -> "BagViews":
        self._reader.open()
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.close()

    def draw_camera(self, camera: str, target: Path) -> None:
        """The middle one of a camera's pictures, with the frames that it sees."""
        pictures = self._messages(f"{camera}/image_raw/compressed")
        message, info = pictures[len(pictures) // 2], self._messages(f"{camera}/camera_info")[0]
        pixels = pixels_from_compressed(message).copy()
        lens = lens_from_camera(camera_of_info(info), is_rectified=False)
        seen = frames_in_image(lens, message.header.frame_id, frames=self._frames, stamp_ns=_time_ns(message))
        if seen is not None:
            _draw_frames(pixels, seen)
        cv2.imwrite(str(target), pixels)

    def draw_clouds(self, topic: str, target: Path) -> None:
        """All sweeps in the map from above, coloured by height."""
        clouds, places = [], []
        for message in self._messages(topic):
            found = self._frames.transform("map", message.header.frame_id, np.array([_time_ns(message)], np.int64))
            if found is not None and found[1][0]:
                points = points_from_cloud(message)
                turned = points[:: -(-len(points) // KEPT_POINTS) or 1] @ found[0][0, :3, :3].T + found[0][0, :3, 3]
                clouds.append(turned.astype(np.float64))
                places.append(found[0][0, :2, 3])
        middle = np.mean(places, axis=0)
        plane = plane_of_points(np.stack([middle - AROUND_M, middle + AROUND_M]), room=0.0)
        relief = relief_of_points(np.concatenate(clouds), plane)
        if relief is None:
            raise ValueError(f"{topic}: expected points about the robot's way, got none")
        pixels = _on_paper(relief.pixels)
        scale = pixels.shape[1] / plane.width
        way = (np.array(places) - [plane.x_low, plane.y_high]) * [scale, -scale]
        cv2.polylines(pixels, [np.rint(way * 16).astype(np.int32)], False, (0, 90, 255), 3, cv2.LINE_AA, 4)
        cv2.imwrite(str(target), pixels)

    def _messages(self, topic: str) -> list[Any]:
        links = [link for link in self._reader.connections if link.topic == f"/ameds/{topic}"]
        return [self._reader.deserialize(raw, link.msgtype) for link, _, raw in self._reader.messages(links)]


def _time_ns(message: Any) -> int:
    return int(message.header.stamp.sec) * NS_PER_S + int(message.header.stamp.nanosec)


def _on_paper(pixels: Pixels) -> Pixels:
    """A picture with transparency (h, w, 4) on a light ground (h, w, 3)."""
    share = pixels[..., 3:].astype(np.float64) / 255
    return np.asarray(pixels[..., :3] * share + PAPER * (1 - share), np.uint8)


def _draw_frames(pixels: Pixels, seen: FramesInImage) -> None:
    """The axes of each frame, and a name for all that stand at one place."""
    height, width = pixels.shape[:2]
    size = np.array([width, height])
    thick = max(2, width // 480)
    names: dict[tuple[int, int], list[str]] = {}
    for name, origin, tips in zip(seen.names, seen.origins, seen.tips, strict=True):
        start = _place(origin * size)
        for tip, colour in zip(tips, AXES, strict=True):
            cv2.line(pixels, start, _place(tip * size), colour, thick, cv2.LINE_AA)
        near = next((place for place in names if np.abs(np.subtract(place, start)).max() < width / 80), start)
        names.setdefault(near, []).append(name)
    for (x, y), here in names.items():
        text = here[0] if len(here) == 1 else f"{here[0]} +{len(here) - 1}"
        for colour, weight in (((0, 0, 0), 2 * thick), ((255, 255, 255), max(1, thick // 2))):
            cv2.putText(pixels, text, (x + 8, y - 8), FONT, width / 2400, colour, weight, cv2.LINE_AA)


def _place(point: NDArray[np.float64]) -> tuple[int, int]:
    x, y = np.rint(point).astype(int).tolist()
    return x, y
