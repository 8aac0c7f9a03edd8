"""Where cameras see points, against OpenCV, against the drawing board, and where there is nothing to see."""

from dataclasses import replace

import cv2
import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from fieldplay.geometry.camera_model import (
    CameraModel,
    StereoCamera,
    camera_from_numbers,
    camera_of_size,
    projection_from_points,
)

Array = NDArray[np.float64]

MAIN_CAM = [885.015, 0, 955.893, 0, 887.440, 533.638, 0, 0, 1]  # AMEDS, as printed
MAIN_CAM_D = [-0.2418, 0.0974, 0.00048, 0.00019, -0.0226]
MAIN_CAM_FOLD_PX = 918.0  # from the centre
RATIONAL_D = [0.35, -0.12, 0.0008, -0.0005, 0.004, 0.71, -0.06, 0.01]
FISHEYE_D = [-0.012, 0.006, -0.002, 0.0003]
STILL = np.zeros(3)
RANDOM = np.random.default_rng(7)


def main_cam(distortion: ArrayLike = MAIN_CAM_D, model: str = "plumb_bob") -> CameraModel:
    return camera_from_numbers(MAIN_CAM, distortion, model, width=1920, height=1080)


def pose(angles: ArrayLike, position: ArrayLike) -> Array:
    """camera_T_sensor from angles about fixed axes in degrees."""
    transform = np.eye(4)
    transform[:3, :3] = Rotation.from_euler("xyz", angles, degrees=True).as_matrix()
    transform[:3, 3] = position
    return transform


def points_in_front(count: int = 400) -> Array:
    """Points 1 to 30 m away, up to 42 degrees to each side and up and down: more than MainCam sees."""
    depth, across = RANDOM.uniform(1, 30, (count, 1)), RANDOM.uniform(-0.9, 0.9, (count, 2))
    return np.concatenate([across * depth, depth], axis=1)


@pytest.mark.parametrize(
    ("model", "distortion"),
    [
        ("plumb_bob", MAIN_CAM_D),
        ("plumb_bob", MAIN_CAM_D[:4]),
        ("plumb_bob", []),
        ("", []),
        ("rational_polynomial", RATIONAL_D),
        ("rational", RATIONAL_D[:5]),
    ],
)
def test_pinhole_pixels_match_opencv(model: str, distortion: list[float]) -> None:
    camera, transform = main_cam(distortion, model), pose((20, -10, 5), (0.1, -0.2, 0.3))
    seen = points_in_front()
    sensor = (np.linalg.inv(transform) @ np.c_[seen, np.ones(len(seen))].T).T[:, :3]
    result = projection_from_points(camera, transform, sensor)
    turn, _ = cv2.Rodrigues(transform[:3, :3])
    expected, _ = cv2.projectPoints(sensor, turn, transform[:3, 3], camera.matrix, np.array(distortion))
    np.testing.assert_allclose(result.pixels, expected[:, 0], atol=1e-6)
    np.testing.assert_allclose(result.depths, seen[:, 2])
    inside = (expected[:, 0] > -0.5).all(axis=1) & (expected[:, 0] < [1919.5, 1079.5]).all(axis=1)
    np.testing.assert_array_equal(result.is_visible, inside)
    assert 0 < inside.sum() < len(seen)


@pytest.mark.parametrize("model", ["fisheye", "equidistant"])
@pytest.mark.parametrize("distortion", [FISHEYE_D, []])
def test_fisheye_pixels_match_opencv(model: str, distortion: list[float]) -> None:
    points = points_in_front() * [3, 3, 1]
    result = projection_from_points(main_cam(distortion, model), np.eye(4), points)
    d = np.array(distortion or [0.0] * 4)
    expected, _ = cv2.fisheye.projectPoints(points[:, None], STILL, STILL, main_cam().matrix, d)
    np.testing.assert_allclose(result.pixels, expected[:, 0], atol=1e-6)


def test_wide_fisheye_sees_points_beside_camera() -> None:
    camera = camera_from_numbers([300, 0, 500, 0, 300, 500, 0, 0, 1], [], "equidistant", width=1000, height=1000)
    angle = np.radians(95)
    points = [[np.sin(angle), 0, np.cos(angle)], [0, 0, -1]]
    result = projection_from_points(camera, np.eye(4), points)
    np.testing.assert_allclose(result.pixels[0], [500 + 300 * angle, 500])
    assert result.is_visible.tolist() == [True, False]


def test_pixels_match_literal_values() -> None:
    """A laser that looks where the camera does: its x is the camera's z, its y to the left, its z up."""
    camera = camera_from_numbers(
        [100, 0, 320, 0, 200, 240, 0, 0, 1], [0, 0, 0, 0, 0], "plumb_bob", width=640, height=480
    )
    camera_t_laser = np.array([[0, -1, 0, 0.5], [0, 0, -1, 0], [1, 0, 0, 0], [0, 0, 0, 1.0]])
    result = projection_from_points(camera, camera_t_laser, [[2, 0.5, 0], [4, 0.5, 1], [-2, 0.5, 0]])
    np.testing.assert_allclose(result.pixels[:2], [[320, 240], [320, 190]])
    np.testing.assert_allclose(result.depths, [2, 4, -2])
    assert result.is_visible.tolist() == [True, True, False]
    assert np.isnan(result.pixels[2]).all()


