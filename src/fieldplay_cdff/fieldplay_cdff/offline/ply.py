"""A cloud that goes through ports as a PLY file."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.io.ply import ply_from_cloud
from fieldplay_cdff.steps.values import Cloud


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
    return ply_from_cloud(rows)
