"""The wheel radius and the track of a skid-steered base, found from its wheels and from how it really moved.

Forward speed is radius x mean rate, turn rate is radius / track x difference of the rates (left positive). Each is a
line through zero, fitted so that rows far from it, where wheels slip, count little.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.timestamps import NS_PER_S

Array = NDArray[np.float64]
Stamps = NDArray[np.int64]

LEAST_ROWS = 20
LEAST_BLOCKS = 4  # fewer say nothing of how much the result varies
BLOCK_S = 2.0  # errors within it may be one and the same slip
LEAST_RATE_RAD_S = 0.2  # slower rows are noise, and there may be many of them
MAD_TO_STD = 1.4826  # of a normal distribution
TUKEY = 4.685  # so many standard deviations away a row counts nothing
ROUNDS = 30
CONVERGED = 1e-9
ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A number and its standard deviation.

    Args:
        value: the number.
        std: its standard deviation, in the same unit.
    """

    value: float
    std: float


@dataclass(frozen=True, kw_only=True)
class SkidSteerFit:
    """The result of a fit; None where the drive does not determine it: the robot stood, or did not turn.

    Args:
        wheel_radius_m: negative where the wheels' sense is the other way round.
        track_m: the effective track; negative where left is right.
        slipping: fraction of the moving rows that counted nothing, the larger of both fits.
        rows: how many rows were compared.
    """

    wheel_radius_m: Estimate | None
    track_m: Estimate | None
    slipping: float
    rows: int


@dataclass(frozen=True, kw_only=True, eq=False)
class WheelDrive:
    """What the wheels measured and how the base really moved, both in time order.

    Args:
        wheel_stamp_ns: times (n,) in ns.
        wheel_rates_rad_s: rates (n, 2) of the left and right wheels, NaN where a row has none.
        moved_stamp_ns: times (m,) in ns.
        speed_m_s: forward speed (m,).
        turn_rate_rad_s: turn rate (m,), positive to the left.
    """

    wheel_stamp_ns: Stamps
    wheel_rates_rad_s: Array
    moved_stamp_ns: Stamps
    speed_m_s: Array
    turn_rate_rad_s: Array


def skid_steer_fit(drive: WheelDrive, *, longest_gap_s: float = 0.5) -> SkidSteerFit:
    """Fit wheel radius and track to a drive.

    Args:
        drive: the drive.
        longest_gap_s: wheel rates are not interpolated over longer gaps.

    Returns:
        Radius and effective track with standard deviations, for errors that are shared within two seconds.
    """
    sides = [_rates_at(drive, side, longest_gap_s) for side in (0, 1)]
    known = np.isfinite(sides[0]) & np.isfinite(sides[1])
    known &= np.isfinite(drive.speed_m_s) & np.isfinite(drive.turn_rate_rad_s)
    left, right = sides[0][known], sides[1][known]
    blocks = drive.moved_stamp_ns[known] // round(BLOCK_S * NS_PER_S)
    radius, slipping = _line((left + right) / 2, drive.speed_m_s[known], blocks)
    ratio, skidding = _line(right - left, drive.turn_rate_rad_s[known], blocks)
    return SkidSteerFit(
        wheel_radius_m=radius,
        track_m=_track(radius, ratio),
        slipping=max(slipping, skidding),
        rows=int(known.sum()),
    )


def _rates_at(drive: WheelDrive, side: int, longest_gap_s: float) -> Array:
    """Rates (m,) of a side at the times of the base's motion, NaN where the rows around lie too far apart."""
    rates = drive.wheel_rates_rad_s[:, side]
    is_known = np.isfinite(rates)
    stamps, rates, requested = drive.wheel_stamp_ns[is_known], rates[is_known], drive.moved_stamp_ns
    if not len(stamps):
        return np.full(len(requested), np.nan)
    first = stamps[0]
    interpolated = np.interp((requested - first) / NS_PER_S, (stamps - first) / NS_PER_S, rates)
    after = np.clip(np.searchsorted(stamps, requested), 0, len(stamps) - 1)
    before = np.maximum(np.searchsorted(stamps, requested, side="right") - 1, 0)
    is_inside = (requested >= first) & (requested <= stamps[-1])
    is_near = stamps[after] - stamps[before] <= round(longest_gap_s * NS_PER_S)
    return np.where(is_inside & is_near, interpolated, np.nan)


def _line(x: Array, y: Array, blocks: Stamps) -> tuple[Estimate | None, float]:
    """The slope of y = slope x, and the share of the rows that counted nothing; None where x hardly moves.

    Reweighted least squares (Tukey) that begin at the median of y / x, so that the rows that slip do not pull them.
    """
    moving = np.abs(x) >= LEAST_RATE_RAD_S
    x, y, blocks = x[moving], y[moving], blocks[moving]
    if len(x) < LEAST_ROWS or len(np.unique(blocks)) < LEAST_BLOCKS:
        return None, 0.0
    slope = float(np.median(y / x))
    weights = _weights(y - slope * x, y)
    for _ in range(ROUNDS):
        before, slope = slope, float((weights * x * y).sum() / (weights * x**2).sum())
        weights = _weights(y - slope * x, y)
        if abs(slope - before) <= CONVERGED * abs(slope):
            break
    std = _std(weights * x * (y - slope * x), weights * x**2, blocks)
    return Estimate(value=slope, std=std), float((weights == 0).mean())


def _weights(residuals: Array, values: Array) -> Array:
    """How much rows count (n,): less the farther they lie off, and nothing from some distance on."""
    spread = MAD_TO_STD * np.median(np.abs(residuals)) + ROUNDING * np.abs(values).max()
    weights: Array = np.clip(1 - (residuals / (TUKEY * spread)) ** 2, 0, None) ** 2
    return weights


def _std(scores: Array, curvatures: Array, blocks: Stamps) -> float:
    """The standard deviation of a slope where rows of one block err together: from the sums of their scores."""
    _, block = np.unique(blocks, return_inverse=True)
    sums = np.bincount(block, weights=scores)
    count = len(sums)
    return float(np.sqrt((sums**2).sum() * count / (count - 1)) / curvatures.sum())


def _track(radius: Estimate | None, ratio: Estimate | None) -> Estimate | None:
    """The track from the radius and from radius / track."""
    if radius is None or ratio is None or ratio.value == 0:
        return None
    value = radius.value / ratio.value
    fraction = np.hypot(radius.std / radius.value, ratio.std / ratio.value) if radius.value else np.inf
    return Estimate(value=value, std=float(abs(value) * fraction))
