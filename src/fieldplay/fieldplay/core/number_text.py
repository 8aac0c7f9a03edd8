"""Round numbers along an axis, axes of time with gaps, and how numbers, times and sizes are written."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.timestamps import NS_PER_S, utc_text

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
TIME_STEPS_S = (60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0, 21600.0, 43200.0, 86400.0)
MARK_FRACTION, MARKS_FRACTION = 0.02, 0.3  # of an axis, for one mark and for all at most
DATED_FROM_S, DATED_SINCE_NS = 3600.0, 315_532_800 * NS_PER_S  # shorter ones, and clocks set before 1980, have no dates
BREAK_ROOM, ROOM = 0.8, 1.2  # of the label of a break and of a tick, by the most labels that are wanted
LINES = 12  # along all pieces


Array = NDArray[np.float64]


@dataclass(frozen=True)
class Break:
    """An interval that an axis leaves out, the label of its mark, and the axis fractions between which the mark is."""

    start: float
    end: float
    label: str
    fractions: tuple[float, float]


@dataclass(frozen=True)
class Axis:
    """An interval of numbers, the labels at some of them, and the breaks, in order."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    breaks: tuple[Break, ...] = ()

    def fraction(self, value: float) -> float:
        """The position of a number, from 0 at the low end to 1 at the high one."""
        return float(self.fractions(np.array([value]))[0])

    def fractions(self, values: Array) -> Array:
        """The positions of numbers; those within a break are at its start."""
        if not self.breaks:
            return np.asarray((values - self.low) / (self.high - self.low), np.float64)
        starts = np.array([each.start for each in self.breaks])
        after = self.segment_indices(values)
        reached = np.append(starts, np.inf)[np.minimum(after, len(starts))]
        numbers, fractions = self._knots()
        return np.asarray(np.interp(np.minimum(values, reached), numbers, fractions), np.float64)

    def values(self, fractions: Array) -> Array:
        """The numbers at fractions of the axis; NaN within the mark of a break."""
        if not self.breaks:
            return np.asarray(self.low + fractions * (self.high - self.low), np.float64)
        numbers, known = self._knots()
        order = np.argsort(known, kind="stable")
        result: Array = np.interp(fractions, known[order], numbers[order])
        for each in self.breaks:
            result[(result > each.start) & (result < each.end)] = np.nan
        return result

    def segment_indices(self, values: Array) -> NDArray[np.intp]:
        """The number of breaks before each value: lines do not cross from one segment to the next."""
        return np.asarray(np.searchsorted([each.end for each in self.breaks], values, side="right"), np.intp)

    def flip(self) -> "Axis":
        """The same axis from the high end to the low one."""
        breaks = (Break(each.start, each.end, each.label, _flip_fractions(each.fractions)) for each in self.breaks)
        return Axis(self.high, self.low, self.ticks, tuple(breaks))

    def _knots(self) -> tuple[Array, Array]:
        """Numbers in order and their fractions, between which all others are interpolated."""
        ends = ((0.0, self.low), (1.0, self.high))
        inner = [knot for each in self.breaks for knot in zip(each.fractions, (each.start, each.end), strict=True)]
        knots = sorted([*ends, *inner], key=lambda knot: knot[1])
        return np.array([at for _, at in knots]), np.array([fraction for fraction, _ in knots])


def _flip_fractions(fractions: tuple[float, float]) -> tuple[float, float]:
    return 1.0 - fractions[0], 1.0 - fractions[1]


def number_axis(low: float, high: float, *, max_labels: int = 4) -> Axis:
    """An axis that holds the numbers with a little room, with up to `max_labels` labels or one more."""
    low, high = _with_room(low, high)
    step = round_step(high - low, max_labels)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    values = [index * step for index in range(first, last + 1)]
    return Axis(low, high, tuple((value, tick_text(value, step)) for value in values))


def tight_axis(high: float, *, max_labels: int = 4) -> Axis:
    """An axis from 0 to a number, without room, with labels as `number_axis` has them."""
    ticks = number_axis(0.0, high, max_labels=max_labels).ticks
    return Axis(0.0, high, tuple(tick for tick in ticks if 0 <= tick[0] <= high))


