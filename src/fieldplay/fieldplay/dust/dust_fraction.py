"""Shares of flagged returns over a window of time, and what they say of the air."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay.dust.dust_settings import IntegritySettings
from fieldplay.dust.outcomes import (
    IN_FRONT,
    ISOLATED,
    NO_RETURN,
    OK,
    UNKNOWN,
)
from fieldplay.geometry.transforms import Array

NS_PER_S = 1_000_000_000
A_THIRD = 1 / 3  # of dust_share is enough where single returns tell of something in the air too
CLEAR, DUST_OR_SMOKE, RAIN, NOT_JUDGED = "clear", "dust or smoke", "rain", "not judged"

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Counted:
    """How many returns of each outcome the last scans had (m, OUTCOMES), at their times (m,), and where all began."""

    first_ns: int
    stamp_ns: NDArray[np.int64]
    counts: Counts


@dataclass(frozen=True, eq=False, kw_only=True)
class FlagRates:
    """Over the window that ends with each scan (n,): shares of returns, NaN where there were none to count.

    `suspect` are those in front or isolated of all returns, `in_front` those of the returns that the radar could judge,
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
    """The shares at a time, and what they say."""

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
        shares = ("suspect", "in_front", "isolated", "unknown", "no_return")
        told = tuple((f"{name}_share", f"{getattr(self, name):.4f}") for name in shares)
        return (*told, ("judged_returns", str(self.judged)))


def shares_of_counts(
    settings: IntegritySettings, before: Counted | None, stamp_ns: NDArray[np.int64], *, counts: Counts
) -> tuple[FlagRates, list[AirReport], Counted]:
    """The shares at scans with counts (n, OUTCOMES) that follow those before; a report for each report_s that began."""
    first_ns = int(stamp_ns[0]) if before is None else before.first_ns
    old = np.zeros(0, np.int64) if before is None else before.stamp_ns
    times = np.concatenate([old, stamp_ns])
    all_counts = counts if before is None else np.concatenate([before.counts, counts])
    window_ns = round(settings.window_s * NS_PER_S)
    begin = np.searchsorted(times, stamp_ns - window_ns, side="right")
    sums = np.concatenate([np.zeros((1, all_counts.shape[1]), np.int64), np.cumsum(all_counts, axis=0)])
    shares = _shares(sums[len(old) + 1 :] - sums[begin])
    number = (np.concatenate([old[-1:], stamp_ns]) - first_ns) // round(settings.report_s * NS_PER_S)
    due = np.diff(number, prepend=number[:1])[len(old[-1:]) :] > 0
    reports = [_report(settings, shares, row, int(stamp_ns[row])) for row in np.flatnonzero(due).tolist()]
    kept = times > times[-1] - window_ns
    return shares, reports, Counted(first_ns=first_ns, stamp_ns=times[kept], counts=all_counts[kept])


def verdict_of_shares(settings: IntegritySettings, in_front: float, isolated: float, *, judged: int) -> str:
    """What the shares say of the air; NaN says nothing."""
    if judged >= settings.least_judged and in_front >= settings.dust_share:
        return DUST_OR_SMOKE
    if isolated >= settings.rain_share:
        lies_together = in_front >= max(settings.cloud_share * (in_front + isolated), A_THIRD * settings.dust_share)
        return DUST_OR_SMOKE if lies_together else RAIN
    return CLEAR if judged >= settings.least_judged else NOT_JUDGED


def _shares(sums: Counts) -> FlagRates:
    returns = sums[:, OK] + sums[:, IN_FRONT] + sums[:, ISOLATED] + sums[:, UNKNOWN]
    judged = sums[:, OK] + sums[:, IN_FRONT]
    return FlagRates(
        suspect=_share(sums[:, IN_FRONT] + sums[:, ISOLATED], returns),
        in_front=_share(sums[:, IN_FRONT], judged),
        isolated=_share(sums[:, ISOLATED], returns),
        unknown=_share(sums[:, UNKNOWN], returns),
        no_return=_share(sums[:, NO_RETURN], returns + sums[:, NO_RETURN]),
        judged=judged,
    )


def _share(part: Counts, whole: Counts) -> Array:
    share: Array = np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)
    return share


def _report(settings: IntegritySettings, shares: FlagRates, row: int, stamp_ns: int) -> AirReport:
    names = ("suspect", "in_front", "isolated", "unknown", "no_return")
    values = {name: float(getattr(shares, name)[row]) for name in names}
    judged = int(shares.judged[row])
    verdict = verdict_of_shares(settings, values["in_front"], values["isolated"], judged=judged)
    return AirReport(stamp_ns=stamp_ns, verdict=verdict, judged=judged, **values)
