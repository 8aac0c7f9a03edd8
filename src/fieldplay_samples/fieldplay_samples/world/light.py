"""Light: the sun, the sky with mountains around, and how bright what they shine upon looks."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.world.layers import LIGHT_FROM_RAD
from fieldplay_samples.world.rays import Rays
from fieldplay_samples.world.scene import Hits, Scene

Array = NDArray[np.float64]
Single = NDArray[np.float32]
HAZE = np.array([0.50, 0.62, 0.76])
ZENITH = np.array([0.09, 0.21, 0.48])
MOUNTAIN = np.array([0.13, 0.16, 0.22])
SUNLIGHT = np.array([3.1, 2.85, 2.5])
SKYLIGHT = np.array([0.42, 0.50, 0.64])
CLEAR_M = 900.0  # over which haze takes two thirds of the contrast
SKYLINE_STEPS = 4096
CONE_AZIMUTH_RAD, CONE_HEIGHT_RAD, CRATER_RAD, FLANK_RAD = 1.9, 0.24, 0.05, 0.30
SOFT_EDGE = 0.0012  # of the skyline, in the sine of the elevation: about a pixel


@dataclass(frozen=True, kw_only=True)
class Sun:
    """Where the sun stands, in rad: azimuth from east to north, height above the horizon.

    `strength` is its light and `sky` that of the sky, as shares of those of a clear day.
    """

    azimuth_rad: float = LIGHT_FROM_RAD
    height_rad: float = 0.6
    strength: float = 1.0
    sky: float = 1.0

    def direction(self) -> Array:
        """The unit vector (3,) towards the sun."""
        across = np.cos(self.height_rad)
        return np.array([across * np.cos(self.azimuth_rad), across * np.sin(self.azimuth_rad), np.sin(self.height_rad)])


def radiance(scene: Scene, hits: Hits, rays: Rays, *, sun: Sun) -> Single:
    """Linear colours (n, 3) of what rays (n,) met, or of the sky; a white sheet in full sun has about 3."""
    colour = np.empty(rays.directions.shape, np.float32)
    is_hit = np.isfinite(hits.distance_m)
    seen, unseen = np.flatnonzero(is_hit), np.flatnonzero(~is_hit)
    colour[unseen] = sky(rays.directions[unseen], sun)
    distance, normal = hits.distance_m[seen], hits.normal[seen].astype(np.float32)
    points = rays.subset(seen).points(distance)
    facing = np.maximum(normal @ sun.direction().astype(np.float32), 0.0)
    lit = np.flatnonzero(facing > 0)
    facing[lit[scene.in_shadow(points[lit], sun.direction())]] = 0.0
    clear = np.exp(distance.astype(np.float32) / -CLEAR_M)
    light = np.stack([facing, 0.6 + 0.4 * normal[:, 2]], axis=1) * clear[:, None]
    lit_up = light @ np.stack([sun.strength * SUNLIGHT, sun.sky * SKYLIGHT]).astype(np.float32)
    lit_up *= hits.albedo[seen]
    colour[seen] = lit_up + (1 - clear)[:, None] * HAZE.astype(np.float32)
    return colour


def sky(directions: Array, sun: Sun) -> Single:
    """Linear colours (n, 3) of the sky and the mountains along unit directions (n, 3)."""
    up = directions[:, 2].astype(np.float32)
    fraction = np.power(np.clip(up, 0.0, 1.0), np.float32(0.45))[:, None]
    near_sun = np.square(np.square(np.square(np.clip(directions @ sun.direction(), 0.0, 1.0).astype(np.float32))))
    glow = 0.5 * np.square(np.square(np.square(near_sun))) + 0.12 * near_sun  # powers of 64 and 8
    haze, zenith, sunlight, mountain = (part.astype(np.float32) for part in (HAZE, ZENITH - HAZE, SUNLIGHT, MOUNTAIN))
    colour = haze + fraction * zenith + glow[:, None] * sunlight
    ridge = np.sin(skyline_rad(np.arctan2(directions[:, 1], directions[:, 0]))).astype(np.float32)
    is_behind = 1 / (1 + np.exp(np.clip((up - ridge) / SOFT_EDGE, -50, 50)))
    depth = np.clip(1 - up / np.maximum(ridge, 1e-3), 0.0, 1.0)[:, None]
    hills = mountain + 0.5 * depth * (haze - mountain)
    return np.asarray(colour + is_behind[:, None] * (hills - colour), np.float32)


def skyline_rad(azimuth_rad: Array) -> Array:
    """How high (n,) the mountains stand above the horizon towards azimuths (n,): hills, and a cone in the north."""
    azimuths, heights = _skyline()
    return np.interp(azimuth_rad, azimuths, heights, period=2 * np.pi)


@lru_cache(maxsize=1)
def _skyline() -> tuple[Array, Array]:
    azimuth = np.linspace(-np.pi, np.pi, SKYLINE_STEPS, endpoint=False)
    waves = np.arange(SKYLINE_STEPS // 2 + 1)
    phases = np.exp(2j * np.pi * np.random.default_rng(4).uniform(size=len(waves)))
    amplitudes = np.where((waves > 1) & (waves < 300), np.maximum(waves, 1.0) ** -1.2, 0.0)
    rough = np.fft.irfft(amplitudes * phases, SKYLINE_STEPS)
    rough /= rough.std()
    aside = np.abs(np.angle(np.exp(1j * (azimuth - CONE_AZIMUTH_RAD))))
    cone = CONE_HEIGHT_RAD * np.exp(-np.maximum(aside - CRATER_RAD, 0.0) / FLANK_RAD)
    skyline = np.maximum(0.035 + 0.009 * rough, cone + 0.004 * rough)
    return np.asarray(azimuth, float), np.asarray(skyline, float)
