"""The shapes of a diagram, in pixels from the upper left corner; SVG and PNG are both drawn from them."""

import html
import re
from dataclasses import dataclass, field
from typing import NamedTuple

Point = tuple[float, float]
NARROW, WIDE = frozenset("ijltfrI.,:;|!'()[]/ -"), frozenset("mwMWQO@%")
NARROW_EM, WIDE_EM, CAPITAL_EM, USUAL_EM, BOLD = 0.38, 0.92, 0.70, 0.62, 1.08  # widths as in DejaVu Sans, a broad one
FONT = "'DejaVu Sans', Verdana, 'Segoe UI', Arial, sans-serif"
UNPRINTABLE = re.compile(r"[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\U0010ffff]")
XML = '<?xml version="1.0" encoding="UTF-8"?>\n'


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


class Label(NamedTuple):
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


Shape = Frame | Label | LineShape | Area | Dot


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
        NARROW_EM if char in NARROW else WIDE_EM if char in WIDE else CAPITAL_EM if char.isupper() else USUAL_EM
        for char in text
    )
    return ems * size * (BOLD if is_bold else 1.0)


def fitting(text: str, width: float, size: float) -> str:
    """The text, cut to a width."""
    if text_width(text, size) <= width:
        return text
    while text and text_width(text + "…", size) > width:
        text = text[:-1]
    return text.rstrip() + "…"


# A diagram as SVG.


def svg_of(image: Drawing) -> str:
    """Return the diagram as a complete SVG file; tooltips show further details."""
    width, height = _number(image.width), _number(image.height)
    head = [_tag("title", _escape(image.title)), _tag("desc", _escape(image.doc))]
    shapes = ["\n" + _element(shape) for shape in image.shapes]
    return XML + _tag(
        "svg", "".join([*head, *shapes, "\n"]), xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {width} {height}",
        width=width, height=height, font_family=FONT, role="img",
    )  # fmt: skip


def _escape(value: object) -> str:
    """Escape markup; characters that no file of XML can hold become replacement characters."""
    return html.escape(UNPRINTABLE.sub("\ufffd", str(value)))


def _tag(name: str, content: str = "", **attributes: object) -> str:
    """An element around content that is markup; font_size is font-size, and None leaves an attribute out."""
    shown = "".join(f' {k.replace("_", "-")}="{_escape(v)}"' for k, v in attributes.items() if v is not None)
    return f"<{name}{shown}>{content}</{name}>" if content else f"<{name}{shown}/>"


def _element(shape: Shape) -> str:
    if isinstance(shape, Frame):
        return _frame(shape)
    if isinstance(shape, Label):
        return _text_element(shape)
    if isinstance(shape, LineShape):
        return _tag(
            "path", d=_path(shape.points), fill="none", stroke=shape.colour, stroke_width=_number(shape.thickness),
            stroke_dasharray="5 4" if shape.is_dashed else None,
        )  # fmt: skip
    if isinstance(shape, Area):
        return _tag("polygon", points=" ".join(map(_point, shape.points)), fill=shape.fill)
    return _dot(shape)


def _frame(shape: Frame) -> str:
    tip = _tag("title", _escape(shape.tip)) if shape.tip else ""
    return _tag(
        "rect", tip, x=_number(shape.x), y=_number(shape.y), width=_number(shape.width),
        height=_number(shape.height), rx=_number(shape.radius) if shape.radius else None, fill=shape.fill,
        stroke=shape.stroke, stroke_width=_number(shape.thickness), stroke_dasharray="5 4" if shape.is_dashed else None,
    )  # fmt: skip


def _text_element(shape: Label) -> str:
    return _tag(
        "text", _escape(shape.text), x=_number(shape.x), y=_number(shape.y), font_size=_number(shape.size),
        text_anchor=None if shape.anchor == "start" else shape.anchor, fill=shape.colour,
        font_weight="bold" if shape.is_bold else None,
    )  # fmt: skip


def _dot(shape: Dot) -> str:
    attributes = {"cx": _number(shape.x), "cy": _number(shape.y), "r": _number(shape.radius)}
    return _tag("circle", **attributes, fill=shape.fill, stroke=shape.stroke)


def _path(points: tuple[Point, ...]) -> str:
    rest = [" ".join(map(_point, points[index : index + 3])) for index in range(1, len(points), 3)]
    return f"M{_point(points[0])}" + "".join(f"C{segment}" for segment in rest)


def _point(point: Point) -> str:
    return f"{_number(point[0])},{_number(point[1])}"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
