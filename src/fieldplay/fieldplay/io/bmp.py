"""BMP images from their bytes to pixels: rows are turned round and copied at once, where they are stored plainly."""

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay.messages.image_headers import BmpHeader, whole_bmp
from fieldplay.messages.image_pixels import decode_image
from fieldplay.messages.records import Pixels

GREY, COLOUR = "mono8", "bgr8"
PLAIN_BITS = (8, 24)  # all else is left to OpenCV
OPENCV_CHANNELS = {1: GREY, 3: COLOUR, 4: "bgra8"}


def pixels_from_bmp(data: bytes, *, grey: str = GREY) -> Pixels:
    """Decode a BMP.

    Args:
        data: the bytes of the file.
        grey: the encoding of images with one number of 8 bits for each pixel, for cameras that store the raw mosaic of
            a colour filter; images of fewer bits are grey.

    Returns:
        The pixels, top row first.

    Raises:
        ArchiveError: the file is cut off, or no BMP.
    """
    if not data.startswith(b"BM"):
        raise ArchiveError(f"expected a BMP image, got a file that starts with {data[:8]!r}")
    header, _ = whole_bmp(data)
    if header.compression or header.bits not in PLAIN_BITS:
        return _decode(data, grey if header.bits == 8 else GREY)
    rows = _rows(data, header)
    if header.bits == 24:
        return _pixels(rows, header.width, COLOUR)
    table = _look_up_table(header.palette(data))
    if table is None:
        return _pixels(rows, header.width, grey)
    return _pixels(table[rows[:, : header.width]], header.width, grey if table.ndim == 1 else COLOUR)


def _rows(data: bytes, header: BmpHeader) -> NDArray[np.uint8]:
    """The rows with what they are filled up with, from the top down."""
    count = abs(header.height)
    rows = np.frombuffer(data, np.uint8, count * header.step, header.start).reshape(count, header.step)
    return rows if header.height < 0 else rows[::-1]


def _look_up_table(palette: NDArray[np.uint8]) -> NDArray[np.uint8] | None:
    """What the numbers stand for, greys (256,) or colours (256, 3); None where they are the greys themselves."""
    greys = palette[:, 0]
    if not (palette == greys[:, None]).all():
        return np.vstack([palette, np.zeros((256, 3), np.uint8)])[:256]
    if (greys == np.arange(len(greys))).all():
        return None
    return np.concatenate([greys, np.zeros(256, np.uint8)])[:256]


def _pixels(rows: NDArray[np.uint8], width: int, encoding: str) -> Pixels:
    data = rows.tobytes()
    return Pixels(height=len(rows), width=width, encoding=encoding, step=len(data) // len(rows), data=data)


def _decode(data: bytes, grey: str) -> Pixels:
    image = decode_image(data)
    if image is None or image.dtype != np.uint8:
        raise ArchiveError("expected a BMP image, got one that does not decode")
    channels = 1 if image.ndim == 2 else image.shape[2]
    encoding = grey if channels == 1 else OPENCV_CHANNELS[channels]
    height, width = image.shape[:2]
    return Pixels(height=height, width=width, encoding=encoding, step=width * channels, data=image.tobytes())
