"""Images of samples in their three forms: the framework's Frame, Rock's Frame, and the older Image."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.messages.records import Pixels
from fieldplay_cdff.logs.sample_rows import (
    MISSING,
    Floats,
    field,
    flat,
)

PLANAR, POLAR = "planar", "polar"
MAX_CELLS = 4_000_000
FAR_M = 1e4  # where float32 starts to lose millimetres
XYZ = [("x", "<f4"), ("y", "<f4"), ("z", "<f4")]
INTENSITY, RING, TIME = ("intensity", "<f4"), ("ring", "<u2"), ("time", "<f4")
Points = NDArray[np.void]
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


# Depth maps and clouds of points, as points in the sensor's frame: x ahead, y left, z up.


def points_from_depth_map(sample: Any, stamp_ns: int, ns_per_unit: int) -> Points:
    """Points that were measured, row by row from the top: x y z, intensity if there is one, ring, time if it is known.

    The ring counts from the lowest row; the time is in seconds after the stamp.
    """
    rows, columns = _size(sample, "verticalsize"), _size(sample, "horizontalsize")
    distance = _numbers(sample, "distances")
    if len(distance) != rows * columns or rows * columns > MAX_CELLS:
        raise ArchiveError(f"expected {rows} x {columns} distances, got {len(distance)}")
    direction = _directions(sample, rows, columns)
    is_measured = np.isfinite(distance) & (distance > 0)
    remission, time = _numbers(sample, "remissions"), _times_s(sample, rows, columns, stamp_ns, ns_per_unit)
    has_remission = len(remission) == len(distance)
    kinds = [*XYZ, *([INTENSITY] if has_remission else []), RING, *([TIME] if time is not None else [])]
    points = np.zeros(int(is_measured.sum()), kinds)
    _set_positions(points, direction[is_measured] * distance[is_measured, None])
    ring = np.repeat(np.arange(rows - 1, -1, -1), columns)
    points["ring"] = ring[is_measured]
    if has_remission:
        points["intensity"] = remission[is_measured]
    if time is not None:
        points["time"] = np.maximum(time[is_measured], 0.0)
    return points


def earliest_offset_ns(sample: Any, stamp_ns: int, ns_per_unit: int) -> int:
    """Return the time from the stamp to the first point; negative if the point was measured before."""
    times = _timestamps(sample)
    return int(times.min()) * ns_per_unit - stamp_ns if len(times) else 0


def _size(sample: Any, name: str) -> int:
    value = field(sample, name)
    if type(value) is not int or not 0 < value <= MAX_CELLS:
        raise ArchiveError(f"{name}: expected a size, got {value!r}")
    return value


def _numbers(sample: Any, name: str) -> Floats:
    try:
        return np.asarray(field(sample, name, default=[]), np.float64).reshape(-1)
    except (TypeError, ValueError, OverflowError):
        raise ArchiveError(f"{name}: expected numbers, got other things") from None


def _directions(sample: Any, rows: int, columns: int) -> Floats:
    """Unit vectors (rows * columns, 3). An elevation is positive downwards, an azimuth to the left."""
    down, is_planar = _angles(sample, "vertical", rows)
    elevation = np.arctan(down) if is_planar else down
    left, is_planar = _angles(sample, "horizontal", columns)
    azimuth = np.arctan(-left) if is_planar else left
    across = np.cos(elevation)[:, None]
    x, y = across * np.cos(azimuth), across * np.sin(azimuth)
    z = np.broadcast_to(-np.sin(elevation)[:, None], x.shape)
    return np.stack([x, y, z], axis=-1).reshape(-1, 3)


def _angles(sample: Any, prefix: str, count: int) -> tuple[Floats, bool]:
    """The values (count,) of an interval, and whether they are of a plane rather than angles."""
    is_planar = PLANAR in str(field(sample, f"{prefix}projection")).lower()
    interval = _numbers(sample, f"{prefix}interval")
    if len(interval) == count:
        return interval, is_planar
    if len(interval) == 2:
        first, last = interval
        if not is_planar and first == last:
            last = first + 2 * np.pi
        return first + np.arange(count) * (last - first) / max(count - 1, 1), is_planar
    if len(interval) == 1:
        return np.full(count, interval[0]), is_planar
    raise ArchiveError(f"{prefix}_interval: expected 1, 2 or {count} numbers, got {len(interval)}")


def _timestamps(sample: Any) -> NDArray[np.int64]:
    """The times as in the log."""
    values = field(sample, "timestamps", default=[])
    inner = field(values, "microseconds")
    values = values if inner is None else inner
    if isinstance(values, list):
        values = [field(item, "microseconds", default=item) for item in values]
    try:
        return np.asarray(values, np.int64).reshape(-1)
    except (TypeError, ValueError, OverflowError):
        raise ArchiveError("timestamps: expected times, got other things") from None


def _times_s(sample: Any, rows: int, columns: int, stamp_ns: int, ns_per_unit: int) -> Floats | None:
    """Seconds (rows * columns,) after the stamp, by columns, rows or points; None where one time is for all."""
    times = _timestamps(sample)
    if len(times) < 2:
        return None
    since = times - stamp_ns // ns_per_unit
    seconds = (since * ns_per_unit - stamp_ns % ns_per_unit) / NS_PER_S
    if len(times) == 2:
        return np.tile(np.linspace(seconds[0], seconds[1], columns), rows)
    if len(times) == columns:
        return np.tile(seconds, rows)
    if len(times) == rows:
        return np.repeat(seconds, columns)
    if len(times) == rows * columns:
        return seconds
    raise ArchiveError(f"timestamps: expected 1, 2, {rows}, {columns} or {rows * columns}, got {len(times)}")


def points_from_cloud(sample: Any, _stamp_ns: int = 0, _ns_per_unit: int = 1) -> Points:
    """A cloud's points that are finite: x y z, and intensity where each has one; they have no times."""
    positions = _vectors(field(sample, "data.points", "points", default=MISSING))
    intensity = _numbers(field(sample, "data", default=sample), "intensity")
    has_intensity = len(intensity) == len(positions) > 0
    is_finite = np.isfinite(positions).all(axis=1)
    points = np.zeros(int(is_finite.sum()), [*XYZ, *([INTENSITY] if has_intensity else [])])
    _set_positions(points, positions[is_finite])
    if has_intensity:
        points["intensity"] = intensity[is_finite]
    return points


