"""Pictures that an archive holds as pixels: passed on, packed when asked for, and told where they are none."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import pytest

from fieldplay.core.errors import Defect
from fieldplay.geometry.camera_model import CameraModel
from fieldplay.messages.cdr_layout import typestore
from fieldplay.messages.records import Images, Pixels
from fieldplay.messages.stream_spec import StreamSpec
from fieldplay.streams.image_topics import (
    COMPRESSED,
    INFO,
    RAW,
    image_topic_streams,
    images_of,
    natural_images,
)
from fieldplay.streams.stream import Span

SPEC = StreamSpec(id="eye", topic="eye/image_raw", type=RAW, frame="eye")
COLOURS = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
BGR = Pixels(height=4, width=6, encoding="bgr8", step=18, data=COLOURS.tobytes())


class Stream:
    """One picture."""

    spans = (Span(5, 5, 1),)

    def __init__(self, pixels: Pixels) -> None:
        self.pixels = pixels

    def load(self, _: int) -> Images:
        stamp_ns = np.array([5], np.int64)
        return Images(stamp_ns=stamp_ns, names=("eye 1",), load=lambda row: self.pixels, packed=False)


SendImage = Callable[[Pixels], dict[str, Any]]


@pytest.fixture
def defects() -> list[Defect]:
    return []


@pytest.fixture
def send_image(defects: list[Defect]) -> SendImage:
    """The messages of one picture by their type, without those that were refused."""

    def send(pixels: Pixels, camera: CameraModel | None = None) -> dict[str, Any]:
        messages = {}
        feeds = image_topic_streams(
            Stream(pixels), SPEC, "/eye/image_raw", camera=camera, images="both", report=defects.append, ranks=(0, 1)
        )
        for feed in feeds:
            payloads, is_valid = feed.load(0)[1].encode(np.array([0]))
            if is_valid.all():
                buffer = np.zeros(int(payloads.size[0]), np.uint8)
                payloads.copy_to(buffer, np.zeros(1, np.int64))
                messages[feed.msgtype] = typestore().deserialize_cdr(buffer.tobytes(), feed.msgtype)
        return messages

    return send


def test_pixels_are_published_raw_and_compressed_losslessly(send_image: SendImage, defects: list[Defect]) -> None:
    messages = send_image(BGR)
    image = messages[RAW]
    assert (image.height, image.width, image.encoding, image.step, image.is_bigendian) == (4, 6, "bgr8", 18, 0)
    assert image.data.tobytes() == BGR.data
    assert messages[COMPRESSED].format == "png"
    assert (cv2.imdecode(messages[COMPRESSED].data, cv2.IMREAD_UNCHANGED) == COLOURS).all()
    assert defects == []


def test_padded_rows_and_other_encodings_are_compressed_too(send_image: SendImage) -> None:
    depth = np.arange(24, dtype=">u2").reshape(4, 6)
    rows = b"".join(row.tobytes() + b"fill" for row in depth)
    pixels = Pixels(height=4, width=6, encoding="mono16", step=16, data=rows, is_bigendian=True)
    messages = send_image(pixels)
    assert (cv2.imdecode(messages[COMPRESSED].data, cv2.IMREAD_UNCHANGED) == depth).all()
    assert (messages[RAW].is_bigendian, messages[RAW].data.tobytes()) == (1, rows)


@pytest.mark.parametrize(
    ("changed", "message", "left"),
    [
        ({"data": BGR.data[:-1]}, "expected 4 rows of 18 bytes, got 71 bytes", set()),
        ({"width": 0}, "expected an image of at least 1 x 1 pixels, got 0 x 4", set()),
        ({"encoding": "yuv422"}, "expected pixels that a PNG can hold", {RAW}),
        ({"step": 9, "data": BGR.data[:36]}, "got bgr8 in rows of 9 bytes", {RAW}),
    ],
)
def test_invalid_image_is_reported_once(
    send_image: SendImage, defects: list[Defect], changed: dict[str, Any], message: str, left: set[str]
) -> None:
    assert set(send_image(replace(BGR, **changed))) == left
    (defect,) = defects
    assert (defect.file, defect.kind, defect.stream) == ("eye 1", "damaged_picture", "eye")
    assert message in defect.message


def test_pixels_are_published_raw_by_default() -> None:
    assert natural_images(Stream(BGR)) == "raw"


def test_camera_info_has_rectified_pair_if_any(send_image: Any) -> None:
    numbers = {"width": 6, "height": 4, "fx": 5.0, "fy": 5.0, "cx": 3.0, "cy": 2.0}
    camera = CameraModel(**numbers, distortion_model="plumb_bob", distortion=(0.0,) * 5)
    alone = send_image(BGR, camera)[INFO]
    assert alone.r.tolist() == np.eye(3).reshape(-1).tolist()
    assert alone.p.tolist() == [5, 0, 3, 0, 0, 5, 2, 0, 0, 0, 1, 0]
    turn, projection = tuple(map(float, range(9))), tuple(map(float, range(12)))
    paired = send_image(BGR, replace(camera, rectification=turn, projection=projection))[INFO]
    assert (paired.r.tolist(), paired.p.tolist(), paired.k.tolist()) == (list(turn), list(projection), alone.k.tolist())


def test_rectification_of_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a rectification of 9 numbers"):
        CameraModel(
            width=6, height=4, fx=5.0, fy=5.0, cx=3.0, cy=2.0, distortion_model="plumb_bob", distortion=(),
            rectification=(1.0,),
        )  # fmt: skip


def test_bayer_image_is_compressed_as_is_with_its_encoding(send_image: SendImage) -> None:
    message = send_image(Pixels(height=4, width=18, encoding="bayer_gbrg8", step=18, data=COLOURS.tobytes()))[
        COMPRESSED
    ]
    assert message.format == "bayer_gbrg8; png compressed "
    np.testing.assert_array_equal(cv2.imdecode(message.data, cv2.IMREAD_UNCHANGED), COLOURS.reshape(4, 18))


def test_incompressible_pixels_are_published_raw() -> None:
    class Floats(Stream):
        def load(self, index: int) -> Images:
            return replace(super().load(index), packable=False)

    assert [images_of(Floats(BGR), requested) for requested in (None, "compressed", "both")] == ["raw"] * 3
    assert [images_of(Stream(BGR), requested) for requested in (None, "compressed", "both")] == [
        "raw",
        "compressed",
        "both",
    ]
