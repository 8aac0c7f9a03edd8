"""The colour of the ground and of rocks: patches some metres wide, and grain down to a centimetre.

Each band of wavelengths is a small picture that repeats, turned by an angle of its own so that no two repeat together.
A band fades where a ray's footprint is no longer smaller than its waves, so that what is far away does not flicker.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.world.crops import CropRows
from fieldplay_samples.world.noise import periodic_noise

Array = NDArray[np.float64]
TEXELS = 512
LIGHT_FROM_RAD = 4.1  # azimuth of the light that is painted on bumps: that of the sun
TURN_RAD = 2.399963  # the golden angle: directions that never come near each other


@dataclass(frozen=True, kw_only=True)
class Shade:
    """Another albedo on a share of the ground, in patches."""

    albedo: tuple[float, float, float]
    share: float
    longest_m: float
    shortest_m: float


@dataclass(frozen=True, kw_only=True)
class Grain:
    """A band of fine pattern with waves three to twelve texels long.

    The logarithm of the albedo varies with rms `contrast`, and so does the light on its little slopes with rms `bumps`.
    `pebbles` is the share of single light stones in it, 0 to 1.
    """

    texel_m: float
    contrast: float
    bumps: float = 0.0
    pebbles: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Soil:
    """Albedo of the ground by place, deterministic by seed."""

    seed: int
    base: tuple[float, float, float]
    shades: tuple[Shade, ...] = ()
    grain: tuple[Grain, ...] = ()
    rows: CropRows | None = None

    def albedo(self, x: Array, y: Array, footprint_m: Array | float = 0.0) -> Array:
        """Albedo (..., 3) at x, y (...), averaged over about footprint_m (...)."""
        colour = np.empty((*x.shape, 3))
        colour[:] = self.base
        for shade, picture in zip(self.shades, _patches(self), strict=True):
            seen = _smooth_step(2 - np.asarray(footprint_m) / shade.shortest_m)
            share = shade.share + seen * (_looked_up(picture, x, y, texel_m=shade.shortest_m / 4) - shade.share)
            colour += share[..., None] * (np.array(shade.albedo) - colour)
        pattern = self.pattern(x, y, footprint_m)
        if self.rows:
            green = self.rows.share(x, y, raggedness=4 * pattern, footprint_m=footprint_m)
            colour += green[..., None] * (np.array(self.rows.albedo) - colour)
        return np.asarray(colour * np.exp(pattern)[..., None], float)

    def pattern(self, x: Array, y: Array, footprint_m: Array | float = 0.0) -> Array:
        """The sum (...) of the bands of grain: the logarithm of what the albedo is multiplied by."""
        total = np.zeros(x.shape)
        for turn, (grain, picture) in enumerate(zip(self.grain, _pictures(self), strict=True)):
            seen = _smooth_step(2 - np.asarray(footprint_m) / (2 * grain.texel_m))
            cos, sin = np.cos(turn * TURN_RAD), np.sin(turn * TURN_RAD)
            total += seen * _looked_up(picture, cos * x - sin * y, sin * x + cos * y, texel_m=grain.texel_m)
        return total


@lru_cache(maxsize=4)
def _patches(soil: Soil) -> tuple[NDArray[np.float32], ...]:
    """How much of each shade there is, 0 to 1, in texels of a quarter of its shortest wavelength."""
    rng = np.random.default_rng([soil.seed, 1])
    return tuple(_patch(shade, rng) for shade in soil.shades)


def _patch(shade: Shade, rng: np.random.Generator) -> NDArray[np.float32]:
    noise = periodic_noise(rng, TEXELS, longest=4 * shade.longest_m / shade.shortest_m, shortest=4, roughness=0.8)
    edge = np.quantile(noise, 1 - shade.share)
    return np.asarray(1 / (1 + np.exp(-6 * (noise - edge))), np.float32)


@lru_cache(maxsize=4)
def _pictures(soil: Soil) -> tuple[NDArray[np.float32], ...]:
    rng = np.random.default_rng([soil.seed, 2])
    return tuple(_picture(grain, rng, LIGHT_FROM_RAD + turn * TURN_RAD) for turn, grain in enumerate(soil.grain))


def _picture(grain: Grain, rng: np.random.Generator, light_from_rad: float) -> NDArray[np.float32]:
    """The band's picture; in its own axes light comes from that direction."""
    noise = periodic_noise(rng, TEXELS, longest=12, shortest=3, roughness=0.4)
    stones = 1 / (1 + np.exp(-6 * (noise - 1.1)))
    bulging = _of_rms_1((1 - grain.pebbles) * noise + 3 * grain.pebbles * stones)
    rows, columns = (np.roll(bulging, -1, axis) - np.roll(bulging, 1, axis) for axis in (0, 1))
    lit = -np.cos(light_from_rad) * columns - np.sin(light_from_rad) * rows
    return (grain.contrast * bulging + grain.bumps * _of_rms_1(lit)).astype(np.float32)


def _of_rms_1(values: Array) -> Array:
    return np.asarray((values - values.mean()) / values.std())


def _smooth_step(value: Array) -> Array:
    clipped = np.clip(value, 0.0, 1.0)
    return clipped * clipped * (3 - 2 * clipped)


def _looked_up(picture: NDArray[np.float32], x: Array, y: Array, *, texel_m: float) -> Array:
    """The picture's values (...) at x, y (...), bilinear, repeated without end."""
    right, up = x / texel_m, y / texel_m
    column, row = np.floor(right), np.floor(up)
    across, along = right - column, up - row
    first, second = (column.astype(np.int64) + step & TEXELS - 1 for step in (0, 1))
    low, high = ((row.astype(np.int64) + step & TEXELS - 1) * TEXELS for step in (0, 1))
    flat = picture.ravel()
    below = flat.take(low + first) * (1 - across) + flat.take(low + second) * across
    above = flat.take(high + first) * (1 - across) + flat.take(high + second) * across
    return np.asarray(below + (above - below) * along, float)
