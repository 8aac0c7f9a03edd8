"""Raw readings of joints' sensors as angles."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fieldplay.geometry.transforms import Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Encoders:
    """By joint (k,): counts per turn of the output with their sign, rad per such turn, and the offset in turns."""

    gear_ratio: Array
    rad_per_turn: Array
    offset_turns: Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Potentiometers:
    """By joint (k,): the reading at zero, and readings per rad."""

    zero: Array
    per_rad: Array


def angles_from_counts(encoders: Encoders, counts: ArrayLike) -> Array:
    """Joint angles (..., k) in rad from encoder counts (..., k)."""
    turns = np.asarray(counts, float) / encoders.gear_ratio
    return np.asarray(encoders.rad_per_turn * (turns - encoders.offset_turns), float)


def angles_from_readings(potentiometers: Potentiometers, readings: ArrayLike) -> Array:
    """Joint angles (..., k) in rad from potentiometer readings (..., k)."""
    return np.asarray((np.asarray(readings, float) - potentiometers.zero) / potentiometers.per_rad, float)