def time_axis(duration_s: float, *, max_labels: int = 4) -> Axis:
    """An axis of seconds from 0, with labels as 90 s, 5 min or 2 h."""
    duration_s = max(duration_s, 1e-3)
    step = time_step(duration_s, max_labels)
    values = [index * step for index in range(math.floor(duration_s / step + 1e-9) + 1)]
    return Axis(0.0, duration_s, tuple((value, _time_text(value, step)) for value in values))


def time_step(duration_s: float, max_labels: int) -> float:
    """A step in seconds, round in its own unit, that divides a length of time into at most `max_labels` parts."""
    step = round_step(duration_s, max_labels)
    if step < 60:
        return step
    days = 86400.0 * round_step(duration_s / 86400, max_labels)
    return next((each for each in TIME_STEPS_S if duration_s / each <= max_labels), days)


def round_step(length: float, max_steps: int) -> float:
    """A step of 1, 2, 2.5 or 5 times a power of ten that divides the length into at most `max_steps` parts."""
    if not math.isfinite(length) or length <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(length / max_steps))
    return next(factor * power for factor in (*STEPS, 20.0) if length / (factor * power) <= max_steps * (1 + 1e-9))


def tick_text(value: float, step: float) -> str:
    """A number with as many decimals as the step between labels needs."""
    if abs(value) < step / 1e6:
        return "0"
    size = max(abs(value), step)
    if size >= 1e6 or size < 1e-3:
        digits = max(0, math.ceil(math.log10(size / step))) + 1
        shown = f"{abs(value):.{min(digits, 6)}g}".replace("e-0", "e-").replace("e+0", "e")
        return shown if value > 0 else f"\u2212{shown}"
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    if not math.isclose(round(step, decimals), step, rel_tol=1e-6):
        decimals += 1
    return f"{value:.{decimals}f}".replace("-", "\u2212")


def _with_room(low: float, high: float) -> tuple[float, float]:
    if not (math.isfinite(low) and math.isfinite(high)) or low > high:
        return 0.0, 1.0
    min_width = max(abs(low), abs(high)) * 1e-9
    room = (abs(high) * 0.06 or 1.2) if high - low <= min_width else (high - low) * 0.06
    return low - room, high + room


def _time_text(seconds: float, step: float) -> str:
    if step < 60:
        return f"{tick_text(seconds, step)} s"
    if step < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h"


