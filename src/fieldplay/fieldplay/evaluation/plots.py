"""What was found of two ways as a page of its own, or as a picture."""

from io import BytesIO

import numpy as np

from fieldplay.evaluation.comparison import Compared
from fieldplay.evaluation.text import HEADS, rows_of
from fieldplay.report.html.charts import legend_of
from fieldplay.report.html.markup import Html, element
from fieldplay.report.html.page import Section, cards, page_of_sections, plain_table
from fieldplay.report.html.plane import plane_drawing, plane_of_points, route
from fieldplay.report.html.ticks import duration_text, number_text
from fieldplay.report.panels.odometry_drawing import Named, error_figures, lengthwise
from fieldplay_fusion.evaluation.words import UNITS
from fieldplay_kinematics.transforms import Array
from fieldplay_messages.stamps import NS_PER_S

MOST_POINTS = 4000
INCHES, DOTS_PER_INCH = (13.0, 8.0), 110


def page_of(found: Compared) -> Html:
    """A page with the two ways, the errors over the way and over time, and the table."""
    evaluation, ways = found.evaluation, found.ways
    begin_ns, end_ns = int(evaluation.pairs.stamp_ns[0]), int(evaluation.pairs.stamp_ns[-1])
    duration_s = (end_ns - begin_ns) / NS_PER_S
    named = Named(label=ways.estimate.topic, evaluation=evaluation, begin_ns=begin_ns)
    tiles = [
        ("pairs", str(len(evaluation.pairs))),
        ("duration", duration_text(duration_s)),
        ("way of the truth", f"{number_text(float(evaluation.travelled_m[-1]))} m"),
        ("way of the estimate", f"{number_text(evaluation.estimate_m)} m"),
    ]
    head = element(
        "header",
        element("div", "odometry against the truth", class_="eyebrow"),
        element("h1", ways.estimate.topic),
        element("p", f"against {ways.truth.topic}", class_="lead"),
        element(
            "div",
            *(element("div", element("b", value), element("span", name), class_="tile") for name, value in tiles),
            class_="tiles",
        ),
    )
    table = element("div", plain_table(("error", *HEADS), [row.cells for row in rows_of(evaluation)]), class_="card")
    sections = [
        Section("errors", "Errors", cards(error_figures([named], duration_s))),
        Section("ways", "Ways", _map(found)),
        Section("numbers", "Numbers", table),
    ]
    return page_of_sections(f"{ways.estimate.topic} · fieldplay", head, sections)


def _map(found: Compared) -> Html:
    """Both ways in the truth's frame, from above."""
    labels = found.ways.truth.topic, found.ways.estimate.topic
    points = [_thin(one.positions_m[:, :2]) for one in (found.ways.truth.trajectory, found.aligned)]
    plane = plane_of_points(np.concatenate(points), room=0.12, least_m=0.1)
    layers = [route(plane, one, f"s{index}") for index, one in enumerate(points)]
    return element("figure", plane_drawing(plane, layers, []), legend_of(labels), class_="card")


def _thin(points: Array) -> Array:
    return points[:: max(1, len(points) // MOST_POINTS)]


def picture_of(found: Compared) -> bytes:
    """The same figures as a PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # only here: it takes long to load
    from matplotlib.figure import Figure

    figure = Figure(figsize=INCHES, dpi=DOTS_PER_INCH, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(2, 2)
    figure.suptitle(f"{found.ways.estimate.topic} against {found.ways.truth.topic}")
    evaluation = found.evaluation
    for place, is_rotation in ((axes[0, 0], False), (axes[0, 1], True)):
        lengths, low, middle, high, most = lengthwise(evaluation, is_rotation=is_rotation).T
        place.fill_between(lengths, low, high, alpha=0.25, label="quartiles")
        place.plot(lengths, middle, label="median")
        place.plot(lengths, most, linestyle=":", label="95 % are below")
        words = ("Rotation error, degrees per m", "Translation error, % of the length")
        place.set(title=words[0 if is_rotation else 1], xlabel="length of the way, m")
        place.legend()
    seconds = (evaluation.pairs.stamp_ns - evaluation.pairs.stamp_ns[0]) / NS_PER_S
    axes[1, 0].plot(seconds, evaluation.absolute.translation)
    axes[1, 0].set(title=f"Distance from the truth, {UNITS['ATE'][0]}", xlabel="s")
    for label, one in (
        (found.ways.truth.topic, found.ways.truth.trajectory),
        (found.ways.estimate.topic, found.aligned),
    ):
        axes[1, 1].plot(one.positions_m[:, 0], one.positions_m[:, 1], label=label)
    axes[1, 1].set(title="Ways, m", aspect="equal", adjustable="datalim")
    axes[1, 1].legend()
    for place in axes.flat:
        place.grid(visible=True, alpha=0.3)
    buffer = BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()
