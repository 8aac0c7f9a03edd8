"""Models as files: clouds and meshes, and what is wrong with them."""

import struct
from pathlib import Path

import numpy as np
import pytest

from fieldplay.core.errors import UsageError
from fieldplay_cdff.offline.model_files import cloud_of_model
from fieldplay_cdff.offline.product_files import ply_bytes
from fieldplay_cdff.steps.values import Cloud

POINTS = np.random.default_rng(1).uniform(-0.5, 0.5, (50, 3))
HEAD = "ply\nformat {} 1.0\ncomment by hand\nelement vertex {}\n"
XYZ = "property float x\nproperty float y\nproperty float z\n"
END = "element face 0\nproperty list uchar int vertex_indices\nend_header\n"
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def ascii_ply(points: np.ndarray) -> str:
    rows = "\n".join(" ".join(map(repr, row)) for row in points.tolist())
    return HEAD.format("ascii", len(points)) + XYZ + END + rows


def write_model(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_cloud_is_read_in_every_encoding(tmp_path: Path) -> None:
    big = HEAD.format("binary_big_endian", 1) + "property uchar red\n" + XYZ.replace("float", "double") + END
    own = write_model(tmp_path / "own.ply", ply_bytes(Cloud(points=POINTS)))
    text = write_model(tmp_path / "text.PLY", ascii_ply(POINTS))
    other = write_model(tmp_path / "big.ply", big.encode() + struct.pack(">B3d", 7, 1.5, -2.0, 3.0))
    np.testing.assert_allclose(cloud_of_model(own).points, POINTS, atol=1e-7)
    np.testing.assert_allclose(cloud_of_model(text).points, POINTS, atol=1e-12)
    np.testing.assert_array_equal(cloud_of_model(other).points, [[1.5, -2.0, 3.0]])


def test_points_of_mesh_lie_on_its_faces_by_their_areas(tmp_path: Path) -> None:
    points = cloud_of_model(write_model(tmp_path / "body.obj", TETRAHEDRON)).points
    on_face = [np.abs(points[:, axis]) < 1e-9 for axis in range(3)]
    slope = np.abs(points.sum(axis=1) - 1) < 1e-9
    assert (np.any(on_face, axis=0) | slope).all()
    assert slope.mean() == pytest.approx(np.sqrt(3) / (3 + np.sqrt(3)), abs=0.03)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.ply", b"", "expected a PLY file with its head, got b''"),
        ("none.ply", HEAD.format("ascii", 0) + XYZ + END, "got none of 0 points"),
        ("nan.ply", ascii_ply(POINTS[:2] * np.nan), "got none of 2 points that has numbers"),
        ("cut.ply", ply_bytes(Cloud(points=POINTS))[:-5], "expected 50 points of 12 bytes, got 595 bytes"),
        ("short.ply", ascii_ply(POINTS).rpartition("\n")[0], "expected 50 points of 3 numbers, got 49 lines"),
        ("text.ply", ascii_ply(POINTS).replace("0.", "O.", 1), "could not convert string to float"),
        ("lines.ply", HEAD.format("ascii", 1) + END, "expected numbers x, y, z of each point, got"),
        ("large.ply", ascii_ply(POINTS * 1000), "expected a model of 100 m at most, got .* is it in millimetres"),
        ("open.obj", TETRAHEDRON.replace("f 2 3 4\n", ""), "expected a closed body, got one with 3 open edges"),
        ("large.obj", TETRAHEDRON.replace("1", "1000", 3), "is it in millimetres"),
        ("empty.obj", "", "expected a body of faces, got 0 corners and 0 faces"),
    ],
)
def test_invalid_model_is_reported_with_its_file(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    path = write_model(tmp_path / name, content)
    with pytest.raises(UsageError, match=f"{name}: .*{message}"):
        cloud_of_model(path)
    with pytest.raises(UsageError, match="there is no such file"):
        cloud_of_model(path.with_name("another.ply"))
