"""The figures of `fieldplay evaluate --plot`: a page of its own, or an image."""

from collections.abc import Sequence
from io import BytesIO

import numpy as np

from fieldplay.core.number_text import duration_text, number_text
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.evaluation.evaluation_text import HEADS, rows_of
from fieldplay.evaluation.trajectory_pair import Comparison
from fieldplay.projection.relief import plane_of_points
from fieldplay.report.figures import (
    Array,
    draw_chart,
    draw_path,
    drawing_settings,
    keys,
    line_chart,
    new_figure,
    plane_axes,
    show_plane,
    style_axes,
    svg_of,
)
from fieldplay.report.odometry_panel import Named, error_charts, segment_charts
from fieldplay.report.page import Html, Section, join, page_of_sections, plain_table, render

MAX_POINTS = 4000
INCHES, DOTS_PER_INCH = (13.0, 8.0), 110


def page_of(comparisons: Sequence[Comparison]) -> Html:
    """A page with the trajectories of one estimate or more, the errors over the way and over time, and the numbers."""
    named, duration_s = _named(comparisons)
    title = comparisons[0].pair.estimate.topic if len(comparisons) == 1 else f"{len(comparisons)} estimates"
    tiles = [(name, value, "") for name, value in _tiles(comparisons, duration_s)]
    lead = f"against {comparisons[0].pair.truth.topic}"
    head = render("header", title, "odometry against the truth", lead, tiles)
    charts = [line_chart(chart) for chart in [*error_charts(named, duration_s), *segment_charts(named)]]
    numbers = join(_numbers(one, is_alone=len(comparisons) == 1) for one in comparisons)
    sections = [
        Section("errors", "Errors", render("cards", charts)),
        Section("ways", "Ways", render("cards", [_map(comparisons)], "wide")),
        Section("numbers", "Numbers", numbers),
    ]
    return page_of_sections(f"{title} · fieldplay", head, sections)


def _named(comparisons: Sequence[Comparison]) -> tuple[list[Named], float]:
    """The evaluations with their names, on one axis of time, and its length in seconds."""
    start_ns = min(int(one.evaluation.pairs.stamp_ns[0]) for one in comparisons)
    end_ns = max(int(one.evaluation.pairs.stamp_ns[-1]) for one in comparisons)
    named = [Named(label=one.pair.estimate.topic, evaluation=one.evaluation, start_ns=start_ns) for one in comparisons]
    return named, (end_ns - start_ns) / NS_PER_S


def _tiles(comparisons: Sequence[Comparison], duration_s: float) -> list[tuple[str, str]]:
    """Names and values of the lines above."""
    truth_m = max(float(one.evaluation.travelled_m[-1]) for one in comparisons)
    tiles = [("duration", duration_text(duration_s)), ("path of the truth", f"{number_text(truth_m)} m")]
    if len(comparisons) > 1:
        return tiles
    (evaluation,) = (one.evaluation for one in comparisons)
    length_text = f"{number_text(evaluation.estimate_m)} m"
    return [("pairs", str(len(evaluation.pairs))), *tiles, ("path of the estimate", length_text)]


def _numbers(comparison: Comparison, *, is_alone: bool) -> Html:
    """The table of one estimate, under its name where there are others."""
    name = "error" if is_alone else comparison.pair.estimate.topic
    rows = [row.cells for row in rows_of(comparison.evaluation)]
    return plain_table((name, *HEADS), rows, is_card=True)


def _map(comparisons: Sequence[Comparison]) -> Html:
    """All trajectories in the truth's frame, from above."""
    paths = _paths(comparisons)
    axes = plane_axes(plane_of_points(np.concatenate([points for _, points in paths]), room=0.12, least_m=0.1))
    for index, (_, points) in enumerate(paths):
        draw_path(axes, points, index)
    legend = keys((index, label) for index, (label, _) in enumerate(paths))
    return render("figure", svg_of(axes, "from above"), "From above", "m", legend)


def _paths(comparisons: Sequence[Comparison]) -> list[tuple[str, Array]]:
    """The names and positions (n, 2) of the truth, then of the aligned estimates."""
    truth = comparisons[0].pair.truth
    trajectories = [(truth.topic, truth.trajectory), *((one.pair.estimate.topic, one.aligned) for one in comparisons)]
    return [(name, t.positions_m[:: max(1, len(t.stamp_ns) // MAX_POINTS), :2]) for name, t in trajectories]


def png_of(comparisons: Sequence[Comparison]) -> bytes:
    """The same figures as a PNG."""
    named, duration_s = _named(comparisons)
    charts, paths = [*error_charts(named, duration_s), *segment_charts(named)], _paths(comparisons)
    figure = new_figure(72 * INCHES[0], 72 * INCHES[1])
    figure.set(facecolor="white", dpi=DOTS_PER_INCH, layout_engine="constrained")
    is_alone, heading = len(comparisons) == 1, f"{len(comparisons)} estimates"
    plots = figure.subplots(2 if len(charts) < 4 else 3, 2).flat
    with drawing_settings():
        figure.suptitle(f"{named[0].label if is_alone else heading} against {comparisons[0].pair.truth.topic}")
        for plot, chart in zip(plots, charts, strict=False):
            style_axes(plot)
            draw_chart(plot, chart)
            plot.set(title=f"{chart.title}, {chart.unit}", xlabel=chart.x_title)
            plot.legend()
        plot = figure.axes[-1]
        style_axes(plot)
        plane = plane_of_points(np.concatenate([points for _, points in paths]), room=0.12, least_m=0.1)
        show_plane(plot, plane)
        plot.set(title="Paths, m", aspect="equal", adjustable="datalim")
        for index, (label, points) in enumerate(paths):
            draw_path(plot, points, index, label=label)
        plot.legend()
        buffer = BytesIO()
        figure.savefig(buffer, format="png")
    return buffer.getvalue()
