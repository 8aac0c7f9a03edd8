"""Routes: how far something went and where its messages paused, on maps, in tables, and as profiles along the way."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.gaps import length_within
from fieldplay.core.number_text import Axis, number_axis, number_text
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.report.html.charts import SERIES_COLOURS, Curve, legend_of, line_chart
from fieldplay.report.html.markup import Html, element, joined, path_text
from fieldplay.report.html.page import Section, cards, plain_table
from fieldplay.report.html.plane import mark, plane_drawing, plane_of_points, route
from fieldplay.report.panels.overview import Overview

SMOOTHED_S = 1.0
STANDS_M = 0.005
PAUSE = 10.0  # usual steps

Array = NDArray[np.float64]

LEAST_WAY_M = 0.5  # below it there is no height along the way to speak of
PROFILE_STEPS = 240

MOST_ROUTES = 8  # on one map
MOST_MAPS = 7
MOST_STANDING = 12


@dataclass(frozen=True, eq=False)
class Route:
    """Positions (n, 3) in a frame with speeds (n,) as told, NaN where they are not; at times (n,) if they have any.

    The times are those of the log, beside them those of the headers, by which tf tells where the frame was.
    """

    label: str
    frame: str
    points: Array
    speed: Array
    stamp_ns: NDArray[np.int64] | None = None
    tf_ns: NDArray[np.int64] | None = None
    is_fix: bool = False
    own_frame: str = ""
    piece: NDArray[np.intp] | None = None  # of the recording, by point: what lies between two pieces is not known

    @property
    def breaks(self) -> list[int]:
        """The points before which its messages paused."""
        if self.stamp_ns is None or len(self.stamp_ns) < 3:
            return []
        steps = np.diff(self.stamp_ns)
        found: list[int] = (np.flatnonzero(steps > max(PAUSE * float(np.median(steps)), NS_PER_S)) + 1).tolist()
        return found

    @property
    def is_pose(self) -> bool:
        return not self.is_fix and self.stamp_ns is not None


def moves(one: Route) -> bool:
    """Whether it goes anywhere."""
    return float(np.ptp(one.points, axis=0).max()) > STANDS_M


def way_m(one: Route) -> float:
    """The length of the way, of places a second apart so that what trembles does not count."""
    return float(distance_m(one)[-1])


def distance_m(one: Route) -> Array:
    """The way so far (n,)."""
    if one.stamp_ns is None or len(one.points) < 3:
        steps = np.linalg.norm(np.diff(one.points, axis=0, prepend=one.points[:1]), axis=1)
        return np.cumsum(steps)
    seconds = (one.stamp_ns - one.stamp_ns[0]) / NS_PER_S
    number = np.floor(seconds / SMOOTHED_S)
    coarse = np.flatnonzero(np.r_[True, np.diff(number) > 0])  # the first place of each second
    coarse = np.unique(np.r_[coarse, len(seconds) - 1]) if len(coarse) > 2 else np.arange(len(seconds))
    places = one.points[coarse]
    steps = np.linalg.norm(np.diff(places, axis=0, prepend=places[:1]), axis=1)
    if one.piece is not None:
        steps[np.diff(one.piece[coarse], prepend=one.piece[0]) != 0] = 0.0
    way: Array = np.interp(seconds, seconds[coarse], np.cumsum(steps))
    return way


def profiles(overview: Overview, routes: Sequence[Route]) -> list[Html]:
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
    axis = overview.time_axis(most=5)
    found = [(index, _speed(overview, one, axis)) for index, one in enumerate(routes)]
    speeds = [replace(curve, colour=index) for index, curve in found if curve is not None]
    if speeds:
        charts.append(line_chart("Speed", speeds, unit="m/s", x_axis=axis))
    return charts


def _speed(overview: Overview, one: Route, axis: Axis) -> Curve | None:
    """The speed as told, else from the way, each over a second; at times that are even along the axis."""
    if one.stamp_ns is None or len(one.points) < 3 or way_m(one) < LEAST_WAY_M:
        return None
    seconds = overview.seconds(one.stamp_ns)
    told = np.isfinite(one.speed)
    is_told = bool(told.mean() > 0.5 and np.abs(one.speed[told]).max() > 0)
    length_s = length_within(overview.pieces_ns, int(one.stamp_ns[0]), int(one.stamp_ns[-1])) / NS_PER_S
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


def route_section(overview: Overview, groups: dict[str, list[Route]]) -> Section | None:
    """A map for each frame in which something moves, the one with the longest way first; and what stands still."""
    if not groups:
        return None
    groups = {frame: [_in_pieces(one, overview) for one in routes] for frame, routes in groups.items()}
    moving = {frame: [one for one in routes if moves(one)] for frame, routes in groups.items()}
    ordered = sorted(
        (item for item in moving.items() if item[1]), key=lambda item: (item[1][0].is_fix, -max(map(way_m, item[1])))
    )
    small = [_small_map(frame, routes) for frame, routes in ordered[1:MOST_MAPS]]
    large = [_large_map(overview, frame, routes, small=small) for frame, routes in ordered[:1]]
    more = element("p", f"{len(ordered) - MOST_MAPS} more frames are not drawn.") if len(ordered) > MOST_MAPS else ""
    standing = [one for routes in groups.values() for one in routes if not moves(one)]
    body = joined([*large, more, _standing_table(standing) if standing else ""])
    lead = "Circles mark the starts, squares the ends. Axes in metres, to scale." if ordered else ""
    return Section("map", "Where it went", body, lead)


def _standing_table(routes: list[Route]) -> Html:
    """Poses that do not change, as numbers."""
    rows = []
    for one in routes[:MOST_STANDING]:
        place = "at its origin" if one.is_fix else " ".join(number_text(round(float(v), 3)) for v in one.points[0])
        rows.append((path_text(one.label), one.frame or "–", place))
    title = element("figcaption", element("b", "Standing still"))
    table = plain_table(("Topic", "Frame", "x y z, m"), rows)
    return element("figure", title, table, class_="card")


def _in_pieces(one: Route, overview: Overview) -> Route:
    if one.stamp_ns is None:
        return one
    return replace(one, piece=np.searchsorted(overview.pieces_ns[:, 0], one.stamp_ns, side="right"))


def _large_map(overview: Overview, frame: str, routes: list[Route], *, small: list[Html]) -> Html:
    """The map with the small ones below it, its table and its curves beside it."""
    shown = routes[:MOST_ROUTES]
    figure = element("figure", _caption(frame, routes), _map(shown), legend_of([r.label for r in shown]), class_="card")
    heads = ("Topic", "Way", "Height", "Frame")
    rows = [
        (_label(r, i), f"{number_text(way_m(r))} m", _height_text(r), r.own_frame or r.frame)
        for i, r in enumerate(shown)
    ]
    table = element("div", plain_table(heads, rows), class_="card")
    beside = element("div", table, *profiles(overview, shown), class_="stack")
    maps = element("div", figure, cards(small) if small else "", class_="stack")
    return element("div", maps, beside, class_="side")


def _small_map(frame: str, routes: list[Route]) -> Html:
    shown = routes[:MOST_ROUTES]
    return element("figure", _caption(frame, routes), _map(shown), legend_of([r.label for r in shown]), class_="card")


def _caption(frame: str, routes: list[Route]) -> Html:
    name = frame if routes[0].is_fix else f"in {frame}" if frame else "in a frame without a name"
    more = f", {len(routes) - MOST_ROUTES} more not drawn" if len(routes) > MOST_ROUTES else ""
    axes = "east to the right, north up" if routes[0].is_fix else "x to the right, y up"
    return element("figcaption", element("b", name), element("span", f"{axes}{more}", class_="muted"))


def _label(one: Route, index: int) -> Html:
    return joined([element("i", class_=f"key s{index % SERIES_COLOURS}"), path_text(one.label)])


def _height_text(one: Route) -> str:
    low, high = float(one.points[:, 2].min()), float(one.points[:, 2].max())
    return f"{number_text(round(low, 2))} to {number_text(round(high, 2))} m" if high - low > STANDS_M else "level"


def _map(routes: Sequence[Route]) -> Html:
    plane = plane_of_points(np.concatenate([one.points[:, :2] for one in routes]), room=0.12, least_m=0.1)
    layers = [
        route(plane, one.points[:, :2], f"s{index % SERIES_COLOURS}", breaks=one.breaks)
        for index, one in enumerate(routes)
    ]
    marks = []
    for index, one in enumerate(routes):
        for kind, point in (("end", one.points[-1]), ("start", one.points[0])):
            marks.append(mark(plane, point[0], point[1], kind=f"{kind} s{index % SERIES_COLOURS}"))
    return plane_drawing(plane, layers, marks)
