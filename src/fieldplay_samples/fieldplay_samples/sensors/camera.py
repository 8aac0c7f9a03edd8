"""Images and depth images of a scene."""

from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.world.light import Sun, radiance, skyline_rad
from fieldplay_samples.world.rays import Rays
from fieldplay_samples.world.scene import GROUND, Hits, Scene

Array = NDArray[np.float64]
ITERATIONS = 15
MIN_GROWTH = 0.2  # of the radius in the image with that in the world, where the polynomial is left
BEYOND_RAD = 1.4  # by which the angle grows there with the radius: about as it does just before, seen by angles
WIDEST_RAD = 1.45
MEAN_ALBEDO = 0.11
HORIZON_RAD = 0.35  # over which the sky goes over to that of the zenith
HILL_C = -3.0
__all__ = [
    "Intrinsics",
    "camera_from_numbers",
    "depth",
    "develop",
    "enlarge",
    "full_depth",
    "pixels_from_points",
    "rays",
    "render",
    "render_rays",
]
FARTHEST_M = 250.0
EXPOSURE = 1.1
ONE_SURFACE = 0.05  # by which share inverse depths beside each other may differ on it


# Cameras with lens distortion (ROS plumb_bob), and the rays that their pixels look along.


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


def distort(camera: Intrinsics, undistorted: Array) -> Array:
    """Distort points (..., 2) of the plane z = 1."""
    k1, k2, p1, p2, k3 = camera.distortion
    x, y = undistorted[..., 0], undistorted[..., 1]
    square = x * x + y * y
    radial = 1 + square * (k1 + square * (k2 + square * k3))
    moved_x = x * radial + 2 * p1 * x * y + p2 * (square + 2 * x * x)
    moved_y = y * radial + p1 * (square + 2 * y * y) + 2 * p2 * x * y
    return np.stack([moved_x, moved_y], axis=-1)


def undistort(camera: Intrinsics, seen: Array) -> Array:
    """Undistort points `seen` (..., 2) to the plane z = 1, by Newton's method.

    A fitted polynomial may turn back within the image, so that no point is put to its corners; there the angle from
    the axis grows evenly from the last good one on, so that an image is seen to its edges.
    """
    limit = _rim(camera)
    radius = np.maximum(np.linalg.norm(seen, axis=-1, keepdims=True), 1e-12)
    within = np.minimum(1.0, limit / radius)
    point = _inverse_2x2(camera, seen * within)
    beyond = np.maximum(radius - limit, 0.0)
    length = np.maximum(np.linalg.norm(point, axis=-1, keepdims=True), 1e-12)
    angle = np.minimum(np.arctan(length) + BEYOND_RAD * beyond, WIDEST_RAD)
    return np.where(beyond > 0, point / length * np.tan(angle), point)


@lru_cache(maxsize=8)
def _rim(camera: Intrinsics) -> float:
    """The radius in the image (of focal length 1) up to which the lens still puts what is further out further out."""
    k1, k2, _, _, k3 = camera.distortion
    square = np.square(np.linspace(0.0, 3.0, 3001))
    growth = 1 + square * (3 * k1 + square * (5 * k2 + square * 7 * k3))
    shrinking = np.flatnonzero(growth < MIN_GROWTH)
    if not len(shrinking):
        return np.inf
    last = square[max(shrinking[0] - 1, 0)]
    return float(np.sqrt(last) * (1 + last * (k1 + last * (k2 + last * k3))))


def _inverse_2x2(camera: Intrinsics, seen: Array) -> Array:
    point = seen.copy()
    for _ in range(ITERATIONS):
        rest = distort(camera, point) - seen
        (a, b), (_, d) = _distortion_slopes(camera, point)
        determinant = a * d - b * b
        step_x = (d * rest[..., 0] - b * rest[..., 1]) / determinant
        step_y = (a * rest[..., 1] - b * rest[..., 0]) / determinant
        point = point - np.stack([step_x, step_y], axis=-1)
    return np.asarray(point)


