"""Layers that a ground is made of; each one is a periodic grid of heights."""

import math
from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import fft

Array = NDArray[np.float64]
Single = NDArray[np.float32]
CELL_M = 0.1
CELLS = 2048
PERIOD_M = CELL_M * CELLS
HOLLOWS = (0.02, 0.35)  # the shares of the ground that are lower: where hollows are deepest, and where they end
TEXELS = 512
LINE = 1024  # places that are looked up in a row
LIGHT_FROM_RAD = 4.1  # azimuth of the light that is painted on bumps: that of the sun
TURN_RAD = 2.399963  # the golden angle: directions that never come near each other


# Random fields that repeat without a seam: noise of given wavelengths, made in the frequency domain.


def periodic_noise(
    rng: np.random.Generator, cells: int, *, longest: float, shortest: float, roughness: float = 1.0
) -> Array:
    """A field (cells, cells) of mean 0 and rms 1, periodic, with wavelengths in cells from shortest to longest.

    The amplitude of a wavelength grows with its power `roughness`; the band fades over a third of an octave.
    """
    spectrum = fft.rfft2(rng.standard_normal((cells, cells)).astype(np.float32))
    along, across = fft.fftfreq(cells).astype(np.float32), fft.rfftfreq(cells).astype(np.float32)
    frequency = np.hypot(along[:, None], across[None, :])
    frequency[0, 0] = 1.0
    octaves = np.log2(frequency)
    band = _step(octaves + np.float32(np.log2(longest))) * _step(np.float32(-np.log2(shortest)) - octaves)
    band[0, 0] = 0.0
    field: Array = fft.irfft2(spectrum * (band * frequency ** np.float32(-1.0 - roughness)), s=(cells, cells))
    field = field.astype(np.float64)
    return np.asarray((field - field.mean()) / field.std())


def _step(octaves: Single) -> Single:
    """From 0 to 1 around the octave 0, half of it there."""
    return np.asarray(1 / (1 + np.exp(-np.clip(12 * octaves, -60, 60))))


@dataclass(frozen=True, kw_only=True)
class Unevenness:
    """Fractal unevenness with wavelengths from shortest_m to longest_m.

    `in_hollows` is the share of it that is left in the hollows of the ground's first layer, where ash gathers.
    """

    rms_m: float
    longest_m: float
    shortest_m: float
    roughness: float = 1.0
    in_hollows: float = 1.0

    def heights_m(self, rng: np.random.Generator) -> Array:
        """The layer's grid (n, n)."""
        longest, shortest = self.longest_m / CELL_M, self.shortest_m / CELL_M
        return self.rms_m * periodic_noise(rng, CELLS, longest=longest, shortest=shortest, roughness=self.roughness)


@dataclass(frozen=True, kw_only=True)
class Furrows:
    """Straight furrows, depth_m from crest to bottom, running along heading_deg (from east to north).

    Pitch and heading are moved to the nearest ones that fit the period: by less than a hundredth of the pitch.
    """

    pitch_m: float
    depth_m: float
    heading_deg: float = 0.0

    def waves(self) -> tuple[int, int]:
        """Whole furrows in a period along x and along y."""
        heading, count = np.deg2rad(self.heading_deg), PERIOD_M / self.pitch_m
        return round(-np.sin(heading) * count), round(np.cos(heading) * count)

    def phase(self, x: Array, y: Array) -> Array:
        """The phase (...) in rad at x, y (...) in m; a crest has 0."""
        along_x, along_y = self.waves()
        return 2 * np.pi / PERIOD_M * (along_x * x + along_y * y)

    def heights_m(self, rng: np.random.Generator) -> Array:
        """The layer's grid (n, n)."""
        along = np.arange(CELLS, dtype=np.float64) * CELL_M
        turns = 2 * np.pi * CELL_M / PERIOD_M * np.array(self.waves())
        flattened = np.prod(0.75 + 0.25 * np.cos(turns))  # what the spline makes of a wave through its control points
        return np.asarray(self.depth_m / 2 / flattened * np.cos(self.phase(along[None, :], along[:, None])))


