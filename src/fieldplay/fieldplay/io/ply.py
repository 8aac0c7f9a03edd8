"""Point clouds as PLY files, which every viewer of clouds opens."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError

KINDS = {
    "i1": "char",
    "u1": "uchar",
    "i2": "short",
    "u2": "ushort",
    "i4": "int",
    "u4": "uint",
    "f4": "float",
    "f8": "double",
}


def ply_from_cloud(points: NDArray[np.void]) -> bytes:
    """Encode points as a binary PLY file.

    Args:
        points: (n,) as a structured array. A field of several numbers becomes as many properties: descriptor_0, ...

    Returns:
        The bytes of the file.

    Raises:
        ArchiveError: a field has numbers that PLY has not.
    """
    fields: list[tuple[str, np.dtype[Any], tuple[int, ...]]] = []
    head = ["ply", "format binary_little_endian 1.0", f"element vertex {len(points)}"]
    for name in points.dtype.names or ():
        base, shape = points.dtype[name].base, points.dtype[name].shape
        kind = KINDS.get(f"{base.kind}{base.itemsize}")
        if kind is None:
            raise ArchiveError(f"{name}: expected numbers that a PLY file can hold ({', '.join(KINDS)}), got {base}")
        fields.append((name, base.newbyteorder("<"), shape))
        names = [f"{name}_{index}" for index in range(int(np.prod(shape)))] if shape else [name]
        head += [f"property {kind} {each}" for each in names]
    rows = np.empty(len(points), np.dtype(fields))
    for name, *_ in fields:
        rows[name] = points[name]
    return "\n".join([*head, "end_header", ""]).encode() + rows.tobytes()
