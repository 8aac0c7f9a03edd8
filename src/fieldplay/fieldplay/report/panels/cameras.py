"""What the cameras saw: the first, a middle and the last picture of each, with the frames that stand before it."""

from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.decimation import Decimator, middle_of
from fieldplay.core.errors import ArchiveError
from fieldplay.messages.image_pixels import pixels_from_file, pixels_from_image
from fieldplay.messages.message_batches import Topic
from fieldplay.messages.record_decoder import (
    COMPRESSED,
    IMAGE,
    INFO,
    FramedRecord,
)
from fieldplay.messages.records import CameraInfos, Pictures
from fieldplay.messages.records import Pixels as ArchivePixels
from fieldplay.recording.record_source import Issues, RecordBatch, Single
from fieldplay.report.html.markup import Html, element, joined, path_text
from fieldplay.report.html.page import Section, cards
from fieldplay.report.html.pictures import fitted, photo
from fieldplay.report.panels.camera_frames import Lens, frames_in_image, lens_from_camera, overlay
from fieldplay.report.panels.overview import Overview

PNG = b"\x89PNG"
LARGE, SMALL = 960, 560  # pixels of width
MOST_CAMERAS = 16
RECTIFIED = "rect"  # what the names of rectified pictures have in them
KEPT = 2

LEAD = (
    "The first, a middle and the last picture. Where the camera's numbers and the tf tree allow, the frames before the "
    "camera are drawn with their axes."
)

Pixels = NDArray[np.uint8]
Stored = tuple[int, FramedRecord | None]  # when a picture leaves, and the picture, if it can be read


@dataclass(frozen=True, eq=False)
class _Picture:
    """A picture ready to be shown, with its size before it was made smaller; or why it is not."""

    log_ns: int
    stamp_ns: int
    frame: str
    pixels: Pixels | None = None
    size: tuple[int, int] = (0, 0)
    fault: str = ""


@dataclass
class _Camera:
    """Some messages of a topic of pictures as they came, and what was made of them."""

    picks: Decimator[Stored] = field(default_factory=lambda: Decimator(KEPT))
    pictures: list[_Picture] | None = None


class CameraPanel:
    """Keeps a few pictures of each topic, and what its CameraInfo says."""

    msgtypes = (IMAGE, COMPRESSED, INFO)

    def __init__(self) -> None:
        self._cameras: dict[Topic, _Camera] = {}
        self._infos: dict[str, FramedRecord | None] = {}

    def add(self, batch: RecordBatch) -> None:
        """Pictures, of which few are decoded; of CameraInfo the first is enough."""
        if batch.topic.msgtype == INFO:
            if batch.topic.name not in self._infos:
                _, first = next(batch.single())
                self._infos[batch.topic.name] = first()
            return
        camera = self._cameras.setdefault(batch.topic, _Camera())
        for stamp_ns, make in batch.single():
            camera.picks.offer(partial(_stored, stamp_ns, make))

    def tell(self, findings: Issues) -> None:
        """Pictures that were to be shown and cannot be."""
        for topic, camera in self._cameras.items():
            for picture in _pictures(topic, camera):
                if picture.fault:
                    findings.add("unreadable_picture", topic.name, picture.fault)

    def sections(self, overview: Overview) -> list[Section]:
        """A group for each camera."""
        wanted = [item for item in overview.in_order(self._cameras) if not self._is_double(item[0])]
        made = (self._group(overview, topic, camera) for topic, camera in wanted[:MOST_CAMERAS])
        groups = [group for group in made if group is not None]
        if not groups:
            return []
        left_out = len(wanted) - MOST_CAMERAS
        more = element("p", f"{left_out} more cameras are not shown.", class_="muted") if left_out > 0 else ""
        return [Section("pictures", "What the cameras saw", joined([*groups, more]), LEAD)]

    def _is_double(self, topic: Topic) -> bool:
        """Whether the pictures are there uncompressed too."""
        return Topic(_plain_name(topic), IMAGE) in self._cameras and topic.msgtype == COMPRESSED

    def _group(self, overview: Overview, topic: Topic, camera: _Camera) -> Html | None:
        pictures = [picture for picture in _pictures(topic, camera) if picture.pixels is not None]
        if not pictures:
            return None
        lens = self._lens(topic)
        figures = [
            _figure(overview, topic, picture, lens=None if index else lens) for index, picture in enumerate(pictures)
        ]
        return joined(
            [element("h3", path_text(topic.name)), cards(figures, "photos" if len(figures) > 1 else "photos one")]
        )

    def _lens(self, topic: Topic) -> Lens | None:
        """What the CameraInfo beside the pictures' topic says."""
        folder, _, name = _plain_name(topic).rpartition("/")
        info = self._infos.get(f"{folder}/camera_info")
        if info is None or not isinstance(info.record, CameraInfos):
            return None
        return lens_from_camera(info.record.camera, is_rectified=RECTIFIED in name)


def _stored(stamp_ns: int, make: Single) -> Stored:
    return stamp_ns, make()


def _plain_name(topic: Topic) -> str:
    return topic.name.removesuffix("/compressed").removesuffix("/compressedDepth")


def _pictures(topic: Topic, camera: _Camera) -> list[_Picture]:
    """The first, the middle and the last of what was kept, decoded once."""
    if camera.pictures is None:
        items = camera.picks.items()
        middle = middle_of([stamp_ns for stamp_ns, _ in items]) if items else 0
        chosen = [items[index] for index in sorted({0, middle, len(items) - 1})] if items else []
        camera.pictures = [
            _picture(topic, *item, widest=SMALL if place else LARGE) for place, item in enumerate(chosen)
        ]
    return camera.pictures


def _picture(topic: Topic, log_ns: int, framed: FramedRecord | None, *, widest: int) -> _Picture:
    if framed is None or not isinstance(framed.record, Pictures):
        return _Picture(log_ns, log_ns, "", fault=f"the message does not decode as {topic.msgtype}")
    frame, stamp_ns = framed.frame.lstrip("/"), int(framed.record.stamp_ns[0])
    data = framed.record.load(0)
    try:
        pixels = pixels_from_image(data) if isinstance(data, ArchivePixels) else pixels_from_file(data, _kind(data))
    except ArchiveError as error:
        return _Picture(log_ns, stamp_ns, frame, fault=str(error))
    height, width = pixels.shape[:2]
    return _Picture(log_ns, stamp_ns, frame, fitted(pixels, widest), (width, height))


def _kind(data: bytes) -> str:
    return "png" if data.startswith(PNG) else "jpeg"


def _figure(overview: Overview, topic: Topic, picture: _Picture, *, lens: Lens | None) -> Html:
    assert picture.pixels is not None
    width, height = picture.size
    moment = f"at {overview.moment_text(picture.log_ns)}"
    seen = None
    if lens is not None and lens.size == picture.size:
        seen = frames_in_image(lens, picture.frame, frames=overview.frames, stamp_ns=picture.stamp_ns)
    drawn = overlay(seen, width / height) if seen is not None else ""
    told = element("span", f"{width} × {height}" + (f", in {picture.frame}" if picture.frame else ""), class_="muted")
    caption = element("figcaption", element("b", moment), told, _key() if seen else "")
    shown = photo(picture.pixels, alternative=f"{topic.name} {moment}")
    return element("figure", caption, element("div", shown, drawn, class_="photo"), class_="card")


def _key() -> Html:
    axes = (element("span", element("i", class_=f"key a{axis}"), axis) for axis in "xyz")
    return element("div", *axes, class_="legend")
