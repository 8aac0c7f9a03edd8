"""Trees: a trunk, and a crown of a few round clumps of leaves."""

from dataclasses import dataclass

import numpy as np

from fieldplay_samples.world.solids import Solids, capsule, merged, stone

BARK = (0.20, 0.16, 0.12)
LEAVES = (0.075, 0.105, 0.045)
CLUMPS = 7


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
    return trunk, merged(
        _clump((x, y, z + habit.crown_from_m + half), half, habit.crown_m, rng=rng) for _ in range(CLUMPS)
    )


def _clump(middle: tuple[float, float, float], half_m: float, reach_m: float, *, rng: np.random.Generator) -> Solids:
    size = np.array([reach_m, reach_m, half_m]) * rng.uniform(0.4, 0.6)
    turn, away = rng.uniform(0.0, 2.0 * np.pi), 0.5 * reach_m * np.sqrt(rng.uniform())
    up = rng.uniform(-1.0, 1.0) * (half_m - size[2])
    centre = np.add(middle, [away * np.cos(turn), away * np.sin(turn), up])
    return stone(centre, size, albedo=np.array(LEAVES) * rng.lognormal(0.0, 0.2), grain=2.5)


def habit_of_size(height_m: float, rng: np.random.Generator) -> Habit:
    """How a tree of a height grows in the open."""
    return Habit(
        height_m=height_m,
        trunk_m=0.025 * height_m,
        crown_from_m=height_m * float(rng.uniform(0.25, 0.4)),
        crown_m=height_m * float(rng.uniform(0.25, 0.4)),
    )
