"""Neighbourhoods in point clouds: neighbours, cells, surfaces."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import cKDTree

from fieldplay_cdff.steps.values import Array, Cloud

AT_ONCE = 20_000  # points whose neighbours are held at a time
MAX_PAIRS = 50_000_000
MIN_POINTS = 3  # that make a surface
NEAR = 1 + 1e-12  # a tree takes what is nearer than a bound, a radius what is as far too

UPPER = np.triu_indices(3)
SYMMETRIC = np.array([0, 1, 2, 1, 3, 4, 2, 4, 5])  # indices of the upper half of a matrix

Indices = NDArray[np.intp]


class Edges(NamedTuple):
    """Pairs of a point (its index among the query points) and a neighbour, in this order, and their distances in m."""

    of: Indices
    to: Indices
    distances: Array


class Cells(NamedTuple):
    """Points by the cell they are in, cells in lexicographic order: indices, and the start of each cell among them."""

    order: Indices
    starts: Indices
    counts: Indices


def finite(cloud: Cloud, name: str, minimum: int = 1) -> Cloud:
    """The points that are numbers; ValueError where these are too few."""
    is_number: NDArray[np.bool_] = np.asarray(np.isfinite(cloud.points).all(axis=1))
    if np.count_nonzero(is_number) < minimum:
        raise ValueError(
            f"{name}: expected {minimum} or more points, got {np.count_nonzero(is_number)} of {len(cloud)} with numbers"
        )
    return cloud if is_number.all() else cloud.subset(is_number)


def concatenate_clouds(clouds: Sequence[Cloud]) -> Cloud:
    """Concatenate clouds; only attributes that all of them have are kept."""
    names = [
        name for name in ("normals", "intensity", "colors") if all(getattr(cloud, name) is not None for cloud in clouds)
    ]
    parts = {name: np.concatenate([getattr(cloud, name) for cloud in clouds]) for name in names}
    points = np.concatenate([cloud.points for cloud in clouds])
    return Cloud(points=points, stamp_ns=max(cloud.stamp_ns for cloud in clouds), **parts)


def cells_of(indices: NDArray[np.int64]) -> Cells:
    """Merge equal rows (n, k) of integers."""
    minimum = indices.min(axis=0)
    span = indices.max(axis=0) - minimum + 1
    if np.prod(span.astype(float)) >= 2**62:
        raise ValueError(f"expected points nearer to each other, got {' x '.join(map(str, span))} cells")
    keys = np.ravel_multi_index(tuple((indices - minimum).T), tuple(span))
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    return Cells(order, starts, np.diff(starts, append=len(keys)))


def voxel_means(cloud: Cloud, size: float) -> Cloud:
    """One point for each cell of edges of `size` m from the origin: the mean of all in it."""
    cells = cells_of(np.floor(cloud.points / size).astype(np.int64))

    def mean(values: NDArray[np.generic]) -> Array:
        counts = cells.counts.reshape(-1, *[1] * (values.ndim - 1))
        means: Array = np.add.reduceat(values[cells.order].astype(float), cells.starts) / counts
        return means

    normals = None if cloud.normals is None else mean(cloud.normals)
    return Cloud(
        points=mean(cloud.points),
        normals=None if normals is None else normals / np.maximum(np.linalg.norm(normals, axis=1), 1e-12)[:, None],
        intensity=None if cloud.intensity is None else mean(cloud.intensity).astype(np.float32),
        colors=None if cloud.colors is None else np.rint(mean(cloud.colors)).astype(np.uint8),
        stamp_ns=cloud.stamp_ns,
    )


def edges_within(tree: cKDTree, points: Array, radius: float) -> Edges:
    """All points of a tree within a radius of each of these points, itself too where it is one of them."""
    distances = cKDTree(points).sparse_distance_matrix(tree, radius * NEAR, output_type="ndarray")
    rows = sparse.coo_matrix((distances["v"], (distances["i"], distances["j"])), shape=(len(points), tree.n)).tocsr()
    rows.sort_indices()
    return Edges(np.repeat(np.arange(len(points)), np.diff(rows.indptr)), rows.indices.astype(np.intp), rows.data)


def starts_of(edges: Edges, count: int) -> Indices:
    """The start of the edges of each of `count` points, and the end."""
    starts: Indices = np.searchsorted(edges.of, np.arange(count + 1))
    return starts


def sums_of(values: Array, indices: Indices, starts: Indices) -> Array:
    """Sums (n, k) of the values (m, k) at these indices, from one start to the next (n + 1,)."""
    matrix = sparse.csr_matrix((np.ones(len(indices)), indices, starts), shape=(len(starts) - 1, len(values)))
    sums: Array = matrix @ values
    return sums


class Neighbourhood(NamedTuple):
    """Edges between points of a cloud within a radius of each other."""

    pairs: sparse.csr_matrix  # of each two one
    counts: Indices  # how many lie about each point, itself too

    def moments(self, values: Array) -> tuple[Array, Array]:
        """Means (n, 3) and covariances (n, 3, 3) of the values (n, 3) about each point."""
        center = values.mean(axis=0)
        own = values - center
        rows = np.hstack([own, own[:, UPPER[0]] * own[:, UPPER[1]]])
        rows = (self.pairs @ rows + self.pairs.T @ rows + rows) / self.counts[:, None]
        means = rows[:, :3]
        return means + center, rows[:, 3:][:, SYMMETRIC].reshape(-1, 3, 3) - means[:, :, None] * means[:, None]


def neighbourhood(tree: cKDTree, radius: float) -> Neighbourhood:
    """All points of a tree within a radius of each other; ValueError where these are too many to hold."""
    count = (tree.count_neighbors(tree, radius) - tree.n) // 2
    if count > MAX_PAIRS:
        raise ValueError(
            f"expected at most {MAX_PAIRS} pairs of points within {radius:g} m, got {count} of {tree.n} points:"
            " a smaller radius or fewer points would do"
        )
    one, other = tree.query_pairs(radius * NEAR, output_type="ndarray").T
    pairs = sparse.coo_matrix((np.ones(len(one)), (one, other)), shape=(tree.n, tree.n)).tocsr()
    counts = 1 + np.bincount(one, minlength=tree.n) + np.bincount(other, minlength=tree.n)
    return Neighbourhood(pairs, counts)


def surfaces_of(
    points: Array,
    *,
    nearest: int = 0,
    radius: float = 0.0,
    around: Neighbourhood | None = None,
    sensor: Array | None = None,
    threads: int = 1,
) -> tuple[Array, Array]:
    """Normals (n, 3) turned towards the sensor (3,), else the origin, and curvatures (n,), of points (n, 3).

    They follow from the points within the radius, or from the nearest ones; a point with fewer than 3 has NaN.
    """
    if around is not None or radius > 0:
        surfaces = around or neighbourhood(cKDTree(points), radius)
        enough, covariances = surfaces.counts >= MIN_POINTS, surfaces.moments(points)[1]
    else:
        count = min(nearest, len(points))
        enough, covariances = np.full(len(points), count >= MIN_POINTS), np.zeros((len(points), 3, 3))
        tree = cKDTree(points)
        for first in range(0, len(points), AT_ONCE):
            own = points[first : first + AT_ONCE]
            _, near = tree.query(own, np.arange(1, count + 1), workers=threads)
            offsets = points[near] - own[:, None]
            offsets -= offsets.mean(axis=1, keepdims=True)
            covariances[first : first + AT_ONCE] = np.swapaxes(offsets, 1, 2) @ offsets / count
    lengths, axes = np.linalg.eigh(covariances)
    normals = axes[:, :, 0]
    away = np.einsum("ni,ni->n", normals, (np.zeros(3) if sensor is None else sensor) - points) < 0
    normals = np.where(away[:, None], -normals, normals)
    normals[~enough] = np.nan
    whole = np.maximum(lengths.sum(axis=1), np.finfo(float).tiny)
    return normals, np.where(enough, np.maximum(lengths[:, 0], 0) / whole, np.nan)
