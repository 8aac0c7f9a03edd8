"""Figures: matplotlib draws them, without its global state; as SVG in a page they take the page's colours."""

import base64
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock, local
from typing import TYPE_CHECKING, Any, cast

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.core.number_text import Axis, labelled_breaks, number_axis, number_text, round_step, tick_text
from fieldplay.messages.image_pixels import colour_map
from fieldplay.projection.relief import Plane
from fieldplay.report.page import Html, join, markup, render

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
Pixels = NDArray[np.uint8]
SERIES = ("#0072b2", "#d55e00", "#00865f", "#a8578b", "#b07d00", "#3f9bd0", "#6b6f78", "#7a5230")
INK, SOFT, EDGE, GRID, FIELD, CARD = "#1c2328", "#59656d", "#dde2e5", "#e6eaec", "#fafbfb", "#fefefe"
# What matplotlib draws in these colours has those of the page, by day and by night.
PAGE_COLOURS = {colour: f"var(--c{index})" for index, colour in enumerate(SERIES)} | {
    INK: "var(--ink)", SOFT: "var(--soft)", EDGE: "var(--edge)", GRID: "var(--grid)", FIELD: "var(--field)",
    CARD: "var(--card)",
}  # fmt: skip
WIDTH, WIDE = 360, 540  # of a figure in a third and in half of the page, in units of about a pixel
TEXT = 11.5
MAX_SERIES = 8
FAR = 4.0  # steps without a value that break a curve
MAX_TORN = 24  # more strips with edges would hide what is between them
DRAWING = Lock()  # matplotlib's settings are global
AXES = local()
SETTINGS: Any = {
    "svg.fonttype": "none", "svg.hashsalt": "fieldplay", "text.parse_math": False, "font.sans-serif": ["DejaVu Sans"],
    "path.simplify_threshold": 0.25,
}  # fmt: skip
LABELLED, UNNAMED = re.compile('<g id="([a-z]+ [a-z0-9 ]+)">'), re.compile('<g id="[^"]*"')
NEEDLESS = re.compile(r' transform="rotate\(-0 [^"]*"| font-family: [^;]*;')  # a page has one font
PATHS, DECIMALS = re.compile(' d="[^"]*"'), re.compile(r"(?<=\.\d)\d+")


# What every figure has: its axes, its settings, and how it gets into a page or a file.


def new_figure(width: float, height: float) -> "Figure":
    """Make a figure of a size, in units, that belongs to no window and to nothing global."""
    from matplotlib.figure import Figure  # only here: it takes long to load

    return Figure(figsize=(width / 72, height / 72), dpi=72, facecolor="none")


def new_axes(width: float, height: float, *, left: float, bottom: float, top: float = 6, right: float = 12) -> "Axes":
    """Make axes of a figure of a size, in units, with margins for labels."""
    inner = (left / width, bottom / height, 1 - (left + right) / width, 1 - (top + bottom) / height)
    axes = new_figure(width, height).add_axes(inner, facecolor=FIELD)
    style_axes(axes)
    return axes


def style_axes(axes: "Axes") -> None:
    """Set the colours of axes, and a grid in place of ticks."""
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(EDGE)
    axes.tick_params(length=0, labelsize=TEXT, labelcolor=SOFT, pad=4, grid_color=GRID, grid_linewidth=1)
    axes.grid(visible=True)
    axes.set_axisbelow(True)


@contextmanager
def drawing_settings() -> Iterator[None]:
    """Set what matplotlib has as settings only, for as long as something is drawn: texts are texts, nothing else."""
    from matplotlib import rc_context

    with DRAWING, rc_context(SETTINGS):
        yield


