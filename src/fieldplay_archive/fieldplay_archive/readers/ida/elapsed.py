"""Finer times for rows of IDA whose column 1 is too coarse: by the hours of elapsed_time."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay_messages.stamps import NS_PER_S

Stamps = NDArray[np.int64]
Floats = NDArray[np.float64]

NS_PER_HR = 3600 * NS_PER_S
FINER = 1.5  # so many times as many times by elapsed_time as by column 1: less is one row or another that repeats one
COARSEST_S = 1000
APART_S = 2.0  # by how much the two may differ besides


@dataclass(frozen=True, kw_only=True)
class FinerTimes:
    """The clock's reading in the first row, elapsed_time there, and how far a row's two times may lie apart."""

    first_ns: int
    first_hr: float
    within_ns: int

    def times(self, reading_ns: Stamps, elapsed_hr: Floats) -> Stamps:
        """Readings of the clock (n,) by elapsed_time (n,); those of column 1 where it has none or does not fit."""
        passed_ns = np.rint(np.nan_to_num(elapsed_hr - self.first_hr, nan=np.inf, posinf=1e6, neginf=-1e6) * NS_PER_HR)
        finer = self.first_ns + passed_ns.astype(np.int64)
        return np.where(np.abs(finer - reading_ns) <= self.within_ns, finer, reading_ns)


def finer_times(reading_ns: Stamps, elapsed_hr: Floats | None, start_ns: int | None) -> FinerTimes | None:
    """What makes finer times of the beginning of a file: column 1 (n,), elapsed_time (n,), and the file's start.

    None where column 1 tells the rows apart, or elapsed_time does not.
    """
    if elapsed_hr is None:
        return None
    known = np.isfinite(elapsed_hr) & (elapsed_hr >= 0)  # and not marked as invalid
    readings, hours = reading_ns[known], elapsed_hr[known]
    if len(np.unique(hours)) < FINER * len(np.unique(readings)) or not len(readings):
        return None
    step_ns = _step_ns(readings)
    first_ns = int(readings[0])
    if step_ns > NS_PER_S and start_ns is not None and abs(start_ns - first_ns) < step_ns:
        first_ns = start_ns
    within_ns = max(step_ns, int(APART_S * NS_PER_S))
    return FinerTimes(first_ns=first_ns, first_hr=float(hours[0]), within_ns=within_ns)


def _step_ns(reading_ns: Stamps) -> int:
    """The largest power of ten seconds, from one on, that all readings (n,) are multiples of."""
    step_s = 1
    while step_s < COARSEST_S and not (reading_ns % (10 * step_s * NS_PER_S)).any():
        step_s *= 10
    return step_s * NS_PER_S
