"""What a picture is made of, in pixels from the upper left corner; SVG and PNG are both drawn from it."""

from dataclasses import dataclass, field
from typing import NamedTuple

Point = tuple[float, float]

NARROW, WIDE = frozenset("ijltfrI.,:;|!'()[]/ -"), frozenset("mwMWQO@%")
NARROW_EM, WIDE_EM, CAPITAL_EM, USUAL_EM, BOLD = 0.38, 0.92, 0.70, 0.62, 1.08  # widths as in DejaVu Sans, a broad one


class Frame(NamedTuple):
    """A rectangle with rounded corners."""

    x: float
    y: float
    width: float
    height: float
    radius: float = 0.0
    fill: str = "none"
    stroke: str = "none"
    thickness: float = 1.0
    is_dashed: bool = False
    tip: str = ""


class Words(NamedTuple):
    """A line of text; y is its base line, anchor start, middle or end."""

    x: float
    y: float
    text: str
    size: float
    colour: str
    anchor: str = "start"
    is_bold: bool = False


class LineShape(NamedTuple):
    """A line through points: the first, then three for each piece of a cubic curve."""

    points: tuple[Point, ...]
    colour: str
    thickness: float
    is_dashed: bool = False


class Area(NamedTuple):
    """A filled polygon."""

    points: tuple[Point, ...]
    fill: str


class Dot(NamedTuple):
    """A filled circle with a rim."""

    x: float
    y: float
    radius: float
    fill: str
    stroke: str


Shape = Frame | Words | LineShape | Area | Dot


@dataclass(kw_only=True)
class Drawing:
    """Shapes in the order in which they are painted."""

    width: float
    height: float
    title: str
    doc: str = ""
    shapes: list[Shape] = field(default_factory=list)


def text_width(text: str, size: float, *, is_bold: bool = False) -> float:
    """About how wide a text is; rather too much, as the font is not known."""
    ems = sum(
        NARROW_EM if sign in NARROW else WIDE_EM if sign in WIDE else CAPITAL_EM if sign.isupper() else USUAL_EM
        for sign in text
    )
    return ems * size * (BOLD if is_bold else 1.0)


def fitting(text: str, width: float, size: float) -> str:
    """The text, cut to a width."""
    if text_width(text, size) <= width:
        return text
    while text and text_width(text + "…", size) > width:
        text = text[:-1]
    return text.rstrip() + "…"
