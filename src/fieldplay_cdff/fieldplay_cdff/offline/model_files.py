"""Models as files: a cloud (PLY), or a mesh (Wavefront OBJ) on whose faces points are taken."""

import re
from pathlib import Path

import numpy as np

from fieldplay.core.errors import UsageError
from fieldplay.geometry.transforms import Array
from fieldplay_cdff.steps.cad_model import LARGEST_M, Body, read_body
from fieldplay_cdff.steps.values import Cloud

SUFFIXES = (".ply", ".obj")
POINTS = 6000  # that are taken of a mesh
HEAD_BYTES = 1 << 16
KINDS = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "float": "f4",
    "double": "f8", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4",
    "float32": "f4", "float64": "f8",
}  # fmt: skip
FORMATS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}


def is_model_file(word: str) -> bool:
    """Whether the source of an input is a file, and no topic."""
    return word.lower().endswith(SUFFIXES)


def cloud_of_model(path: Path) -> Cloud:
    """Read the points of a model in m; UsageError names the issue of its file."""
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    points = _points_of_ply(path) if path.suffix.lower() == ".ply" else points_on_faces(read_body(path))
    good = np.isfinite(points).all(axis=1)
    if not good.any():
        raise UsageError(f"{path}: expected a model, got none of {len(points)} points that has numbers")
    points = points[good]
    size_m = float(np.linalg.norm(np.ptp(points, axis=0)))
    if size_m > LARGEST_M:
        raise UsageError(
            f"{path}: expected a model of {LARGEST_M:g} m at most, got {size_m:g} m: is it in millimetres?"
        )
    return Cloud(points=points)


def points_on_faces(body: Body, count: int = POINTS) -> Array:
    """Points (n, 3) that lie on the faces of a body, as many on each as it is large."""
    random = np.random.default_rng(0)
    a, b, c = np.moveaxis(body.corners[body.triangles], 1, 0)
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    which = np.searchsorted(np.cumsum(areas), random.uniform(0, areas.sum(), count))
    u, v = random.uniform(0, 1, (2, count, 1))
    u, v = np.where(u + v > 1, 1 - u, u), np.where(u + v > 1, 1 - v, v)
    points: Array = a[which] + u * (b - a)[which] + v * (c - a)[which]
    return points


def _points_of_ply(path: Path) -> Array:
    data = path.read_bytes()
    head, end, body = data.partition(b"end_header")
    lines = [line.split() for line in head[:HEAD_BYTES].decode("ascii", "replace").splitlines() if line.strip()]
    if not end or lines[0] != ["ply"] or len(lines) < 3 or lines[1][0] != "format" or lines[1][1] not in FORMATS:
        raise UsageError(f"{path}: expected a PLY file with its head, got {data[:12]!r}")
    body = re.sub(rb"^\r?\n", b"", body)
    kind, count = _rows_of_ply(path, lines)
    order = FORMATS[lines[1][1]]
    if not order:
        return _ascii_points(path, body, kind, count)
    rows_of = np.dtype([(name, order + code) for name, code in kind])
    if len(body) < count * rows_of.itemsize:
        raise UsageError(f"{path}: expected {count} points of {rows_of.itemsize} bytes, got {len(body)} bytes")
    rows = np.frombuffer(body, rows_of, count)
    return np.stack([rows[axis].astype(float) for axis in "xyz"], axis=-1)


def _rows_of_ply(path: Path, lines: list[list[str]]) -> tuple[list[tuple[str, str]], int]:
    """Names and types of a point's numbers, and how many points there are; they come first."""
    elements = [index for index, line in enumerate(lines) if line[0] == "element"]
    first = lines[elements[0]] if elements else []
    if len(first) != 3 or first[1] != "vertex" or not first[2].isdigit():
        raise UsageError(f"{path}: expected points (element vertex) first, got {' '.join(first) or 'none'}")
    end = elements[1] if len(elements) > 1 else len(lines)
    own = [line for line in lines[elements[0] : end] if line[0] == "property"]
    if any(len(line) != 3 or line[1] not in KINDS for line in own) or not set("xyz") <= {line[-1] for line in own}:
        raise UsageError(f"{path}: expected numbers x, y, z of each point, got {[' '.join(line[1:]) for line in own]}")
    return [(line[2], KINDS[line[1]]) for line in own], int(first[2])


def _ascii_points(path: Path, body: bytes, kind: list[tuple[str, str]], count: int) -> Array:
    rows = [line.split() for line in body.splitlines()[:count]]
    names = [name for name, _ in kind]
    if len(rows) < count or any(len(row) < len(names) for row in rows):
        raise UsageError(f"{path}: expected {count} points of {len(names)} numbers, got {len(rows)} lines")
    try:
        columns = np.array([[row[names.index(axis)] for axis in "xyz"] for row in rows], float)
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    return columns.reshape(-1, 3)
