"""A cloud as a PLY file, which every viewer of clouds opens."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay_fusion.dfn.values import Cloud

KINDS = {"<f4": "float", "|u1": "uchar"}


def ply_bytes(cloud: Cloud) -> bytes:
    """Binary PLY: x, y, z, and intensity or colours where the cloud has them."""
    columns: list[tuple[str, str, NDArray[Any]]] = []
    columns += [(axis, "<f4", cloud.points[:, place]) for place, axis in enumerate("xyz")]
    if cloud.intensity is not None:
        columns.append(("intensity", "<f4", cloud.intensity))
    if cloud.colors is not None:
        columns += [(name, "|u1", cloud.colors[:, place]) for place, name in enumerate(("red", "green", "blue"))]
    rows = np.zeros(len(cloud), np.dtype([(name, kind) for name, kind, _ in columns]))
    for name, _, values in columns:
        rows[name] = values
    head = ["ply", "format binary_little_endian 1.0", f"element vertex {len(cloud)}"]
    head += [f"property {KINDS[kind]} {name}" for name, kind, _ in columns]
    return "\n".join([*head, "end_header", ""]).encode() + rows.tobytes()
