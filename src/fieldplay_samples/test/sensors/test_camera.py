import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.ndimage import map_coordinates

from fieldplay_samples.sensors.camera import (
    Intrinsics,
    camera_from_numbers,
    depth,
    directions_from_pixels,
    pixels_from_points,
    render,
)
from fieldplay_samples.sensors.lidar import lidar_named, sweep
from fieldplay_samples.world.scene import Scene, make_scene
from fieldplay_samples.world.solids import box, sphere

Array = NDArray[np.float64]
CAMERA = camera_from_numbers(640, 360, (454.0, 455.4, 328.06, 178.2), (0.1431, -0.4744, 0.00068, 0.00123, 0.4215))
PINHOLE = camera_from_numbers(640, 480, (500.0, 500.0, 319.5, 239.5), (0.0, 0.0, 0.0, 0.0, 0.0))


@pytest.fixture(scope="module")
def scene() -> Scene:
    return make_scene(1, keep_out=np.array([[0.0, 0.0], [10.0, 0.0]]))


def camera_at(scene: Scene, x: float, y: float, *, above_m: float, yaw: float = 0.0, down: float = 0.0) -> Array:
    """A level camera at x, y that looks along yaw, tilted down (rad)."""
    forward = np.array([np.cos(yaw) * np.cos(down), np.sin(yaw) * np.cos(down), -np.sin(down)])
    right = np.array([np.sin(yaw), -np.cos(yaw), 0.0])
    pose = np.eye(4)
    pose[:3, :3] = np.stack([right, np.cross(forward, right), forward], axis=1)
    pose[:3, 3] = [x, y, float(scene.terrain.height_m(x, y)) + above_m]
    return pose


def view_from(camera: Intrinsics, world_T_camera: Array, points: Array) -> Array:
    return pixels_from_points(camera, (points - world_T_camera[:3, 3]) @ world_T_camera[:3, :3])


def points_through(scene: Scene, world_T_camera: Array, pixels: Array) -> Array:
    """What the camera's pixels (n, 2) look at, in the world."""
    directions = directions_from_pixels(CAMERA, pixels) @ world_T_camera[:3, :3].T
    origins = np.tile(world_T_camera[:3, 3], (len(pixels), 1))
    distance = scene.cast(origins, directions, farthest_m=250.0).distance_m
    return np.asarray(origins + distance[:, None] * directions)


def middle_of(mask: NDArray[np.bool_]) -> Array:
    rows, columns = np.nonzero(mask)
    return np.array([columns.mean(), rows.mean()])


def test_image_has_full_size_for_any_shrink_factor(scene: Scene) -> None:
    odd = camera_from_numbers(101, 67, (80.0, 80.0, 50.0, 33.0), CAMERA.distortion)
    for shrink in (1, 3, 4):
        image = render(scene, odd, camera_at(scene, 0, 0, above_m=1.5), shrink=shrink)
        assert image.shape == (67, 101, 3)
        assert image.dtype == np.uint8


@pytest.mark.parametrize("shrink", [1, 2, 4])
def test_object_is_rendered_at_its_projection(scene: Scene, shrink: int) -> None:
    pose = camera_at(scene, 0, 0, above_m=3.0)
    centre = pose[:3, 3] + pose[:3, :3] @ [0.31, 0.22, 4.0]
    empty, full = (
        render(one, PINHOLE, pose, shrink=shrink).astype(int)
        for one in (scene, scene.with_solids(sphere(centre, 0.3, albedo=(1.0, 0.0, 1.0))))
    )
    outline = pose[:3, 3] + 4.0 * (centre - pose[:3, 3]) / np.linalg.norm(centre - pose[:3, 3])
    shown = middle_of((full[..., 0] + full[..., 2] - 2 * full[..., 1] > 60) & (np.abs(full - empty).sum(axis=2) > 30))
    np.testing.assert_allclose(shown, view_from(PINHOLE, pose, outline[None])[0], atol=0.5)


def test_shrinking_blurs_image_but_does_not_move_it(scene: Scene) -> None:
    pose = camera_at(scene, 0, 0, above_m=1.2, down=0.5)
    sharp, coarse = (render(scene, CAMERA, pose, shrink=shrink)[..., 1].astype(np.float32) for shrink in (1, 4))
    window = cv2.createHanningWindow((640, 360), cv2.CV_32F)
    shift, _ = cv2.phaseCorrelate(cv2.GaussianBlur(sharp, (0, 0), 3), cv2.GaussianBlur(coarse, (0, 0), 3), window)
    assert np.abs(shift).max() < 0.2