def svg_of(axes: "Axes", label: str, *, below: Html | None = None) -> Html:
    """The figure of axes as markup, in the page's colours; what is `below` lies below all that is drawn.

    A group of what has a gid of two words has these as its classes.
    """
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    buffer, figure = io.StringIO(), _figure_of(axes)
    canvas: Any = FigureCanvasSVG(figure)
    with drawing_settings():
        canvas.print_svg(buffer, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    drawn = buffer.getvalue()
    drawn = drawn[drawn.index('<g id="figure_1">') : drawn.rindex("</svg>")]
    drawn = UNNAMED.sub("<g", LABELLED.sub(r'<g class="\1">', drawn))
    drawn = NEEDLESS.sub("", drawn)
    drawn = PATHS.sub(lambda path: DECIMALS.sub("", path[0]), drawn)
    for colour, name in PAGE_COLOURS.items():
        drawn = drawn.replace(colour, name)
    width, height = (round(72 * inches) for inches in figure.get_size_inches())
    return render("svg", markup(f"{below or ''}{drawn}"), width, height, label, "wide" if width > WIDTH else "")


def image_below(axes: "Axes", pixels: Pixels, *, is_exact: bool = False) -> Html:
    """An image (h, w, 4) in BGRA that fills the axes, for `svg_of`; exact for one of few and sharp cells."""
    axes.set_facecolor("none")
    axes.tick_params(grid_color="#808080", grid_alpha=0.4)
    width, height = (72 * inches for inches in _figure_of(axes).get_size_inches())
    box = axes.get_position()
    source = data_uri(pixels, "png" if is_exact else "webp")
    return markup(
        f'<image href="{source}" x="{box.x0 * width:.1f}" y="{(1 - box.y1) * height:.1f}" '
        f'width="{box.width * width:.1f}" height="{box.height * height:.1f}" preserveAspectRatio="none" '
        f'class="{"exact" if is_exact else "smooth"}"/>'
    )


def data_uri(pixels: Pixels, kind: str) -> str:
    """An image as an address that holds it: jpeg for photos, webp for others, png to be exact."""
    options = {"jpeg": (cv2.IMWRITE_JPEG_QUALITY, 80), "webp": (cv2.IMWRITE_WEBP_QUALITY, 82)}
    good, data = cv2.imencode(f".{kind}", pixels, options.get(kind, (cv2.IMWRITE_PNG_COMPRESSION, 9)))
    if not good:
        raise ValueError(f"expected an image that can be stored as {kind}, got one of shape {pixels.shape}")
    return f"data:image/{kind};base64,{base64.b64encode(data.tobytes()).decode()}"


def photo(pixels: Pixels, *, alternative: str) -> Html:
    """An image (h, w, 3) in BGR as JPEG."""
    height, width = pixels.shape[:2]
    return render("image", markup(data_uri(pixels, "jpeg")), width, height, alternative)


def limit_width(pixels: Pixels, widest: int) -> Pixels:
    """Scale an image down to a maximum width in pixels."""
    height, width = pixels.shape[:2]
    if width <= widest:
        return pixels
    size = (widest, max(1, round(height * widest / width)))
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), np.uint8)


def _figure_of(axes: "Axes") -> "Figure":
    return cast("Figure", axes.figure)


def put_ticks(axes: "Axes", x_axis: Axis, y_axis: Axis) -> None:
    """Let axes run from 0 to 1, with the labels of axes of ours."""
    for put, axis in ((axes.set_xticks, x_axis), (axes.set_yticks, y_axis)):
        put(axis.fractions(np.array([value for value, _ in axis.ticks])), [label for _, label in axis.ticks])
    axes.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0))


def put_breaks(axes: "Axes", axis: Axis, *, is_upright: bool = True) -> None:
    """A strip for each gap that an axis passes over, and the lengths of as many as have room."""
    if not axis.breaks:
        return
    from matplotlib.collections import PolyCollection

    ends = np.array([each.fractions for each in axis.breaks])
    along, across = ends[:, [0, 1, 1, 0]], np.tile([0.0, 0.0, 1.0, 1.0], (len(ends), 1))
    corners = np.stack([along, across] if is_upright else [across, along], axis=-1)
    edge = SOFT if len(ends) <= MAX_TORN else "none"
    look: dict[str, Any] = {
        "facecolors": CARD,
        "edgecolors": edge,
        "linestyle": (0, (3, 3)),
        "linewidths": 1,
        "zorder": 3,
    }
    axes.add_collection(PolyCollection(list(corners), gid="break strips", **look), autolim=False)
    for each in labelled_breaks(axis.breaks, most=4 if is_upright else 6):
        middle = sum(each.fractions) / 2
        if is_upright:
            axes.text(middle, 1.03, each.label, ha="center", va="bottom", fontsize=TEXT - 1, color=SOFT)
        else:
            axes.text(0.98, middle, each.label, ha="right", va="center", fontsize=TEXT - 1, color=SOFT, zorder=4)


# Curves over an axis.


@dataclass(frozen=True, eq=False)
class Curve:
    """Values (n,) at x (n,), and where they vary within a step, from low to high.

    Lines join values that are not far apart, or those of the same segment (n,). A value that is held stays until the
    next one, as a state does. The colour is that of the curve's position among others unless it is set.
    """

    label: str
    x: Array
    y: Array
    low: Array | None = None
    high: Array | None = None
    segment: NDArray[np.intp] | None = None
    is_held: bool = False
    colour: int | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Chart:
    """Curves over one axis: what they are, their unit, and a note."""

    title: str
    curves: Sequence[Curve]
    unit: str
    x_axis: Axis
    note: str = ""
    x_title: str = ""
    width: float = WIDTH

    @property
    def shown(self) -> list[tuple[Curve, int]]:
        """The curves that have values, as many as one can distinguish, with their colours."""
        finite = [curve for curve in self.curves if np.isfinite(curve.y).any()]
        return [(curve, n if curve.colour is None else curve.colour) for n, curve in enumerate(finite[:MAX_SERIES])]