def test_each_point_may_have_own_transform() -> None:
    camera, points = main_cam(), points_in_front(5)
    transforms = np.stack([pose((0, 0, turn), (0, turn / 100, 0)) for turn in range(5)])
    together = projection_from_points(camera, transforms, points)
    for row in range(5):
        alone = projection_from_points(camera, transforms[row], points[row])
        np.testing.assert_allclose(together.pixels[row], alone.pixels[0])


@pytest.mark.parametrize("model", ["plumb_bob", "rational_polynomial"])
def test_pinhole_sees_nothing_behind_camera(model: str) -> None:
    points = points_in_front() * [1, 1, -1]
    result = projection_from_points(main_cam([], model), np.eye(4), [*points, [0.1, 0.1, 0.0], [0, 0, 0]])
    assert not result.is_visible.any()
    assert np.isnan(result.pixels).all()


def test_non_finite_points_are_not_visible() -> None:
    result = projection_from_points(main_cam(), np.eye(4), [[np.nan, 0, 1], [0, 0, np.inf], [0, 0, 1]])
    assert result.is_visible.tolist() == [False, False, True]


def test_image_border_is_half_pixel_beyond_outer_pixel_centres() -> None:
    camera = camera_from_numbers([1, 0, 0, 0, 1, 0, 0, 0, 1], [], "plumb_bob", width=4, height=3)
    columns, rows = [-0.6, -0.4, 3.4, 3.6], [-0.6, -0.4, 2.4, 2.6]
    across = projection_from_points(camera, np.eye(4), [[u, 1, 1] for u in columns])
    down = projection_from_points(camera, np.eye(4), [[1, v, 1] for v in rows])
    assert across.is_visible.tolist() == down.is_visible.tolist() == [False, True, True, False]


def test_points_beyond_distortion_fold_are_not_visible() -> None:
    """MainCam's polynomial turns back 918 px from the centre: OpenCV puts what is further out back into the picture."""
    camera = main_cam()
    angles = np.radians(np.arange(0.5, 89.5, 0.25))
    points = np.stack([np.sin(angles), 0 * angles, np.cos(angles)], axis=1)
    result = projection_from_points(camera, np.eye(4), points)
    has_pixel = ~np.isnan(result.pixels[:, 0])
    edge = int(np.argmin(has_pixel))
    assert has_pixel[:edge].all() and not has_pixel[edge:].any()
    assert np.degrees(np.arctan(camera.fold)) == pytest.approx(np.degrees(angles[edge]), abs=0.5)
    radius = result.pixels[:edge, 0] - 955.893
    assert (np.diff(radius) > 0).all()
    assert radius[-1] == pytest.approx(MAIN_CAM_FOLD_PX, abs=2)
    wrapped, _ = cv2.projectPoints(points[edge:], STILL, STILL, camera.matrix, np.array(MAIN_CAM_D))
    back = (np.abs(wrapped[:, 0] - [960, 540]) < [960, 540]).all(axis=1)
    assert back.sum() > 20  # they would lie in the picture
    assert not result.is_visible[edge:].any()


@pytest.mark.parametrize(
    ("model", "distortion"),
    [("plumb_bob", [-0.4669, 0.2461, 0, 0, 0]), ("rational_polynomial", [0.1, -0.2, 0, 0, 0.01, 0.3, 0.02, 0.001]),
     ("rational_polynomial", [0.2, 0.0, 0, 0, 0.0, -0.3, 0.0, 0.0]), ("equidistant", [0.1, -0.3, 0.05, -0.01])],
)  # fmt: skip
def test_fold_matches_scan_of_distortion_polynomial(model: str, distortion: list[float]) -> None:
    camera = main_cam(distortion, model)
    x = np.linspace(1e-4, 3, 300_001)
    square = x * x
    if model == "equidistant":
        radius = x * (1 + sum(k * square ** (index + 1) for index, k in enumerate(distortion)))
    else:
        k1, k2, _, _, k3, k4, k5, k6 = [*distortion, 0, 0, 0][:8]
        with np.errstate(divide="ignore"):
            over, under = (
                1 + k1 * square + k2 * square**2 + k3 * square**3,
                1 + k4 * square + k5 * square**2 + k6 * square**3,
            )
            radius = x * over / under
    falls = np.flatnonzero((np.diff(radius) < 0) | (radius[1:] < 0))
    first = x[falls[0]] if len(falls) else np.inf
    assert min(camera.fold, 3.0) == pytest.approx(min(first, 3.0), abs=1e-4)


def test_distortion_without_fold_sees_whole_half_space() -> None:
    assert main_cam([0.1, 0.02, 0, 0, 0.001]).fold == np.inf
    assert main_cam([]).fold == np.inf
    assert main_cam([], "fisheye").fold == pytest.approx(np.pi)