def is_far(points: Points) -> bool:
    """Whether points lie so far away that float32 does not hold them to the millimetre."""
    return bool(len(points)) and max(float(np.abs(points[axis]).max()) for axis in "xyz") > FAR_M


def _vectors(value: Any) -> Floats:
    """Positions (n, 3) in any form."""
    if isinstance(value, dict):
        value = field(value, "data", default=MISSING)
    if not isinstance(value, list | tuple | np.ndarray):
        got = "none" if value is MISSING else type(value).__name__
        raise ArchiveError(f"points: expected a list of points, got {got}")
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = [field(item, "data", "arr") for item in value]
    try:
        return np.asarray(value, np.float64).reshape(-1, 3)
    except (TypeError, ValueError, OverflowError):
        raise ArchiveError("points: expected three numbers each, got other things") from None


def _set_positions(points: Points, positions: Floats) -> None:
    for index, axis in enumerate("xyz"):
        points[axis] = positions[:, index]


@dataclass(frozen=True, kw_only=True)
class FrameShape:
    """The pixel format of an image sample; `data` is the list of numbers or the bytes."""

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
    """Return the form of an image; ArchiveError if its sizes are inconsistent."""
    if not isinstance(sample, dict):
        raise ArchiveError(f"expected an image with fields, got {type(sample).__name__}")
    shape = _of_framework(sample) if field(sample, "data.rows") is not None else _of_rock(sample)
    if not (0 < shape.height <= LARGEST_SIDE and 0 < shape.width <= LARGEST_SIDE) and not shape.packed:
        raise ArchiveError(f"expected an image's size, got {shape.width} x {shape.height}")
    minimum = shape.width * shape.channels * KINDS[shape.kind].itemsize
    if not shape.packed and (not 0 < shape.channels <= 4 or shape.step < minimum):
        raise ArchiveError(f"expected rows of {shape.width} pixels, got {shape.step} bytes")
    return shape


