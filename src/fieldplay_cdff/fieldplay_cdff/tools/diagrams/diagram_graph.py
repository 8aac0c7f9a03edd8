"""A chain as boxes with ports, and the connections between them."""

import json
import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from fieldplay.core.errors import UsageError
from fieldplay_cdff.descriptors.description_reader import ON_INPUT
from fieldplay_cdff.descriptors.model import (
    DFPC,
    Catalogue,
    Description,
    Dfn,
    End,
    InputFeed,
    Port,
    ProcessingChain,
    Step,
    do_differ,
    type_issues,
)
from fieldplay_cdff.tools.diagrams.shapes import text_width

LARGEST = 16 << 20
Lines = Mapping[str, tuple[str, ...]]  # by the step
INPUT, OUTPUT, STEP, STRANGE = "input", "output", "step", "strange"
KNOWN, UNUSED, WRONG, DIFFERENT = "known", "unused", "wrong", "different"  # of ports; the last by its type
TITLE_SIZE, TEXT_SIZE = 14.0, 12.0
ROW, HEAD, PADDING, BETWEEN = 20.0, 26.0, 12.0, 26.0
MIN_WIDTH = 96.0
LONGEST_LINE = 60  # characters


# The measurements of each step in a run, as lines below the step's name.


def lines_of_file(path: Path) -> Lines:
    """The statistics of each step from `fieldplay fuse --stats`; UsageError if it is no such file."""
    if not path.is_file() or path.stat().st_size > LARGEST:
        raise UsageError(f"{path}: expected a file of statistics, as fieldplay fuse --stats writes it")
    try:
        steps = json.loads(path.read_text(encoding="utf-8"))["steps"]
        return {str(step["name"]): _lines(step) for step in steps}
    except (ValueError, LookupError, TypeError) as error:
        raise UsageError(f"{path}: expected statistics, as fieldplay fuse --stats writes them: {error!r}") from None


def lines_of_step(lines: Lines, name: str) -> tuple[str, ...]:
    """Measurements of a step; if it replaces a complete chain, the number of its steps."""
    inner = [step for step in lines if step.startswith(f"{name}.")]
    return lines.get(name, (f"{len(inner)} steps",) if inner else ())


def _lines(step: Mapping[str, Any]) -> tuple[str, ...]:
    if not step["calls"]:
        return ("no calls",)
    failures = f", {step['failures']} failed" if step["failures"] else ""
    times = f"{1e3 * step['wall_s']['mean']:.1f} ms, CPU {1e3 * step['cpu_s']['mean']:.1f} ms"
    return f"{step['calls']} calls{failures}", times


class Mark(NamedTuple):
    """A port at a box's side: its name, KNOWN, UNUSED, WRONG or DIFFERENT, and its type."""

    name: str
    state: str
    type: str = ""


@dataclass(frozen=True, kw_only=True)
class Box:
    """A step, or a port of the chain itself, with its own ports on the left and on the right."""

    id: tuple[str, str]  # the style and the name
    title: str
    lines: tuple[str, ...] = ()
    left: tuple[Mark, ...] = ()
    right: tuple[Mark, ...] = ()
    tip: str = ""

    @property
    def style(self) -> str:
        return self.id[0]

    @property
    def is_outer(self) -> bool:
        return self.style in (INPUT, OUTPUT)

    @property
    def head(self) -> float:
        return HEAD + 16.0 * len(self.lines)

    @property
    def height(self) -> float:
        if self.is_outer:
            return self.head + 6.0
        return self.head + ROW * max(len(self.left), len(self.right), 1) + PADDING / 2

    @property
    def width(self) -> float:
        heads = [
            text_width(self.title, TITLE_SIZE, is_bold=True),
            *(text_width(line, TEXT_SIZE) for line in self.lines),
        ]
        sides = sum(max((text_width(mark.name, TEXT_SIZE) for mark in marks), default=0) for marks in self._sides)
        return round(max(MIN_WIDTH, max(heads) + 2 * PADDING, sides + BETWEEN + 2 * PADDING))

    @property
    def _sides(self) -> tuple[Sequence[Mark], Sequence[Mark]]:
        return ((), ()) if self.is_outer else (self.left, self.right)

    def port_height(self, row: int) -> float:
        """Return the distance of a port from the box's top."""
        return self.height / 2 if self.is_outer else self.head + ROW * (row + 0.5)


class GraphEdge(NamedTuple):
    """A connection: boxes and rows of their ports, the type of what flows, whether both ports are known, and fit."""

    source: int
    source_row: int
    target: int
    target_row: int
    type: str = ""
    is_known: bool = True
    is_fitting: bool = True


@dataclass(frozen=True, kw_only=True)
class Graph:
    """Boxes, the inputs first and the outputs last, and edges between them."""

    boxes: tuple[Box, ...]
    edges: tuple[GraphEdge, ...]


