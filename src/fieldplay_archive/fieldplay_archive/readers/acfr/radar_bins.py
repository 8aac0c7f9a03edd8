"""The radar's range equation, and the strongest peak of a spectrum between its bins."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

METRES_PER_UNIT = np.array([np.nan, 1e-3, 1e-2, 1.0, 1e3])  # by RangeUnitType: 0 is an error


@dataclass(frozen=True, kw_only=True)
class RangeEquation:
    """The calibrated constants: a sweep of so many Hz over the bins, the slope, and the range of bin 0."""

    sweep_hz: float
    hz_per_m: float
    offset_m: float

    def m_per_bin(self, bins: int) -> float:
        """Metres of a bin where a spectrum has so many."""
        return self.sweep_hz / (2 * bins) / self.hz_per_m

    def range_m(self, bin_number: ArrayLike, bins: int) -> Floats:
        """Ranges of bins, which are counted from 1 and may lie between two."""
        return np.asarray(bin_number, np.float64) * self.m_per_bin(bins) - self.offset_m


def equation_from(constants: Mapping[str, Any]) -> RangeEquation:
    """The equation by the description's numbers."""
    radar = constants["radar"]
    return RangeEquation(sweep_hz=radar["sweep_hz"], hz_per_m=radar["hz_per_m"], offset_m=radar["offset_m"])


def peak_bins(spectrum: Floats) -> Floats:
    """Where each row (n, k) is strongest (n,), in bins from 1: the top of the parabola through it and its neighbours.

    A peak in the first or the last bin has no two neighbours and stays where it is.
    """
    rows = np.arange(len(spectrum))
    top = spectrum.argmax(axis=1)
    inner = np.clip(top, 1, spectrum.shape[1] - 2)
    before, at, behind = (spectrum[rows, inner + step] for step in (-1, 0, 1))
    bend = before - 2 * at + behind
    inside = (inner == top) & (bend < 0)
    shift = np.where(inside, (before - behind) / np.where(inside, 2 * bend, 1.0), 0.0)
    found: Floats = top + 1 + shift
    return found


def metres(values: Floats, unit: Floats) -> Floats:
    """Ranges (n,) in metres by their RangeUnitType (n,), NaN where that is none."""
    known = np.where((unit >= 1) & (unit <= 4), unit, 0).astype(np.intp)
    found: Floats = values * METRES_PER_UNIT[known]
    return found
