"""SICK laser scanners of the LMS 2xx kind: 180 degrees in steps of one, each line a quarter of a degree further on.

Angles are positive clockwise seen from above, in the sensor's frame forward right down. The mirror turns 75 times a
second; a line is half a turn, and each of its beams is fired at a time of its own.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.world.rays import Rays
from fieldplay_samples.world.scene import Hits

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
TURN_S = 1.0 / 75.0
BEAMS = 181
PHASES = 4
BEYOND = 8183  # what is sent in place of a range that is too far
FLICKER = 0.1


@dataclass(frozen=True, kw_only=True)
class Sick:
    """What it can: an albedo of a tenth, met squarely, is seen as far as reach_of_tenth_m in clear air."""

    noise_m: float
    nearest_m: float
    farthest_m: float
    reach_of_tenth_m: float
    albedo_gain: float  # grass and wood are lighter in its near infra-red than they look


def start_angles_rad(line: Integers) -> Array:
    """Where lines (n,) begin, by their numbers."""
    return np.asarray(np.radians(-90.0 + 0.25 * (line % PHASES)))


def beam_counts(line: Integers) -> Integers:
    """How many values lines (n,) have: what would lie beyond 90 degrees is left out."""
    return np.asarray(np.where(line % PHASES == 0, BEAMS, BEAMS - 1))


def beam_angles_rad(line: Integers) -> Array:
    """The angles (n, 181) of the beams of lines (n,); the last one of a line of 180 is too many."""
    return np.asarray(start_angles_rad(line)[:, None] + np.radians(np.arange(BEAMS)))


def beam_delays_s(line: Integers) -> Array:
    """When each beam (n, 181) is fired after the mirror is at -90 degrees: 37 us per degree."""
    return np.asarray((beam_angles_rad(line) + np.pi / 2) / (2 * np.pi) * TURN_S)


def directions(angles_rad: Array) -> Array:
    """Unit directions (..., 3) of beams in the sensor's frame, forward right down."""
    return np.stack([np.cos(angles_rad), np.sin(angles_rad), np.zeros_like(angles_rad)], axis=-1)


def reach_m(sick: Sick, hits: Hits, rays: Rays, *, flicker: Array, depth: Array) -> Array:
    """How far (n,) each beam sees what it met, through air of an optical depth (n,), with a normal flicker (n,)."""
    slant = np.sqrt(np.abs(np.einsum("nc,nc->n", hits.normal, rays.directions)))
    echo = np.minimum(sick.albedo_gain * hits.albedo.mean(axis=1), 1.0) * slant
    clear = sick.reach_of_tenth_m * np.sqrt(echo / 0.1) * np.exp(FLICKER * flicker)
    return np.asarray(np.minimum(clear * np.exp(-depth), sick.farthest_m))


def centimetres(range_m: Array) -> Integers:
    """Ranges (...) as they are sent in centimetre mode; what is not finite is beyond."""
    return np.asarray(np.where(np.isfinite(range_m), np.round(100.0 * np.nan_to_num(range_m, posinf=0.0)), BEYOND), int)
