"""Heights and speeds along ways."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fieldplay.report.html.charts import line_chart
from fieldplay.report.html.curve import Curve
from fieldplay.report.html.markup import Html
from fieldplay.report.html.ticks import Axis, number_axis
from fieldplay.report.panels.route import SMOOTHED_S, STANDS_M, Route, distance_m, way_m
from fieldplay.report.recording import Recording
from fieldplay_messages.pieces import length_within
from fieldplay_messages.stamps import NS_PER_S

LEAST_WAY_M = 0.5  # below it there is no height along the way to speak of
PROFILE_STEPS = 240

Array = NDArray[np.float64]


def profiles(recording: Recording, routes: Sequence[Route]) -> list[Html]:
    """Height along the way and speed over time, of those that have any."""
    charts = []
    heights = [
        Curve(one.label, distance_m(one), one.points[:, 2], piece=one.piece, colour=index)
        for index, one in enumerate(routes)
        if np.ptp(one.points[:, 2]) > STANDS_M and way_m(one) > LEAST_WAY_M
    ]
    if heights:
        axis = number_axis(0.0, max(float(curve.x[-1]) for curve in heights), most=5)
        tight = type(axis)(0.0, axis.high, tuple(tick for tick in axis.ticks if tick[0] >= 0))
        charts.append(line_chart("Height", heights, unit="m", x_axis=tight, x_title="metres along the way"))
    axis = recording.time_axis(most=5)
    found = [(index, _speed(recording, one, axis)) for index, one in enumerate(routes)]
    speeds = [replace(curve, colour=index) for index, curve in found if curve is not None]
    if speeds:
        charts.append(line_chart("Speed", speeds, unit="m/s", x_axis=axis))
    return charts


def _speed(recording: Recording, one: Route, axis: Axis) -> Curve | None:
    """The speed as told, else from the way, each over a second; at times that are even along the axis."""
    if one.stamp_ns is None or len(one.points) < 3 or way_m(one) < LEAST_WAY_M:
        return None
    seconds = recording.seconds(one.stamp_ns)
    told = np.isfinite(one.speed)
    is_told = bool(told.mean() > 0.5 and np.abs(one.speed[told]).max() > 0)
    length_s = length_within(recording.pieces_ns, int(one.stamp_ns[0]), int(one.stamp_ns[-1])) / NS_PER_S
    if not is_told and length_s < 3 * SMOOTHED_S:
        return None
    steps = PROFILE_STEPS if is_told else min(PROFILE_STEPS, round(length_s / SMOOTHED_S))
    grid = axis.values(np.linspace(axis.share(seconds[0]), axis.share(seconds[-1]), steps))
    grid = grid[np.isfinite(grid)]
    speed = np.interp(grid, seconds[told], one.speed[told]) if is_told else _speed_of_way(one, seconds, grid, axis=axis)
    return Curve(one.label, grid, _but_pauses(one, seconds, grid, values=speed))


def _speed_of_way(one: Route, seconds: Array, grid: Array, *, axis: Axis) -> Array:
    """How fast the way grows at times (n,), for each piece of the axis; NaN where one has a single time."""
    way = np.interp(grid, seconds, distance_m(one))
    cuts = np.flatnonzero(np.diff(axis.pieces_of(grid))) + 1
    runs = zip(np.split(way, cuts), np.split(grid, cuts), strict=True)
    return np.concatenate([np.gradient(*run) if len(run[0]) > 1 else np.full(len(run[0]), np.nan) for run in runs])


def _but_pauses(one: Route, seconds: Array, grid: Array, *, values: Array) -> Array:
    """Values (n,) at the times of a grid (n,), NaN where the messages paused."""
    paused = np.zeros(len(grid), bool)
    for place in one.breaks:
        paused |= (grid > seconds[place - 1]) & (grid < seconds[place])
    return np.where(paused, np.nan, values)
