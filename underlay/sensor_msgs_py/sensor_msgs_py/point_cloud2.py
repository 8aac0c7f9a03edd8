"""PointCloud2 messages to and from numpy arrays."""

import array
import sys
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np
from numpy.lib.recfunctions import structured_to_unstructured
from numpy.typing import NDArray
from sensor_msgs.msg import PointCloud2, PointField
from std_msgs.msg import Header

__all__ = [
    "DUMMY_FIELD_PREFIX",
    "create_cloud",
    "create_cloud_xyz32",
    "dtype_from_fields",
    "read_points",
    "read_points_numpy",
]

DUMMY_FIELD_PREFIX = "unnamed_field"

_TYPES: dict[int, np.dtype[Any]] = {
    PointField.INT8: np.dtype(np.int8),
    PointField.UINT8: np.dtype(np.uint8),
    PointField.INT16: np.dtype(np.int16),
    PointField.UINT16: np.dtype(np.uint16),
    PointField.INT32: np.dtype(np.int32),
    PointField.UINT32: np.dtype(np.uint32),
    PointField.FLOAT32: np.dtype(np.float32),
    PointField.FLOAT64: np.dtype(np.float64),
}

_HOST_IS_BIG_ENDIAN = sys.byteorder == "big"


def __getattr__(name: str) -> NoReturn:
    message = f"{__name__}.{name} is not covered by this stand-in for upstream's sensor_msgs_py"
    raise ImportError(message) if name == "read_points_list" else AttributeError(message)


def read_points(
    cloud: PointCloud2,
    field_names: Iterable[str] | None = None,
    skip_nans: bool = False,
    uvs: Iterable[int] | None = None,
    reshape_organized_cloud: bool = False,
) -> NDArray[Any]:
    """Return the points as a structured array in native byte order.

    Args:
        cloud: The message; the array shares its memory where nothing has to be swapped, gathered or left out.
        field_names: The fields to return, in this order; all by default.
        skip_nans: Leave out points with a NaN in one of these fields, unless the cloud claims to be dense.
        uvs: Indices to return, counted row after row and after NaNs were left out.
        reshape_organized_cloud: Return shape (width, height) instead of (n,) if the height is more than 1.
            This is upstream's order of axes, without a transposition: it undoes ``create_cloud``.
    """
    _demand(isinstance(cloud, PointCloud2), "cloud is not a sensor_msgs.msg.PointCloud2")
    points = _raw_points(cloud)
    if field_names is not None:
        names = list(field_names)
        _demand(set(names) <= set(points.dtype.names or ()), f"{names} are not all fields of {points.dtype.names}")
        points = points[names]
    if bool(cloud.is_bigendian) != _HOST_IS_BIG_ENDIAN:
        points = points.view(points.dtype.newbyteorder()).astype(points.dtype)
    if skip_nans and not cloud.is_dense:
        points = points[~_has_nan(points)]
    if uvs is not None:
        points = points[uvs if isinstance(uvs, np.ndarray) else np.fromiter(uvs, int)]
    if reshape_organized_cloud and cloud.height > 1:
        points = points.reshape(cloud.width, cloud.height)
    return points


def read_points_numpy(
    cloud: PointCloud2,
    field_names: Iterable[str] | None = None,
    skip_nans: bool = False,
    uvs: Iterable[int] | None = None,
    reshape_organized_cloud: bool = False,
) -> NDArray[Any]:
    """Return fields of one datatype as a plain array with a last axis of fields; see ``read_points``."""
    points = read_points(cloud, field_names, skip_nans, uvs, reshape_organized_cloud)
    kinds = {kind for kind, *_ in (points.dtype.fields or {}).values()}
    _demand(len(kinds) <= 1, f"the fields are of several datatypes, {points.dtype}: use read_points")
    plain: NDArray[Any] = structured_to_unstructured(points)
    return plain


