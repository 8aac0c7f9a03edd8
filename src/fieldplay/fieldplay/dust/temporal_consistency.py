"""Whether a return can be traced back from scan to scan, as solid things can, or was there before now and then."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fieldplay.dust.dust_settings import IntegritySettings
from fieldplay.dust.scans import Flags, Scans
from fieldplay.geometry.transforms import Array

LEAST_OFTEN = 3  # of the scans before, in which a thing shows that some beams miss; more than drops meet one place
AT_ONCE = 1 << 15  # returns
ONE_STEP = 1.001  # of the beams, with a little for rounding
LONGEST_STEP_NS = 500_000_000  # from a scan to the next

NOT_ASKED, UNKNOWN, STEADY, UNSTEADY = range(4)

Indices = NDArray[np.intp]


def steadiness(settings: IntegritySettings, scans: Scans, asked: Flags) -> NDArray[np.uint8]:
    """STEADY or UNSTEADY for those returns of the last n scans that are asked for (n, k); UNKNOWN where all began.

    A return is traced from each scan to the one before: to that of the beams up to one step aside that has the nearest
    range, which may differ by steady_m. A step may find nothing, but no two in a row. So a thing may move, and the
    vehicle too.
    """
    found = np.full(asked.shape, NOT_ASKED, np.uint8)
    for rows, beams in _parts(asked):
        found[rows, beams] = _traced(settings, scans, rows + len(scans) - len(asked), beams)
    return found


def often_there(settings: IntegritySettings, scans: Scans, asked: Flags) -> Flags:
    """Those returns of the last n scans that are asked for (n, k) and were met before, at most a step aside.

    A post thinner than the step of the beams is missed by most scans, and cannot be traced. Where too few scans were
    before, all may have been there.
    """
    found = np.zeros(asked.shape, bool)
    steps = np.arange(1, settings.trace_scans + 1)
    for rows, beams in _parts(asked, at_once=AT_ONCE // settings.trace_scans + 1):
        own = rows + len(scans) - len(asked)
        earlier = (own[:, None] - steps).ravel()
        place, range_m = _directions(scans, own, beams), scans.ranges_m[own, beams]
        repeated = (np.repeat(values, len(steps)) for values in (place, range_m))
        near = _nearest(scans, np.maximum(earlier, 0), *repeated, within_m=settings.steady_m)[0] & (earlier >= 0)
        found[rows, beams] = (near.reshape(-1, len(steps)).sum(axis=1) >= LEAST_OFTEN) | (own < len(steps))
    return found


def _parts(asked: Flags, at_once: int = AT_ONCE) -> Iterator[tuple[Indices, Indices]]:
    rows, beams = np.nonzero(asked)
    for begin in range(0, len(rows), at_once):
        yield rows[begin : begin + at_once], beams[begin : begin + at_once]


def _traced(settings: IntegritySettings, scans: Scans, rows: Indices, beams: Indices) -> NDArray[np.uint8]:
    """What becomes of returns (c,), all of them a step further back at a time."""
    result = np.full(len(rows), STEADY, np.uint8)
    follows = np.r_[False, np.diff(scans.stamp_ns) <= LONGEST_STEP_NS]
    place = _directions(scans, rows, beams)
    range_m, missed, number = scans.ranges_m[rows, beams], np.zeros(len(rows), bool), np.arange(len(rows))
    for step in range(1, settings.trace_scans + 1):
        row = rows[number] - step
        known = (row >= 0) & follows[row + 1]
        result[number[~known]] = UNKNOWN
        there, near_place, near_m = _nearest(scans, np.maximum(row, 0), place, range_m, within_m=settings.steady_m)
        lost = known & ~there & missed
        result[number[lost]] = UNSTEADY
        kept = known & ~lost
        number, place, range_m, missed = number[kept], near_place[kept], near_m[kept], ~there[kept]
        if not len(number):
            break
    return result


def _directions(scans: Scans, rows: Indices, beams: Indices) -> Array:
    """Where beams (c,) point, in steps from the angle 0."""
    return np.asarray(beams + scans.angle_min_rad[rows] / scans.angle_increment_rad[rows], np.float64)


def _nearest(
    scans: Scans, row: Indices, place: Array, range_m: Array, *, within_m: float
) -> tuple[Flags, Array, Array]:
    """The nearest in range of the beams within a step of each place (c,): if it is near enough; its place and range.

    Where it is not, the place and the range stay.
    """
    begin = scans.angle_min_rad[row] / scans.angle_increment_rad[row]
    local = place - begin
    beams = np.rint(local).astype(np.intp)[:, None] + np.arange(-1, 2)
    inside = (beams >= 0) & (beams < scans.ranges_m.shape[1]) & (np.abs(beams - local[:, None]) <= ONE_STEP)
    ranges = scans.ranges_m[row[:, None], np.where(inside, beams, 0)]
    off_m = np.abs(ranges - range_m[:, None])
    off_m[~(inside & (off_m <= within_m))] = np.inf  # and what is no number
    each = np.arange(len(row))
    best = np.argmin(off_m, axis=1)
    there = off_m[each, best] <= within_m
    return there, np.where(there, beams[each, best] + begin, place), np.where(there, ranges[each, best], range_m)
