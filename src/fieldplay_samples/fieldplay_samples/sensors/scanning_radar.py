"""A turning millimetre-wave radar: the spectrum of its echoes in bins of range, and the strongest peak.

Powers are in dB over an arbitrary unit. An echo of what fills the beam fades with the square of the distance.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
SAMPLES_HZ, HZ_PER_M, OFFSET_M = 1_250_000.0, 4336.384, 0.3507
SPREAD_BINS = 5  # on either side of an echo's bin that are computed
EDGE = 0.9  # of the beam's width, up to where it is computed on either side: a tenth of the power is left there
SKIRT, SKIRT_BINS = 1e-4, 3.0  # what the window leaves beside a peak


@dataclass(frozen=True, kw_only=True)
class Radar:
    """The radar: turns and samples per second, bins, width of the beam (to half of the power, both ways), its echoes.

    At 10 m what fills the beam and reflects by 0 dB gives `reference_db`; noise is the mean of so many `looks`.
    """

    turns_hz: float
    samples_hz: float
    bins: int
    farthest_m: float
    width_deg: tuple[float, float]
    rays: tuple[int, int]
    peak_bins: float
    reference_db: float
    noise_db: float
    looks: float
    floor_db: float
    ceiling_db: float

    @property
    def metres_per_bin(self) -> float:
        """By the published equation."""
        return SAMPLES_HZ / (2 * self.bins) / HZ_PER_M

    def range_m(self, number: Array) -> Array:
        """Ranges (...) of bins, the first of which has the number 1."""
        return number * self.metres_per_bin - OFFSET_M

    def bin_at(self, range_m: Array) -> Array:
        """Where (...) among the bins ranges in m lie."""
        return (range_m + OFFSET_M) / self.metres_per_bin


def beam(radar: Radar) -> tuple[Array, Array, Array]:
    """Rays of the beam (b,): angle in the plane of turning, elevation out of it, both in rad, and the share of each."""
    aside, up = (mesh.ravel() for mesh in np.meshgrid(*(EDGE * np.linspace(-1.0, 1.0, count) for count in radar.rays)))
    weight = np.exp(-4.0 * np.log(2.0) * (aside**2 + up**2))
    across, along = np.radians(radar.width_deg)
    return aside * across, up * along, weight / weight.sum()


def directions(angle_rad: Array, elevation_rad: Array) -> Array:
    """Unit directions (..., 3) in the radar's frame, by the angle about its z and the elevation towards it."""
    level = np.cos(elevation_rad)
    return np.stack(
        [level * np.cos(angle_rad), level * np.sin(angle_rad), np.sin(elevation_rad)],
        axis=-1,
    )


def echo_powers(radar: Radar, distance_m: Array, reflectivity_db: Array) -> Array:
    """Powers (...) of rays that carry the whole beam, before they are weighed; 0 for those that meet nothing."""
    is_hit = np.isfinite(distance_m)
    distance = np.where(is_hit, np.maximum(distance_m, 0.5), 10.0)
    decibels = radar.reference_db + reflectivity_db - 20.0 * np.log10(distance / 10.0)
    return np.asarray(np.where(is_hit, 10.0 ** (0.1 * decibels), 0.0))


def spectra(radar: Radar, distance_m: Array, power: Array, *, rng: np.random.Generator) -> Array:
    """Spectra (n, bins) in dB of samples whose rays (n, b) meet something at distances with powers; in tenths."""
    count = len(distance_m)
    bin_position = radar.bin_at(np.where(np.isfinite(distance_m), distance_m, 0.0)) - 1.0  # the first bin is column 0
    nearest = np.round(bin_position).astype(np.int64)
    total = radar_noise(radar, rng, count)
    for step in range(-SPREAD_BINS, SPREAD_BINS + 1):
        column = nearest + step
        inside = (column >= 0) & (column < radar.bins)
        offset = column - bin_position
        peak = np.exp(-0.5 * (offset / radar.peak_bins) ** 2) + SKIRT * np.exp(-0.5 * (offset / SKIRT_BINS) ** 2)
        flat = (np.arange(count)[:, None] * radar.bins + column)[inside]
        total += np.bincount(flat, (power * peak)[inside], count * radar.bins).reshape(count, -1)
    return np.asarray(np.round(np.clip(10.0 * np.log10(total), radar.floor_db, radar.ceiling_db), 1), float)


def radar_noise(radar: Radar, rng: np.random.Generator, count: int) -> Array:
    """The receiver's noise (count, bins) as powers."""
    mean = 10.0 ** (0.1 * radar.noise_db)
    return np.asarray(mean / radar.looks * rng.standard_gamma(radar.looks, (count, radar.bins)))


def strongest(radar: Radar, spectrum_db: Array) -> tuple[Array, Array]:
    """Range in m and power in dB (n,) of the highest peak that is near enough, by a parabola through three bins."""
    first, last = int(np.ceil(radar.bin_at(np.zeros(1))[0])), int(radar.bin_at(np.array([radar.farthest_m]))[0])
    column = first - 1 + spectrum_db[:, first - 1 : last].argmax(axis=1)
    before, peak, after = (spectrum_db[np.arange(len(column)), column + step] for step in (-1, 0, 1))
    bend = before - 2.0 * peak + after
    shift = np.where(bend < 0.0, 0.5 * (before - after) / np.where(bend < 0.0, bend, 1.0), 0.0)
    shift = np.clip(shift, -0.5, 0.5)
    power = peak - 0.25 * (before - after) * shift
    return np.minimum(radar.range_m(column + 1.0 + shift), radar.farthest_m), power
