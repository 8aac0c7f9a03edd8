"""Steps that sort points into cells: heights of the ground, occupied cubes."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.transforms import transform_points
from fieldplay_cdff.steps.neighbours import cells_of
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import (
    NO_TIME,
    Array,
    Cloud,
    ElevationGrid,
    Frame,
    Octree,
)

FARTHEST_M = 1e4  # points further away are ignored
BYTE_ENCODINGS = ("mono8", "8UC1")
MM = 1e-3


class CellHeights(NamedTuple):
    """Row and column of cells (n, 2), and the heights in each: count, mean, sum of squares, minimum, maximum."""

    cells: NDArray[np.int64]
    counts: Array
    mean: Array
    squares: Array
    least: Array
    most: Array


def merge_cells(parts: CellHeights) -> CellHeights:
    """Merge rows of equal cells, in the order of rows and columns."""
    if not len(parts.cells):
        return parts
    cells = cells_of(parts.cells)

    def sums(values: Array) -> Array:
        sums: Array = np.add.reduceat(values[cells.order], cells.starts)
        return sums

    count = sums(parts.counts)
    mean = sums(parts.counts * parts.mean) / count
    of_cell = np.empty(len(parts.cells), np.intp)
    of_cell[cells.order] = np.repeat(np.arange(len(count)), cells.counts)
    return CellHeights(
        parts.cells[cells.order[cells.starts]],
        count,
        mean,
        sums(parts.squares + parts.counts * (parts.mean - mean[of_cell]) ** 2),
        np.minimum.reduceat(parts.least[cells.order], cells.starts),
        np.maximum.reduceat(parts.most[cells.order], cells.starts),
    )


@implements("ElevationMapping")
class ElevationMap(Step):
    """Heights of all clouds so far in square cells of the frame that poses lead to, whose z is up."""

    keeps_state = True
    optional = ("pose",)

    def configure(self) -> None:
        self.reset()

    def reset(self) -> None:
        none = np.zeros(0)
        self._known = CellHeights(np.zeros((0, 2), np.int64), none, none, none, none, none)
        self._clouds = 0

    def process(self, *, pointCloud: Cloud, pose: Array | None = None) -> Ports:
        if pose is not None and not np.isfinite(pose).all():
            raise ValueError("pose: expected numbers, got NaN")
        points = pointCloud.points if pose is None else transform_points(pose, pointCloud.points)
        inside = (np.abs(points) < FARTHEST_M).all(axis=1)  # which NaN is not
        points, z = points[inside], points[inside, 2]
        counts = np.ones(len(z)) if pointCloud.counts is None else pointCloud.counts[inside]
        origin = np.array([self.general["OriginX"], self.general["OriginY"]])
        cells = np.floor((points[:, :2] - origin) / self.general["Resolution"]).astype(np.int64)[:, ::-1]
        new = merge_cells(CellHeights(cells, counts, z, 0 * z, z, z))
        both = CellHeights(*(np.concatenate(pair) for pair in zip(self._known, new, strict=True)))
        whole = merge_cells(both)
        if len(whole.cells):
            self._check(whole.cells)
        self._known = whole
        self._clouds += 1
        if (self._clouds - 1) % self.general["OutputEvery"] or not len(whole.cells):
            return {}
        return {"map": self.grid(pointCloud.stamp_ns)}

    def _check(self, cells: NDArray[np.int64]) -> None:
        rows, columns = np.ptp(cells, axis=0) + 1
        if rows * columns > self.general["MaximumCells"]:
            raise ValueError(
                f"pointCloud: expected points within {self.general['MaximumCells']} cells with all before, got {rows} x"
                f" {columns}"
            )

    def grid(self, stamp_ns: int = NO_TIME) -> ElevationGrid:
        """All heights so far; row 0 and column 0 hold the lowest y and x."""
        known, size = self._known, self.general["Resolution"]
        first = known.cells.min(axis=0)
        rows, columns = (known.cells - first).T
        shape = (int(rows.max()) + 1, int(columns.max()) + 1)

        def layer(values: Array) -> Array:
            cells = np.full(shape, np.nan)
            cells[rows, columns] = values
            return cells

        count = np.zeros(shape, np.int64)
        count[rows, columns] = known.counts
        return ElevationGrid(
            x_m=self.general["OriginX"] + float(first[1]) * size,
            y_m=self.general["OriginY"] + float(first[0]) * size,
            resolution_m=size,
            mean=layer(known.mean),
            deviation=layer(np.sqrt(known.squares / known.counts)),
            lowest=layer(known.least),
            highest=layer(known.most),
            count=count,
            stamp_ns=stamp_ns,
        )


def depths_of(depth: Frame, nearest_m: float, farthest_m: float) -> Array:
    """Return the depths (h, w) in m of an image in m (32FC1), in mm (16UC1), or in bytes from nearest to farthest."""
    values = np.asarray(depth.image, float)
    if depth.encoding in BYTE_ENCODINGS:
        return nearest_m + values / 255 * (farthest_m - nearest_m)
    if depth.encoding == "16UC1":
        return np.where(values > 0, values * MM, np.nan)
    if depth.encoding == "32FC1":
        return values
    raise ValueError(f"depth: expected 32FC1, 16UC1 or {BYTE_ENCODINGS[0]}, got {depth.encoding}")


@implements("Voxelization", name="Octree")
class OctreeOfDepth(Step):
    """The voxels that hold points of a depth image of a camera without distortion."""

    def process(self, *, depth: Frame) -> Ports:
        general = self.general
        if depth.camera is None:
            raise ValueError("depth: expected an image of a known camera, got one without")
        z = depths_of(depth, general["MinDistance"], general["MaxDistance"])
        v, u = np.nonzero((z >= general["MinDistance"]) & (z <= general["MaxDistance"]))
        z = z[v, u]
        matrix, size = depth.camera.matrix, general["Resolution"]
        points = np.stack([(u - matrix[0, 2]) * z / matrix[0, 0], (v - matrix[1, 2]) * z / matrix[1, 1], z], axis=1)
        indices = np.floor(points / size).astype(np.int64)
        if len(indices):
            cells = cells_of(indices)
            indices = indices[cells.order[cells.starts]]
        return {"octree": Octree(resolution_m=size, centres=(indices + 0.5) * size)}
