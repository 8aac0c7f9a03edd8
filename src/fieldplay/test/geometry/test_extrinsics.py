from dataclasses import dataclass

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fieldplay.geometry.extrinsics import edges_from_published, transform_from_published
from fieldplay.geometry.transforms import quaternion_from_rotation


@dataclass
class Row:
    parent: str
    child: str
    translation: tuple[float, float, float]
    rotation: tuple[float, ...]
    convention: str = "mm_deg_moving_xyz"


def test_each_convention_agrees_with_scipy() -> None:
    angles, quaternion = (10, -20, 30), (0.1, -0.2, 0.3, 2.0)
    stretched = tuple(1.001 * Rotation.from_euler("XYZ", angles, degrees=True).as_matrix().reshape(-1))
    expected = {
        "mm_deg_moving_xyz": ([0.001, 0.002, 0.003], Rotation.from_euler("XYZ", angles, degrees=True), angles),
        "m_deg_fixed_xyz": ([1, 2, 3], Rotation.from_euler("xyz", angles, degrees=True), angles),
        "m_quaternion_xyzw": ([1, 2, 3], Rotation.from_quat(quaternion), quaternion),
        "m_matrix": ([1, 2, 3], Rotation.from_euler("XYZ", angles, degrees=True), stretched),
    }
    for convention, (translation, rotation, numbers) in expected.items():
        transform = transform_from_published(Row("a", "b", (1, 2, 3), numbers, convention))
        np.testing.assert_allclose(transform[:3, 3], translation)
        np.testing.assert_allclose(transform[:3, :3], rotation.as_matrix(), atol=1e-12)


def test_edges_are_found_along_rows_in_either_direction() -> None:
    rows = [
        Row("origin", "base", (0, 0, 81), (180, 0, 0)),
        Row("origin", "lidar", (-549, 0, -1389), (180, 0, 180)),
        Row("hand", "camera", (1000, 0, 0), (0, 0, 0)),
    ]
    lidar, camera = edges_from_published(rows, {"base": ["lidar"], "hand": ["camera"]})
    assert (lidar.parent, lidar.child, camera.child) == ("base", "lidar", "camera")
    np.testing.assert_allclose(lidar.parent_t_child[:3, 3], [-0.549, 0, 1.470], atol=1e-12)
    np.testing.assert_allclose(quaternion_from_rotation(lidar.parent_t_child[:3, :3]), [0, 0, 1, 0], atol=1e-9)
    np.testing.assert_allclose(camera.parent_t_child[:3, 3], [1, 0, 0])


def test_unsupported_tree_and_unknown_convention_are_refused() -> None:
    rows = [Row("a", "b", (0, 0, 0), (0, 0, 0))]
    with pytest.raises(ValueError, match="no published rows lead from 'a' to 'c'"):
        edges_from_published(rows, {"a": ["c"]})
    with pytest.raises(ValueError, match=r"expected a convention of .*, got 'inch'"):
        transform_from_published(Row("a", "b", (0, 0, 0), (0, 0, 0), "inch"))


def test_frd_rows_become_flu_on_both_sides() -> None:
    row = Row("base", "sensor", (1, 2, 3), (10, -20, 30), "m_deg_fixed_xyz_frd")
    flip = np.diag([1, -1, -1])
    transform = transform_from_published(row)
    expected = flip @ Rotation.from_euler("xyz", (10, -20, 30), degrees=True).as_matrix() @ flip
    np.testing.assert_allclose(transform[:3, :3], expected, atol=1e-12)
    np.testing.assert_allclose(transform[:3, 3], [1, -2, -3])


def test_laser_in_camera_follows_its_report() -> None:
    angles, delta, azimuth = np.radians([5, -3, 2]), np.array([0.4, -0.3, 0.1]), np.radians(25)
    phi = Rotation.from_euler("XYZ", angles).as_matrix()
    point = 7 * np.array([np.sin(azimuth), 0, np.cos(azimuth)])  # right, down, ahead of the laser
    flu = np.array([point[2], -point[0], -point[1], 1])
    row = Row("camera", "laser", tuple(delta), tuple(np.degrees(angles)), "m_deg_laser_in_camera")
    np.testing.assert_allclose((transform_from_published(row) @ flu)[:3], phi.T @ point - delta, atol=1e-12)
    row.convention = "m_deg_turned_laser_in_camera"  # on its side: what is to its right is down
    turned = phi.T @ np.array([0, point[0], point[2]]) - delta
    np.testing.assert_allclose((transform_from_published(row) @ flu)[:3], turned, atol=1e-12)
