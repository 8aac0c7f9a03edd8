"""The diagram of a chain: boxes and edges in the positions of the layout, a headline, and the legend of colours."""

from collections.abc import Mapping
from types import MappingProxyType

from fieldplay_cdff.descriptors.model import (
    DFPC,
    Catalogue,
    Description,
    InputFeed,
    Operation,
    ProcessingChain,
    feed_issues,
    type_issues,
)
from fieldplay_cdff.tools.diagrams.diagram_graph import (
    DIFFERENT,
    INPUT,
    STRANGE,
    TEXT_SIZE,
    TITLE_SIZE,
    UNUSED,
    WRONG,
    Box,
    Graph,
    Lines,
    Mark,
    graph_of,
)
from fieldplay_cdff.tools.diagrams.diagram_layout import ChainLayout, layout_of
from fieldplay_cdff.tools.diagrams.shapes import (
    Area,
    Dot,
    Drawing,
    Frame,
    Label,
    LineShape,
    Point,
    Shape,
    fitting,
    text_width,
)

MARGIN, HEAD, LEGEND, NOTE = 28.0, 70.0, 40.0, 18.0
MIN_WIDTH = 480.0
HEADLINE, DOC_SIZE = 20.0, 12.5
INK, SOFT, FAINT, PAPER = "#1f2933", "#52606d", "#9aa5b1", "#ffffff"
BODY, BODY_RIM, BAND = "#f5f7fa", "#7b8794", "#e4e7eb"
OUTER, OUTER_RIM = "#fffbea", "#cb9b2c"
WRONG_INK = "#c81e1e"
OTHER = "other values"
FORM_1 = "A description of this form does not define how the DFNs are connected."
COLOURS = {
    "pictures": "#2563a8", "points": "#2f855a", "features": "#8250a8", "poses": "#c05621", OTHER: "#616e7c",
}  # fmt: skip
TYPE_WORDS = {  # of names of types
    "frame": "pictures", "pointcloud": "points", "octree": "points", "feature": "features",
    "correspondence": "features", "pose": "poses", "transform": "poses", "rigidbody": "poses",
}  # fmt: skip


def draw_picture(
    description: Description,
    chain: ProcessingChain,
    catalogue: Catalogue,
    feeds: Mapping[str, InputFeed] = MappingProxyType({}),
    measured: Lines = MappingProxyType({}),
) -> Drawing:
    """Draw a chain, whose inputs may be fed by streams of a log, or a DFN with its ports."""
    graph = graph_of(description, chain, catalogue, feeds, measured)
    layout = layout_of(graph)
    title, notes = _title(description, chain), _notes(description, chain)
    unfit = [text for _, text in (*type_issues(description, chain, catalogue), *feed_issues(description, feeds))]
    width = max(layout.width + 2 * MARGIN, MIN_WIDTH, text_width(title, HEADLINE, is_bold=True) + 2 * MARGIN)
    below = HEAD + MARGIN / 2 + layout.height
    image = Drawing(
        width=round(width), height=round(below + LEGEND + NOTE * len(notes + unfit)), title=title, doc=description.doc
    )
    offset = ((image.width - layout.width) / 2, HEAD + MARGIN / 2)
    image.shapes = [
        Frame(0, 0, image.width, image.height, fill=PAPER),
        Label(MARGIN, 34, title, HEADLINE, INK, is_bold=True),
        Label(MARGIN, 56, fitting(description.doc, width - 2 * MARGIN, DOC_SIZE), DOC_SIZE, SOFT),
        *_edges(graph, layout, offset),
    ]
    for box, corner in zip(graph.boxes, layout.corners, strict=True):
        image.shapes += _box(box, (corner[0] + offset[0], corner[1] + offset[1]))
    for index, text in enumerate(notes + unfit):
        shown = fitting(text, width - 2 * MARGIN, TEXT_SIZE)
        ink = SOFT if index < len(notes) else WRONG_INK
        image.shapes.append(Label(MARGIN, below + 22 + NOTE * index, shown, TEXT_SIZE, ink))
    image.shapes += _legend(graph, image.height - 14)
    return image


def _title(description: Description, chain: ProcessingChain) -> str:
    is_named = description.kind == DFPC and chain.name not in ("", description.name)
    return f"{description.name}: {chain.name}" if is_named else description.name


def _notes(description: Description, chain: ProcessingChain) -> list[str]:
    """Return the footer: the operations, and what the form does not specify."""
    hides_chain = description.kind == DFPC and description.form == 1 and len(chain.steps) > 1
    return [*map(_operation_text, description.operations), *([FORM_1] if hides_chain else [])]


def colour_of(type_name: str) -> str:
    """Return the kind of data of a type, as in the legend."""
    plain = type_name.lower()
    return next((kind for word, kind in TYPE_WORDS.items() if word in plain), OTHER)


