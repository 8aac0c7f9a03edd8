"""Spinning and planar laser scanners in a scene."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay_samples.data import numbers_of
from fieldplay_samples.world.rays import Rays
from fieldplay_samples.world.scene import Hits, Scene

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
TURN_S = 1.0 / 75.0
BEAMS = 181
PHASES = 4
BEYOND = 8183  # what is sent in place of a range that is too far
FLICKER = 0.1
NEAREST_M = 0.5
FULL_ALBEDO = 0.25  # seen squarely, it returns the intensity 255


# SICK laser scanners of the LMS 2xx kind: 180 degrees in steps of one, each line a quarter of a degree further on.
#
# Angles are positive clockwise seen from above, in the sensor's frame forward right down. The mirror turns 75 times a
# second; a line is half a turn, and each of its beams is fired at a time of its own.


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


@dataclass(frozen=True, kw_only=True)
class Spinning:
    """Lasers on a head that turns clockwise seen from above, in the lidar's frame: z up, azimuth 0 along x.

    Laser i fires i // lasers_at_once firings after its column; elevations and azimuth offsets are by laser. An albedo
    of a tenth, met squarely, is seen as far as reach_of_tenth_m; other things as their returns are stronger or weaker.
    """

    elevations_deg: tuple[float, ...]
    azimuth_offsets_deg: tuple[float, ...]
    firing_cycle_s: float
    firing_s: float = 0.0
    lasers_at_once: int = 1
    period_s: float = 0.2
    farthest_m: float = 100.0
    reach_of_tenth_m: float = np.inf

    @property
    def columns(self) -> int:
        """Firing cycles in a turn."""
        return round(self.period_s / self.firing_cycle_s)


@dataclass(frozen=True, eq=False, kw_only=True)
class Sweep:
    """The points (n, 3) of one turn in firing order, each in the lidar's frame at the time (n,) it was fired.

    Times are seconds since the start of the sweep, intensities (n,) 0 to 255, lasers (n,) the maker's numbers.
    """

    points_m: NDArray[np.float32]
    intensity: NDArray[np.float32]
    time_s: Array
    laser: NDArray[np.uint8]


def lidar_named(name: str) -> Spinning:
    """The lidar `name` of data/lidars.yaml (vlp32c)."""
    entry: dict[str, Any] = numbers_of("lidars")[name]
    lasers = {key: tuple(entry[key]) for key in ("elevations_deg", "azimuth_offsets_deg")}
    return Spinning(**{**entry, **lasers})


def sweep(
    scene: Scene,
    lidar: Spinning,
    world_T_lidar_at: Callable[[Array], Array],
    start_s: float,
    *,
    noise_m: float = 0.01,
    rng: np.random.Generator | None = None,
    start_rad: float = 0.0,
) -> Sweep:
    """One rotation from start_s on, starting at azimuth begin_rad; rays without a hit are left out.

    world_T_lidar_at gives poses (m, 4, 4) at times (m,) in s: those of the columns, within which the lidar stands still
    (at 1 m/s it moves by 0.06 mm). Ranges are normally distributed about the true ones with noise_m.
    """
    time, column, directions = _firings(lidar, start_rad)
    started = start_s + lidar.firing_cycle_s * np.arange(lidar.columns, dtype=np.float64)
    poses = world_T_lidar_at(started)
    world = np.einsum("nij,nj->ni", poses[:, :3, :3][column], directions)
    hits = scene.cast(
        poses[:, :3, 3][column],
        world,
        nearest_m=NEAREST_M,
        farthest_m=lidar.farthest_m,
        spread_rad=0.003,
    )
    rng = rng or np.random.default_rng(0)
    seen = np.flatnonzero(hits.distance_m < _reach_m(lidar, hits, world, rng=rng))
    noise = rng.normal(0.0, noise_m, len(directions))
    laser = np.tile(np.arange(len(lidar.elevations_deg), dtype=np.uint8), lidar.columns)
    distance = hits.distance_m[seen] + noise[seen]
    return Sweep(
        points_m=(distance[:, None] * directions[seen]).astype(np.float32),
        intensity=intensities(hits, world)[seen],
        time_s=time[seen],
        laser=laser[seen],
    )


@lru_cache(maxsize=2)
def _firings(lidar: Spinning, start_rad: float) -> tuple[Array, NDArray[np.intp], Array]:
    """Of all firings of a turn (n,): the time in s since its start, the column, and the direction (n, 3)."""
    lasers = np.arange(len(lidar.elevations_deg))
    after = lidar.firing_s * (lasers // lidar.lasers_at_once)
    time = lidar.firing_cycle_s * np.arange(lidar.columns)[:, None] + after
    azimuth = start_rad - 2 * np.pi * time / lidar.period_s - np.deg2rad(lidar.azimuth_offsets_deg)
    elevation = np.broadcast_to(np.deg2rad(lidar.elevations_deg), azimuth.shape)
    across = np.cos(elevation)
    directions = np.stack([across * np.cos(azimuth), across * np.sin(azimuth), np.sin(elevation)], axis=-1)
    return time.ravel(), np.repeat(np.arange(lidar.columns), len(lasers)), directions.reshape(-1, 3)


def _reach_m(lidar: Spinning, hits: Hits, directions: Array, *, rng: np.random.Generator) -> Array:
    """How far (n,) each ray sees what it met: a return fades with the square of the distance, and flickers a little."""
    strength = hits.albedo.mean(axis=1) * _squareness(hits, directions)
    flicker = np.exp(FLICKER * rng.standard_normal(len(strength)))
    reach = lidar.reach_of_tenth_m * np.sqrt(strength / 0.1) * flicker
    return np.asarray(np.minimum(reach, lidar.farthest_m))


def _squareness(hits: Hits, directions: Array) -> Array:
    """The cosine (n,) of the angle between a ray and the surface's normal."""
    return np.asarray(np.abs(np.einsum("nc,nc->n", hits.normal, directions)))


def intensities(hits: Hits, directions: Array) -> NDArray[np.float32]:
    """Intensities (n,) 0 to 255 of returns along unit directions (n, 3): the albedo, less where it is met aslant."""
    strength = 255 / FULL_ALBEDO * hits.albedo.mean(axis=1) * np.sqrt(_squareness(hits, directions))
    return np.asarray(np.round(np.clip(strength, 0.0, 255.0)), np.float32)


def scan(
    scene: Scene,
    world_T_laser: Array,
    bearings_rad: Array,
    *,
    farthest_m: float = 30.0,
    noise_m: float = 0.0,
    rng: np.random.Generator | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Ranges and intensities (n,) of a planar scanner at bearings (n,) in its x-y plane; inf where nothing is met."""
    directions = np.stack([np.cos(bearings_rad), np.sin(bearings_rad), np.zeros_like(bearings_rad)], axis=-1)
    world = directions @ world_T_laser[:3, :3].T
    origins = np.broadcast_to(world_T_laser[:3, 3], world.shape)
    hits = scene.cast(origins, world, nearest_m=0.02, farthest_m=farthest_m, spread_rad=0.01)
    noise = (rng or np.random.default_rng(0)).normal(0.0, noise_m, len(world))
    return (hits.distance_m + noise).astype(np.float32), intensities(hits, world)