def test_scaled_image_shows_points_at_same_relative_positions() -> None:
    half = camera_of_size(main_cam(), 960, 540)
    assert half is not None
    points = points_in_front()
    large, small = (projection_from_points(camera, np.eye(4), points) for camera in (main_cam(), half))
    np.testing.assert_allclose((large.pixels + 0.5) / [1920, 1080], (small.pixels + 0.5) / [960, 540])
    np.testing.assert_array_equal(large.is_visible, small.is_visible)


def test_image_of_other_aspect_ratio_has_no_camera() -> None:
    assert camera_of_size(main_cam(), 1920, 1200) is None
    assert camera_of_size(main_cam(), 511, 398) is None


@pytest.mark.parametrize(
    ("matrix", "distortion", "model", "message"),
    [
        (MAIN_CAM, MAIN_CAM_D, "kannala", "expected a distortion model of plumb_bob, .*, got 'kannala'"),
        (MAIN_CAM, MAIN_CAM_D[:3], "plumb_bob", "plumb_bob: expected 0 or 4 or 5 coefficients"),
        (MAIN_CAM, MAIN_CAM_D, "fisheye", "fisheye: expected 0 or 4 coefficients"),
        (MAIN_CAM, [*RATIONAL_D, 0.1, 0, 0, 0], "rational_polynomial", "expected 0 or 4 or 5 or 8 coefficients"),
        ([0] * 9, [], "plumb_bob", "focal lengths above 0"),
        (MAIN_CAM[:8], [], "plumb_bob", "focal lengths above 0"),
        (MAIN_CAM, [np.nan] * 5, "plumb_bob", "focal lengths above 0"),
    ],
)
def test_invalid_camera_is_rejected(matrix: ArrayLike, distortion: ArrayLike, model: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        camera_from_numbers(matrix, distortion, model, width=1920, height=1080)


def test_numbers_of_camera_info_are_k_d_r_and_p() -> None:
    turn = Rotation.from_rotvec([0.01, 0.02, -0.03]).as_matrix()
    numbers = (400.0, 0.0, 310.0, -48.0, 0.0, 400.0, 240.0, 0.0, 0.0, 0.0, 1.0, 0.0)
    own = CameraModel(
        width=640, height=480, fx=410.0, fy=420.0, cx=320.0, cy=230.0, distortion_model="plumb_bob",
        distortion=(0.1, 0.0, 0.0, 0.0, 0.0), rectification=tuple(turn.reshape(-1)), projection=numbers,
    )  # fmt: skip
    np.testing.assert_array_equal(own.matrix, [[410, 0, 320], [0, 420, 230], [0, 0, 1]])
    np.testing.assert_array_equal(own.coefficients, [0.1, 0, 0, 0, 0])
    np.testing.assert_array_equal(own.rotation, turn)
    np.testing.assert_array_equal(own.projection_matrix, np.reshape(numbers, (3, 4)))
    assert own.baseline_m == pytest.approx(0.12)
    for projection in ((), (0.0,) * 12):
        plain = replace(own, rectification=(), projection=projection)
        np.testing.assert_array_equal(plain.rotation, np.eye(3))
        np.testing.assert_array_equal(plain.projection_matrix, np.hstack([own.matrix, np.zeros((3, 1))]))
        assert f"{plain.baseline_m:g}" == "0"
    with pytest.raises(ValueError, match="a rectification of 9 numbers and a projection of 12, or none"):
        replace(own, projection=(1.0, 2.0))


def test_camera_that_cannot_be_projected_is_passed_on_and_refused_when_needed() -> None:
    strange = replace(main_cam(), distortion_model="double_sphere")
    assert strange.fx == main_cam().fx
    with pytest.raises(ValueError, match=r"expected a distortion model of .*, got 'double_sphere'"):
        strange.require_projection()


def test_stereo_camera_reprojects_disparities_to_points() -> None:
    stereo = StereoCamera.from_matrix(np.array([[400.0, 0, 310], [0, 380, 240], [0, 0, 1]]), 0.12)
    assert stereo == StereoCamera(focal_x=400.0, focal_y=380.0, center_x=310.0, center_y=240.0, baseline_m=0.12)
    right = camera_from_numbers(np.diag([500.0, 500, 1]), [0.1] * 5, "plumb_bob", width=640, height=480)
    right = replace(right, projection=(400.0, 0.0, 310.0, -48.0, 0.0, 380.0, 240.0, 0.0, 0.0, 0.0, 1.0, 0.0))
    assert StereoCamera.from_right_camera(right) == stereo
    point = np.array([0.3, -0.2, 2.5])
    u, v, _ = stereo.matrix @ point / point[2]
    disparity = u - (stereo.matrix @ (point - [stereo.baseline_m, 0, 0]) / point[2])[0]
    homogeneous = stereo.reprojection @ [u, v, disparity, 1]
    np.testing.assert_allclose(homogeneous[:3] / homogeneous[3], point, rtol=1e-12)