def line_chart(chart: Chart) -> Html:
    """A chart as a card of the page, with a legend where there are several curves."""
    shown, axes = chart.shown, _chart_axes(chart.width, has_breaks=bool(chart.x_axis.breaks))
    draw_chart(axes, chart)
    more = sum(np.isfinite(curve.y).any() for curve in chart.curves) - len(shown)
    over, left_out = chart.x_title and f"over {chart.x_title}", f"{more} more not drawn" if more else ""
    details = [chart.unit, chart.note, left_out, over]
    legend = keys((colour, curve.label) for curve, colour in shown) if any(curve.label for curve, _ in shown) else []
    return render("figure", svg_of(axes, chart.title), chart.title, " ".join(filter(None, details)), legend)


def _chart_axes(width: float, *, has_breaks: bool) -> "Axes":
    """Empty axes for charts of a size, made once in a thread: to make them takes longer than to draw in them."""
    axes_cache: dict[tuple[float, bool], Axes] = AXES.__dict__.setdefault("made", {})
    axes = axes_cache.get((width, has_breaks))
    if axes is None:
        room = {"height": 182, "bottom": 36, "top": 20} if has_breaks else {"height": 158, "bottom": 22, "top": 6}
        axes = axes_cache[width, has_breaks] = new_axes(width, left=50, **room)
    for artist in (*axes.lines, *axes.collections, *axes.patches, *axes.texts):
        artist.remove()
    return axes


def keys(entries: Iterable[tuple[int, str]]) -> list[tuple[str, str]]:
    """The legend of a figure, of numbers of series and their labels."""
    return [(f"s{colour % len(SERIES)}", label) for colour, label in entries]


def draw_chart(axes: "Axes", chart: Chart) -> None:
    """Draw curves with their labels; both axes run from 0 to 1 and have labels of their own."""
    curves = [curve for curve, _ in chart.shown]
    values = np.concatenate([np.zeros(0), *(v for c in curves for v in (c.y, c.low, c.high) if v is not None)])
    finite = values[np.isfinite(values)]
    y_axis = number_axis(float(finite.min(initial=np.inf)), float(finite.max(initial=-np.inf)))
    put_ticks(axes, chart.x_axis, y_axis)
    for curve, colour in chart.shown:
        _draw_curve(axes, curve, colour % len(SERIES), x_axis=chart.x_axis, y_axis=y_axis)
    put_breaks(axes, chart.x_axis)


def _draw_curve(axes: "Axes", curve: Curve, colour: int, *, x_axis: Axis, y_axis: Axis) -> None:
    runs = segments(curve, x_axis)
    rows = np.concatenate([np.append(run, -1) for run in runs])[:-1]
    x, y = (
        np.where(rows < 0, np.nan, values[rows]) for values in (x_axis.fractions(curve.x), y_axis.fractions(curve.y))
    )
    if curve.is_held:
        x, y = np.append(x, 1.0), np.append(y, y[-1])
    look: dict[str, Any] = {"color": SERIES[colour], "solid_joinstyle": "round", "solid_capstyle": "round"}
    style = "steps-post" if curve.is_held else "default"
    axes.plot(x, y, linewidth=1.6, drawstyle=style, label=curve.label or None, gid=f"line s{colour}", **look)
    single = np.concatenate([run for run in runs if len(run) == 1 and not curve.is_held] or [rows[:0]])
    if len(single):
        points = x_axis.fractions(curve.x[single]), y_axis.fractions(curve.y[single])
        axes.plot(*points, "o", markersize=4, gid=f"point s{colour}", color=SERIES[colour])
    if curve.low is None or curve.high is None or curve.is_held:
        return
    low, high = (y_axis.fractions(values) for values in (curve.low, curve.high))
    if np.nanmax(high[rows[rows >= 0]] - low[rows[rows >= 0]], initial=0.0) > 1 / 200:
        low_y, high_y = (np.where(rows < 0, np.nan, values[rows]) for values in (low, high))
        axes.fill_between(x, low_y, high_y, alpha=0.28, linewidth=0, color=SERIES[colour], gid=f"band s{colour}")
        if len(single):
            axes.vlines(points[0], low[single], high[single], color=SERIES[colour], linewidth=1.6)