def number_text(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, without an exponent where it is of a usual size."""
    if value == 0 or not math.isfinite(value):
        return f"{abs(value):g}" if value == 0 else f"{value:g}"
    if not 1e-4 <= abs(value) < 1e7:
        return f"{value:.{digits}g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    shown = f"{value:.{decimals}f}"
    return (shown.rstrip("0").rstrip(".") if "." in shown else shown).replace("-", "\u2212")


def count_text(count: int) -> str:
    """A count with narrow spaces between thousands."""
    return f"{count:,}".replace(",", "\u202f")


def count_noun(count: int, noun: str) -> str:
    """A count with grouped digits and its noun."""
    plural = "es" if noun.endswith(("ch", "sh", "s", "x")) else "s"
    return f"{count_text(count)} {noun}{'' if count == 1 else plural}"


def duration_text(seconds: float) -> str:
    """A length of time as 0.12 s, 12.3 s, 9 min 31 s, 2 h 05 min or 12 d 7 h."""
    if seconds < 60:
        return f"{number_text(seconds)} s"
    minutes, left = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {left:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


def size_text(size_bytes: int) -> str:
    """A size in bytes as 12.3 MB."""
    size, units = float(size_bytes), ["B", "kB", "MB", "GB", "TB"]
    while size >= 1000 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{number_text(size)} {units[0]}"


# Axes of time without the gaps of a recording, and the marks that stand for these.


def labelled_breaks(breaks: Sequence[Break], *, most: int = 4) -> list[Break]:
    """The breaks whose labels have room: where there are many, the longest."""
    room = BREAK_ROOM / most
    chosen: list[Break] = []
    for each in sorted(breaks, key=lambda one: one.start - one.end):
        if all(abs(_middle(each) - _middle(other)) >= room for other in chosen):
            chosen.append(each)
    return sorted(chosen, key=lambda one: one.start)


def _middle(each: Break) -> float:
    return (each.fractions[0] + each.fractions[1]) / 2


def time_axis_with_gaps(intervals_s: Array, *, start_ns: int, most: int = 4) -> Axis:
    """An axis of seconds since the start, of which only the intervals (k, 2) are drawn, all to the same scale.

    Its labels are true times: UTC, or seconds since the start where all lies within an hour. Round ones have lines.
    """
    starts, stops = intervals_s.T
    breaks = _breaks(intervals_s)
    axis = Axis(float(starts[0]), float(stops[-1]), (), breaks)
    step = grid_step_s(intervals_s)
    has_dates = is_dated(axis.high - axis.low, start_ns)
    origin_s = start_ns / NS_PER_S if has_dates else 0.0
    lines = [line for start, end in intervals_s.tolist() for line in _round_times(start, end, step, origin_s=origin_s)]
    room = ROOM / most
    inner = [line for line in lines if axis.fraction(line) <= 1.0 - room / 2]
    labelled = _spaced(axis, [*starts.tolist(), *inner], room)
    texts = _utc_labels(labelled, step, start_ns=start_ns) if has_dates else [_since_start(at, step) for at in labelled]
    ticks = {**dict.fromkeys(lines, ""), **dict(zip(labelled, texts, strict=True))}
    return Axis(axis.low, axis.high, tuple(sorted(ticks.items())), breaks)


def is_dated(length_s: float, start_ns: int) -> bool:
    """Whether the labels of such an axis are dates and times of day."""
    return length_s >= DATED_FROM_S and start_ns >= DATED_SINCE_NS


def grid_step_s(intervals_s: Array) -> float:
    """How far the lines along such an axis are apart."""
    return time_step(max(float((intervals_s[:, 1] - intervals_s[:, 0]).sum()), 1e-3), LINES)


def gap_text(seconds: float) -> str:
    """The length of a gap as 45 s, 12.3 min, 5.4 h or 187 d."""
    for unit, length in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= length:
            return f"{number_text(seconds / length)} {unit}"
    return f"{number_text(seconds)} s"


def _breaks(intervals_s: Array) -> tuple[Break, ...]:
    """The gaps between the pieces, with as much of the axis for each piece as it has of the time."""
    lengths = intervals_s[:, 1] - intervals_s[:, 0]
    count, total = len(intervals_s) - 1, float(lengths.sum())
    mark = min(MARK_FRACTION, MARKS_FRACTION / max(count, 1)) if total > 0 else 1.0 / (count + 1)
    scale = (1.0 - mark * count) / total if total > 0 else 0.0
    fractions = np.cumsum(lengths) * scale + mark * np.arange(count + 1)  # where each piece ends
    return tuple(
        Break(start, end, gap_text(end - start), (fraction, fraction + mark))
        for start, end, fraction in zip(
            intervals_s[:-1, 1].tolist(), intervals_s[1:, 0].tolist(), fractions[:-1].tolist(), strict=True
        )
    )


def _round_times(start: float, end: float, step: float, *, origin_s: float) -> list[float]:
    first, last = math.ceil((start + origin_s) / step - 1e-6), math.floor((end + origin_s) / step + 1e-6)
    return [min(max(index * step - origin_s, start), end) for index in range(first, last + 1)]


def _spaced(axis: Axis, candidates: list[float], room: float) -> list[float]:
    """Of some numbers those, in order, whose labels have room on the axis; the earlier in the list go first."""
    placed: list[tuple[float, float]] = []
    for value, fraction in zip(candidates, axis.fractions(np.array(candidates)).tolist(), strict=True):
        if all(abs(fraction - other) >= room for other, _ in placed):
            placed.append((fraction, value))
    return [value for _, value in sorted(placed)]


def _utc_labels(values: list[float], step: float, *, start_ns: int) -> list[str]:
    """Times in UTC, each new date above the time of day."""
    texts, last = [], ""
    for value in values:
        stamp_ms = (start_ns + round(value * NS_PER_S) + 500_000) // 1_000_000
        date, _, clock = utc_text(stamp_ms * 1_000_000).partition(" ")
        clock = clock.removesuffix(":00") if step >= 60 else clock
        texts.append(clock if date == last else f"{date}\n{clock}")
        last = date
    return texts


def _since_start(value: float, step: float) -> str:
    if step < 60:
        return f"{tick_text(value, step)} s"
    minutes, seconds = divmod(round(value), 60)
    return f"{minutes}:{seconds:02d} min" if seconds else f"{minutes} min"
