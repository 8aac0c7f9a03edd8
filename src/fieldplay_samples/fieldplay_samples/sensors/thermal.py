"""Pictures of warmth, in degrees above the air: by what a thing is made of, the sun on it, how dark the ground is."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.world.light import Sun, skyline_rad
from fieldplay_samples.world.rays import Rays
from fieldplay_samples.world.scene import GROUND, Hits, Scene

Array = NDArray[np.float64]
MEAN_ALBEDO = 0.11
HORIZON_RAD = 0.35  # over which the sky goes over to that of the zenith
HILL_C = -3.0


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
    met = np.flatnonzero(np.isfinite(hits.distance_m))
    result = _sky_c(model, rays.directions)
    normal, ground = hits.normal[met], hits.solid[met] == GROUND
    facing = np.maximum(normal @ sun.direction(), 0.0)
    points = rays.taken(met).points(hits.distance_m[met])
    lit = np.flatnonzero(facing > 0.0)
    facing[lit[scene.in_shadow(points[lit], sun.direction())]] *= 0.3  # where a shadow has come to, it is still warm
    dark = np.where(ground, model.ground_c + model.dark_c * (MEAN_ALBEDO - hits.albedo[met].mean(axis=1)), 0.0)
    result[met] = stuff_c[hits.solid[met]] + model.sun_c * facing + dark
    return result


def _sky_c(model: Thermal, directions: Array) -> Array:
    elevation = np.arcsin(np.clip(directions[:, 2], -1.0, 1.0))
    share = np.clip(elevation / HORIZON_RAD, 0.0, 1.0) ** 0.7
    sky = model.sky_c + share * (model.zenith_c - model.sky_c)
    behind = elevation < skyline_rad(np.arctan2(directions[:, 1], directions[:, 0]))
    return np.asarray(np.where(behind, HILL_C, sky))


def levels(model: Thermal, degrees: Array) -> Array:
    """Levels (n,) from 0 to 255, not yet whole ones."""
    return np.asarray(255.0 * np.clip((degrees - model.coldest_c) / (model.hottest_c - model.coldest_c), 0.0, 1.0))
