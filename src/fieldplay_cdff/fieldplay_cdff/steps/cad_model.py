"""Bodies with flat faces: read from a file, their edges, and the visible part of these in a camera."""

from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import UsageError
from fieldplay_cdff.steps.values import Array

LARGEST_M, SMALLEST_M = 100.0, 0.01  # of a body, if its file is in m
SAME_M = 1e-6  # corners that are so near are one
NEARER = 0.002  # by which fraction of the distance something must be nearer to hide a point
AT_ONCE = 2_000_000  # pairs of rays and triangles


class EdgePoints(NamedTuple):
    """Points (n, 3) on edges of a body, and the unit vectors (n, 3) along them."""

    points: Array
    along: Array


@dataclass(frozen=True, eq=False)
class Body:
    """Corners (n, 3) in m, and triangles (m, 3) of them, counter-clockwise seen from outside."""

    corners: Array
    triangles: NDArray[np.intp]

    @cached_property
    def size_m(self) -> float:
        """The diagonal of its box."""
        return float(np.linalg.norm(np.ptp(self.corners, axis=0)))

    @cached_property
    def normals(self) -> Array:
        """Unit vectors (m, 3) out of the triangles."""
        a, b, c = np.moveaxis(self.corners[self.triangles], 1, 0)
        across = np.cross(b - a, c - a)
        unit: Array = across / np.linalg.norm(across, axis=1, keepdims=True)
        return unit

    @cached_property
    def edges(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Each edge between two triangles once: its corners (k, 2), and the triangles (k, 2); -1 where one is not."""
        pairs = np.concatenate([self.triangles[:, [0, 1]], self.triangles[:, [1, 2]], self.triangles[:, [2, 0]]])
        owners = np.tile(np.arange(len(self.triangles)), 3)
        known, which, counts = np.unique(np.sort(pairs, axis=1), axis=0, return_inverse=True, return_counts=True)
        order = np.argsort(which.ravel(), kind="stable")
        starts = np.cumsum(counts) - counts
        first = owners[order[starts]]
        second = np.where(counts > 1, owners[order[np.minimum(starts + 1, len(order) - 1)]], -1)
        return known, np.stack([first, second], axis=1)

    def visible_edges(self, eye: Array, crease_rad: float) -> NDArray[np.intp]:
        """Edges (k, 2), by their corners, that may be visible from a position: creases, and the outline."""
        corners, sides = self.edges
        starts = self.corners[self.triangles[:, 0]]
        faces = np.einsum("ij,ij->i", self.normals, eye - starts) > 0
        first, second = faces[sides[:, 0]], faces[sides[:, 1]]
        is_open = sides[:, 1] < 0
        cosine = np.einsum("ij,ij->i", self.normals[sides[:, 0]], self.normals[sides[:, 1]])
        is_crease = cosine < np.cos(crease_rad)
        seen: NDArray[np.intp] = corners[is_open | (is_crease & (first | second)) | (~is_open & (first != second))]
        return seen

    def points_on_edges(self, edges: NDArray[np.intp], lengths: Array) -> EdgePoints:
        """Points on edges (k, 2), so many on each that their distances on `lengths` (k,) are about 1."""
        counts = np.maximum(1, np.rint(lengths)).astype(int)
        which = np.repeat(np.arange(len(edges)), counts)
        number = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        fraction = (number + 0.5) / counts[which]
        starts, stops = self.corners[edges[:, 0]], self.corners[edges[:, 1]]
        edge_vectors = stops - starts
        along = edge_vectors / np.maximum(np.linalg.norm(edge_vectors, axis=1, keepdims=True), SAME_M)
        return EdgePoints(starts[which] + fraction[:, None] * edge_vectors[which], along[which])

    def is_hidden(self, points: Array, eye: Array) -> NDArray[np.bool_]:
        """Whether a triangle hides points (n, 3) from a position."""
        is_hidden = np.zeros(len(points), bool)
        step = max(1, AT_ONCE // max(1, len(self.triangles)))
        for start in range(0, len(points), step):
            is_hidden[start : start + step] = self._is_hidden(points[start : start + step], eye)
        return is_hidden

    def _is_hidden(self, points: Array, eye: Array) -> NDArray[np.bool_]:
        a, b, c = np.moveaxis(self.corners[self.triangles], 1, 0)
        rays = points - eye
        one, two, back = b - a, c - a, eye - a
        across = np.cross(one, two)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = -1.0 / (rays @ across.T)  # (points, triangles)
            distance = scale * np.einsum("ij,ij->i", back, across)
            sides = np.cross(back, rays[:, None])
            u = scale * np.einsum("nmj,mj->nm", sides, two)
            v = -scale * np.einsum("nmj,mj->nm", sides, one)
            meets = (u >= 0) & (v >= 0) & (u + v <= 1) & (distance > 0) & (distance < 1 - NEARER)
        return np.asarray(meets.any(axis=1))


def read_body(path: Path, *, scale: float = 1.0, may_be_open: bool = False) -> Body:
    """Read the body of a Wavefront OBJ file; UsageError names its issue."""
    corners, faces = _rows_of_obj(path)
    if not faces or len(corners) < 3:
        raise UsageError(f"{path}: expected a body of faces, got {len(corners)} corners and {len(faces)} faces")
    triangles = np.array([(face[0], *pair) for face in faces for pair in pairwise(face[1:])])
    lowest, highest = int(triangles.min()), int(triangles.max())
    if lowest < 0 or highest >= len(corners):
        worst = lowest if lowest < 0 else highest
        raise UsageError(f"{path}: a face has the corner {worst + 1}, there are {len(corners)}")
    body = _join_corners(np.array(corners, float) * scale, triangles)
    if not SMALLEST_M <= body.size_m <= LARGEST_M:
        raise UsageError(
            f"{path}: expected a body of {SMALLEST_M:g} to {LARGEST_M:g} m, got one of {body.size_m:g} m: "
            "is it in millimetres? Model.Scale 0.001 makes metres of them"
        )
    open_edges = int((body.edges[1][:, 1] < 0).sum())
    if open_edges and not may_be_open:
        message = "expected a closed body, got one with"
        raise UsageError(f"{path}: {message} {open_edges} open edges: Model.MayBeOpen true takes it as it is")
    return body


def _join_corners(corners: Array, triangles: NDArray[np.intp]) -> Body:
    """Merge equal corners, drop triangles without area, and orient the faces outwards."""
    unique, which = np.unique(np.rint(corners / SAME_M).astype(np.int64), axis=0, return_inverse=True)
    corners, triangles = np.asarray(unique * SAME_M, np.float64), which.ravel()[triangles]
    a, b, c = np.moveaxis(corners[triangles], 1, 0)
    has_area = np.linalg.norm(np.cross(b - a, c - a), axis=1) > SAME_M**2
    triangles = triangles[has_area]
    volume = np.einsum("ij,ij->", a, np.cross(b, c))
    return Body(corners, triangles[:, ::-1] if volume < 0 else triangles)


def _rows_of_obj(path: Path) -> tuple[list[list[float]], list[list[int]]]:
    """Corners, and the corners of each face counted from 0."""
    corners: list[list[float]] = []
    faces: list[list[int]] = []
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    for number, line in enumerate(lines, start=1):
        kind, *fields = line.split() or [""]
        try:
            if kind == "v":
                corners.append([float(word) for word in fields[:3]])
            elif kind == "f":
                indices = [int(word.partition("/")[0]) for word in fields]
                faces.append([index - 1 if index > 0 else len(corners) + index for index in indices])
        except ValueError:
            raise UsageError(f"{path}:{number}: expected numbers, got '{line.strip()[:60]}'") from None
    if not all(len(corner) == 3 for corner in corners) or not np.isfinite(list(chain(*corners))).all():
        raise UsageError(f"{path}: expected three numbers of each corner")
    if any(len(face) < 3 for face in faces):
        raise UsageError(f"{path}: expected three corners of each face or more")
    return corners, faces
