"""A spacecraft's clock, which drifts: its seconds as UTC, by a table of readings; and local mean time on a planet."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from fieldplay_messages.stamps import NS_PER_S

SECONDS_OF_DAY = 86400  # on any planet, of its own length

Stamps = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class SpacecraftClock:
    """Readings (m,) in nanoseconds: the clock's, UTC's since 1970, and by how much a second is longer from there on."""

    reading_ns: Stamps
    unix_ns: Stamps
    drift: NDArray[np.float64]

    def unix_ns_from_reading(self, reading_ns: Stamps) -> Stamps:
        """UTC (n,) in nanoseconds since 1970 of readings (n,) of the clock, by the row before each, else the first."""
        row = np.clip(np.searchsorted(self.reading_ns, reading_ns, side="right") - 1, 0, None)
        later = reading_ns - self.reading_ns[row]
        found: Stamps = self.unix_ns[row] + later + np.rint(later * self.drift[row]).astype(np.int64)
        return found


def clock_from_rows(rows: Sequence[Sequence[float | str]], *, epoch_unix_s: str) -> SpacecraftClock:
    """The clock of a table: reading in s, dynamical time in s, rate. The epoch is where dynamical time has its zero.

    The rows are as published, in decimals: a float that is written out is the decimal that it was read from.
    """
    numbers = [[Decimal(str(number)) for number in row] for row in rows]
    epoch = Decimal(epoch_unix_s)
    return SpacecraftClock(
        reading_ns=np.array([int(reading * NS_PER_S) for reading, _, _ in numbers], np.int64),
        unix_ns=np.array([int((epoch + time) * NS_PER_S) for _, time, _ in numbers], np.int64),
        drift=np.array([float(rate - 1) for _, _, rate in numbers]),
    )


@dataclass(frozen=True, kw_only=True)
class LocalMeanTime:
    """The mean time of a place: when its day 0 began, in s of UTC since 1970, and how long a day is."""

    day_zero_unix_s: float
    day_s: float

    def days(self, unix_ns: Stamps | int) -> NDArray[np.float64]:
        """Days since day 0 began, of UTC (n,) in nanoseconds: the whole ones are the day's number."""
        since_ns = np.asarray(unix_ns, np.int64) - round(self.day_zero_unix_s * NS_PER_S)
        return np.asarray(since_ns / (self.day_s * NS_PER_S), np.float64)

    def text(self, unix_ns: int) -> str:
        """Sol, hours, minutes and seconds, as in `62 16:46:54`."""
        sol, seconds = divmod(round(float(self.days(unix_ns)) * SECONDS_OF_DAY), SECONDS_OF_DAY)
        hours, rest = divmod(seconds, 3600)
        return f"{sol} {hours:02d}:{rest // 60:02d}:{rest % 60:02d}"
