import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from fieldplay_samples.sensors.camera import (
    Intrinsics,
    camera_from_numbers,
    directions_from_pixels,
    distort,
    pixels_from_points,
    rays,
    undistort,
)

Array = NDArray[np.float64]
MAIN = camera_from_numbers(
    1920, 1080, (885.015, 887.440, 955.893, 533.638), (-0.2418, 0.0974, 0.00048, 0.00019, -0.0226)
)
AUX = camera_from_numbers(1280, 720, (908.087, 910.723, 656.119, 356.394), (0.1431, -0.4744, 0.00068, 0.00123, 0.4215))
FOLDS_AT_PX = 905  # from the centre of MainCam: up to there its polynomial puts points further out further out


def all_pixels(camera: Intrinsics, step: int = 7) -> Array:
    u, v = np.meshgrid(np.arange(0, camera.width, step), np.arange(0, camera.height, step))
    return np.stack([u, v], axis=-1).reshape(-1, 2).astype(float)


def from_centre_px(camera: Intrinsics, pixels: Array) -> Array:
    return np.asarray(np.hypot(pixels[:, 0] - camera.matrix[0][2], pixels[:, 1] - camera.matrix[1][2]))


@pytest.mark.parametrize("camera", [MAIN, AUX], ids=["main", "aux"])
def test_projection_matches_opencv(camera: Intrinsics) -> None:
    points = np.random.default_rng(0).uniform([-3, -1.5, 4], [3, 1.5, 6], (500, 3))
    theirs, _ = cv2.projectPoints(
        points, np.zeros(3), np.zeros(3), np.array(camera.matrix), np.array(camera.distortion)
    )
    np.testing.assert_allclose(pixels_from_points(camera, points), theirs[:, 0], atol=1e-8)


@pytest.mark.parametrize("camera", [MAIN, AUX], ids=["main", "aux"])
def test_pixels_ray_is_projected_onto_that_pixel(camera: Intrinsics) -> None:
    pixels = all_pixels(camera)
    pixels = pixels[from_centre_px(camera, pixels) < FOLDS_AT_PX]
    directions = directions_from_pixels(camera, pixels)
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1.0)
    theirs, _ = cv2.projectPoints(
        directions, np.zeros(3), np.zeros(3), np.array(camera.matrix), np.array(camera.distortion)
    )
    np.testing.assert_allclose(theirs[:, 0], pixels, atol=1e-7)


def test_distortion_is_inverted_to_last_digits() -> None:
    seen = (all_pixels(MAIN) - [955.893, 533.638]) / [885.015, 887.440]
    seen = seen[np.linalg.norm(seen, axis=1) < FOLDS_AT_PX / 887.440]
    assert np.abs(distort(MAIN, undistort(MAIN, seen)) - seen).max() < 1e-9


def test_beyond_fold_of_polynomial_pixels_still_look_further_outwards() -> None:
    fraction = np.linspace(0.0, 1.0, 500)[:, None]
    for corner in ([0.0, 0.0], [1919.0, 0.0], [0.0, 1079.0], [1919.0, 1079.0]):
        centre = np.array([955.893, 533.638])
        directions = directions_from_pixels(MAIN, centre + fraction * (np.array(corner) - centre))
        angle = np.arccos(directions[:, 2])
        assert (np.diff(angle) > 0).all()
        assert np.diff(angle).max() < 3 * np.median(np.diff(angle))
        assert np.deg2rad(60) < angle[-1] < np.deg2rad(85)


def test_without_distortion_rays_are_those_of_pinhole() -> None:
    pinhole = camera_from_numbers(64, 48, (50.0, 40.0, 31.5, 23.5), (0.0, 0.0, 0.0, 0.0, 0.0))
    directions = directions_from_pixels(pinhole, np.array([[31.5, 23.5], [81.5, 23.5], [31.5, -16.5]]))
    np.testing.assert_allclose(directions / directions[:, 2:], [[0, 0, 1], [1, 0, 1], [0, -1, 1]], atol=1e-12)


def test_rays_of_shrunk_image_look_through_middles_of_its_squares() -> None:
    shrunk = rays(AUX, 4)
    assert shrunk.shape == (180, 320, 3)
    np.testing.assert_allclose(shrunk[10, 20], directions_from_pixels(AUX, np.array([[81.5, 41.5]]))[0])
    assert rays(AUX, 4) is shrunk
    assert rays(camera_from_numbers(10, 7, (9, 9, 5, 3), AUX.distortion), 4).shape == (2, 3, 3)
