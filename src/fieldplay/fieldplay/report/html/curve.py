"""Values along an axis, and where the lines between them begin and end."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay.report.html.ticks import Axis

FAR = 4.0  # steps without a value that break a curve

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Curve:
    """Values (n,) at x (n,), and where they vary within a step, from low to high.

    Lines join values that are not far apart, or those of the same piece (n,). A value that is held stays until the next
    one, as a state does. The colour is that of the curve's place among others unless it is told.
    """

    label: str
    x: Array
    y: Array
    low: Array | None = None
    high: Array | None = None
    piece: NDArray[np.intp] | None = None
    is_held: bool = False
    colour: int | None = None


def held(curve: Curve, x_axis: Axis) -> Curve:
    """A curve as steps: each value up to the x of the next, in all pieces of the axis, and the last up to the end."""
    there = np.isfinite(curve.y)
    x, y = curve.x[there], curve.y[there]
    borders = np.array([*(at for each in x_axis.breaks for at in (each.begin, each.end)), x_axis.high])
    last = np.searchsorted(x, borders, side="right") - 1
    at = np.concatenate([x, x[1:], borders[last >= 0]])
    row = np.concatenate([np.arange(len(x)), np.arange(len(x) - 1), last[last >= 0]])
    order = np.lexsort((row, at))
    return Curve(curve.label, at[order], y[row[order]], is_held=True)


def runs(curve: Curve, x_axis: Axis) -> list[NDArray[np.intp]]:
    """Where a curve has values, broken where it lacks them for long, and where the axis passes over a gap."""
    there = np.flatnonzero(np.isfinite(curve.y))
    if len(there) < 2:
        return [there] if len(there) else []
    steps, leaps = np.diff(curve.x[there]), np.diff(x_axis.pieces_of(curve.x[there])) != 0
    if curve.piece is not None:
        leaps |= np.diff(curve.piece[there]) != 0
    if curve.is_held or curve.piece is not None:
        return np.split(there, np.flatnonzero(leaps) + 1)
    usual = float(np.median(steps[~leaps])) if not leaps.all() else 0.0
    return np.split(there, np.flatnonzero(leaps | (steps > FAR * usual)) + 1)