def test_depth_is_that_of_pixels_own_ray(scene: Scene) -> None:
    pose = camera_at(scene, 0, 0, above_m=1.2, down=0.2)
    image = depth(scene, CAMERA, pose)
    assert image.shape == (360, 640)
    assert image.dtype == np.float32
    pixels = np.random.default_rng(0).integers([0, 0], [640, 360], (200, 2))
    points = points_through(scene, pose, pixels.astype(float))
    met = np.isfinite(points).all(axis=1)
    along = (points[met] - pose[:3, 3]) @ pose[:3, 2]
    assert met.mean() > 0.5
    np.testing.assert_allclose(image[pixels[met, 1], pixels[met, 0]], along, rtol=1e-6)
    assert np.isinf(image[pixels[~met, 1], pixels[~met, 0]]).all()


def test_lidar_and_depth_camera_agree_to_centimetre(scene: Scene) -> None:
    pose = camera_at(scene, 0, 0, above_m=1.6, down=0.2)
    world_T_lidar = np.eye(4)
    world_T_lidar[:3, 3] = pose[:3, 3]
    lidar = lidar_named("vlp32c")
    cloud = sweep(scene, lidar, lambda times: np.tile(world_T_lidar, (len(times), 1, 1)), 0.0, noise_m=0.0)
    points = (cloud.points_m.astype(float) + world_T_lidar[:3, 3] - pose[:3, 3]) @ pose[:3, :3]
    points = points[(points[:, 2] > 0.5) & (np.linalg.norm(points, axis=1) < 30)]
    pixels = pixels_from_points(CAMERA, points)
    inside = ((pixels >= 0) & (pixels <= [639, 359])).all(axis=1)
    inverse = 1 / depth(scene, CAMERA, pose)  # that of a plane is even over the picture
    off = np.abs(1 / map_coordinates(inverse, pixels[inside, ::-1].T, order=1) - points[inside, 2])
    assert inside.sum() > 3000
    assert np.median(off) < 0.01
    assert np.quantile(off, 0.8) < 0.05  # the rest stands at edges, where a pixel has two depths


def test_stereo_pair_has_disparity_of_depth(scene: Scene) -> None:
    baseline_m = 0.12
    left = camera_at(scene, 0, 0, above_m=1.2, down=0.3)
    right = left.copy()
    right[:3, 3] += baseline_m * left[:3, 0]
    images = [cv2.cvtColor(render(scene, PINHOLE, pose, shrink=1), cv2.COLOR_RGB2GRAY) for pose in (left, right)]
    matcher = cv2.StereoSGBM_create(minDisparity=0, numDisparities=64, blockSize=7)
    disparity = matcher.compute(*images).astype(float) / 16
    expected = 500.0 * baseline_m / depth(scene, PINHOLE, left)
    known = disparity > 1
    assert known.mean() > 0.4
    assert np.median(np.abs(disparity[known] - expected[known])) < 0.25


@pytest.mark.parametrize("shrink", [1, 4])
def test_features_are_tracked_where_geometry_puts_them(scene: Scene, shrink: int) -> None:
    before, after = (camera_at(scene, x, 0, above_m=1.0, down=0.35) for x in (0.0, 0.1))
    first, second = (
        cv2.cvtColor(render(scene, CAMERA, pose, shrink=shrink), cv2.COLOR_RGB2GRAY) for pose in (before, after)
    )
    corners = cv2.goodFeaturesToTrack(first, 800, 0.01, 6)
    moved, status, _ = cv2.calcOpticalFlowPyrLK(first, second, corners, None, winSize=(21, 21), maxLevel=4)
    is_tracked = status[:, 0] == 1
    from_px, to_px = corners[is_tracked, 0].astype(float), moved[is_tracked, 0].astype(float)
    off = np.linalg.norm(view_from(CAMERA, after, points_through(scene, before, from_px)) - to_px, axis=1)
    assert (off < 1.0).sum() > 200
    assert np.median(np.linalg.norm(to_px - from_px, axis=1)) > 3


def test_robot_parts_are_rendered(scene: Scene) -> None:
    pose = camera_at(scene, 0, 0, above_m=1.5, down=0.3)
    centre = pose[:3, 3] + pose[:3, :3] @ np.array([0.0, 0.2, 0.8])
    hand = box(centre, (0.1, 0.1, 0.1), albedo=(0.9, 0.5, 0.0))
    changed = (render(scene, CAMERA, pose) != render(scene.with_solids(hand), CAMERA, pose)).any(axis=2)
    assert 0.005 < changed.mean() < 0.2
    u, v = np.round(view_from(CAMERA, pose, centre[None])[0]).astype(int)
    assert changed[v, u]