def _edges(graph: Graph, layout: ChainLayout, offset: Point) -> list[Shape]:
    """Lines with a bright rim where they cross others, but not where several come together at a port."""
    by_port: dict[tuple[int, int], list[tuple[LineShape, Area]]] = {}
    for edge, route in zip(graph.edges, layout.routes, strict=True):
        points = tuple((x + offset[0], y + offset[1]) for x, y in route)
        colour = COLOURS[colour_of(edge.type)] if edge.is_known and edge.is_fitting else WRONG_INK
        x, y = points[-1]
        line = LineShape((*points[:-1], (x - 6.0, y)), colour, 1.8, not edge.is_known)
        head = Area(((x, y), (x - 8.0, y - 4.0), (x - 8.0, y + 4.0)), colour)
        by_port.setdefault((edge.target, edge.target_row), []).append((line, head))
    shapes: list[Shape] = []
    for drawn in by_port.values():
        shapes += [line._replace(colour=PAPER, thickness=4.5, is_dashed=False) for line, _ in drawn]
        shapes += [shape for pair in drawn for shape in pair]
    return shapes


def _box(box: Box, corner: Point) -> list[Shape]:
    x, y = corner
    width, height, is_strange = box.width, box.height, box.style == STRANGE
    if box.is_outer:
        return _outer_box(box, corner)
    rim = WRONG_INK if is_strange else BODY_RIM
    shapes: list[Shape] = [
        Frame(x, y, width, height, 6, BODY, rim, 1.4, is_strange, box.tip),
        LineShape(_level(x, x + width, y + box.head - 1), BAND, 1.2),
        Label(x + width / 2, y + 18, box.title, TITLE_SIZE, INK, "middle", True),
    ]
    for index, line in enumerate(box.lines):
        shapes.append(Label(x + width / 2, y + 34 + 16 * index, line, TEXT_SIZE, SOFT, "middle"))
    for row, mark in enumerate(box.left):
        shapes += _port(mark, (x, y + box.port_height(row)), is_left=True)
    for row, mark in enumerate(box.right):
        shapes += _port(mark, (x + width, y + box.port_height(row)), is_left=False)
    return shapes


def _outer_box(box: Box, corner: Point) -> list[Shape]:
    x, y = corner
    mark = (box.right if box.style == INPUT else box.left)[0]
    rim, ink = (WRONG_INK, WRONG_INK) if mark.state in (WRONG, DIFFERENT) else (OUTER_RIM, INK)
    shapes: list[Shape] = [
        Frame(x, y, box.width, box.height, box.height / 2, OUTER, rim, 1.4, mark.state == WRONG, box.tip),
        Label(x + box.width / 2, y + 20, box.title, TITLE_SIZE, ink, "middle", True),
    ]
    for index, line in enumerate(box.lines):
        shapes.append(Label(x + box.width / 2, y + 36 + 16 * index, line, TEXT_SIZE, SOFT, "middle"))
    return shapes


def _port(mark: Mark, point: Point, *, is_left: bool) -> list[Shape]:
    x, y = point
    ink = {WRONG: WRONG_INK, UNUSED: FAINT}.get(mark.state, INK)
    fill = PAPER if mark.state == UNUSED else WRONG_INK if mark.state == WRONG else COLOURS[colour_of(mark.type)]
    side = 10.0 if is_left else -10.0
    return [
        Dot(x, y, 3.6, fill, FAINT if mark.state == UNUSED else fill),
        Label(x + side, y + 4, mark.name, TEXT_SIZE, ink, "start" if is_left else "end"),
    ]


def _legend(graph: Graph, y: float) -> list[Shape]:
    sound = {colour_of(edge.type) for edge in graph.edges if edge.is_known and edge.is_fitting}
    kinds = [kind for kind in COLOURS if kind in sound]
    marks = [mark for box in graph.boxes for mark in (*box.left, *box.right)]
    entries = [(kind, COLOURS[kind]) for kind in kinds]
    if any(mark.state == UNUSED for mark in marks):
        entries.append(("grey: not connected", FAINT))
    if any(mark.state == WRONG for mark in marks) or any(box.style == STRANGE for box in graph.boxes):
        entries.append(("not as published", WRONG_INK))
    if any(mark.state == DIFFERENT for mark in marks) or not all(edge.is_fitting for edge in graph.edges):
        entries.append(("of another type", WRONG_INK))
    shapes: list[Shape] = []
    x = MARGIN
    for text, colour in entries:
        shapes += [LineShape(_level(x, x + 18, y - 4), colour, 2.4), Label(x + 24, y, text, TEXT_SIZE, SOFT)]
        x += 24 + text_width(text, TEXT_SIZE) + 22
    return shapes


def _level(left: float, right: float, y: float) -> tuple[Point, ...]:
    return (left, y), (left, y), (right, y), (right, y)


def _operation_text(operation: Operation) -> str:
    inputs = ", ".join(f"{port.name}: {port.shown_type}" for port in operation.inputs)
    return f"{operation.name}({inputs}) gives {operation.output_type.removeprefix('asn1Scc')}: {operation.doc}"
