"""Solid things that stand on the ground or move above it: rocks, boxes, spheres, poles and limbs.

There are two shapes. A stone is an ellipsoid cut by planes: with none it is a sphere or ellipsoid, with many a rock,
and with six that lie inside it a box. A limb is a capsule: all that is no further than its radius from a straight line.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
PLANES = 12
MAX_COVERS = 12  # of a limb
NO_PLANE = (0.0, 0.0, 1.0, 1e9)
Columns = TypeVar("Columns", "Stones", "Limbs")
BARK = (0.20, 0.16, 0.12)
LEAF_SIZE_M = (0.075, 0.105, 0.045)
CLUMPS = 7


@dataclass(frozen=True, eq=False, kw_only=True)
class Stones:
    """Ellipsoids (k,) of radii (k, 3) along their own axes, cut by planes (k, 12, 4): a normal and how far out it is.

    `world_R_stone` (k, 3, 3) and `centre` (k, 3) place them; `grain` (k,) is how strong the pattern of their albedo
    (k, 3) is.
    """

    centre: Array
    world_R_stone: Array
    radii_m: Array
    planes: Array
    albedo: Array
    grain: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class Limbs:
    """Capsules (k,) from begin to end (k, 3); where band_m (k,) is not 0, every second band of that length is white."""

    start: Array
    end: Array
    radius_m: Array
    albedo: Array
    band_m: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class Solids:
    """Stones, then limbs: a solid's number counts through both."""

    stones: Stones
    limbs: Limbs

    def __len__(self) -> int:
        return len(self.stones.centre) + len(self.limbs.start)

    def bounds(self) -> tuple[Array, Array]:
        """Centres (k, 3) and radii (k,) in m of spheres around the solids."""
        line = self.limbs.end - self.limbs.start
        centres = np.concatenate([self.stones.centre, self.limbs.start + line / 2])
        reach = self.stones.radii_m.max(axis=1, initial=0.0)
        return centres, np.concatenate([reach, self.limbs.radius_m + np.linalg.norm(line, axis=1) / 2])

    def covers(self) -> tuple[Array, Array, NDArray[np.intp]]:
        """Centres (s, 3) and radii (s,) in m of balls that cover the solids, many a limb; and whose each is (s,)."""
        limbs = self.limbs
        line = limbs.end - limbs.start
        count = np.clip(np.ceil(np.linalg.norm(line, axis=1) / np.maximum(4 * limbs.radius_m, 1e-9)), 1, MAX_COVERS)
        owner = np.repeat(np.arange(len(count)), count.astype(np.intp))
        index = np.arange(len(owner)) - np.searchsorted(owner, owner)
        centres = limbs.start[owner] + ((index + 0.5) / count[owner])[:, None] * line[owner]
        half = np.linalg.norm(line, axis=1) / (2 * count)  # of the length that a ball is for
        reach = np.concatenate([self.stones.radii_m.max(axis=1, initial=0.0), (limbs.radius_m + half)[owner]])
        stones = len(self.stones.centre)
        whose = np.concatenate([np.arange(stones), stones + owner])
        return np.concatenate([self.stones.centre, centres]), reach, whose


NO_STONES = Stones(
    centre=np.zeros((0, 3)),
    world_R_stone=np.zeros((0, 3, 3)),
    radii_m=np.zeros((0, 3)),
    planes=np.zeros((0, PLANES, 4)),
    albedo=np.zeros((0, 3)),
    grain=np.zeros(0),
)
NO_LIMBS = Limbs(
    start=np.zeros((0, 3)), end=np.zeros((0, 3)), radius_m=np.zeros(0), albedo=np.zeros((0, 3)), band_m=np.zeros(0)
)


def stone(
    centre: ArrayLike,
    radii_m: ArrayLike,
    *,
    world_R_stone: ArrayLike | None = None,
    planes: ArrayLike | None = None,
    albedo: ArrayLike = 0.3,
    grain: float = 1.0,
) -> Solids:
    """An ellipsoid of radii (3,) about centre (3,), cut by up to 12 planes (p, 4): outward normal, distance in m."""
    cuts = np.tile(np.array(NO_PLANE), (PLANES, 1))
    if planes is not None:
        cuts[: len(np.atleast_2d(planes))] = planes
    return Solids(
        stones=Stones(
            centre=np.asarray(centre, float)[None],
            world_R_stone=(np.eye(3) if world_R_stone is None else np.asarray(world_R_stone, float))[None],
            radii_m=np.broadcast_to(np.asarray(radii_m, float), (1, 3)),
            planes=cuts[None],
            albedo=np.broadcast_to(np.asarray(albedo, float), (1, 3)),
            grain=np.array([grain]),
        ),
        limbs=NO_LIMBS,
    )