Layer = Unevenness | Furrows


def heights_from_layers(layers: tuple[Layer, ...], seed: int) -> Array:
    """The sum of the layers (n, n), the noise moved so that the deepest hollow of the first one is at the origin."""
    grids = [layer.heights_m(np.random.default_rng([seed, index])) for index, layer in enumerate(layers)]
    open_ground = _outside_hollows(grids[0])
    down, right = np.unravel_index(grids[0].argmin(), grids[0].shape)
    total = np.zeros_like(grids[0])
    for layer, grid in zip(layers, grids, strict=True):
        if isinstance(layer, Unevenness):
            fraction = layer.in_hollows + (1 - layer.in_hollows) * open_ground
            total += np.roll(fraction * grid, (-int(down), -int(right)), axis=(0, 1))
        else:
            total += grid
    return total


def _outside_hollows(heights: Array) -> Array:
    """From 0 in the deepest hollows to 1 on two thirds of the ground."""
    deep, shallow = np.quantile(heights[::16, ::16], HOLLOWS)
    rise = np.clip((heights - deep) / max(shallow - deep, 1e-9), 0.0, 1.0)
    return np.asarray(rise * rise * (3 - 2 * rise))


# Rows of plants on the crests of furrows, as the ground's colour shows them.


@dataclass(frozen=True, kw_only=True)
class CropRows:
    """A green strip of width_m on each crest; patchiness moves its edges by that share of the width."""

    furrows: Furrows
    albedo: tuple[float, float, float]
    width_m: float
    patchiness: float = 0.3

    def coverage(self, x: Array, y: Array, *, raggedness: Single, footprint_m: Single) -> Single:
        """How much of the ground (...) at x, y (...) the plants cover; raggedness (...) has about rms 1."""
        turns = self.furrows.phase(x, y) / (2 * np.pi)
        aside = np.abs(turns - np.round(turns)).astype(np.float32) * self.furrows.pitch_m
        edge = self.width_m / 2 * (1 + self.patchiness * raggedness)
        blur = self.width_m / 8 + footprint_m / 2
        near = 1 / (1 + np.exp(np.clip((aside - edge) / blur * 2, -50, 50)))
        seen = np.clip(2 - 2 * footprint_m / self.furrows.pitch_m, 0.0, 1.0)
        mean: float = self.width_m / self.furrows.pitch_m
        return np.asarray(mean + seen * (near - mean), np.float32)


# The colour of the ground and of rocks: patches some metres wide, and grain down to a centimetre.
#
# Each band of wavelengths is a small image that repeats, turned by an angle of its own so that no two repeat
# together. A band fades where a ray's footprint is no longer smaller than its waves, so that what is far away does not
# flicker.


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

    def albedo(self, x: Array, y: Array, footprint_m: Array | float = 0.0) -> Single:
        """Albedo (..., 3) at x, y (...), averaged over about footprint_m (...)."""
        wide = np.broadcast_to(np.asarray(footprint_m, np.float32), x.shape).ravel()
        x, y, shape = x.ravel().astype(np.float32), y.ravel().astype(np.float32), x.shape
        colours = [np.full(len(x), part, np.float32) for part in self.base]
        for shade, image in zip(self.shades, _patches(self), strict=True):
            fraction = np.full(len(x), shade.share, np.float32)
            _add_visible(
                fraction, image, (x, y), 2 - wide / shade.shortest_m, texel_m=shade.shortest_m / 4, mean=shade.share
            )
            _blend(colours, shade.albedo, fraction)
        pattern = self.pattern(x, y, wide)
        if self.rows:
            _blend(colours, self.rows.albedo, self.rows.coverage(x, y, raggedness=4 * pattern, footprint_m=wide))
        light = np.exp(pattern)
        return np.stack([colour * light for colour in colours], axis=-1).reshape(*shape, 3)

    def pattern(self, x: Array, y: Array, footprint_m: Array | Single | float = 0.0) -> Single:
        """The sum (...) of the bands of grain: the logarithm of what the albedo is multiplied by."""
        wide = np.broadcast_to(np.asarray(footprint_m, np.float32), x.shape)
        total = np.zeros(x.shape, np.float32)
        for turn, (grain, image) in enumerate(zip(self.grain, _images(self), strict=True)):
            cos, sin = math.cos(turn * TURN_RAD), math.sin(turn * TURN_RAD)  # floats of Python leave arrays single
            position = cos * x - sin * y, sin * x + cos * y
            _add_visible(total, image, position, 2 - wide / (2 * grain.texel_m), texel_m=grain.texel_m)
        return total