def graph_of(
    description: Description,
    chain: ProcessingChain,
    catalogue: Catalogue,
    feeds: Mapping[str, InputFeed] = MappingProxyType({}),
    measured: Lines = MappingProxyType({}),
) -> Graph:
    """The drawing of a chain, whose inputs may come from streams of a log; for a DFN, its single box.

    `measured` are lines about a run of its steps.
    """
    if description.kind != DFPC:
        return Graph(boxes=(_box_of_dfn(description),), edges=())
    inputs, outputs = (_names(ports, chain, side) for side, ports in _sides(description))
    boxes = [
        *(_outer_box(INPUT, name, port, feeds.get(name)) for name, port in inputs.items()),
        *(_box_of_step(step, chain, catalogue.meant(step.dfn), measured) for step in chain.steps),
        *(_outer_box(OUTPUT, name, port) for name, port in outputs.items()),
    ]
    unfit = {(each.source, each.target) for each, _ in type_issues(description, chain, catalogue)}
    return Graph(boxes=tuple(boxes), edges=tuple(_edges(boxes, chain, unfit)))


def _sides(description: Description) -> tuple[tuple[str, Sequence[Port]], tuple[str, Sequence[Port]]]:
    return (INPUT, description.inputs), (OUTPUT, description.outputs)


def _names(ports: Sequence[Port], chain: ProcessingChain, side: str) -> Mapping[str, Port | None]:
    """The chain's own ports on a side; those that are connected though they are not declared are None."""
    by_name: dict[str, Port | None] = {port.name: port for port in ports}
    for connection in chain.connections:
        end = connection.source if side == INPUT else connection.target
        if end.step is None and end.port not in by_name:
            by_name[end.port] = None
    return by_name


def _outer_box(style: str, name: str, port: Port | None, feed: InputFeed | None = None) -> Box:
    own_type = port.shown_type if port else ""
    lines = [own_type] * bool(own_type) if port else ["not declared"]
    state = KNOWN if port else WRONG
    if feed is not None:
        lines.append(f"by {feed.stream}: {feed.type or 'type not known'}")
        state = DIFFERENT if do_differ(feed.type, own_type) else state
    mark = (Mark(name, state, own_type),)
    return Box(
        id=(style, name), title=name, lines=tuple(lines), tip=port.doc if port else "",
        left=mark if style == OUTPUT else (), right=mark if style == INPUT else (),
    )  # fmt: skip


def _box_of_step(step: Step, chain: ProcessingChain, dfn: Dfn | None, measured: Lines) -> Box:
    own = [step.dfn] if step.id != step.dfn else []
    when = f"on {step.activation[1]}" if step.activation[0] == ON_INPUT else f"{step.activation[1]} Hz"
    how = [each for each in (step.implementation, when if step.activation[1] else "") if each]
    note = () if step.is_listed else ("not listed",)
    is_strange = dfn is None or not step.is_listed
    targets = [each.target.port for each in chain.connections if each.target.step == step.id]
    sources = [each.source.port for each in chain.connections if each.source.step == step.id]
    return Box(
        id=(STRANGE if is_strange else STEP, step.id),
        title=step.id,
        lines=(*own, *((", ".join(how),) if how else ()), *note, *lines_of_step(measured, step.id)),
        left=_marks(dfn.inputs if dfn else None, targets),
        right=_marks(dfn.outputs if dfn else None, sources),
        tip=f"{step.dfn}, line {step.line}",
    )


def _marks(published: Mapping[str, str] | None, used: Sequence[str]) -> tuple[Mark, ...]:
    """The ports of a side as published, and further ones that are connected."""
    known = {} if published is None else published
    further = [name for name in dict.fromkeys(used) if name not in known]
    state = KNOWN if published is None else WRONG
    return (
        *(Mark(name, KNOWN if name in used else UNUSED, kind) for name, kind in known.items()),
        *(Mark(name, state) for name in further),
    )


def _box_of_dfn(description: Description) -> Box:
    left, right = (
        tuple(Mark(f"{p.name}: {p.shown_type}", KNOWN, p.shown_type) for p in ports) for _, ports in _sides(description)
    )
    implementations = ", ".join(chain.name for chain in description.chains if chain.name != description.name)
    lines = tuple(textwrap.wrap(implementations, LONGEST_LINE))
    return Box(
        id=(STEP, description.name), title=description.name, lines=lines, left=left, right=right, tip=description.doc
    )


def _edges(boxes: Sequence[Box], chain: ProcessingChain, unfit: Collection[tuple[End, End]]) -> list[GraphEdge]:
    steps = {box.id[1]: index for index, box in enumerate(boxes) if not box.is_outer}
    outer = {box.id: index for index, box in enumerate(boxes) if box.is_outer}
    edges: dict[tuple[int, int, int, int], GraphEdge] = {}
    for source, target in ((each.source, each.target) for each in chain.connections):
        start = outer[(INPUT, source.port)] if source.step is None else steps[source.step]
        end = outer[(OUTPUT, target.port)] if target.step is None else steps[target.step]
        row, other = _row(boxes[start].right, source.port), _row(boxes[end].left, target.port)
        first, last = boxes[start].right[row], boxes[end].left[other]
        known = WRONG not in (first.state, last.state)
        is_fitting = (source, target) not in unfit
        edges[start, row, end, other] = GraphEdge(start, row, end, other, first.type or last.type, known, is_fitting)
    return list(edges.values())


def _row(marks: Sequence[Mark], name: str) -> int:
    return next(index for index, mark in enumerate(marks) if mark.name == name)
