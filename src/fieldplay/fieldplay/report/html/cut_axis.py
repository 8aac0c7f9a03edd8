"""Axes of time without the gaps of a recording, and the marks that stand for these."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.dates import utc_text
from fieldplay.core.number_text import (
    NS_PER_S,
    Axis,
    Break,
    number_text,
    tick_text,
    time_step,
)
from fieldplay.report.html.markup import Html, element, joined

BREAK_ROOM = 0.8  # of a label, by the most labels that are wanted
MOST_TORN = 24  # more strips with edges would hide what is between them

Strip = Callable[[Break], str]

MARK_SHARE, MARKS_SHARE = 0.02, 0.3  # of an axis, for one mark and for all at most
DATED_FROM_S, DATED_SINCE_NS = 3600.0, 315_532_800 * NS_PER_S  # shorter ones, and clocks set before 1980, have no dates
ROOM = 1.2  # of a label, by the most labels that are wanted
LINES = 12  # along all pieces

Array = NDArray[np.float64]


def break_marks(axis: Axis, *, units: int, height: int, most: int = 4) -> Html:
    """Strips from the top to the bottom of a drawing that is so wide and high; of many, only the told ones are torn."""

    def strip(each: Break) -> str:
        return f"M{units * each.shares[0]:.1f} 0V{height}H{units * each.shares[1]:.1f}V0Z"

    return _marks(axis, strip, most=most)


def break_marks_across(axis: Axis, *, units: int, most: int = 4) -> Html:
    """Strips from the left to the right, of an axis that runs upwards."""

    def strip(each: Break) -> str:
        return f"M0 {units * (1 - each.shares[0]):.1f}H{units}V{units * (1 - each.shares[1]):.1f}H0Z"

    return _marks(axis, strip, most=most)


def _marks(axis: Axis, strip: Strip, *, most: int) -> Html:
    torn = axis.breaks if len(axis.breaks) <= MOST_TORN else _breaks_with_room(axis.breaks, BREAK_ROOM / most)
    plain = [] if torn is axis.breaks else [each for each in axis.breaks if each not in torn]
    kinds = (("break plain", plain), ("break", torn))
    paths = (element("path", d=Html("".join(map(strip, some))), class_=kind) for kind, some in kinds if some)
    return joined(paths)


def break_labels(axis: Axis, *, most: int = 4, is_upright: bool = True) -> Html:
    """The lengths of the gaps at their marks; where there are many, of the longest."""
    side = "left" if is_upright else "bottom"
    spans = (
        element("span", each.label, style=f"{side}:{100 * _middle(each):.2f}%", title=f"nothing for {each.label}")
        for each in _breaks_with_room(axis.breaks, BREAK_ROOM / most)
    )
    return element("div", *spans, class_="breaks" if is_upright else "breaks across") if axis.breaks else joined([])


def _breaks_with_room(breaks: Sequence[Break], room: float) -> list[Break]:
    kept: list[Break] = []
    for each in sorted(breaks, key=lambda one: one.begin - one.end):
        if all(abs(_middle(each) - _middle(other)) >= room for other in kept):
            kept.append(each)
    return sorted(kept, key=lambda one: one.begin)


def _middle(each: Break) -> float:
    return (each.shares[0] + each.shares[1]) / 2


def cut_time_axis(pieces_s: Array, *, start_ns: int, most: int = 4) -> Axis:
    """An axis of seconds since the start, of which only the pieces (k, 2) are drawn, all to the same scale.

    Its labels are true times: UTC, or seconds since the start where all lies within an hour. Round ones have lines.
    """
    begins, ends = pieces_s.T
    breaks = _breaks(pieces_s)
    axis = Axis(float(begins[0]), float(ends[-1]), (), breaks)
    step = grid_step_s(pieces_s)
    has_dates = is_dated(axis.high - axis.low, start_ns)
    origin_s = start_ns / NS_PER_S if has_dates else 0.0
    lines = [line for begin, end in pieces_s.tolist() for line in _round_times(begin, end, step, origin_s=origin_s)]
    room = ROOM / most
    inner = [line for line in lines if axis.share(line) <= 1.0 - room / 2]
    labelled = _with_room(axis, [*begins.tolist(), *inner], room)
    texts = _dated(labelled, step, start_ns=start_ns) if has_dates else [_since_start(at, step) for at in labelled]
    ticks = {**dict.fromkeys(lines, ""), **dict(zip(labelled, texts, strict=True))}
    return Axis(axis.low, axis.high, tuple(sorted(ticks.items())), breaks)


def is_dated(length_s: float, start_ns: int) -> bool:
    """Whether the labels of such an axis are dates and times of day."""
    return length_s >= DATED_FROM_S and start_ns >= DATED_SINCE_NS


def grid_step_s(pieces_s: Array) -> float:
    """How far the lines along such an axis are apart."""
    return time_step(max(float((pieces_s[:, 1] - pieces_s[:, 0]).sum()), 1e-3), LINES)


def gap_text(seconds: float) -> str:
    """The length of a gap as 45 s, 12.3 min, 5.4 h or 187 d."""
    for unit, length in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= length:
            return f"{number_text(seconds / length)} {unit}"
    return f"{number_text(seconds)} s"


def _breaks(pieces_s: Array) -> tuple[Break, ...]:
    """The gaps between the pieces, with as much of the axis for each piece as it has of the time."""
    lengths = pieces_s[:, 1] - pieces_s[:, 0]
    count, total = len(pieces_s) - 1, float(lengths.sum())
    mark = min(MARK_SHARE, MARKS_SHARE / max(count, 1)) if total > 0 else 1.0 / (count + 1)
    scale = (1.0 - mark * count) / total if total > 0 else 0.0
    shares = np.cumsum(lengths) * scale + mark * np.arange(count + 1)  # where each piece ends
    return tuple(
        Break(begin, end, gap_text(end - begin), (share, share + mark))
        for begin, end, share in zip(
            pieces_s[:-1, 1].tolist(), pieces_s[1:, 0].tolist(), shares[:-1].tolist(), strict=True
        )
    )


def _round_times(begin: float, end: float, step: float, *, origin_s: float) -> list[float]:
    first, last = math.ceil((begin + origin_s) / step - 1e-6), math.floor((end + origin_s) / step + 1e-6)
    return [min(max(index * step - origin_s, begin), end) for index in range(first, last + 1)]


def _with_room(axis: Axis, candidates: list[float], room: float) -> list[float]:
    """Of some numbers those, in order, whose labels have room on the axis; the earlier in the list go first."""
    kept: list[tuple[float, float]] = []
    for value, share in zip(candidates, axis.shares(np.array(candidates)).tolist(), strict=True):
        if all(abs(share - other) >= room for other, _ in kept):
            kept.append((share, value))
    return [value for _, value in sorted(kept)]


def _dated(values: list[float], step: float, *, start_ns: int) -> list[str]:
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