def _distortion_slopes(camera: Intrinsics, point: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """The derivatives of `distort` by x and y: a symmetric matrix."""
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
    image = distort(camera, points[..., :2] / points[..., 2:])
    (fx, skew, cx), (_, fy, cy) = camera.matrix[:2]
    return np.stack([fx * image[..., 0] + skew * image[..., 1] + cx, fy * image[..., 1] + cy], axis=-1)


def directions_from_pixels(camera: Intrinsics, pixels: Array) -> Array:
    """Unit directions (..., 3) in the optical frame along which the pixels u, v (..., 2) look."""
    (fx, skew, cx), (_, fy, cy) = camera.matrix[:2]
    y = (pixels[..., 1] - cy) / fy
    x = (pixels[..., 0] - cx - skew * y) / fx
    plane = undistort(camera, np.stack([x, y], axis=-1))
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


# Images of warmth, in degrees above the air: by what a thing is made of, the sun on it, how dark the ground is.


@dataclass(frozen=True, kw_only=True)
class Thermal:
    """What warms, in degrees above the air: full sun, being ground, being dark; the sky; and which range is shown."""

    sun_c: float
    ground_c: float
    dark_c: float
    coldest_c: float
    hottest_c: float
    sky_c: float
    zenith_c: float
    blur_px: float


def warmth_c(model: Thermal, scene: Scene, hits: Hits, *, rays: Rays, stuff_c: Array, sun: Sun) -> Array:
    """Degrees above the air (n,) of what rays (n,) meet, or of the sky; stuff_c: of the solids, and last the ground."""
    is_hit = np.flatnonzero(np.isfinite(hits.distance_m))
    result = _sky_c(model, rays.directions)
    normal, ground = hits.normal[is_hit], hits.solid[is_hit] == GROUND
    facing = np.maximum(normal @ sun.direction(), 0.0)
    points = rays.subset(is_hit).points(hits.distance_m[is_hit])
    lit = np.flatnonzero(facing > 0.0)
    facing[lit[scene.in_shadow(points[lit], sun.direction())]] *= 0.3  # where a shadow has come to, it is still warm
    dark = np.where(ground, model.ground_c + model.dark_c * (MEAN_ALBEDO - hits.albedo[is_hit].mean(axis=1)), 0.0)
    result[is_hit] = stuff_c[hits.solid[is_hit]] + model.sun_c * facing + dark
    return result


def _sky_c(model: Thermal, directions: Array) -> Array:
    elevation = np.arcsin(np.clip(directions[:, 2], -1.0, 1.0))
    fraction = np.clip(elevation / HORIZON_RAD, 0.0, 1.0) ** 0.7
    sky = model.sky_c + fraction * (model.zenith_c - model.sky_c)
    is_behind = elevation < skyline_rad(np.arctan2(directions[:, 1], directions[:, 0]))
    return np.asarray(np.where(is_behind, HILL_C, sky))


def levels(model: Thermal, degrees: Array) -> Array:
    """Levels (n,) from 0 to 255, not yet whole ones."""
    return np.asarray(255.0 * np.clip((degrees - model.coldest_c) / (model.hottest_c - model.coldest_c), 0.0, 1.0))


def render(
    scene: Scene, camera: Intrinsics, world_T_camera: Array, *, shrink: int = 4, sun: Sun | None = None
) -> NDArray[np.uint8]:
    """The image (height, width, 3), RGB, from where the optical frame stands; a ray for shrink x shrink pixels."""
    towards, hits = render_rays(scene, camera, world_T_camera, shrink=shrink)
    return enlarge(develop(radiance(scene, hits, towards, sun=sun or Sun())), camera, shrink)


def render_rays(scene: Scene, camera: Intrinsics, world_T_camera: Array, *, shrink: int) -> tuple[Rays, Hits]:
    """Return the rays (n,) of an image, row by row, one for shrink x shrink pixels, and what they hit."""
    towards = _world_rays(camera, world_T_camera, shrink)
    return towards, _cast(scene, camera, towards, shrink=shrink)


def enlarge(small: NDArray[np.uint8], camera: Intrinsics, shrink: int) -> NDArray[np.uint8]:
    """Interpolate the colours (n, c) of rays to the full image (height, width, c)."""
    small = small.reshape(*rays(camera, shrink).shape[:2], -1)
    full = (small.shape[1] * shrink, small.shape[0] * shrink)
    image = cv2.resize(small, full, interpolation=cv2.INTER_CUBIC) if shrink > 1 else small
    return np.ascontiguousarray(image.reshape(full[1], full[0], -1)[: camera.height, : camera.width], np.uint8)


def depth(scene: Scene, camera: Intrinsics, world_T_camera: Array, *, shrink: int = 1) -> NDArray[np.float32]:
    """Depth (h, w) along the optical axis in m, inf where there is nothing, of every shrink-th pixel each way."""
    optical = rays(camera, shrink)
    towards = _world_rays(camera, world_T_camera, shrink)
    distance = scene.distances_m(towards.origins, towards.directions, farthest_m=FARTHEST_M).reshape(optical.shape[:2])
    return np.asarray(distance * optical[..., 2], np.float32)


def full_depth(scene: Scene, camera: Intrinsics, world_T_camera: Array, *, shrink: int) -> NDArray[np.float32]:
    """Depth (height, width) of all pixels in m, inf where there is nothing; a ray for shrink x shrink of them.

    Between rays on one surface the inverse depth is even, at an edge it is that of the nearest ray.
    """
    small = depth(scene, camera, world_T_camera, shrink=shrink)
    full = (small.shape[1] * shrink, small.shape[0] * shrink)
    inverse = 1 / small
    near, even = (cv2.resize(inverse, full, interpolation=kind) for kind in (cv2.INTER_NEAREST, cv2.INTER_LINEAR))
    inverse = np.where(np.abs(even - near) < ONE_SURFACE * near, even, near)
    with np.errstate(divide="ignore"):
        return np.asarray(1 / inverse[: camera.height, : camera.width], np.float32)


def _world_rays(camera: Intrinsics, world_T_camera: Array, shrink: int) -> Rays:
    directions = np.einsum("ij,nj->ni", world_T_camera[:3, :3], rays(camera, shrink).reshape(-1, 3))
    return Rays(origins=np.broadcast_to(world_T_camera[:3, 3], directions.shape), directions=directions)


def _cast(scene: Scene, camera: Intrinsics, towards: Rays, *, shrink: int) -> Hits:
    spread = shrink / camera.matrix[0][0]
    return scene.cast(towards.origins, towards.directions, farthest_m=FARTHEST_M, spread_rad=spread)


def develop(linear: Array | NDArray[np.float32]) -> NDArray[np.uint8]:
    """Convert linear colours (n, 3) to eight bits, brightened in the dark and bent gently below white."""
    exposed = np.float32(EXPOSURE) * linear.astype(np.float32, copy=False)
    bent = np.clip(exposed / (1 + np.float32(0.25) * exposed), 0.0, 1.0)
    return np.asarray(np.float32(255) * bent ** np.float32(1 / 2.2) + np.float32(0.5), np.float32).astype(np.uint8)
