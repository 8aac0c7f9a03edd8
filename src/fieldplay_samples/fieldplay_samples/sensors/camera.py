"""Pictures and depth images of a scene."""

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.sensors.camera_rays import Intrinsics, camera_from_numbers, pixels_from_points, rays
from fieldplay_samples.world.light import Sun, radiance
from fieldplay_samples.world.rays import Rays
from fieldplay_samples.world.scene import Hits, Scene

__all__ = [
    "Intrinsics",
    "camera_from_numbers",
    "depth",
    "developed",
    "enlarged",
    "full_depth",
    "pixels_from_points",
    "rays",
    "render",
    "seen",
]

Array = NDArray[np.float64]
FARTHEST_M = 250.0
EXPOSURE = 1.1
ONE_SURFACE = 0.05  # by which share inverse depths beside each other may differ on it


def render(
    scene: Scene, camera: Intrinsics, world_T_camera: Array, *, shrink: int = 4, sun: Sun | None = None
) -> NDArray[np.uint8]:
    """The picture (height, width, 3), RGB, from where the optical frame stands; a ray for shrink x shrink pixels."""
    towards, hits = seen(scene, camera, world_T_camera, shrink=shrink)
    return enlarged(developed(radiance(scene, hits, towards, sun=sun or Sun())), camera, shrink)


def seen(scene: Scene, camera: Intrinsics, world_T_camera: Array, *, shrink: int) -> tuple[Rays, Hits]:
    """The rays (n,) of a picture, row by row, one for shrink x shrink pixels, and what they meet."""
    towards = _world_rays(camera, world_T_camera, shrink)
    return towards, _cast(scene, camera, towards, shrink=shrink)


def enlarged(small: NDArray[np.uint8], camera: Intrinsics, shrink: int) -> NDArray[np.uint8]:
    """The full picture (height, width, c) of the colours (n, c) of its rays, by interpolation."""
    small = small.reshape(*rays(camera, shrink).shape[:2], -1)
    full = (small.shape[1] * shrink, small.shape[0] * shrink)
    picture = cv2.resize(small, full, interpolation=cv2.INTER_CUBIC) if shrink > 1 else small
    return np.ascontiguousarray(picture.reshape(full[1], full[0], -1)[: camera.height, : camera.width], np.uint8)


def depth(scene: Scene, camera: Intrinsics, world_T_camera: Array, *, shrink: int = 1) -> NDArray[np.float32]:
    """Depth (h, w) along the optical axis in m, inf where there is nothing, of every shrink-th pixel each way."""
    optical = rays(camera, shrink)
    towards = _world_rays(camera, world_T_camera, shrink)
    distance = _cast(scene, camera, towards, shrink=shrink).distance_m.reshape(optical.shape[:2])
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
    directions = rays(camera, shrink).reshape(-1, 3) @ world_T_camera[:3, :3].T
    return Rays(origins=np.broadcast_to(world_T_camera[:3, 3], directions.shape), directions=directions)


def _cast(scene: Scene, camera: Intrinsics, towards: Rays, *, shrink: int) -> Hits:
    spread = shrink / camera.matrix[0][0]
    return scene.cast(towards.origins, towards.directions, farthest_m=FARTHEST_M, spread_rad=spread)


def developed(linear: Array) -> NDArray[np.uint8]:
    """Eight bits of linear colours (n, 3), brightened in the dark and bent gently below white."""
    exposed = np.float32(EXPOSURE) * linear.astype(np.float32)
    bent = np.clip(exposed / (1 + np.float32(0.25) * exposed), 0.0, 1.0)
    return np.asarray(np.float32(255) * bent ** np.float32(1 / 2.2) + np.float32(0.5), np.float32).astype(np.uint8)
