"""What dust, smoke and rain do to lasers and pictures.

Optical depths are those for the eye; for lasers and for warmth they are a share of that.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.world.clouds import NO_PUFFS, Puffs, distance_at, optical_depth
from fieldplay_samples.world.rays import Rays

Array = NDArray[np.float64]
SOLID, CLOUD, DROP = 0, 1, 2  # what a beam came back from; SOLID also where it did not
NEAREST_M = 0.3  # of what is airborne
EDGE_S = 0.5  # in which rain begins and ends


@dataclass(frozen=True, eq=False, kw_only=True)
class Rain:
    """Rain in spans (k, 2) of time: the share of beams that meet a drop, at mean_m on average; and that get lost."""

    spans_s: Array
    share: float
    mean_m: float
    lost_share: float
    haze_1_m: float
    streaks: int
    radar_db_per_m: float

    def strength(self, time_s: Array) -> Array:
        """From 0 to 1 (n,) at times (n,)."""
        begin, end = self.spans_s[:, 0], self.spans_s[:, 1]
        rises = np.minimum(time_s[:, None] - begin, end - time_s[:, None]) / EDGE_S
        return np.asarray(np.clip(rises, 0.0, 1.0).sum(axis=1))


NO_RAIN = Rain(
    spans_s=np.zeros((0, 2)), share=0.0, mean_m=1.0, lost_share=0.0, haze_1_m=0.0, streaks=0, radar_db_per_m=0.0
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Weather:
    """Clouds and rain; how deep they are for lasers and heat as a share of what they are for the eye, their colour.

    Of the particles that a beam meets so large a share, `returned`, sends enough of it back.
    """

    puffs: Puffs = NO_PUFFS
    rain: Rain = NO_RAIN
    laser: float = 1.0
    returned: float = 0.5
    thermal: float = 1.0
    colour: tuple[float, float, float] = (1.0, 1.0, 1.0)


def depth_for_eye(weather: Weather, rays: Rays, end_m: Array, *, time_s: Array) -> Array:
    """The optical depth (n,) along rays (n,) until end_m (n,) at times (n,), of clouds and rain."""
    haze = weather.rain.haze_1_m * weather.rain.strength(time_s) * end_m
    return np.asarray(optical_depth(weather.puffs, rays, end_m, time_s=time_s) + haze)


def airborne_returns(
    weather: Weather, rays: Rays, end_m: Array, *, time_s: Array, rng: np.random.Generator
) -> tuple[Array, NDArray[np.uint8]]:
    """Where (n,) in m beams (n,) come back from before end_m (n,), inf for the most; and from what (n,).

    Each beam draws on its own at what depth of the cloud it comes back, and whether it meets a drop.
    """
    distance, kind = np.full(len(rays), np.inf), np.full(len(rays), SOLID, np.uint8)
    drawn = rng.standard_exponential(len(rays)) / max(weather.laser * weather.returned, 1e-9)
    inside = np.flatnonzero(optical_depth(weather.puffs, rays, end_m, time_s=time_s) > drawn)
    distance[inside] = distance_at(
        weather.puffs, rays.taken(inside), drawn[inside], end_m=end_m[inside], time_s=time_s[inside]
    )
    kind[inside] = CLOUD
    drop = NEAREST_M + weather.rain.mean_m * rng.standard_exponential(len(rays))
    meets = rng.uniform(size=len(rays)) < weather.rain.share * weather.rain.strength(time_s)
    wet = np.flatnonzero(meets & (drop < np.minimum(distance, end_m - NEAREST_M)))
    distance[wet], kind[wet] = drop[wet], DROP
    return distance, kind


def lost(weather: Weather, time_s: Array, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which beams (n,) come back from nothing, for water."""
    return np.asarray(rng.uniform(size=len(time_s)) < weather.rain.lost_share * weather.rain.strength(time_s))


def veiled(linear: Array, depth: Array, colour: tuple[float, ...] | Array) -> Array:
    """Colours (n, c) seen through a veil of optical depth (n,) that shines by itself in its own colour (c,)."""
    clear = np.exp(-depth)[:, None]
    return np.asarray(clear * linear + (1.0 - clear) * np.asarray(colour, float))