def _of_framework(sample: Any) -> FrameShape:
    status = str(field(sample, "metadata.status", default="")).lower()
    if any(word in status for word in EMPTY):
        raise ArchiveError(f"expected an image, got one that is {status}")
    width, height = _count_of(sample, "data.cols"), _count_of(sample, "data.rows")
    mode = _word(field(sample, "metadata.mode", default=""))
    channels = _count_of(sample, "data.channels", default=CHANNELS.get(mode, 1))
    kind = _word(field(sample, "data.depth", default="8u"))
    if kind not in KINDS:
        raise ArchiveError(f"depth: expected one of {', '.join(KINDS)}, got '{kind}'")
    step = _count_of(sample, "data.rowsize", default=0) or width * channels * KINDS[kind].itemsize
    data = field(sample, "data.data")
    return FrameShape(height=height, width=width, channels=channels, step=step, mode=mode, kind=kind, data=data)


def _of_rock(sample: Any) -> FrameShape:
    """The depth follows from the size of a row: the sample's own depth field is wrong in some logs."""
    status = str(field(sample, "framestatus", default="")).lower()
    if any(word in status for word in EMPTY):
        raise ArchiveError(f"expected an image, got one that is {status}")
    size = field(sample, "datasize", "size", default={})
    width, height = _count_of(size, "width"), _count_of(size, "height")
    mode = _word(field(sample, "framemode", default=""))
    step = _count_of(sample, "rowsize", default=0) or width * _count_of(sample, "pixelsize", default=1)
    channels = CHANNELS.get(mode.partition("_")[0], 1)
    number_bytes = step // max(width * channels, 1)
    kind = KIND_OF_BYTES.get(number_bytes, "8u")
    if number_bytes and number_bytes not in KIND_OF_BYTES and mode not in PACKED:
        raise ArchiveError(f"expected pixels of 1, 2, 4 or 8 bytes, got rows of {step} bytes for {width} {mode} pixels")
    data = field(sample, "image")
    return FrameShape(height=height, width=width, channels=channels, step=step, mode=mode, kind=kind, data=data)


def _count_of(sample: Any, name: str, *, default: int | None = None) -> int:
    value = field(sample, name, default=default)
    if type(value) is not int or value < 0:
        raise ArchiveError(f"{name}: expected a whole number, got {value!r}")
    return value


def _word(text: Any) -> str:
    """MODE_GRAYSCALE, mode_GRAY and depth_8U without their prefix: grayscale, gray, 8u."""
    word = str(text).lower()
    for prefix in ("mode_", "depth_"):
        word = word.removeprefix(prefix)
    return word


def image_of_frame(sample: Any) -> Pixels | bytes:
    """Return the pixels of an image, or the bytes of its file if it holds one."""
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
    """The bytes: unchanged, or of a list whose items are bytes or integer pixels."""
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
        raise ArchiveError("expected an image's bytes as a list of numbers, got other things") from None


def encoding_of(shape: FrameShape) -> str:
    """Return the encoding in the terms of sensor_msgs."""
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
    """Return fx, fy, cx, cy and the distortion coefficients of an image sample; None if it has no valid ones."""
    try:
        matrix = flat(field(sample, "intrinsic.cameramatrix"), 9).reshape(3, 3)
    except ValueError:
        return None
    fx, fy, cx, cy = matrix[0, 0], matrix[1, 1], matrix[0, 2], matrix[1, 2]
    if not (np.isfinite(matrix).all() and fx > 1 and fy > 1 and cx > 0 and cy > 0):
        return None
    distortion = field(sample, "intrinsic.distcoeffs", default=[])
    coefficients = tuple(float(value) for value in distortion) if isinstance(distortion, list | tuple) else ()
    return float(fx), float(fy), float(cx), float(cy), coefficients
