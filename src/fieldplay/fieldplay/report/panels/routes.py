"""Routes on maps, in tables, and those that stand still."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fieldplay.report.html.charts import SERIES_COLOURS, legend_of
from fieldplay.report.html.markup import Html, element, joined, path_text
from fieldplay.report.html.page import Section, cards, plain_table
from fieldplay.report.html.plane import mark, plane_drawing, plane_of_points, route
from fieldplay.report.html.ticks import number_text
from fieldplay.report.panels.route import STANDS_M, Route, moves, way_m
from fieldplay.report.panels.route_profiles import profiles
from fieldplay.report.recording import Recording

MOST_ROUTES = 8  # on one map
MOST_MAPS = 7
MOST_STANDING = 12


def route_section(recording: Recording, groups: dict[str, list[Route]]) -> Section | None:
    """A map for each frame in which something moves, the one with the longest way first; and what stands still."""
    if not groups:
        return None
    groups = {frame: [_in_pieces(one, recording) for one in routes] for frame, routes in groups.items()}
    moving = {frame: [one for one in routes if moves(one)] for frame, routes in groups.items()}
    ordered = sorted(
        (item for item in moving.items() if item[1]), key=lambda item: (item[1][0].is_fix, -max(map(way_m, item[1])))
    )
    small = [_small_map(frame, routes) for frame, routes in ordered[1:MOST_MAPS]]
    large = [_large_map(recording, frame, routes, small=small) for frame, routes in ordered[:1]]
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


def _in_pieces(one: Route, recording: Recording) -> Route:
    if one.stamp_ns is None:
        return one
    return replace(one, piece=np.searchsorted(recording.pieces_ns[:, 0], one.stamp_ns, side="right"))


def _large_map(recording: Recording, frame: str, routes: list[Route], *, small: list[Html]) -> Html:
    """The map with the small ones below it, its table and its curves beside it."""
    shown = routes[:MOST_ROUTES]
    figure = element("figure", _caption(frame, routes), _map(shown), legend_of([r.label for r in shown]), class_="card")
    heads = ("Topic", "Way", "Height", "Frame")
    rows = [
        (_label(r, i), f"{number_text(way_m(r))} m", _height_text(r), r.own_frame or r.frame)
        for i, r in enumerate(shown)
    ]
    table = element("div", plain_table(heads, rows), class_="card")
    beside = element("div", table, *profiles(recording, shown), class_="stack")
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
