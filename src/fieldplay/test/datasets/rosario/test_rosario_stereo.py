import numpy as np
import pytest

from fieldplay.core.errors import ArchiveError
from fieldplay.datasets.rosario.calibration import rectify_pair
from fieldplay.geometry.camera_model import CameraModel


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
