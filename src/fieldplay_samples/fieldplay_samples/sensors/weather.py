"""What dust, smoke and rain do to lasers and images.

Optical depths are those for the eye; for lasers and for warmth they are a share of that.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from fieldplay_samples.world.rays import Rays

Array = NDArray[np.float64]
REACH = 3.5  # of a puff, in deviations
HALVINGS = 15
RAMP_S = 0.3  # in which a puff comes into being
SOLID, CLOUD, DROP = 0, 1, 2  # what a beam came back from; SOLID also where it did not
NEAREST_M = 0.3  # of what is airborne
EDGE_S = 0.5  # in which rain begins and ends


# Clouds of dust or smoke: puffs that drift with the wind, grow and settle, and the light that they take from a ray.


@dataclass(frozen=True, eq=False, kw_only=True)
class Puffs:
    """Gaussian puffs (k,): where each is when it begins (k, 3), its drift in m/s (k, 3), the area that it shades in m2.

    Its standard deviation is `size_m` at first and grows by `growth_m_s`; what is in it settles over `settling_s`.
    """

    born_s: Array
    born_at: Array
    drift_m_s: Array
    area_m2: Array
    size_m: Array
    growth_m_s: float
    settling_s: float
    longest_s: float  # after which a puff is gone

    def __len__(self) -> int:
        return len(self.born_s)


NO_PUFFS = Puffs(
    born_s=np.zeros(0),
    born_at=np.zeros((0, 3)),
    drift_m_s=np.zeros((0, 3)),
    area_m2=np.zeros(0),
    size_m=np.zeros(0),
    growth_m_s=0.0,
    settling_s=1.0,
    longest_s=0.0,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Passed:
    """Rays (m,) that pass a puff: their numbers, where along them it is, its size, its depth if it is passed whole."""

    ray: NDArray[np.intp]
    along_m: Array
    size_m: Array
    depth: Array

    def until(self, end_m: Array) -> Array:
        """The optical depth (m,) of the puff from the rays' origins to distances (m,)."""
        wide = np.sqrt(2.0) * self.size_m
        return np.asarray(self.depth * 0.5 * (erf((end_m - self.along_m) / wide) + erf(self.along_m / wide)))


def optical_depth(puffs: Puffs, rays: Rays, end_m: Array, *, time_s: Array) -> Array:
    """How often (n,) a ray (n,) meets a particle on average until end_m (n,), at times (n,)."""
    total = np.zeros(len(rays))
    for passed in _passed_puffs(puffs, rays, time_s):
        total[passed.ray] += passed.until(end_m[passed.ray])
    return total


def distance_at(puffs: Puffs, rays: Rays, depth: Array, *, end_m: Array, time_s: Array) -> Array:
    """Where (n,) in m a ray has met so much optical depth (n,), less than it has until end_m (n,)."""
    low, high = np.zeros(len(rays)), end_m.copy()
    all_passed = list(_passed_puffs(puffs, rays, time_s))
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        distances = np.zeros(len(rays))
        for passed in all_passed:
            distances[passed.ray] += passed.until(middle[passed.ray])
        beyond = distances > depth
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return np.asarray(0.5 * (low + high))


def _passed_puffs(puffs: Puffs, rays: Rays, time_s: Array) -> Iterator[_Passed]:
    """Yield what each present puff covers of the rays."""
    if not len(rays):
        return
    first, last = float(time_s.min()), float(time_s.max())
    for number in np.flatnonzero((puffs.born_s < last) & (puffs.born_s + puffs.longest_s > first)).tolist():
        passed = _pass_puff(puffs, number, rays, time_s=time_s)
        if len(passed.ray):
            yield passed


def _pass_puff(puffs: Puffs, number: int, rays: Rays, *, time_s: Array) -> _Passed:
    age = time_s - puffs.born_s[number]
    size = puffs.size_m[number] + puffs.growth_m_s * np.maximum(age, 0.0)
    centre = puffs.born_at[number] + puffs.drift_m_s[number] * age[:, None]
    towards = centre - rays.origins
    along = np.einsum("nc,nc->n", towards, rays.directions)
    aside = np.maximum(np.einsum("nc,nc->n", towards, towards) - along * along, 0.0)
    near = (aside < np.square(REACH * size)) & (along > -REACH * size)
    ray = np.flatnonzero(near & (age > 0.0) & (age < puffs.longest_s))
    age, size = age[ray], size[ray]
    left = np.minimum(age / RAMP_S, 1.0) * np.exp(-age / puffs.settling_s) * np.minimum(puffs.longest_s - age, 1.0)
    through = puffs.area_m2[number] * left / (2.0 * np.pi * size * size)
    return _Passed(ray=ray, along_m=along[ray], size_m=size, depth=through * np.exp(-0.5 * aside[ray] / (size * size)))


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
        start, end = self.spans_s[:, 0], self.spans_s[:, 1]
        rises = np.minimum(time_s[:, None] - start, end - time_s[:, None]) / EDGE_S
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
        weather.puffs, rays.subset(inside), drawn[inside], end_m=end_m[inside], time_s=time_s[inside]
    )
    kind[inside] = CLOUD
    drop = NEAREST_M + weather.rain.mean_m * rng.standard_exponential(len(rays))
    meets = rng.uniform(size=len(rays)) < weather.rain.share * weather.rain.strength(time_s)
    wet = np.flatnonzero(meets & (drop < np.minimum(distance, end_m - NEAREST_M)))
    distance[wet], kind[wet] = drop[wet], DROP
    return distance, kind


def lost_beams(weather: Weather, time_s: Array, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Mask of beams (n,) that are lost to water."""
    return np.asarray(rng.uniform(size=len(time_s)) < weather.rain.lost_share * weather.rain.strength(time_s))


def veil(linear: Array, depth: Array, colour: tuple[float, ...] | Array) -> Array:
    """Blend colours (n, c) with a veil of optical depth (n,) that has its own colour (c,)."""
    clear = np.exp(-depth)[:, None]
    return np.asarray(clear * linear + (1.0 - clear) * np.asarray(colour, float))
