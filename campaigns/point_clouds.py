"""PCD files, ascii, binary and compressed: the numbers of a cloud that is read are those of its bytes."""

import random
from collections.abc import Hashable

import numpy as np

from campaigns.frame import Found, Inputs, WrongError
from campaigns.mutations import BYTES, LINES, changed
from fieldplay.io.pcd import cloud_from_pcd, header_from_pcd

POINTS = 20
LAYOUT = np.dtype([("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("ring", "<u2"), ("t", "<f8")])
HEAD = (
    "# .PCD v0.7\nVERSION 0.7\nFIELDS x y z _ ring t\nSIZE 4 4 4 1 2 8\nTYPE F F F U U F\nCOUNT 1 1 1 2 1 1\n"
    f"WIDTH {POINTS}\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS {POINTS}\nDATA "
)
STORED = np.dtype([("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("_", "u1", 2), ("ring", "<u2"), ("t", "<f8")])


def _points() -> np.ndarray:
    points = np.zeros(POINTS, STORED)
    row = np.arange(POINTS)
    points["x"], points["y"], points["z"] = row * 0.5, -row * 0.25, row + 100
    points["ring"], points["t"] = row % 4, row / 8
    return points


def _unpacked(data: bytes, size: int) -> bytes:
    """What an LZF stream stands for, byte by byte."""
    out, position = bytearray(), 0
    while position < len(data) and len(out) <= size:
        control = data[position]
        position += 1
        if control < 32:
            out += data[position : position + control + 1]
            position += control + 1
            continue
        length = control >> 5
        if length == 7:
            length += data[position]
            position += 1
        back = ((control & 31) << 8) + data[position] + 1
        position += 1
        for _ in range(length + 2):
            out.append(out[-back])
    return bytes(out)


def _packed(data: bytes) -> bytes:
    """An LZF stream of runs as they are, and of repeated bytes as references to the byte before."""
    out = bytearray()
    for start in range(0, len(data), 32):
        piece = data[start : start + 32]
        if len(piece) > 4 and piece[2:] == piece[1:2] * (len(piece) - 2):
            out += bytes([1]) + piece[:2]
            rest = len(piece) - 2
            out += bytes([7 << 5, rest - 9, 0]) if rest > 8 else bytes([(rest - 2) << 5, 0])
        else:
            out += bytes([len(piece) - 1]) + piece
    return bytes(out)


class PointClouds(Inputs):
    """See above."""

    suffix = "pcd"

    def __init__(self) -> None:
        points = _points()
        texts = [" ".join(f"{float(one[name].ravel()[0]):g}" for name in ("x", "y", "z")) for one in points]
        lines = [f"{text} 0 0 {one['ring']} {one['t']:g}\n" for text, one in zip(texts, points, strict=True)]
        remaining = b"".join(points[name].tobytes() for name in LAYOUT.names or ())
        packed = _packed(remaining)
        sizes = np.array([len(packed), len(remaining)], "<u4").tobytes()
        self._heads = {kind: f"{HEAD}{kind}\n".encode() for kind in ("ascii", "binary", "binary_compressed")}
        bodies = ("".join(lines).encode(), points.tobytes(), sizes + packed)
        self._files = [head + body for head, body in zip(self._heads.values(), bodies, strict=True)]

    def mutated(self, draw: random.Random) -> bytes:
        data = draw.choice(self._files)
        return changed(draw, data, LINES if draw.random() < 0.5 else BYTES)

    def look(self, data: bytes) -> Found:
        cloud = cloud_from_pcd(data)
        header = header_from_pcd(data)
        if len(cloud) != header.points:
            raise WrongError(f"other points than the header says: {len(cloud)}, {header.points}")
        kind = next((kind for kind, head in self._heads.items() if data.startswith(head)), "")
        if kind:
            self._compare(data[len(self._heads[kind]) :], kind, cloud)
        what: Hashable = (cloud.dtype.str, [cloud[name].tobytes() for name in cloud.dtype.names or ()].__repr__())
        return Found("read", what)

    def _compare(self, body: bytes, kind: str, cloud: np.ndarray) -> None:
        """Under a header that nothing touched."""
        if kind == "ascii":
            lines = [line.split() for line in body.decode("ascii", "replace").split("\n") if line.strip()]
            table = np.array([[float(line[position]) for position in (0, 1, 2, 5, 6)] for line in lines])
            with np.errstate(over="ignore"):
                columns = [table[:, position].astype(LAYOUT[name]) for position, name in enumerate(LAYOUT.names or ())]
        elif kind == "binary":
            rows = np.frombuffer(body, STORED, POINTS)
            columns = [rows[name] for name in LAYOUT.names or ()]
        else:
            compressed, size = np.frombuffer(body, "<u4", 2).tolist()
            raw, start, columns = _unpacked(body[8 : 8 + compressed], size), 0, []
            stored = STORED if size == POINTS * STORED.itemsize else LAYOUT
            for name in stored.names or ():
                part = raw[start : start + POINTS * stored[name].itemsize]
                start += len(part)
                columns += [np.frombuffer(part, LAYOUT[name])] if name != "_" else []
        for name, column in zip(LAYOUT.names or (), columns, strict=True):
            if not np.array_equal(cloud[name], column, equal_nan=True):
                raise WrongError(f"numbers are not those of the file: {kind}, {name}: {cloud[name]}, {column}")
