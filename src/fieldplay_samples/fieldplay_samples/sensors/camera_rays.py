"""Cameras with lens distortion (ROS plumb_bob), and the rays that their pixels look along."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
ITERATIONS = 15
LEAST_GROWTH = 0.2  # of the radius in the picture with that in the world, where the polynomial is left
BEYOND_RAD = 1.4  # by which the angle grows there with the radius: about as it does just before, seen by angles
WIDEST_RAD = 1.45


@dataclass(frozen=True, kw_only=True)
class Intrinsics:
    """Intrinsics: optical frame z forward, x right, y down; pixel (0, 0) is the centre of the first one.

    `matrix` is 3 rows of 3; `distortion` is k1 k2 p1 p2 k3.
    """

    width: int
    height: int
    matrix: tuple[tuple[float, float, float], ...]
    distortion: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0, 0.0)


def camera_from_numbers(
    width: int, height: int, fx_fy_cx_cy: tuple[float, ...], distortion: tuple[float, ...]
) -> Intrinsics:
    """The camera with those focal lengths and centre in pixels."""
    fx, fy, cx, cy = fx_fy_cx_cy
    matrix = ((fx, 0.0, cx), (0.0, fy, cy), (0.0, 0.0, 1.0))
    return Intrinsics(width=width, height=height, matrix=matrix, distortion=distortion)


def distorted(camera: Intrinsics, undistorted: Array) -> Array:
    """Where the lens puts points (..., 2) of the plane z = 1."""
    k1, k2, p1, p2, k3 = camera.distortion
    x, y = undistorted[..., 0], undistorted[..., 1]
    square = x * x + y * y
    radial = 1 + square * (k1 + square * (k2 + square * k3))
    moved_x = x * radial + 2 * p1 * x * y + p2 * (square + 2 * x * x)
    moved_y = y * radial + p1 * (square + 2 * y * y) + 2 * p2 * x * y
    return np.stack([moved_x, moved_y], axis=-1)


def undistorted(camera: Intrinsics, seen: Array) -> Array:
    """Points (..., 2) of the plane z = 1 that the lens puts to `seen` (..., 2), by Newton's method.

    A fitted polynomial may turn back within the picture, so that no point is put to its corners; there the angle from
    the axis grows evenly from the last good one on, so that a picture is seen to its edges.
    """
    limit = _rim(camera)
    radius = np.maximum(np.linalg.norm(seen, axis=-1, keepdims=True), 1e-12)
    within = np.minimum(1.0, limit / radius)
    point = _inverted(camera, seen * within)
    beyond = np.maximum(radius - limit, 0.0)
    length = np.maximum(np.linalg.norm(point, axis=-1, keepdims=True), 1e-12)
    angle = np.minimum(np.arctan(length) + BEYOND_RAD * beyond, WIDEST_RAD)
    return np.where(beyond > 0, point / length * np.tan(angle), point)


@lru_cache(maxsize=8)
def _rim(camera: Intrinsics) -> float:
    """The radius in the picture (of focal length 1) up to which the lens still puts what is further out further out."""
    k1, k2, _, _, k3 = camera.distortion
    square = np.square(np.linspace(0.0, 3.0, 3001))
    growth = 1 + square * (3 * k1 + square * (5 * k2 + square * 7 * k3))
    shrinking = np.flatnonzero(growth < LEAST_GROWTH)
    if not len(shrinking):
        return np.inf
    last = square[max(shrinking[0] - 1, 0)]
    return float(np.sqrt(last) * (1 + last * (k1 + last * (k2 + last * k3))))


def _inverted(camera: Intrinsics, seen: Array) -> Array:
    point = seen.copy()
    for _ in range(ITERATIONS):
        rest = distorted(camera, point) - seen
        (a, b), (_, d) = _distortion_slopes(camera, point)
        determinant = a * d - b * b
        step_x = (d * rest[..., 0] - b * rest[..., 1]) / determinant
        step_y = (a * rest[..., 1] - b * rest[..., 0]) / determinant
        point = point - np.stack([step_x, step_y], axis=-1)
    return np.asarray(point)


def _distortion_slopes(camera: Intrinsics, point: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """The derivatives of `distorted` by x and y: a symmetric matrix."""
    k1, k2, p1, p2, k3 = camera.distortion
    x, y = point[..., 0], point[..., 1]
    square = x * x + y * y
    radial = 1 + square * (k1 + square * (k2 + square * k3))
    growth = 2 * (k1 + square * (2 * k2 + 3 * k3 * square))
    mixed = x * y * growth + 2 * p1 * x + 2 * p2 * y
    right = radial + x * x * growth + 2 * p1 * y + 6 * p2 * x
    down = radial + y * y * growth + 6 * p1 * y + 2 * p2 * x
    return (right, mixed), (mixed, down)


def pixels_from_points(camera: Intrinsics, points: Array) -> Array:
    """Pixels u, v (..., 2) of points (..., 3) in the optical frame, in front of the camera."""
    image = distorted(camera, points[..., :2] / points[..., 2:])
    (fx, skew, cx), (_, fy, cy) = camera.matrix[:2]
    return np.stack([fx * image[..., 0] + skew * image[..., 1] + cx, fy * image[..., 1] + cy], axis=-1)


def directions_from_pixels(camera: Intrinsics, pixels: Array) -> Array:
    """Unit directions (..., 3) in the optical frame along which the pixels u, v (..., 2) look."""
    (fx, skew, cx), (_, fy, cy) = camera.matrix[:2]
    y = (pixels[..., 1] - cy) / fy
    x = (pixels[..., 0] - cx - skew * y) / fx
    plane = undistorted(camera, np.stack([x, y], axis=-1))
    rays = np.concatenate([plane, np.ones_like(plane[..., :1])], axis=-1)
    return np.asarray(rays / np.linalg.norm(rays, axis=-1, keepdims=True))


@lru_cache(maxsize=8)
def rays(camera: Intrinsics, shrink: int = 1) -> Array:
    """Unit directions (h, w, 3) of the middles of squares of shrink x shrink pixels; the last ones may overhang."""
    columns, rows = -(-camera.width // shrink), -(-camera.height // shrink)
    u, v = ((np.arange(count) + 0.5) * shrink - 0.5 for count in (columns, rows))
    directions = directions_from_pixels(camera, np.stack(np.meshgrid(u, v), axis=-1))
    directions.flags.writeable = False
    return directions
