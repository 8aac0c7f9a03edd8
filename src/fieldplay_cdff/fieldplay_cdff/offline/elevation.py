"""Heights of the ground by the cloud of a pipeline, as a GeoTIFF, and how far they are from true ones."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import tifffile

from fieldplay.core.errors import ArchiveError, UsageError
from fieldplay.geometry.extrinsics import Edge
from fieldplay.geometry.transforms import inverse_from_transform
from fieldplay.io.geotiff import Raster, open_raster
from fieldplay.recording.recording import Recording
from fieldplay.trajectories.trajectory import poses_between, trajectory_from_rows
from fieldplay_cdff.io.sources import PortReader
from fieldplay_cdff.steps.grids import ElevationMap
from fieldplay_cdff.steps.values import Array, Cloud, ElevationGrid

PIXEL_SCALE, TIE_POINT, KEYS, NODATA = 33550, 33922, 34735, 42113
DOUBLE, SHORT, TEXT = 12, 3, 2
USER_DEFINED, PIXEL_IS_AREA = 32767, 1
MODEL_TYPE, RASTER_TYPE = 1024, 1025
BANDS = ("mean", "highest", "lowest", "deviation", "count")
OFTEN = 5  # points in a cell, from which on its height is compared
LONGEST_GAP_NS = 1e9  # of odometry, within which a pose between two is known
MAX_PIXELS = 100_000_000  # of true heights that are read


@dataclass(frozen=True, kw_only=True)
class HeightOptions:
    """Options of the elevation output: cell size, the poses of the clouds in its frame, that frame's origin."""

    cell_m: float
    by: str = ""  # a topic; without one it is the root of the static tree
    origin: Sequence[float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class HeightError:
    """Heights against true ones in the cells with at least `minimum` points; `offset_m` is the median difference.

    The others are statistics of the absolute difference, `about_offset_m` of the deviation from the median.
    """

    seen: int
    seen_often: float  # the fraction of them with so many points
    least: int
    compared: int
    offset_m: float
    median_m: float
    about_offset_m: float
    p95_m: float

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    def __str__(self) -> str:
        cm = {name: f"{100 * getattr(self, f'{name}_m'):.1f} cm" for name in ("median", "p95", "about_offset")}
        return (
            f"difference of {self.compared} cells: median {cm['median']}, p95 {cm['p95']}; the middle one is "
            f"{100 * self.offset_m:+.1f} cm, about which the median is {cm['about_offset']}; {self.seen} cells were "
            f"seen, {100 * self.seen_often:.0f} % of them by {self.least} points and more, which are compared"
        )


def root_t_frame(edges: Sequence[Edge], frame: str) -> tuple[str, Array]:
    """The root of the static tree above a frame, and where the frame is in it; ArchiveError where it is in none."""
    root, transform = _transform_to_root(edges, frame)
    if root == frame:
        raise ArchiveError(f"--dem: nothing in the static tree is above '{frame}', so the vertical is not known")
    return root, transform


def frame_t_root(edges: Sequence[Edge], frame: str) -> Array:
    """Return the pose of the static tree's root in a frame."""
    return inverse_from_transform(_transform_to_root(edges, frame)[1])


def _transform_to_root(edges: Sequence[Edge], frame: str) -> tuple[str, Array]:
    above: Mapping[str, Edge] = {edge.child: edge for edge in edges}
    transform, name = np.eye(4), frame
    while name in above:
        transform, name = above[name].parent_t_child @ transform, above[name].parent
    return name, transform


def frame_t_camera(
    data: Recording, topic: str, camera: str, at_ns: int, edges: Sequence[Edge] = (), *, option: str = "--dem-by"
) -> tuple[str, Array]:
    """The frame of an odometry, and where the camera is in it at a time.

    Raises:
        ArchiveError: that is not known; the message names the option that asks for it.
    """
    info = data.topic(topic)
    rows = data.records(info.name)
    if "orientation_xyzw" not in rows or "position_m" not in rows:
        raise UsageError(f"{option}: expected a topic of poses, got {info.name}, which is {info.type}")
    known = trajectory_from_rows(rows["stamp_ns"], rows["position_m"], rows["orientation_xyzw"])
    poses, is_there = poses_between(known, np.array([at_ns]), longest_gap_ns=LONGEST_GAP_NS)
    if not is_there[0]:
        raise ArchiveError(f"{option}: {info.name} has no pose at {at_ns / 1e9:.3f} s, the time of the scene")
    own, root_t_child = _transform_to_root(edges or data.tf_static, info.child_frame)
    root, root_t_camera = _transform_to_root(edges or data.tf_static, camera)
    if own != root:
        raise ArchiveError(f"{option}: no static tree has both {info.child_frame} of {info.name} and {camera}")
    return info.frame, poses[0] @ inverse_from_transform(root_t_child) @ root_t_camera


def elevation_in_frame(
    data: Recording, cloud: Cloud, reader: PortReader, at_ns: int, options: HeightOptions
) -> tuple[ElevationGrid, str]:
    """Return heights of a cloud in the frame that a camera had at a time, and the description of that frame."""
    edges = [*data.tf_static, *reader.edges]
    if options.by:
        frame, placed = frame_t_camera(data, options.by, reader.camera_frame, at_ns, edges)
    else:
        root, placed = root_t_frame(edges, reader.camera_frame)
        frame = f"{root} at {at_ns / 1e9:.3f} s"
    return elevation_of(cloud, placed, options.cell_m), frame


def elevation_of(cloud: Cloud, up_t_scene: Array, cell_m: float) -> ElevationGrid:
    """Heights of a cloud in the scene, in a frame whose z is up."""
    step = ElevationMap({"GeneralParameters": {"Resolution": cell_m}})
    grid: ElevationGrid | None = step.process(pointCloud=cloud, pose=up_t_scene).get("map")
    if grid is None:
        raise ArchiveError("--dem: the cloud is empty")
    return grid


def shift_grid(grid: ElevationGrid, origin: Sequence[float]) -> ElevationGrid:
    """Return the grid with its frame's origin moved by east, north and up."""
    layers = {name: getattr(grid, name) + origin[2] for name in ("mean", "lowest", "highest")}
    return replace(grid, x_m=grid.x_m + origin[0], y_m=grid.y_m + origin[1], **layers)


def height_error(grid: ElevationGrid, truth: Path, minimum: int = OFTEN) -> HeightError:
    """The grid against the true heights of a GeoTIFF of the same frame; ArchiveError where they do not meet."""
    rows, columns = np.nonzero(grid.count >= minimum)
    seen = int((grid.count > 0).sum())
    x = np.asarray(grid.x_m + (columns + 0.5) * grid.resolution_m, np.float64)
    y = np.asarray(grid.y_m + (rows + 0.5) * grid.resolution_m, np.float64)
    try:
        with truth.open("rb") as file, open_raster(file) as raster:
            true = _heights_at(raster, x, y)
    except ArchiveError as error:
        raise ArchiveError(f"{truth}: {error}") from None
    off = (grid.mean[rows, columns] - true)[np.isfinite(true)]
    if not len(off):
        raise ArchiveError(f"{truth}: it has no height below the {len(rows)} cells with {minimum} points and more")
    middle = float(np.median(off))
    return HeightError(
        seen=seen, seen_often=len(rows) / seen, least=minimum, compared=len(off),
        offset_m=middle, median_m=float(np.median(np.abs(off))), p95_m=float(np.percentile(np.abs(off), 95)),
        about_offset_m=float(np.median(np.abs(off - middle))),
    )  # fmt: skip


def _heights_at(raster: Raster, x: Array, y: Array) -> Array:
    """Heights (n,) at positions between pixel centres; NaN where one of the neighbours has none."""
    if not len(x):
        return np.zeros(0)
    turned = np.linalg.inv(raster.grid_from_pixel[:, :2])
    column, row = turned @ (np.stack([x, y]) - raster.grid_from_pixel[:, 2:]) - 0.5
    low, high = (np.array([edge(row), edge(column)]) for edge in (np.min, np.max))
    first = np.maximum(np.floor(low), 0).astype(np.intp)
    last = np.minimum(np.floor(high) + 1, [raster.rows - 1, raster.columns - 1]).astype(np.intp)
    if (last < first).any():
        corners = raster.grid_from_pixel @ np.array([[0, raster.columns], [0, raster.rows], [1, 1]])
        there, here = (
            f"x {a.min():.1f} to {a.max():.1f} m and y {b.min():.1f} to {b.max():.1f} m" for a, b in (corners, (x, y))
        )
        raise ArchiveError(f"it has {there}, the heights {here}: --dem-origin gives the position of their origin in it")
    if np.prod(last - first + 1) > MAX_PIXELS:
        raise ArchiveError(f"expected {MAX_PIXELS} of its pixels at most below the heights, got more")
    heights = raster.heights(np.arange(first[0], last[0] + 1), np.arange(first[1], last[1] + 1))
    left, top = np.floor(column).astype(np.intp), np.floor(row).astype(np.intp)
    result = np.zeros(len(x))
    for down in (0, 1):
        for aside in (0, 1):
            fraction = np.abs(1 - down - (row - top)) * np.abs(1 - aside - (column - left))
            result += np.where(
                fraction > 0, fraction * _values_at(heights, top + down - first[0], left + aside - first[1]), 0.0
            )
    return result


def _values_at(heights: Array, rows: Any, columns: Any) -> Array:
    """Heights (n,) at rows and columns; NaN beyond the edges."""
    inside = (rows >= 0) & (rows < heights.shape[0]) & (columns >= 0) & (columns < heights.shape[1])
    values = np.full(len(rows), np.nan)
    values[inside] = heights[rows[inside], columns[inside]]
    return values


def geotiff_bytes(grid: ElevationGrid, bands: Sequence[str] = BANDS) -> bytes:
    """A GeoTIFF in metres of a frame of the robot, its highest y in the first row; cells without a point are NaN."""
    layers = [getattr(grid, band).astype(np.float32)[::-1] for band in bands]
    top = grid.y_m + layers[0].shape[0] * grid.resolution_m
    keys = [1, 1, 0, 2, MODEL_TYPE, 0, 1, USER_DEFINED, RASTER_TYPE, 0, 1, PIXEL_IS_AREA]
    tags = [
        (PIXEL_SCALE, DOUBLE, 3, (grid.resolution_m, grid.resolution_m, 0.0), True),
        (TIE_POINT, DOUBLE, 6, (0.0, 0.0, 0.0, grid.x_m, top, 0.0), True),
        (KEYS, SHORT, len(keys), tuple(keys), True),
        (NODATA, TEXT, 4, "nan", True),
    ]
    out = io.BytesIO()
    planes = "separate" if len(layers) > 1 else None
    tifffile.imwrite(
        out, np.stack(layers), photometric="minisblack", planarconfig=planes, compression="zlib", extratags=tags,
        metadata=None, description=", ".join(bands),
    )  # fmt: skip
    return out.getvalue()
