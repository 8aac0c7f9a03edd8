"""A diagram as PNG, drawn by matplotlib from the same shapes as the SVG."""

import io
import warnings

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch, Patch, PathPatch, Polygon
from matplotlib.path import Path
from matplotlib.text import Text

from fieldplay_cdff.tools.diagrams.shapes import (
    Area,
    Dot,
    Drawing,
    Frame,
    Label,
    LineShape,
)

PIXELS_PER_POINT = 2.0  # pixels of the PNG per pixel of the diagram
DPI = 72.0 * PIXELS_PER_POINT
LARGEST = 30000  # pixels of a side
DASHES = (0, (4, 3))
ANCHORS = {"start": "left", "middle": "center", "end": "right"}


def png_of(image: Drawing) -> bytes:
    """Draw the PNG with twice as many pixels in each direction as the SVG has, or as many as fit a side."""
    dpi = min(DPI, 72.0 * LARGEST / max(image.width, image.height))
    figure = Figure(figsize=(image.width / 72, image.height / 72), dpi=dpi)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, image.width)
    axes.set_ylim(image.height, 0)
    for order, shape in enumerate(image.shapes):
        artist = _text(shape) if isinstance(shape, Label) else _patch(shape)
        artist.set_zorder(order)
        if isinstance(artist, Text):
            axes.add_artist(artist)
        else:
            axes.add_patch(artist)
    data = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
        figure.savefig(data, format="png", dpi=dpi, metadata={"Title": image.title})
    return data.getvalue()


def _text(label: Label) -> Text:
    return Text(
        label.x, label.y, label.text, size=label.size, color=label.colour, ha=ANCHORS[label.anchor], va="baseline",
        weight="bold" if label.is_bold else "normal", family="DejaVu Sans", parse_math=False,
    )  # fmt: skip


def _patch(shape: Frame | LineShape | Area | Dot) -> Patch:
    if isinstance(shape, Frame):
        style = f"round,pad=0,rounding_size={shape.radius}" if shape.radius else "square,pad=0"
        return FancyBboxPatch(
            (shape.x, shape.y), shape.width, shape.height, boxstyle=style, facecolor=shape.fill, edgecolor=shape.stroke,
            linewidth=shape.thickness, linestyle=DASHES if shape.is_dashed else "solid",
        )  # fmt: skip
    if isinstance(shape, LineShape):
        codes = [Path.MOVETO, *[Path.CURVE4] * (len(shape.points) - 1)]
        return PathPatch(
            Path(shape.points, codes), facecolor="none", edgecolor=shape.colour, linewidth=shape.thickness,
            linestyle=DASHES if shape.is_dashed else "solid", capstyle="butt",
        )  # fmt: skip
    if isinstance(shape, Area):
        return Polygon(shape.points, closed=True, facecolor=shape.fill, edgecolor="none")
    return Circle((shape.x, shape.y), shape.radius, facecolor=shape.fill, edgecolor=shape.stroke)
