"""Pictures of samples in their three forms: the framework's Frame, Rock's Frame, and the older Image."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldplay.core.errors import ArchiveError
from fieldplay.messages.records import Pixels
from fieldplay_cdff.logs.types.rows import field, flat

PACKED = ("jpeg", "pjpg", "png", "mjpeg")
CHANNELS = {
    "gray": 1, "grayscale": 1, "rgb": 3, "bgr": 3, "rgba": 4, "bgra": 4, "rgb32": 4, "hsv": 3, "hls": 3, "yuv": 3,
    "uyvy": 2, "lab": 3, "luv": 3, "xyz": 3, "ycrcb": 3, "bayer": 1,
}  # fmt: skip
COLOURS = {"gray": "mono", "grayscale": "mono", "rgb": "rgb", "bgr": "bgr", "rgba": "rgba", "bgra": "bgra"}
KINDS: dict[str, np.dtype[Any]] = {  # of numbers, by their name without depth_
    "8u": np.dtype("u1"), "8s": np.dtype("i1"), "16u": np.dtype("<u2"), "16s": np.dtype("<i2"), "32s": np.dtype("<i4"),
    "32f": np.dtype("<f4"), "64f": np.dtype("<f8"),
}  # fmt: skip
KIND_OF_BYTES = {1: "8u", 2: "16u", 4: "32f", 8: "64f"}
PNG = {"mono8", "mono16", "bgr8", "bgra8", "rgb8", "rgba8"} | {f"bayer_{k}8" for k in ("rggb", "bggr", "gbrg", "grbg")}
LARGEST_SIDE = 1 << 15
EMPTY = ("empty", "invalid")


@dataclass(frozen=True, kw_only=True)
class FrameShape:
    """What a picture's sample says of its pixels; `data` is the list of numbers or the bytes."""

    height: int
    width: int
    channels: int
    step: int
    mode: str
    kind: str
    data: Any

    @property
    def packed(self) -> bool:
        """Whether the bytes are those of a file, such as a JPEG."""
        return self.mode in PACKED


def frame_shape(sample: Any) -> FrameShape:
    """The form of a picture; ArchiveError where its sizes make no sense."""
    if not isinstance(sample, dict):
        raise ArchiveError(f"expected a picture with fields, got {type(sample).__name__}")
    shape = _of_framework(sample) if field(sample, "data.rows") is not None else _of_rock(sample)
    if not (0 < shape.height <= LARGEST_SIDE and 0 < shape.width <= LARGEST_SIDE) and not shape.packed:
        raise ArchiveError(f"expected a picture's size, got {shape.width} x {shape.height}")
    least = shape.width * shape.channels * KINDS[shape.kind].itemsize
    if not shape.packed and (not 0 < shape.channels <= 4 or shape.step < least):
        raise ArchiveError(f"expected rows of {shape.width} pixels, got {shape.step} bytes")
    return shape


def _of_framework(sample: Any) -> FrameShape:
    status = str(field(sample, "metadata.status", default="")).lower()
    if any(word in status for word in EMPTY):
        raise ArchiveError(f"expected a picture, got one that is {status}")
    width, height = _whole(sample, "data.cols"), _whole(sample, "data.rows")
    mode = _word(field(sample, "metadata.mode", default=""))
    channels = _whole(sample, "data.channels", default=CHANNELS.get(mode, 1))
    kind = _word(field(sample, "data.depth", default="8u"))
    if kind not in KINDS:
        raise ArchiveError(f"depth: expected one of {', '.join(KINDS)}, got '{kind}'")
    step = _whole(sample, "data.rowsize", default=0) or width * channels * KINDS[kind].itemsize
    data = field(sample, "data.data")
    return FrameShape(height=height, width=width, channels=channels, step=step, mode=mode, kind=kind, data=data)


