"""Images of any encoding as pixels that can be shown (h, w, 3), in BGR."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay.messages.image_headers import has_whole_chunks, image_from_bytes

Pixels = NDArray[np.uint8]
SHAPES = {  # encoding: number type, channels
    "mono8": ("u1", 1), "mono16": ("u2", 1), "bgr8": ("u1", 3), "rgb8": ("u1", 3), "bgra8": ("u1", 4),
    "rgba8": ("u1", 4), "bgr16": ("u2", 3), "rgb16": ("u2", 3), "8UC1": ("u1", 1), "8UC3": ("u1", 3),
    "8UC4": ("u1", 4), "16UC1": ("u2", 1), "16SC1": ("i2", 1), "32SC1": ("i4", 1), "32FC1": ("f4", 1),
    "64FC1": ("f8", 1), "yuv422": ("u1", 2), "uyvy": ("u1", 2), "yuv422_yuy2": ("u1", 2), "yuyv": ("u1", 2),
}  # fmt: skip
BAYER = {  # OpenCV names the pattern by its second row
    "bayer_rggb": "COLOR_BayerBG2BGR", "bayer_bggr": "COLOR_BayerRG2BGR",
    "bayer_gbrg": "COLOR_BayerGR2BGR", "bayer_grbg": "COLOR_BayerGB2BGR",
}  # fmt: skip
YUV = {
    "yuv422": "COLOR_YUV2BGR_UYVY", "uyvy": "COLOR_YUV2BGR_UYVY",
    "yuv422_yuy2": "COLOR_YUV2BGR_YUY2", "yuyv": "COLOR_YUV2BGR_YUY2",
}  # fmt: skip
HEAD = 1 << 16  # bytes that say how large an image is, if they do
DEPTH_HEADER = 12  # bytes before the PNG of a compressed depth image
LARGEST_PIXELS = 1 << 27
ROWS_OF_MOSAIC = 2
NO_COLOURS = ("FC1", "SC1", "16UC1", "mono16")  # ends of encodings whose numbers are no brightness


def colour_map(values: NDArray[np.float64], kind: str = "VIRIDIS") -> NDArray[np.uint8]:
    """Colour numbers from dark to light.

    Args:
        values: fractions from 0 to 1 (...); NaN is 0.
        kind: the name of a colour map of OpenCV.

    Returns:
        Colours (..., 3) in the order blue green red.
    """
    import cv2

    levels = np.clip(np.nan_to_num(values) * 255, 0, 255).astype(np.uint8)
    if not levels.size:  # which OpenCV makes nothing of
        return np.zeros((*levels.shape, 3), np.uint8)
    return np.asarray(cv2.applyColorMap(levels.reshape(-1, 1), getattr(cv2, f"COLORMAP_{kind}")), np.uint8).reshape(
        *levels.shape, 3
    )


def pixels_from_image(message: Any) -> Pixels:
    """Convert an image to pixels that can be shown.

    Args:
        message: a sensor_msgs/Image, or an object with its members.

    Returns:
        Pixels (h, w, 3) in the order blue green red; depths and other numbers are scaled from low to high.

    Raises:
        ArchiveError: the encoding is unknown, or the data are too short.
    """
    encoding = str(message.encoding)
    kind, channels = _shape(encoding)
    height, width, step = int(message.height), int(message.width), int(message.step)
    base = np.dtype(kind).newbyteorder(">" if message.is_bigendian else "<")
    used = width * channels * base.itemsize
    data = np.frombuffer(message.data, np.uint8)
    if not 0 < height * width <= LARGEST_PIXELS or step < used or len(data) < step * (height - 1) + used:
        raise ArchiveError(
            f"expected {width} x {height} pixels of {encoding} in steps of {step}, got {len(data)} bytes"
        )
    rows = as_strided(data, (height, used), (step, 1), writeable=False)  # which lies within the data, as was seen to
    values = np.ascontiguousarray(rows).view(base).reshape(height, width, channels)
    return _colours(values.astype(base.newbyteorder("=")), encoding)


def pixels_from_compressed(message: Any) -> Pixels:
    """Decode a compressed image; also a compressed depth image.

    Args:
        message: a sensor_msgs/CompressedImage, or an object with its members.

    Returns:
        Pixels (h, w, 3) in the order blue green red; depths and other numbers are scaled from low to high.

    Raises:
        ArchiveError: the data do not decode.
    """
    data = memoryview(message.data)
    return pixels_from_file(data[DEPTH_HEADER:] if "compressedDepth" in str(message.format) else data, message.format)


def pixels_from_file(data: bytes | memoryview, kind: str = "") -> Pixels:
    """Decode an image file.

    Args:
        data: its bytes: JPEG, PNG, BMP or what else OpenCV reads.
        kind: its format, for messages.

    Returns:
        Pixels (h, w, 3) in the order blue green red; depths and other numbers are scaled from low to high.

    Raises:
        ArchiveError: the data do not decode.
    """
    values = decode_image(data)
    if values is None:
        raise ArchiveError(f"its {len(data)} bytes do not decode as an image{f' ({kind})' if kind else ''}")
    return bgr_image(values)


def reduced_pixels_from_file(data: bytes | memoryview) -> Pixels:
    """Decode an image file to a quarter of its width and height, which is faster for JPEG.

    Args:
        data: its bytes.

    Returns:
        Pixels (h / 4, w / 4, 3) in the order blue green red.

    Raises:
        ArchiveError: the data do not decode.
    """
    values = decode_image(data, "REDUCED_COLOR_4")
    if values is None:
        raise ArchiveError(f"its {len(data)} bytes do not decode as an image")
    return bgr_image(values)


def middle_line(image: Any) -> Pixels | None:
    """The middle line (columns, 3) in BGR of pixels, or of the bytes of a file; None where its numbers are no colours.

    Of pixels only an even row and the next are converted, as mosaics need both.
    """
    if isinstance(image, bytes | memoryview):
        pixels = reduced_pixels_from_file(image)
        return np.asarray(pixels[len(pixels) // 2], np.uint8)
    if image.encoding.endswith(NO_COLOURS):
        return None
    first = image.height // 2 // ROWS_OF_MOSAIC * ROWS_OF_MOSAIC
    data = image.data[first * image.step : (first + ROWS_OF_MOSAIC) * image.step]
    height = min(ROWS_OF_MOSAIC, image.height - first)
    return np.asarray(pixels_from_image(replace(image, height=height, data=data))[0], np.uint8)


def decode_image(data: bytes | memoryview, how: str = "UNCHANGED") -> NDArray[Any] | None:
    """Decode an image file with OpenCV; None where it does not decode, or where memory would not hold the pixels."""
    try:
        header = image_from_bytes(bytes(data[:HEAD]))
        if header.width * header.height > LARGEST_PIXELS:
            return None
    except ArchiveError:
        pass  # another format, or a head that is longer
    if not len(data) or not has_whole_chunks(data):  # for a chunk OpenCV takes as much memory as it claims
        return None
    import cv2

    try:
        pixels = cv2.imdecode(np.frombuffer(data, np.uint8), getattr(cv2, f"IMREAD_{how}"))
    except cv2.error:  # of sizes that cannot be
        return None
    return None if pixels is None else np.asarray(pixels)


def bgr_image(values: NDArray[Any]) -> Pixels:
    """Convert any image, (h, w), (h, w, 1), (h, w, 3) or (h, w, 4), to BGR of 8 bits."""
    if values.ndim == 2:
        values = values[:, :, None]
    if values.shape[2] == 1:
        grey = values[:, :, 0]
        return np.repeat(grey[:, :, None], 3, axis=2) if grey.dtype == np.uint8 else _false_colours(grey)
    colours = values[:, :, :3]
    if colours.dtype == np.uint16:
        colours = colours >> 8
    return np.ascontiguousarray(colours.astype(np.uint8))


def _shape(encoding: str) -> tuple[str, int]:
    if encoding[:10] in BAYER:
        return ("u2" if encoding.endswith("16") else "u1"), 1
    if encoding not in SHAPES:
        raise ArchiveError(f"its encoding '{encoding}' is not known here")
    return SHAPES[encoding]


def _colours(values: NDArray[Any], encoding: str) -> Pixels:
    import cv2

    if encoding in YUV:
        if values.shape[1] % 2:
            raise ArchiveError(f"expected an even width of {encoding}, got {values.shape[1]}")
        return np.asarray(cv2.cvtColor(values, getattr(cv2, YUV[encoding])), np.uint8)
    if encoding[:10] in BAYER:
        plain = values >> 8 if values.dtype == np.uint16 else values
        return np.asarray(cv2.cvtColor(plain.astype(np.uint8), getattr(cv2, BAYER[encoding[:10]])), np.uint8)
    if encoding.startswith("rgb"):
        values = values[:, :, [2, 1, 0]]
    return bgr_image(values)


def _false_colours(values: NDArray[Any]) -> Pixels:
    """Numbers (h, w) as colours, from the 2nd to the 98th percentile of those that are there; others are black."""
    numbers = values.astype(np.float64)
    there = np.isfinite(numbers) & (numbers != 0)
    if not there.any():
        return np.zeros((*values.shape, 3), np.uint8)
    low, high = np.percentile(numbers[there], (2, 98))
    coloured = colour_map(np.where(there, (numbers - low) / max(high - low, 1e-12), 0.0))
    coloured[~there] = 0
    return coloured
