"""A yard with a wall, posts and level ground, as lasers and a radar on a vehicle see it, with dust or rain in the air.

Written for the tests of sensor integrity: rays against planes and cylinders in the base's frame, and nothing else.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fieldplay.dust.scans import Scans
from fieldplay.geometry.transforms import rotation_from_fixed_xyz, transform_from_rotation

Array = NDArray[np.float64]

START_NS = 1_224_053_469_000_000_000
SCAN_NS, TURN_NS = 13_333_333, 125_000_000
GROUND_M = -0.93
BEAMS, SAMPLES = 181, 124
FARTHEST_M, RADAR_FARTHEST_M = 80.0, 40.0
HALF_BEAM_DEG = 1.5


def sensor_transform(rpy_deg: tuple[float, float, float], position_m: tuple[float, float, float]) -> Array:
    """Transform of a sensor in the base (4, 4)."""
    return transform_from_rotation(rotation_from_fixed_xyz(np.radians(rpy_deg)), position_m)


# as section 3.2 of the facts has them
LASER = sensor_transform((-0.732828, 8.586863, 1.631319), (0.108987, -0.008302, 0.919726))
PORT = sensor_transform((-0.500234, 2.616210, 1.805911), (0.190857, 0.548777, 0.763776))
RADAR = sensor_transform((179.848429, 11.161703, 6.721919), (-0.025753, 0.047174, 1.399104))


@dataclass(frozen=True, kw_only=True)
class Air:
    """A box of dust: x and y from and to, up to a height over the ground, density in parts per metre; and rain."""

    dust_m: tuple[float, float, float, float] = (2.5, 7.5, -4.0, 4.0)
    dust_height_m: float = 3.5
    dust_per_m: float = 0.0
    rain_share: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Yard:
    """Posts (x, y, radius, height) and a wall across x; the vehicle moves along x from the start on."""

    posts: tuple[tuple[float, float, float, float], ...] = ((6.0, -1.5, 0.06, 2.0), (9.0, 3.0, 0.3, 2.5))
    unseen_posts: tuple[tuple[float, float, float, float], ...] = ()  # that the radar misses
    wall_x_m: float = 16.0
    speed_m_s: float = 0.0
    air: Air = field(default_factory=Air)
    seed: int = 1


def scans_of(
    yard: Yard, seconds: float, base_t_laser: Array = LASER, *, start_s: float = 0.0
) -> tuple[Scans, NDArray[np.bool_]]:
    """Scans in four interleaved phases, and which returns (n, k) are of dust or drops."""
    random = np.random.default_rng(yard.seed)
    count = int(seconds * 1e9 / SCAN_NS)
    time_s = start_s + np.arange(count) * SCAN_NS / 1e9
    starts = np.radians(-90.0 + 0.25 * (np.arange(count) % 4))
    angles = starts[:, None] + np.radians(np.arange(BEAMS))
    directions = np.stack([np.cos(angles), np.sin(angles), np.zeros(angles.shape)], axis=-1) @ base_t_laser[:3, :3].T
    origin = np.broadcast_to(base_t_laser[:3, 3], directions.shape) + 0.0
    origin[..., 0] += (yard.speed_m_s * time_s)[:, None]
    ranges = ranges_to_scene(yard, (*yard.posts, *yard.unseen_posts), origin, directions)
    ranges += random.normal(0.0, 0.015, ranges.shape)
    ranges[ranges > FARTHEST_M] = np.inf
    through = _dust(yard.air, origin, directions, random)
    drops = np.where(random.random(ranges.shape) < yard.air.rain_share, random.uniform(0.5, 10.0, ranges.shape), np.inf)
    airborne = np.minimum(through, drops) < ranges
    ranges = np.where(airborne, np.minimum(through, drops), ranges)
    ranges[1:][(np.arange(1, count) % 4 > 0), -1] = np.nan  # 180 beams but in the first phase
    airborne &= np.isfinite(ranges)
    stamps = START_NS + np.rint(time_s * 1e9).astype(np.int64)
    step = np.full(count, np.radians(1.0))
    return Scans(stamp_ns=stamps, angle_min_rad=starts, angle_increment_rad=step, ranges_m=ranges), airborne


def turns_of(yard: Yard, seconds: float, *, start_s: float = 0.0) -> tuple[NDArray[np.int64], list[Array]]:
    """Times (m,) of the radar's revolutions, and the points (k, 3) of each in the radar's frame."""
    random = np.random.default_rng(yard.seed + 1)
    starts_s = start_s + np.arange(int(seconds * 1e9 / TURN_NS)) * TURN_NS / 1e9
    azimuth = np.arange(SAMPLES) * (2 * np.pi / SAMPLES)
    turns = []
    for start in starts_s.tolist():
        nearest = np.full(SAMPLES, np.inf)
        for up, aside in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)):
            turned, raised = azimuth + np.radians(aside * HALF_BEAM_DEG), np.radians(up * HALF_BEAM_DEG)
            flat = np.stack([np.cos(turned) * np.cos(raised), np.sin(turned) * np.cos(raised)], axis=-1)
            directions = np.concatenate([flat, np.full((SAMPLES, 1), np.sin(raised))], axis=1) @ RADAR[:3, :3].T
            origin = RADAR[:3, 3] + np.array([yard.speed_m_s * start, 0.0, 0.0])
            ranges = ranges_to_scene(yard, yard.posts, np.broadcast_to(origin, directions.shape), directions)
            is_ground = directions[:, 2] * ranges + origin[2] < GROUND_M + 0.05
            nearest = np.minimum(nearest, np.where(is_ground & ((up != 0) | (aside != 0)), np.inf, ranges))
        nearest += random.normal(0.0, 0.1, SAMPLES)
        is_near = nearest < RADAR_FARTHEST_M
        flat = np.stack([np.cos(azimuth), np.sin(azimuth), np.zeros(SAMPLES)], axis=-1)
        turns.append(flat[is_near] * nearest[is_near, None])
    return START_NS + np.rint(starts_s * 1e9).astype(np.int64), turns


def ranges_to_scene(
    yard: Yard, posts: tuple[tuple[float, float, float, float], ...], origin: Array, direction: Array
) -> Array:
    """Ranges (...) along rays (..., 3) to the first of ground, wall and posts."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ground = (GROUND_M - origin[..., 2]) / direction[..., 2]
        wall = (yard.wall_x_m - origin[..., 0]) / direction[..., 0]
        nearest = np.minimum(np.where(ground > 0, ground, np.inf), np.where(wall > 0, wall, np.inf))
        for x, y, radius, height in posts:
            a = direction[..., 0] ** 2 + direction[..., 1] ** 2
            across, along = origin[..., 0] - x, origin[..., 1] - y
            b = across * direction[..., 0] + along * direction[..., 1]
            root = np.sqrt(b * b - a * (across**2 + along**2 - radius**2))
            hit = (-b - root) / a
            top = origin[..., 2] + hit * direction[..., 2]
            nearest = np.where((hit > 0) & (top < GROUND_M + height) & (hit < nearest), hit, nearest)
    return np.asarray(nearest, float)


def _dust(air: Air, origin: Array, direction: Array, random: np.random.Generator) -> Array:
    """Where each ray ends in the dust, infinite where it comes through; the box goes with the vehicle."""
    if not air.dust_per_m:
        return np.full(direction.shape[:-1], np.inf)
    x_low, x_high, y_low, y_high = air.dust_m
    low = np.array([x_low, y_low, GROUND_M])
    high = np.array([x_high, y_high, GROUND_M + air.dust_height_m])
    own = origin - origin[..., :1, :] * [1, 0, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = (low - own) / direction, (high - own) / direction
    enters, exits = np.minimum(one, other).max(axis=-1), np.maximum(one, other).min(axis=-1)
    hits = np.maximum(enters, 0.0) + random.exponential(1.0 / air.dust_per_m, enters.shape)
    return np.where((exits > np.maximum(enters, 0)) & (hits < exits), hits, np.inf)
