"""Heights of the ground by the cloud of a pipeline, as a GeoTIFF: mean, highest, lowest, deviation, count."""

import io
from collections.abc import Mapping, Sequence

import numpy as np
import tifffile

from fieldplay_fusion.dfn.grids import ElevationMap
from fieldplay_fusion.dfn.values import Array, Cloud, ElevationGrid
from fieldplay_kinematics.extrinsics import Edge
from fieldplay_messages.errors import ArchiveError

PIXEL_SCALE, TIE_POINT, KEYS, NODATA = 33550, 33922, 34735, 42113
DOUBLE, SHORT, TEXT = 12, 3, 2
USER_DEFINED, PIXEL_IS_AREA = 32767, 1
MODEL_TYPE, RASTER_TYPE = 1024, 1025
BANDS = ("mean", "highest", "lowest", "deviation", "count")


def root_t_frame(edges: Sequence[Edge], frame: str) -> tuple[str, Array]:
    """The root of the static tree above a frame, and where the frame is in it; ArchiveError where it is in none."""
    above: Mapping[str, Edge] = {edge.child: edge for edge in edges}
    if frame not in above:
        raise ArchiveError(f"--dem: nothing in the static tree is above '{frame}', so it is not known which way is up")
    found, name = np.eye(4), frame
    while name in above:
        found, name = above[name].parent_t_child @ found, above[name].parent
    return name, found


def elevation_of(cloud: Cloud, up_t_scene: Array, cell_m: float) -> ElevationGrid:
    """Heights of a cloud in the scene, in a frame whose z is up."""
    step = ElevationMap({"GeneralParameters": {"Resolution": cell_m}})
    found: ElevationGrid | None = step.process(pointCloud=cloud, pose=up_t_scene).get("map")
    if found is None:
        raise ArchiveError("--dem: the cloud is empty")
    return found


def geotiff_bytes(grid: ElevationGrid) -> bytes:
    """A GeoTIFF in metres of a frame of the robot, its highest y in the first row; cells without a point are NaN."""
    layers = [getattr(grid, band).astype(np.float32)[::-1] for band in BANDS]
    top = grid.y_m + layers[0].shape[0] * grid.resolution_m
    keys = [1, 1, 0, 2, MODEL_TYPE, 0, 1, USER_DEFINED, RASTER_TYPE, 0, 1, PIXEL_IS_AREA]
    tags = [
        (PIXEL_SCALE, DOUBLE, 3, (grid.resolution_m, grid.resolution_m, 0.0), True),
        (TIE_POINT, DOUBLE, 6, (0.0, 0.0, 0.0, grid.x_m, top, 0.0), True),
        (KEYS, SHORT, len(keys), tuple(keys), True),
        (NODATA, TEXT, 4, "nan", True),
    ]
    out = io.BytesIO()
    tifffile.imwrite(
        out, np.stack(layers), photometric="minisblack", planarconfig="separate", compression="zlib", extratags=tags,
        metadata=None, description=", ".join(BANDS),
    )  # fmt: skip
    return out.getvalue()
