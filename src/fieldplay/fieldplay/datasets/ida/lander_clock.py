"""The times of an IDA archive: the lander's clock, finer times by elapsed_time, the sols, and the labels' own UTC."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import Defect
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.archive import Archive, Measurement, measure
from fieldplay.datasets.ida.ida_products import Product, reading_ns
from fieldplay.datasets.spec import DatasetSpec
from fieldplay.streams.stream import Stream

SECONDS_OF_DAY = 86400  # on any planet, of its own length
NS_PER_HR = 3600 * NS_PER_S
FINER = 1.5  # so many times as many times by elapsed_time as by column 1: less is one row or another that repeats one
COARSEST_S = 1000
MAX_DIFFERENCE_S = 2.0  # by how much the two may differ besides
LABEL_S = 0.5  # by how much a label's UTC may differ from ours: the kernels of its day may have been others
SHOWN = 12

Stamps = NDArray[np.int64]
Floats = NDArray[np.float64]


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
        unix_ns: Stamps = self.unix_ns[row] + later + np.rint(later * self.drift[row]).astype(np.int64)
        return unix_ns


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
    """Make finer times from the start of a file: column 1 (n,), elapsed_time (n,), and the file's start.

    None if column 1 distinguishes the rows, or elapsed_time does not.
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
    within_ns = max(step_ns, int(MAX_DIFFERENCE_S * NS_PER_S))
    return FinerTimes(first_ns=first_ns, first_hr=float(hours[0]), within_ns=within_ns)


def _step_ns(reading_ns: Stamps) -> int:
    """The largest power of ten seconds, from one on, that all readings (n,) are multiples of."""
    step_s = 1
    while step_s < COARSEST_S and not (reading_ns % (10 * step_s * NS_PER_S)).any():
        step_s *= 10
    return step_s * NS_PER_S


def clock_of(spec: DatasetSpec) -> SpacecraftClock:
    """The lander's clock by the readings of the dataset's description."""
    return clock_from_rows(spec.constants["sclk"], epoch_unix_s=str(spec.constants["sclk_epoch_unix_s"]))


def local_time_of(spec: DatasetSpec) -> LocalMeanTime:
    """The mean time of the landing site."""
    numbers = spec.constants["local_mean_time"]
    return LocalMeanTime(day_zero_unix_s=float(numbers["sol_zero_unix_s"]), day_s=float(numbers["sol_s"]))


def note_times(archive: Archive, streams: Mapping[str, Stream], clock: SpacecraftClock) -> None:
    """Say which sols are covered, from when to when, and where the table of the clock's readings ends."""
    spans = [span for stream in streams.values() for span in stream.spans]
    if not spans:
        return
    local = local_time_of(archive.spec)
    first_ns, last_ns = min(span.first_ns for span in spans), max(span.last_ns for span in spans)
    sols = sorted({int(np.floor(local.days(ns))) for span in spans for ns in (span.first_ns, span.last_ns)})
    shown = ", ".join(map(str, sols[:SHOWN])) + (f", ... {sols[-1]}" if len(sols) > SHOWN else "")
    archive.notes.append(f"sols with data: {len(sols)} ({shown})")
    extent = f"from sol {local.text(first_ns)} to sol {local.text(last_ns)}"
    archive.notes.append(f"local mean time: {extent}, which is {_utc(first_ns)} to {_utc(last_ns)}")
    if last_ns > int(clock.unix_ns[-1]):
        beyond = f"{(last_ns - int(clock.unix_ns[-1])) / NS_PER_S / 86400:.1f} days"
        archive.notes.append(
            f"times up to {beyond} after the last known reading of the lander's clock are extrapolated"
        )
    if first_ns < int(clock.unix_ns[0]):
        archive.notes.append("times before the first known reading of the lander's clock are extrapolated backward")


def _utc(unix_ns: int) -> str:
    return datetime.fromtimestamp(unix_ns // NS_PER_S, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def check_label_times(archive: Archive, products: Sequence[Product], clock: SpacecraftClock) -> None:
    """Compare the labels' UTC with that of their own readings of the clock."""
    largest_s, compared = 0.0, 0
    for product in products:
        texts = {} if product.label is None else product.label.texts
        for utc_tag, tag in (
            ("start_date_time", "spacecraft_clock_start"),
            ("stop_date_time", "spacecraft_clock_stop"),
        ):
            label_ns, reading = _ns_from_utc(texts.get(utc_tag, "")), reading_ns(texts.get(tag, ""))
            if label_ns is None or reading is None:
                continue
            own_ns = int(clock.unix_ns_from_reading(np.array([reading], np.int64))[0])
            difference_s = abs(label_ns - own_ns) / NS_PER_S
            largest_s, compared = max(largest_s, difference_s), compared + 1
            if difference_s > LABEL_S:
                message = f"{utc_tag}: expected {_utc(own_ns)} of the clock at {texts[tag]}, got {texts[utc_tag]}"
                archive.defects(Defect(file=product.label_file, kind="label_mismatch", message=message))
    if compared:
        measure(archive, Measurement(f"the labels' UTC and that of their clock differ by {largest_s:.3f} s at most"))


def _ns_from_utc(text: str) -> int | None:
    """Nanoseconds since 1970 of a text such as 2019-06-29T13:56:40.702Z, None where it is none."""
    whole, _, fraction = text.strip().removesuffix("Z").partition(".")
    try:
        seconds = datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
        return int(seconds.timestamp()) * NS_PER_S + int(fraction.ljust(9, "0")[:9])
    except ValueError:
        return None
