"""Laser returns judged by what a radar sees in their bearing, by their neighbours, and by what was there before.

Millimetre waves go through dust, smoke and rain, which a laser takes for obstacles. A return is suspect where it lies
in front of all that the radar sees in its bearing, and is spared where it is steady, as solid things are that the radar
misses. Where several neighbours are suspect too it lies in a cloud; where it stands alone it is a drop of rain.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay.dust.dust_fraction import (
    AirReport,
    Counted,
    FlagRates,
    shares_of_counts,
)
from fieldplay.dust.dust_settings import IntegritySettings
from fieldplay.dust.outcomes import (
    IN_FRONT,
    ISOLATED,
    NO_RETURN,
    OK,
    OUTCOMES,
    UNKNOWN,
    Outcomes,
)
from fieldplay.dust.radar import (
    Mounting,
    RadarCoverage,
    RadarViews,
    nearest_at,
    seen_by_radar,
)
from fieldplay.dust.scans import (
    Flags,
    Scans,
    before,
    beside,
    joined,
)
from fieldplay.dust.temporal_consistency import (
    STEADY,
    UNSTEADY,
    often_there,
    steadiness,
)
from fieldplay.geometry.transforms import Array

CLOUD_NEIGHBOURS = 2  # of the six around a return that are suspect too where it is part of a cloud


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegrityState:
    """What is kept of the scans so far: some of the last, the suspects of the very last (1, k), and counts."""

    past: Scans
    suspect: Array
    counted: Counted

    @property
    def last(self) -> Scans:
        """The last scan."""
        return self.past.only(slice(-1, None))

    @property
    def stamp_ns(self) -> int:
        """The time of the last scan."""
        return int(self.past.stamp_ns[-1])


@dataclass(frozen=True, eq=False, kw_only=True)
class Integrity:
    """Scans judged: what became of each return (n, k), the shares at each scan, the reports that were due."""

    outcomes: Outcomes
    shares: FlagRates
    reports: list[AirReport]
    last: IntegrityState


@dataclass(frozen=True, eq=False)
class _Suspicion:
    """Of returns (n, k): nearer than all that the radar sees there, though it could; and not nearer."""

    in_front: Flags
    behind: Flags


def integrity_from_scans(
    settings: IntegritySettings, state: IntegrityState | None, scans: Scans, *, views: RadarViews, mounting: Mounting
) -> Integrity:
    """Judge scans that follow those of a state, or are the first; at least one scan, in the order of time.

    The radar's views are those from memory and delay before the first scan up to the last.
    """
    met = np.isfinite(scans.ranges_m)
    radar = _suspicion(settings, scans, nearest_at(settings, views, scans.stamp_ns), mounting=mounting)
    suspect = np.where(met, radar.in_front, np.nan).astype(np.float64)
    in_cloud = _in_cloud(scans, suspect, state)
    alone = met & ~in_cloud & _alone(settings, scans, state)
    whole = scans if state is None else joined(state.past, scans)
    steady = steadiness(settings, whole, radar.in_front | alone)
    alone &= ~often_there(settings, whole, alone)
    outcomes = _outcomes(met, radar, alone, steady=steady, in_cloud=in_cloud)
    counts = np.stack([(outcomes == kind).sum(axis=1) for kind in range(OUTCOMES)], axis=1)
    counts[:, NO_RETURN] = np.isposinf(scans.ranges_m).sum(axis=1)
    shares, reports, counted = shares_of_counts(
        settings, None if state is None else state.counted, scans.stamp_ns, counts=counts
    )
    past = whole.only(slice(-settings.trace_scans, None))
    after = IntegrityState(past=past, suspect=suspect[-1:], counted=counted)
    return Integrity(outcomes=outcomes, shares=shares, reports=reports, last=after)


def filtered_ranges(ranges_m: Array, outcomes: Outcomes) -> Array:
    """The ranges (n, k) without those that are in front or isolated: NaN, which says neither free nor occupied."""
    return np.where((outcomes == IN_FRONT) | (outcomes == ISOLATED), np.nan, ranges_m)


def _suspicion(settings: IntegritySettings, scans: Scans, nearest_m: Array, *, mounting: Mounting) -> _Suspicion:
    met = np.isfinite(scans.ranges_m)
    seen = seen_by_radar(mounting, scans.angles_rad, np.where(met, scans.ranges_m, 0.0))
    radar_m = np.take_along_axis(nearest_m, seen.bin, axis=1)
    there = met & np.isfinite(radar_m)
    nearer = seen.range_m * (1.0 + settings.tolerance_share) + settings.tolerance_m < radar_m
    return _Suspicion(there & nearer & _comparable(settings, seen), there & ~nearer)


def _comparable(settings: IntegritySettings, seen: RadarCoverage) -> Flags:
    """Where something solid that stands on the ground and is met by the laser would be met by the radar too."""
    return np.asarray((seen.above_m >= -settings.below_m) & (seen.above_m <= settings.above_m), bool)


def _alone(settings: IntegritySettings, scans: Scans, state: IntegrityState | None) -> Flags:
    """Returns nearer by isolated_m than their neighbours in the scan and in the one before; NaN tells nothing."""
    ranges = scans.ranges_m
    last = None if state is None else state.last
    earlier = before(scans, last, ranges, None if last is None else last.ranges_m)
    farther = ranges <= settings.isolated_within_m
    for pair in ((beside(ranges, -1), beside(ranges, 1)), earlier):
        limits = np.fmin(*pair)  # the nearer of those that are there
        with np.errstate(invalid="ignore"):
            farther &= ranges + settings.isolated_m < limits
    return farther


def _in_cloud(scans: Scans, suspect: Array, state: IntegrityState | None) -> Flags:
    """Returns of whose neighbours, four in the scan and two in the one before, several are suspect."""
    earlier = before(scans, *((None, suspect, None) if state is None else (state.last, suspect, state.suspect)))
    around = [*(beside(suspect, steps) for steps in (-2, -1, 1, 2)), *earlier]
    count = sum((np.nan_to_num(values) for values in around), np.zeros(suspect.shape))
    return np.asarray(count >= CLOUD_NEIGHBOURS, bool)


def _outcomes(met: Flags, radar: _Suspicion, alone: Flags, *, steady: NDArray[np.uint8], in_cloud: Flags) -> Outcomes:
    """What each return is. Suspects of which nothing more is known, and those out of the beam, are UNKNOWN."""
    solid = radar.behind | (radar.in_front & (steady == STEADY))
    cloud = radar.in_front & in_cloud & (steady == UNSTEADY)
    drop = alone & (steady == UNSTEADY)
    kinds = np.select([~met, drop, cloud, solid], [NO_RETURN, ISOLATED, IN_FRONT, OK], UNKNOWN)
    return kinds.astype(np.uint8)
