"""Laser returns classified by a radar's returns in their bearing, by their neighbours, and by earlier scans.

Millimetre waves go through dust, smoke and rain, which a laser takes for obstacles. A return is suspect where it lies
in front of all that the radar sees in its bearing, and is spared where it is steady, as solid things are that the radar
misses. Where several neighbours are suspect too it lies in a cloud; where it stands alone it is a drop of rain.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay.dust.radar_returns import (
    Mounting,
    RadarCoverage,
    RadarViews,
    nearest_at,
    project_to_radar,
)
from fieldplay.dust.scans import (
    IN_FRONT,
    ISOLATED,
    NO_RETURN,
    OK,
    OUTCOMES,
    UNKNOWN,
    Flags,
    IntegritySettings,
    Outcomes,
    Scans,
    concatenate_scans,
    previous_scan_values,
    shift_beams,
)
from fieldplay.geometry.transforms import Array

NS_PER_S = 1_000_000_000
A_THIRD = 1 / 3  # of dust_share is enough if single returns indicate something in the air too
CLEAR, DUST_OR_SMOKE, RAIN, NOT_JUDGED = "clear", "dust or smoke", "rain", "not classified"
Counts = NDArray[np.int64]
LEAST_OFTEN = 3  # of the scans before, in which a thing shows that some beams miss; more than drops meet one place
AT_ONCE = 1 << 15  # returns
ONE_STEP = 1.001  # of the beams, with a little for rounding
LONGEST_STEP_NS = 500_000_000  # from a scan to the next
NOT_ASKED, NO_HISTORY, STEADY, UNSTEADY = range(4)
Indices = NDArray[np.intp]
CLOUD_NEIGHBOURS = 2  # of the six around a return that are suspect too where it is part of a cloud


# Shares of flagged returns over a window of time, and what they say of the air.


@dataclass(frozen=True, eq=False, kw_only=True)
class CountWindow:
    """Counts of each outcome in the last scans (m, OUTCOMES), at their times (m,), and the time of the first scan."""

    first_ns: int
    stamp_ns: NDArray[np.int64]
    counts: Counts


@dataclass(frozen=True, eq=False, kw_only=True)
class FlagRates:
    """Over the window that ends with each scan (n,): fractions of returns, NaN where there were none to count.

    `suspect` are those in front or isolated of all returns, `in_front` those of the returns that could be compared,
    `isolated` and `unknown` those of all; `no_return` are the beams that met nothing, of all that were sent.
    """

    suspect: Array
    in_front: Array
    isolated: Array
    unknown: Array
    no_return: Array
    judged: Counts

    def __len__(self) -> int:
        return len(self.suspect)


@dataclass(frozen=True, kw_only=True)
class AirReport:
    """The rates at a time, and the verdict from them."""

    stamp_ns: int
    verdict: str
    suspect: float
    in_front: float
    isolated: float
    unknown: float
    no_return: float
    judged: int

    @property
    def is_fine(self) -> bool:
        """Whether nothing speaks against the returns."""
        return self.verdict in (CLEAR, NOT_JUDGED)

    @property
    def values(self) -> tuple[tuple[str, str], ...]:
        """Names and numbers, as a diagnostic status has them."""
        fractions = ("suspect", "in_front", "isolated", "unknown", "no_return")
        values = tuple((f"{name}_share", f"{getattr(self, name):.4f}") for name in fractions)
        return (*values, ("judged_returns", str(self.judged)))


def update_rates(
    settings: IntegritySettings, before: CountWindow | None, stamp_ns: NDArray[np.int64], *, counts: Counts
) -> tuple[FlagRates, list[AirReport], CountWindow]:
    """The rates at further scans with counts (n, OUTCOMES), and a report for each report_s that started."""
    first_ns = int(stamp_ns[0]) if before is None else before.first_ns
    old = np.zeros(0, np.int64) if before is None else before.stamp_ns
    times = np.concatenate([old, stamp_ns])
    all_counts = counts if before is None else np.concatenate([before.counts, counts])
    window_ns = round(settings.window_s * NS_PER_S)
    start = np.searchsorted(times, stamp_ns - window_ns, side="right")
    sums = np.concatenate([np.zeros((1, all_counts.shape[1]), np.int64), np.cumsum(all_counts, axis=0)])
    fractions = _flag_rates(sums[len(old) + 1 :] - sums[start])
    number = (np.concatenate([old[-1:], stamp_ns]) - first_ns) // round(settings.report_s * NS_PER_S)
    due = np.diff(number, prepend=number[:1])[len(old[-1:]) :] > 0
    reports = [_report(settings, fractions, row, int(stamp_ns[row])) for row in np.flatnonzero(due).tolist()]
    in_window = times > times[-1] - window_ns
    return fractions, reports, CountWindow(first_ns=first_ns, stamp_ns=times[in_window], counts=all_counts[in_window])


def air_verdict(settings: IntegritySettings, in_front: float, isolated: float, *, judged: int) -> str:
    """Classify the air by the rates; NaN does not count."""
    if judged >= settings.least_judged and in_front >= settings.dust_share:
        return DUST_OR_SMOKE
    if isolated >= settings.rain_share:
        lies_together = in_front >= max(settings.cloud_share * (in_front + isolated), A_THIRD * settings.dust_share)
        return DUST_OR_SMOKE if lies_together else RAIN
    return CLEAR if judged >= settings.least_judged else NOT_JUDGED


def _flag_rates(sums: Counts) -> FlagRates:
    returns = sums[:, OK] + sums[:, IN_FRONT] + sums[:, ISOLATED] + sums[:, UNKNOWN]
    judged = sums[:, OK] + sums[:, IN_FRONT]
    return FlagRates(
        suspect=_ratio(sums[:, IN_FRONT] + sums[:, ISOLATED], returns),
        in_front=_ratio(sums[:, IN_FRONT], judged),
        isolated=_ratio(sums[:, ISOLATED], returns),
        unknown=_ratio(sums[:, UNKNOWN], returns),
        no_return=_ratio(sums[:, NO_RETURN], returns + sums[:, NO_RETURN]),
        judged=judged,
    )


def _ratio(part: Counts, total: Counts) -> Array:
    fraction: Array = np.divide(part, total, out=np.full(len(part), np.nan), where=total > 0)
    return fraction


def _report(settings: IntegritySettings, fractions: FlagRates, row: int, stamp_ns: int) -> AirReport:
    names = ("suspect", "in_front", "isolated", "unknown", "no_return")
    values = {name: float(getattr(fractions, name)[row]) for name in names}
    judged = int(fractions.judged[row])
    verdict = air_verdict(settings, values["in_front"], values["isolated"], judged=judged)
    return AirReport(stamp_ns=stamp_ns, verdict=verdict, judged=judged, **values)


# Whether a return can be traced back from scan to scan, as solid things can, or was there before now and then.


def steadiness(settings: IntegritySettings, scans: Scans, requested: Flags) -> NDArray[np.uint8]:
    """STEADY or UNSTEADY for those returns of the last n scans that are asked for (n, k); UNKNOWN where all began.

    A return is traced from each scan to the one before: to that of the beams up to one step aside that has the nearest
    range, which may differ by steady_m. A step may find nothing, but no two in a row. So a thing may move, and the
    vehicle too.
    """
    result = np.full(requested.shape, NOT_ASKED, np.uint8)
    for rows, beams in _parts(requested):
        result[rows, beams] = _trace_back(settings, scans, rows + len(scans) - len(requested), beams)
    return result


def is_recurrent(settings: IntegritySettings, scans: Scans, requested: Flags) -> Flags:
    """Those returns of the last n scans that are asked for (n, k) and were met before, at most a step aside.

    A post thinner than the step of the beams is missed by most scans, and cannot be traced. Where too few scans were
    before, all may have been there.
    """
    result = np.zeros(requested.shape, bool)
    steps = np.arange(1, settings.trace_scans + 1)
    for rows, beams in _parts(requested, at_once=AT_ONCE // settings.trace_scans + 1):
        own = rows + len(scans) - len(requested)
        earlier = (own[:, None] - steps).ravel()
        direction, range_m = _directions(scans, own, beams), scans.ranges_m[own, beams]
        repeated = (np.repeat(values, len(steps)) for values in (direction, range_m))
        near = _nearest(scans, np.maximum(earlier, 0), *repeated, within_m=settings.steady_m)[0] & (earlier >= 0)
        result[rows, beams] = (near.reshape(-1, len(steps)).sum(axis=1) >= LEAST_OFTEN) | (own < len(steps))
    return result


def _parts(requested: Flags, at_once: int = AT_ONCE) -> Iterator[tuple[Indices, Indices]]:
    rows, beams = np.nonzero(requested)
    for start in range(0, len(rows), at_once):
        yield rows[start : start + at_once], beams[start : start + at_once]


def _trace_back(settings: IntegritySettings, scans: Scans, rows: Indices, beams: Indices) -> NDArray[np.uint8]:
    """Trace returns (c,) back, all of them one scan at a time."""
    result = np.full(len(rows), STEADY, np.uint8)
    follows = np.r_[False, np.diff(scans.stamp_ns) <= LONGEST_STEP_NS]
    direction = _directions(scans, rows, beams)
    range_m, missed, number = scans.ranges_m[rows, beams], np.zeros(len(rows), bool), np.arange(len(rows))
    for step in range(1, settings.trace_scans + 1):
        row = rows[number] - step
        known = (row >= 0) & follows[row + 1]
        result[number[~known]] = NO_HISTORY
        there, near_direction, near_m = _nearest(
            scans, np.maximum(row, 0), direction, range_m, within_m=settings.steady_m
        )
        lost = known & ~there & missed
        result[number[lost]] = UNSTEADY
        keep_mask = known & ~lost
        number, direction, range_m, missed = (
            number[keep_mask],
            near_direction[keep_mask],
            near_m[keep_mask],
            ~there[keep_mask],
        )
        if not len(number):
            break
    return result


def _directions(scans: Scans, rows: Indices, beams: Indices) -> Array:
    """Where beams (c,) point, in steps from the angle 0."""
    return np.asarray(beams + scans.angle_min_rad[rows] / scans.angle_increment_rad[rows], np.float64)


def _nearest(
    scans: Scans, row: Indices, direction: Array, range_m: Array, *, within_m: float
) -> tuple[Flags, Array, Array]:
    """The nearest in range of the beams within a step of each direction (c,): whether near enough; direction; range.

    Where it is not near enough, direction and range stay.
    """
    start = scans.angle_min_rad[row] / scans.angle_increment_rad[row]
    local = direction - start
    beams = np.rint(local).astype(np.intp)[:, None] + np.arange(-1, 2)
    inside = (beams >= 0) & (beams < scans.ranges_m.shape[1]) & (np.abs(beams - local[:, None]) <= ONE_STEP)
    ranges = scans.ranges_m[row[:, None], np.where(inside, beams, 0)]
    off_m = np.abs(ranges - range_m[:, None])
    off_m[~(inside & (off_m <= within_m))] = np.inf  # and what is no number
    each = np.arange(len(row))
    best = np.argmin(off_m, axis=1)
    there = off_m[each, best] <= within_m
    return there, np.where(there, beams[each, best] + start, direction), np.where(there, ranges[each, best], range_m)


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegrityState:
    """What is kept of the scans so far: some of the last, the suspects of the very last (1, k), and counts."""

    past: Scans
    suspect: Array
    count_window: CountWindow

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
    """The result for scans: the outcome of each return (n, k), the rates at each scan, the reports that were due."""

    outcomes: Outcomes
    rates: FlagRates
    reports: list[AirReport]
    last: IntegrityState


@dataclass(frozen=True, eq=False)
class _Suspicion:
    """Which returns (n, k) are nearer than all that the radar sees there, though it could; and which are not nearer."""

    in_front: Flags
    not_nearer: Flags


def integrity_from_scans(
    settings: IntegritySettings, state: IntegrityState | None, scans: Scans, *, views: RadarViews, mounting: Mounting
) -> Integrity:
    """Classify scans that follow those of a state, or are the first; at least one scan, in the order of time.

    The radar's views are those from memory and delay before the first scan up to the last.
    """
    met = np.isfinite(scans.ranges_m)
    radar = _suspicion(settings, scans, nearest_at(settings, views, scans.stamp_ns), mounting=mounting)
    suspect = np.where(met, radar.in_front, np.nan).astype(np.float64)
    in_cloud = _in_cloud(scans, suspect, state)
    alone = met & ~in_cloud & _is_isolated(settings, scans, state)
    all_scans = scans if state is None else concatenate_scans(state.past, scans)
    steady = steadiness(settings, all_scans, radar.in_front | alone)
    alone &= ~is_recurrent(settings, all_scans, alone)
    outcomes = _outcomes(met, radar, alone, steady=steady, in_cloud=in_cloud)
    counts = np.stack([(outcomes == kind).sum(axis=1) for kind in range(OUTCOMES)], axis=1)
    counts[:, NO_RETURN] = np.isposinf(scans.ranges_m).sum(axis=1)
    fractions, reports, counted = update_rates(
        settings, None if state is None else state.count_window, scans.stamp_ns, counts=counts
    )
    past = all_scans.only(slice(-settings.trace_scans, None))
    after = IntegrityState(past=past, suspect=suspect[-1:], count_window=counted)
    return Integrity(outcomes=outcomes, rates=fractions, reports=reports, last=after)


def filter_ranges(ranges_m: Array, outcomes: Outcomes) -> Array:
    """Replace the ranges (n, k) that are in front or isolated by NaN, which means neither free nor occupied."""
    return np.where((outcomes == IN_FRONT) | (outcomes == ISOLATED), np.nan, ranges_m)


def _suspicion(settings: IntegritySettings, scans: Scans, nearest_m: Array, *, mounting: Mounting) -> _Suspicion:
    met = np.isfinite(scans.ranges_m)
    seen = project_to_radar(mounting, scans.angles_rad, np.where(met, scans.ranges_m, 0.0))
    radar_m = np.take_along_axis(nearest_m, seen.bin, axis=1)
    there = met & np.isfinite(radar_m)
    nearer = seen.range_m * (1.0 + settings.tolerance_share) + settings.tolerance_m < radar_m
    return _Suspicion(there & nearer & _comparable(settings, seen), there & ~nearer)


def _comparable(settings: IntegritySettings, seen: RadarCoverage) -> Flags:
    """Where something solid that stands on the ground and is met by the laser would be met by the radar too."""
    return np.asarray((seen.above_m >= -settings.below_m) & (seen.above_m <= settings.above_m), bool)


def _is_isolated(settings: IntegritySettings, scans: Scans, state: IntegrityState | None) -> Flags:
    """Returns nearer by isolated_m than their neighbours in the scan and in the one before; NaN is ignored."""
    ranges = scans.ranges_m
    last = None if state is None else state.last
    earlier = previous_scan_values(scans, last, ranges, None if last is None else last.ranges_m)
    farther = ranges <= settings.isolated_within_m
    for pair in ((shift_beams(ranges, -1), shift_beams(ranges, 1)), earlier):
        limits = np.fmin(*pair)  # the nearer of those that are there
        with np.errstate(invalid="ignore"):
            farther &= ranges + settings.isolated_m < limits
    return farther


def _in_cloud(scans: Scans, suspect: Array, state: IntegrityState | None) -> Flags:
    """Returns of whose neighbours, four in the scan and two in the one before, several are suspect."""
    earlier = previous_scan_values(
        scans, *((None, suspect, None) if state is None else (state.last, suspect, state.suspect))
    )
    around = [*(shift_beams(suspect, steps) for steps in (-2, -1, 1, 2)), *earlier]
    count = sum((np.nan_to_num(values) for values in around), np.zeros(suspect.shape))
    return np.asarray(count >= CLOUD_NEIGHBOURS, bool)


def _outcomes(met: Flags, radar: _Suspicion, alone: Flags, *, steady: NDArray[np.uint8], in_cloud: Flags) -> Outcomes:
    """What each return is. Suspects of which nothing more is known, and those out of the beam, are UNKNOWN."""
    solid = radar.not_nearer | (radar.in_front & (steady == STEADY))
    cloud = radar.in_front & in_cloud & (steady == UNSTEADY)
    drop = alone & (steady == UNSTEADY)
    kinds = np.select([~met, drop, cloud, solid], [NO_RETURN, ISOLATED, IN_FRONT, OK], UNKNOWN)
    return kinds.astype(np.uint8)
