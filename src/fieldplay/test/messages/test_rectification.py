import numpy as np
import pytest

from fieldplay.core.errors import ArchiveError
from fieldplay.geometry.camera_model import CameraModel
from fieldplay.messages.rectification import rectify_pair


def camera(fx: float = 400.0, cx: float = 320.0) -> CameraModel:
    return CameraModel(
        width=640, height=480, fx=fx, fy=fx, cx=cx, cy=240.0, distortion_model="plumb_bob", distortion=(0.0,) * 5
    )


def shift(x: float) -> np.ndarray:
    transform = np.eye(4)
    transform[0, 3] = x
    return transform


def test_aligned_pair_keeps_orientation_and_gets_baseline() -> None:
    left, right = rectify_pair(camera(), camera(), shift(-0.12))
    for rectified in (left, right):
        np.testing.assert_allclose(rectified.rectification, np.eye(3).reshape(-1), atol=1e-12)
    assert left.projection[3] == 0
    assert right.projection[3] == pytest.approx(-0.12 * right.projection[0])


def test_points_of_rotated_pair_share_rows_after_rectification() -> None:
    angle = np.radians(3)
    right_t_left = shift(-0.12)
    right_t_left[:3, :3] = [[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]]
    left, right = rectify_pair(camera(), camera(fx=410.0, cx=330.0), right_t_left)
    points = np.array([[0.1, 0.2, 2.0], [-0.3, 0.1, 4.0]])
    in_right = points @ right_t_left[:3, :3].T + right_t_left[:3, 3]
    pixels = []
    for rectified, seen in ((left, points), (right, in_right)):
        turned = seen @ np.reshape(rectified.rectification, (3, 3)).T
        projection = np.reshape(rectified.projection, (3, 4))[:, :3]
        image = turned @ projection.T
        pixels.append(image[:, :2] / image[:, 2:])
    np.testing.assert_allclose(pixels[0][:, 1], pixels[1][:, 1], atol=1e-9)
    disparity = pixels[0][:, 0] - pixels[1][:, 0]
    depth = (points @ np.reshape(left.rectification, (3, 3)).T)[:, 2]
    np.testing.assert_allclose(-right.projection[3] / disparity, depth, rtol=1e-9)


def test_cameras_at_same_position_are_rejected() -> None:
    with pytest.raises(ArchiveError, match="expected two cameras that can be rectified"):
        rectify_pair(camera(), camera(), shift(0.0))


def fisheye(fx: float = 190.0) -> CameraModel:
    coefficients = (0.0034, 0.0007, -0.002, 0.0002)
    return CameraModel(
        width=512, height=512, fx=fx, fy=fx, cx=255.0, cy=256.0, distortion_model="equidistant", distortion=coefficients
    )


def test_pair_of_fisheyes_shares_rows_after_rectification() -> None:
    angle = np.radians(2)
    right_t_left = shift(-0.1)
    right_t_left[:3, :3] = [[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]]
    left, right = rectify_pair(fisheye(), fisheye(192.0), right_t_left)
    points = np.array([[0.1, 0.2, 2.0], [-0.3, 0.1, 4.0]])
    rows = []
    for rectified, seen in ((left, points), (right, points @ right_t_left[:3, :3].T + right_t_left[:3, 3])):
        image = seen @ np.reshape(rectified.rectification, (3, 3)).T @ np.reshape(rectified.projection, (3, 4))[:, :3].T
        rows.append(image[:, 1] / image[:, 2])
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-9)
    assert -right.projection[3] / right.projection[0] == pytest.approx(0.1)


def test_fisheye_beside_another_camera_is_rejected() -> None:
    with pytest.raises(ArchiveError, match="expected two cameras with distortion of one kind"):
        rectify_pair(camera(), fisheye(), shift(-0.1))
