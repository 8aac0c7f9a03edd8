"""Points as messages of sensor_msgs/PointCloud2, and the points of such messages."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.messages.cdr_layout import open_layout_of

CLOUD = "sensor_msgs/msg/PointCloud2"
KINDS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 8: "f8"}  # as PointField numbers them
DATATYPES = {kind: number for number, kind in KINDS.items()}
FARTHEST_M = 1e6


def cloud_message(points: NDArray[np.void], stamp_ns: int, frame: str) -> tuple[bytes, bytes, memoryview, bytes]:
    """The pieces of a dense PointCloud2 with the fields of the points, packed as they are."""
    names = points.dtype.names or ()
    fields: Mapping[str, Any] = points.dtype.fields or {}
    texts = {f"fields[{index}].name": name for index, name in enumerate(names)}
    before, after = open_layout_of(CLOUD, {"header.frame_id": frame, "fields": len(names), **texts}, "data")
    data, rows = before.rows(1)
    rows["header.stamp.sec"], rows["header.stamp.nanosec"] = divmod(stamp_ns, NS_PER_S)
    rows["height"], rows["width"], rows["point_step"] = 1, len(points), points.itemsize
    rows["row_step"] = points.nbytes
    for index, name in enumerate(names):
        kind, offset = fields[name][:2]
        rows[f"fields[{index}].offset"], rows[f"fields[{index}].count"] = offset, 1
        rows[f"fields[{index}].datatype"] = DATATYPES[kind.str[1:]]
    tail, tail_rows = after.rows(1)
    tail_rows["is_dense"] = 1
    flat = points.view(np.uint8).data
    return (data.tobytes(), points.nbytes.to_bytes(4, "little"), flat, tail.tobytes())


def points_from_cloud(message: Any) -> NDArray[np.float32]:
    """Read the valid points of a message.

    Args:
        message: a decoded sensor_msgs/PointCloud2.

    Returns:
        x y z (n, 3) in m: those that are finite and not at the sensor itself, which means no return.

    Raises:
        ArchiveError: it has no x, y, z.
    """
    return points_from_rows(rows_of_cloud(message, only="xyz"))


def points_from_rows(rows: NDArray[np.void]) -> NDArray[np.float32]:
    """Read the valid points of a structured array.

    Args:
        rows: points with the fields x, y, z.

    Returns:
        x y z (n, 3) in m: those that are finite and not at the sensor itself, which means no return.
    """
    points = np.stack([rows[axis].astype(np.float32) for axis in "xyz"], axis=1)
    good = (np.abs(points) < FARTHEST_M).all(axis=1) & (points != 0).any(axis=1)
    result: NDArray[np.float32] = points[good]
    return result


def rows_of_cloud(message: Any, *, only: str = "") -> NDArray[np.void]:
    """Read all points of a message, invalid ones too.

    Args:
        message: a decoded sensor_msgs/PointCloud2.
        only: names of single letters, such as `xyz`, to read these fields alone.

    Returns:
        Points (n,) as a structured array.

    Raises:
        ArchiveError: x, y or z is missing, or the data are too short.
    """
    fields = {str(item.name): item for item in message.fields}
    missing = [axis for axis in "xyz" if axis not in fields]
    if missing:
        raise ArchiveError(f"expected the fields x y z, got {' '.join(fields) or 'none'}")
    width, height, step = int(message.width), int(message.height), int(message.point_step)
    row_step = int(message.row_step) or width * step
    data = np.ascontiguousarray(message.data, np.uint8)
    order = ">" if message.is_bigendian else "<"
    layout = _layout({name: item for name, item in fields.items() if not only or name in only}, order, step)
    if not width * height:
        return np.zeros(0, layout)
    if row_step < width * step or len(data) < row_step * (height - 1) + width * step:
        raise ArchiveError(f"expected {height} x {width} points of {step} bytes, got {len(data)} bytes")
    rows = as_strided(data, (height, width * step), (row_step, 1), writeable=False)  # within the data, as was seen to
    return np.ascontiguousarray(rows).reshape(-1).view(layout)


def _layout(fields: dict[str, Any], order: str, step: int) -> np.dtype[np.void]:
    kinds = {name: KINDS.get(int(item.datatype)) for name, item in fields.items()}
    if None in kinds.values():
        got = [int(item.datatype) for item in fields.values()]
        raise ArchiveError(f"expected numbers as {' '.join(fields)}, got the kinds {got}")
    counts = [1 if name in "xyz" else max(int(item.count), 1) for name, item in fields.items()]
    bases = [np.dtype(f"{order}{kind}") for kind in kinds.values()]
    formats = [base if count == 1 else np.dtype((base, (count,))) for base, count in zip(bases, counts, strict=True)]
    offsets = [int(item.offset) for item in fields.values()]
    if any(offset + kind.itemsize > step for offset, kind in zip(offsets, formats, strict=True)):
        raise ArchiveError(f"expected {' '.join(fields)} within {step} bytes, got them at {offsets}")
    return np.dtype({"names": list(fields), "formats": formats, "offsets": offsets, "itemsize": step})