def _blend(colours: list[Single], albedo: tuple[float, float, float], fraction: Single) -> None:
    """Let so much (n,) of each colour (n,) be that albedo."""
    for colour, part in zip(colours, albedo, strict=True):
        colour += fraction * (np.float32(part) - colour)


@lru_cache(maxsize=4)
def _patches(soil: Soil) -> tuple[Single, ...]:
    """How much of each shade there is, 0 to 1, in texels of a quarter of its shortest wavelength."""
    rng = np.random.default_rng([soil.seed, 1])
    return tuple(_patch(shade, rng) for shade in soil.shades)


def _patch(shade: Shade, rng: np.random.Generator) -> Single:
    noise = periodic_noise(rng, TEXELS, longest=4 * shade.longest_m / shade.shortest_m, shortest=4, roughness=0.8)
    edge = np.quantile(noise, 1 - shade.share)
    return np.asarray(1 / (1 + np.exp(-6 * (noise - edge))), np.float32)


@lru_cache(maxsize=4)
def _images(soil: Soil) -> tuple[Single, ...]:
    rng = np.random.default_rng([soil.seed, 2])
    return tuple(_image(grain, rng, LIGHT_FROM_RAD + turn * TURN_RAD) for turn, grain in enumerate(soil.grain))


def _image(grain: Grain, rng: np.random.Generator, light_from_rad: float) -> Single:
    """Return the band's image; in its own axes light comes from that direction."""
    noise = periodic_noise(rng, TEXELS, longest=12, shortest=3, roughness=0.4)
    stones = 1 / (1 + np.exp(-6 * (noise - 1.1)))
    bulging = _of_rms_1((1 - grain.pebbles) * noise + 3 * grain.pebbles * stones)
    rows, columns = (np.roll(bulging, -1, axis) - np.roll(bulging, 1, axis) for axis in (0, 1))
    lit = -np.cos(light_from_rad) * columns - np.sin(light_from_rad) * rows
    return (grain.contrast * bulging + grain.bumps * _of_rms_1(lit)).astype(np.float32)


def _of_rms_1(values: Array) -> Array:
    return np.asarray((values - values.mean()) / values.std())


def _add_visible(
    total: Single, image: Single, position: tuple[Array, Array], clear: Single, *, texel_m: float, mean: float = 0.0
) -> None:
    """Add an image's values less their mean at places x, y (n,) to the total (n,), as far as they are seen.

    What is seen grows as `clear` (n,) does, from nothing at 0 to all at 1.
    """
    least = clear.min(initial=1)
    near = slice(None) if least > 0 else np.flatnonzero(clear > 0)  # most often all
    values = _sample_image(image, position[0][near], position[1][near], texel_m=texel_m) - np.float32(mean)
    if least < 1:
        clipped = np.minimum(clear[near], np.float32(1))
        values *= clipped * clipped * (3 - 2 * clipped)
    total[near] += values


def _sample_image(image: Single, x: Array, y: Array, *, texel_m: float) -> Single:
    """Sample the image (n,) at x, y (n,), bilinear to the 32nd of a texel, repeated without end."""
    count = len(x)
    maps = np.zeros((2, -(-count // LINE) * LINE), np.float32)
    for line, values in zip(maps, (x, y), strict=True):
        texels = values / texel_m
        line[:count] = texels - TEXELS * np.floor(texels / TEXELS)
    along, across = maps.reshape(2, -1, LINE)
    samples = cv2.remap(image, along, across, cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP) if count else along
    return np.asarray(samples.ravel()[:count], np.float32)