def create_cloud(
    header: Header, fields: Iterable[PointField], points: Iterable[Any], point_step: int | None = None
) -> PointCloud2:
    """Return a cloud message in native byte order, not dense.

    Args:
        header: Its header.
        fields: The layout of a point.
        points: A plain array of fields along its last axis, if all fields are of one datatype; a structured array
            of exactly this layout; or an iterable of one iterable of values per point. One axis of points gives
            a row; two axes give a width and a height, in this order.
        point_step: Bytes per point; by default a point ends with its last field.
    """
    fields = list(fields)
    records = _records(points, dtype_from_fields(fields, point_step))
    _demand(records.ndim <= 2, f"points along {records.ndim} axes: a cloud has one or two")
    width, height = (*records.shape, 1)[:2]
    cloud = PointCloud2(
        header=header,
        height=height,
        width=width,
        fields=fields,
        is_bigendian=_HOST_IS_BIG_ENDIAN,
        is_dense=False,
        point_step=records.itemsize,
        row_step=records.itemsize * width,
    )
    # An array, unlike bytes, is taken without a look at each byte.
    cloud.data = array.array("B", records.tobytes())
    return cloud


def create_cloud_xyz32(header: Header, points: Iterable[Any]) -> PointCloud2:
    """Return a cloud of float32 fields x, y, z; ``points`` as for ``create_cloud``."""
    fields = [
        PointField(name=name, offset=offset, datatype=PointField.FLOAT32, count=1)
        for name, offset in (("x", 0), ("y", 4), ("z", 8))
    ]
    return create_cloud(header, fields, points)


def _raw_points(cloud: PointCloud2) -> NDArray[Any]:
    """Return all points, row after row, with the bytes as they are."""
    dtype = dtype_from_fields(cloud.fields, cloud.point_step)
    width, height, row_step = cloud.width, cloud.height, cloud.row_step
    packed = width * cloud.point_step
    is_padded = height > 1 and row_step > packed and len(cloud.data) >= (height - 1) * row_step + packed
    stride = row_step if is_padded else packed
    needed = (height - 1) * stride + packed if height else 0
    if len(cloud.data) < needed:
        raise TypeError(f"{height} rows of {width} points need {needed} bytes; the cloud has {len(cloud.data)}")
    rows: NDArray[Any] = np.ndarray((height, width), dtype, buffer=cloud.data, strides=(stride, cloud.point_step))
    return rows.reshape(-1)


def _has_nan(points: NDArray[Any]) -> NDArray[Any]:
    found = np.zeros(len(points), dtype=bool)
    for name in points.dtype.names or ():
        found |= np.isnan(points[name])
    return found


def _records(points: Iterable[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return points as a structured array of this dtype, the bytes between fields zero unless the caller set them."""
    if not isinstance(points, np.ndarray):
        rows = list(map(tuple, points))
        records = np.zeros(len(rows), dtype)
        records[:] = rows
        return records
    if points.dtype.names is not None:
        _demand(points.dtype == dtype, f"the array's dtype {points.dtype} is not that of the fields, {dtype}")
        return points
    names = dtype.names or ()
    _demand(len({dtype[name] for name in names}) == 1, "fields of several datatypes need a structured array")
    if points.ndim == 0 or points.shape[-1] != len(names):
        raise ValueError(f"the last axis of points, shape {points.shape}, must be the {len(names)} fields")
    records = np.zeros(points.shape[:-1], dtype)
    for i, name in enumerate(names):
        records[name] = points[..., i]
    return records


def _demand(condition: bool, complaint: str) -> None:
    """Raise the AssertionError that callers of upstream expect, also when Python runs with -O."""
    if not condition:
        raise AssertionError(complaint)


def dtype_from_fields(fields: Iterable[PointField], point_step: int | None = None) -> np.dtype[Any]:
    """Return the structured dtype of a point in native byte order.

    A field of count n > 1 becomes n fields, ``name_0`` to ``name_{n-1}``; a field without a name is called after
    its position. Without ``point_step``, a point ends with its last field.
    """
    layout: Any = {"names": [], "formats": [], "offsets": []}
    for position, field in enumerate(fields):
        _demand(field.count > 0, f"field {field.name!r} has a count of 0")
        if field.datatype not in _TYPES:
            raise KeyError(f"field {field.name!r} has the unknown datatype {field.datatype}")
        kind = _TYPES[field.datatype]
        name = field.name or f"{DUMMY_FIELD_PREFIX}_{position}"
        layout["names"] += [name] if field.count == 1 else [f"{name}_{i}" for i in range(field.count)]
        layout["formats"] += [kind.str] * field.count
        layout["offsets"] += [field.offset + i * kind.itemsize for i in range(field.count)]
    _demand(len(set(layout["names"])) == len(layout["names"]), f"field names repeat in {layout['names']}")
    if point_step is not None:
        layout["itemsize"] = point_step
    point: np.dtype[Any] = np.dtype(layout)
    return point