def sphere(centre: ArrayLike, radius_m: float, *, albedo: ArrayLike = 0.3, grain: float = 0.0) -> Solids:
    """A sphere about centre (3,)."""
    return stone(centre, radius_m, albedo=albedo, grain=grain)


def box(
    centre: ArrayLike,
    sizes_m: ArrayLike,
    *,
    world_R_box: ArrayLike | None = None,
    albedo: ArrayLike = 0.3,
    grain: float = 0.0,
) -> Solids:
    """A box of whole lengths (3,) along its own axes, about centre (3,)."""
    halves = np.asarray(sizes_m, float) / 2
    planes = np.concatenate([np.c_[np.eye(3), halves], np.c_[-np.eye(3), halves]])
    around = 1.0001 * np.linalg.norm(halves)
    return stone(centre, around, world_R_stone=world_R_box, planes=planes, albedo=albedo, grain=grain)


def capsule(
    start: ArrayLike, end: ArrayLike, radius_m: float, *, albedo: ArrayLike = 0.3, band_m: float = 0.0
) -> Solids:
    """All that is within radius_m of the line from begin to end (3,); with bands in turn of its albedo and white."""
    return Solids(
        stones=NO_STONES,
        limbs=Limbs(
            start=np.asarray(start, float)[None],
            end=np.asarray(end, float)[None],
            radius_m=np.array([float(radius_m)]),
            albedo=np.broadcast_to(np.asarray(albedo, float), (1, 3)),
            band_m=np.array([float(band_m)]),
        ),
    )


def pole(foot: ArrayLike, height_m: float, *, radius_m: float = 0.04, albedo: ArrayLike = (0.6, 0.08, 0.05)) -> Solids:
    """A survey pole of red and white bands, upright on foot (3,)."""
    x, y, z = np.asarray(foot, float)
    return capsule((x, y, z - 0.3), (x, y, z + height_m - radius_m), radius_m, albedo=albedo, band_m=0.4)


def merge_solids(parts: Iterable[Solids]) -> Solids:
    """Merge solids into one, each kind in the order of the parts."""
    parts = list(parts)
    return Solids(
        stones=_concatenate(Stones, [part.stones for part in parts] or [NO_STONES]),
        limbs=_concatenate(Limbs, [part.limbs for part in parts] or [NO_LIMBS]),
    )


def _concatenate(kind: type[Columns], parts: list[Columns]) -> Columns:
    names = [field.name for field in fields(kind)]
    return kind(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


# Trees: a trunk, and a crown of a few round clumps of leaves.


@dataclass(frozen=True, kw_only=True)
class Habit:
    """A tree's height, its trunk's radius, where the crown begins and how far it reaches from the trunk, in m."""

    height_m: float
    trunk_m: float
    crown_from_m: float
    crown_m: float


def tree(foot: tuple[float, float, float], habit: Habit, rng: np.random.Generator) -> tuple[Solids, Solids]:
    """Trunk and crown of a tree on foot (3,)."""
    x, y, z = foot
    trunk = capsule((x, y, z - 0.3), (x, y, z + 0.8 * habit.height_m), habit.trunk_m, albedo=BARK)
    half = 0.5 * (habit.height_m - habit.crown_from_m)
    return trunk, merge_solids(
        _clump((x, y, z + habit.crown_from_m + half), half, habit.crown_m, rng=rng) for _ in range(CLUMPS)
    )


def _clump(middle: tuple[float, float, float], half_m: float, reach_m: float, *, rng: np.random.Generator) -> Solids:
    size = np.array([reach_m, reach_m, half_m]) * rng.uniform(0.4, 0.6)
    turn, away = rng.uniform(0.0, 2.0 * np.pi), 0.5 * reach_m * np.sqrt(rng.uniform())
    up = rng.uniform(-1.0, 1.0) * (half_m - size[2])
    centre = np.add(middle, [away * np.cos(turn), away * np.sin(turn), up])
    return stone(centre, size, albedo=np.array(LEAF_SIZE_M) * rng.lognormal(0.0, 0.2), grain=2.5)


def habit_of_size(height_m: float, rng: np.random.Generator) -> Habit:
    """How a tree of a height grows in the open."""
    return Habit(
        height_m=height_m,
        trunk_m=0.025 * height_m,
        crown_from_m=height_m * float(rng.uniform(0.25, 0.4)),
        crown_m=height_m * float(rng.uniform(0.25, 0.4)),
    )
