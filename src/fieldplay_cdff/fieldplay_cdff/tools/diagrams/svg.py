"""A picture as SVG."""

from fieldplay.report.html.markup import Html, element, void
from fieldplay_cdff.tools.diagrams.shapes import (
    Area,
    Dot,
    Drawing,
    Frame,
    LineShape,
    Point,
    Shape,
    Words,
)

FONT = "'DejaVu Sans', Verdana, 'Segoe UI', Arial, sans-serif"
XML = '<?xml version="1.0" encoding="UTF-8"?>\n'


def svg_of(picture: Drawing) -> str:
    """The picture as a file of its own; tips show what is known besides."""
    width, height = _number(picture.width), _number(picture.height)
    head = [element("title", picture.title), element("desc", picture.doc)]
    shapes = [Html("\n" + _element(shape)) for shape in picture.shapes]
    return XML + element(
        "svg", *head, *shapes, "\n", xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {width} {height}",
        width=width, height=height, font_family=FONT, role="img",
    )  # fmt: skip


def _element(shape: Shape) -> Html:
    if isinstance(shape, Frame):
        return _frame(shape)
    if isinstance(shape, Words):
        return _words(shape)
    if isinstance(shape, LineShape):
        return _closed(
            "path", d=_path(shape.points), fill="none", stroke=shape.colour, stroke_width=_number(shape.thickness),
            stroke_dasharray="5 4" if shape.is_dashed else None,
        )  # fmt: skip
    if isinstance(shape, Area):
        return _closed("polygon", points=" ".join(map(_point, shape.points)), fill=shape.fill)
    return _dot(shape)


def _frame(shape: Frame) -> Html:
    children = [element("title", shape.tip)] if shape.tip else []
    return element(
        "rect", *children, x=_number(shape.x), y=_number(shape.y), width=_number(shape.width),
        height=_number(shape.height), rx=_number(shape.radius) if shape.radius else None, fill=shape.fill,
        stroke=shape.stroke, stroke_width=_number(shape.thickness), stroke_dasharray="5 4" if shape.is_dashed else None,
    )  # fmt: skip


def _words(shape: Words) -> Html:
    return element(
        "text", shape.text, x=_number(shape.x), y=_number(shape.y), font_size=_number(shape.size),
        text_anchor=None if shape.anchor == "start" else shape.anchor, fill=shape.colour,
        font_weight="bold" if shape.is_bold else None,
    )  # fmt: skip


def _dot(shape: Dot) -> Html:
    place = {"cx": _number(shape.x), "cy": _number(shape.y), "r": _number(shape.radius)}
    return _closed("circle", **place, fill=shape.fill, stroke=shape.stroke)


def _closed(tag: str, **attributes: object) -> Html:
    """An element without content; XML wants its end."""
    return Html(void(tag, **attributes).removesuffix(">") + "/>")


def _path(points: tuple[Point, ...]) -> str:
    rest = [" ".join(map(_point, points[index : index + 3])) for index in range(1, len(points), 3)]
    return f"M{_point(points[0])}" + "".join(f"C{piece}" for piece in rest)


def _point(point: Point) -> str:
    return f"{_number(point[0])},{_number(point[1])}"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
