"""Point clouds as binary PCD files: x y z intensity, 32 bits each."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HEADER = """# .PCD v0.7 - Point Cloud Data file format
VERSION 0.7
FIELDS x y z intensity
SIZE 4 4 4 4
TYPE F F F F
COUNT 1 1 1 1
WIDTH {count}
HEIGHT 1
VIEWPOINT 0 0 0 1 0 0 0
POINTS {count}
DATA binary
"""


def write_pcd(path: Path, points_m: NDArray[np.float32], intensity: NDArray[np.float32]) -> None:
    """Write points (n, 3) with intensities (n,), in their order."""
    rows = np.column_stack([points_m, intensity]).astype("<f4")
    path.write_bytes(HEADER.format(count=len(rows)).encode("ascii") + rows.tobytes())
