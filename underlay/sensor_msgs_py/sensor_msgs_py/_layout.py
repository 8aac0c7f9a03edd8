"""How the fields of a point lie in its bytes, as a numpy dtype."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from sensor_msgs.msg import PointField

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


def demand(condition: bool, complaint: str) -> None:
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
        demand(field.count > 0, f"field {field.name!r} has a count of 0")
        if field.datatype not in _TYPES:
            raise KeyError(f"field {field.name!r} has the unknown datatype {field.datatype}")
        kind = _TYPES[field.datatype]
        name = field.name or f"{DUMMY_FIELD_PREFIX}_{position}"
        layout["names"] += [name] if field.count == 1 else [f"{name}_{i}" for i in range(field.count)]
        layout["formats"] += [kind.str] * field.count
        layout["offsets"] += [field.offset + i * kind.itemsize for i in range(field.count)]
    demand(len(set(layout["names"])) == len(layout["names"]), f"field names repeat in {layout['names']}")
    if point_step is not None:
        layout["itemsize"] = point_step
    point: np.dtype[Any] = np.dtype(layout)
    return point