def segments(curve: Curve, x_axis: Axis) -> list[NDArray[np.intp]]:
    """Where a curve has values, broken where it lacks them for long, and where the axis passes over a gap."""
    there = np.flatnonzero(np.isfinite(curve.y))
    if len(there) < 2 or curve.is_held:
        return [there]
    steps, leaps = np.diff(curve.x[there]), np.diff(x_axis.segment_indices(curve.x[there])) != 0
    if curve.segment is not None:
        return np.split(there, np.flatnonzero(leaps | (np.diff(curve.segment[there]) != 0)) + 1)
    usual = float(np.median(steps[~leaps])) if not leaps.all() else 0.0
    return np.split(there, np.flatnonzero(leaps | (steps > FAR * usual)) + 1)


# A piece of a plane seen from above, in metres and to scale: trajectories, clouds and scans are drawn on it.


def plane_axes(plane: Plane, *, width: float = WIDE) -> "Axes":
    """Axes of a figure that shows a piece of a plane."""
    left, right, top, bottom = 56, 8, 8, 26
    axes = new_axes(
        width, (width - left - right) / plane.ratio + top + bottom, left=left, bottom=bottom, top=top, right=right
    )
    show_plane(axes, plane)
    return axes


def show_plane(axes: "Axes", plane: Plane) -> None:
    """Set the limits and the labels of axes to a piece of a plane."""
    step = round_step(max(plane.width, plane.y_high - plane.y_low), 5)
    for ticks, low, high in ((axes.xaxis, plane.x_low, plane.x_high), (axes.yaxis, plane.y_low, plane.y_high)):
        values = step * np.arange(np.ceil(low / step), np.floor(high / step) + 1)
        ticks.set_ticks(values, [tick_text(value, step) for value in values.tolist()])
    axes.set(xlim=(plane.x_low, plane.x_high), ylim=(plane.y_low, plane.y_high))


def draw_path(
    axes: "Axes", points: Array, colour: int, *, breaks: Sequence[int] = (), ends: bool = False, **look: Any
) -> None:
    """A line through points (n, 2), broken before some of them; with ends, marks at the first and the last."""
    colour %= len(SERIES)
    look = {"linewidth": 1.6, "color": SERIES[colour], "gid": f"line s{colour}", **look}
    axes.plot(*np.insert(points, np.array(breaks, int), np.nan, axis=0).T, **look)
    if ends:
        draw_mark(axes, points[-1], kind="end", colour=SERIES[colour])
        draw_mark(axes, points[0], kind="start", colour=SERIES[colour])


def draw_mark(axes: "Axes", point: Array, *, kind: str, colour: str = SERIES[1]) -> None:
    """A start is a circle, an end a square, a sensor a dot."""
    look = {"start": ("o", CARD, colour, 9), "end": ("s", colour, colour, 8), "sensor": ("o", colour, CARD, 8)}
    marker, face, edge, size = look[kind]
    axes.plot(
        *point[:2], marker, markersize=size, markerfacecolor=face, markeredgecolor=edge, zorder=5, gid=f"mark {kind}"
    )


# Images of cells between two axes: how often, how far or when, as colours.


def raster_axes(x_axis: Axis, y_axis: Axis, *, width: float = WIDE, height: float = 300) -> "Axes":
    """Axes from 0 to 1 with the labels of two axes of ours, for `image_below`."""
    axes = new_axes(width, height, left=84 if y_axis.breaks else 56, bottom=30, right=20)
    put_ticks(axes, x_axis, y_axis)
    axes.grid(visible=False)
    put_breaks(axes, y_axis, is_upright=False)
    return axes


def cells_of_fractions(fractions: Array) -> Pixels:
    """Colours (rows, columns, 4) in BGRA of fractions from 0 to 1, transparent for NaN."""
    pixels = np.zeros((*fractions.shape, 4), np.uint8)
    pixels[..., :3] = colour_map(fractions)
    pixels[..., 3] = np.where(np.isnan(fractions), 0, 255)
    return pixels


def ramp(low: str, high: str, legend: Sequence[tuple[str, str]] = ()) -> Html:
    """What the colours of a map mean, from low to high, and what else is drawn."""
    stops = ",".join("rgb({},{},{})".format(*stop) for stop in colour_map(np.linspace(0, 1, 9))[:, ::-1].tolist())
    return join([render("ramp", low, high, stops), render("keys", legend)])


def metres_text(value: float) -> str:
    """A length in metres with two decimals at most."""
    return f"{number_text(round(value, 2))} m"