def _of_rock(sample: Any) -> FrameShape:
    """The depth follows from the size of a row: what the sample calls its depth is wrong in some logs."""
    status = str(field(sample, "framestatus", default="")).lower()
    if any(word in status for word in EMPTY):
        raise ArchiveError(f"expected a picture, got one that is {status}")
    size = field(sample, "datasize", "size", default={})
    width, height = _whole(size, "width"), _whole(size, "height")
    mode = _word(field(sample, "framemode", default=""))
    step = _whole(sample, "rowsize", default=0) or width * _whole(sample, "pixelsize", default=1)
    channels = CHANNELS.get(mode.partition("_")[0], 1)
    number_bytes = step // max(width * channels, 1)
    kind = KIND_OF_BYTES.get(number_bytes, "8u")
    if number_bytes and number_bytes not in KIND_OF_BYTES and mode not in PACKED:
        raise ArchiveError(f"expected pixels of 1, 2, 4 or 8 bytes, got rows of {step} bytes for {width} {mode} pixels")
    data = field(sample, "image")
    return FrameShape(height=height, width=width, channels=channels, step=step, mode=mode, kind=kind, data=data)


def _whole(sample: Any, name: str, *, default: int | None = None) -> int:
    value = field(sample, name, default=default)
    if type(value) is not int or value < 0:
        raise ArchiveError(f"{name}: expected a whole number, got {value!r}")
    return value


def _word(text: Any) -> str:
    """MODE_GRAYSCALE, mode_GRAY and depth_8U without what stands before: grayscale, gray, 8u."""
    word = str(text).lower()
    for prefix in ("mode_", "depth_"):
        word = word.removeprefix(prefix)
    return word


def image_of_frame(sample: Any) -> Pixels | bytes:
    """A picture's pixels, or the bytes of its file where it holds one."""
    shape = frame_shape(sample)
    if shape.packed:
        return _bytes(shape)
    encoding = encoding_of(shape)
    data = _bytes(shape)
    if len(data) < shape.height * shape.step:
        expected = f"{shape.height} rows of {shape.step} bytes"
        raise ArchiveError(f"expected {expected}, got {len(data)} bytes")
    return Pixels(
        height=shape.height,
        width=shape.width,
        encoding=encoding,
        step=shape.step,
        data=data[: shape.height * shape.step],
    )


def _bytes(shape: FrameShape) -> bytes:
    """The bytes: as they are, or of a list whose items are bytes, or whole numbers of pixels."""
    if isinstance(shape.data, bytes):
        return shape.data
    try:
        numbers = np.asarray(shape.data).reshape(-1)
        if numbers.dtype.kind not in "iuf":
            raise ValueError
        kind = KINDS[shape.kind]
        is_pixels = kind.itemsize > 1 and len(numbers) == shape.height * shape.width * shape.channels
        if is_pixels:
            return bytes(numbers.astype(kind).tobytes())
        if numbers.dtype.itemsize > 1 and len(numbers) and not 0 <= numbers.min() <= numbers.max() <= 255:
            raise ValueError
        return numbers.astype(np.uint8, casting="unsafe").tobytes()
    except (TypeError, ValueError, OverflowError):
        raise ArchiveError("expected a picture's bytes as a list of numbers, got other things") from None


def encoding_of(shape: FrameShape) -> str:
    """What sensor_msgs calls these pixels."""
    kind, bits = shape.kind, 8 * KINDS[shape.kind].itemsize
    if kind in ("8u", "16u"):
        if shape.mode in COLOURS and CHANNELS[shape.mode] == shape.channels:
            return f"{COLOURS[shape.mode]}{bits}"
        if shape.mode.startswith("bayer_") and shape.channels == 1:
            return f"{shape.mode}{bits}"
        if shape.mode == "uyvy" and shape.channels == 2:
            return "uyvy"
        if shape.mode in ("undef", "") and shape.channels == 1:
            return f"mono{bits}"
    return f"{kind.upper()}C{shape.channels}"


def intrinsics_of_frame(sample: Any) -> tuple[float, float, float, float, tuple[float, ...]] | None:
    """fx, fy, cx, cy and the coefficients that a picture brings itself; None where they say nothing."""
    try:
        matrix = flat(field(sample, "intrinsic.cameramatrix"), 9).reshape(3, 3)
    except ValueError:
        return None
    fx, fy, cx, cy = matrix[0, 0], matrix[1, 1], matrix[0, 2], matrix[1, 2]
    if not (np.isfinite(matrix).all() and fx > 1 and fy > 1 and cx > 0 and cy > 0):
        return None
    given = field(sample, "intrinsic.distcoeffs", default=[])
    coefficients = tuple(float(value) for value in given) if isinstance(given, list | tuple) else ()
    return float(fx), float(fy), float(cx), float(cy), coefficients
