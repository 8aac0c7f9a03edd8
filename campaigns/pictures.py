"""JPEG, PNG, BMP and TIFF pictures: what is said of a picture is what its pixels are."""

import random
import struct
import zlib

import cv2
import numpy as np

from campaigns.frame import Found, Inputs, WrongError
from campaigns.mutations import INTEGERS, changed
from fieldplay.core.errors import ArchiveError
from fieldplay.messages.image_headers import image_from_bytes, whole_image
from fieldplay.messages.image_pixels import pixels_from_file

SIZE = (12, 20)
LARGEST = 1 << 22  # pixels that are decoded: of more the header alone is looked at
PNG_START = b"\x89PNG\r\n\x1a\n"


def _files() -> list[bytes]:
    draw = np.random.default_rng(3)
    grey = draw.integers(0, 255, SIZE, np.uint8)
    colour = draw.integers(0, 255, (*SIZE, 3), np.uint8)
    forms = [
        (".jpg", colour), (".jpg", grey), (".png", colour), (".png", grey), (".png", grey.astype(np.uint16) * 250),
        (".bmp", colour), (".bmp", grey), (".tif", grey), (".tif", colour),
    ]  # fmt: skip
    return [cv2.imencode(ending, pixels)[1].tobytes() for ending, pixels in forms]


def _with_sums(data: bytes) -> bytes:
    """A PNG with the checksums that its chunks should have, as far as they can be found."""
    out, position = bytearray(PNG_START), len(PNG_START)
    while position + 8 <= len(data):
        (length,) = struct.unpack_from(">I", data, position)
        if position + 12 + length > len(data):
            break
        chunk = data[position + 4 : position + 8 + length]
        out += data[position : position + 4] + chunk + struct.pack(">I", zlib.crc32(chunk))
        position += 12 + length
    return bytes(out) + data[position:]


class Pictures(Inputs):
    """See above."""

    suffix = "img"

    def __init__(self) -> None:
        self._files = _files()

    def mutated(self, draw: random.Random) -> bytes:
        data = draw.choice(self._files)
        if draw.random() < 0.4:  # the size that the header says, wherever that stands in these small files
            for position, form in ((16, ">I"), (20, ">I"), (18, "<i"), (22, "<i"), (163, ">H"), (161, ">H")):
                if draw.random() < 0.4 and position + 4 < len(data):
                    number = draw.choice(INTEGERS) % (1 << 8 * struct.calcsize(form) - 1)
                    data = data[:position] + struct.pack(form, number) + data[position + struct.calcsize(form) :]
        else:
            data = changed(draw, data)
        return _with_sums(data) if data.startswith(PNG_START) and draw.random() < 0.7 else data

    def look(self, data: bytes) -> Found:
        output, decoded = _told(data), _decoded(data)
        if output is not None and decoded is not None and output != decoded:
            raise WrongError(f"another size than the pixels have: {output}, {decoded}")
        if output is None and decoded is None:
            raise ArchiveError("neither its header nor its pixels can be read")
        return Found("read" if output == decoded else "told", (output, decoded))


def _told(data: bytes) -> tuple[int, int] | None:
    """The height and width of a whole picture, whose header alone says the same."""
    try:
        whole = whole_image(data)
    except ArchiveError:
        return None
    if image_from_bytes(data) != whole:
        raise WrongError("the header alone says another thing: than the whole picture")
    return whole.height, whole.width


def _decoded(data: bytes) -> tuple[int, ...] | None:
    try:
        pixels = pixels_from_file(data)
    except ArchiveError:
        return None
    return pixels.shape[:2]
