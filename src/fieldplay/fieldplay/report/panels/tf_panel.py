"""The tf tree: what is published on /tf and /tf_static, and who hangs on whom."""

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.number_text import count_noun, number_text
from fieldplay.geometry.frames import FrameEdge, Frames
from fieldplay.recording.record_batches import TF, FrameReader, Issues, RecordBatch
from fieldplay.report.html.html_page import (
    Html,
    Section,
    element,
    join_html,
)
from fieldplay.report.panels.overview_panel import Overview

STEP = 18  # between rails, in pixels
MAX_FRAMES = 400
ONE_COLUMN = 16  # rows


class TransformPanel:
    """Hears the transforms, for all panels, and draws the tree."""

    msgtypes = (TF,)

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._reader = FrameReader(frames)

    def add(self, batch: RecordBatch) -> None:
        """Transforms."""
        self._reader.add(batch)

    def report_issues(self, issues: Issues) -> None:
        """Transforms that are none, and trees that are none."""
        for name, count in self._reader.unusable.items():
            message = f"{count_noun(count, 'transform')} with numbers that are none, or a quaternion of length 0"
            issues.add("unusable_transform", name, message, count=count)
        for child, parents in self._frames.rivals().items():
            issues.add("frame_with_several_parents", child, f"expected one parent, got {', '.join(parents)}")
        if self._frames.edges and len(roots := roots_of(self._frames)) > 1:
            issues.note(f"tf: {len(roots)} trees that nothing joins, with the roots {', '.join(roots)}")

    def sections(self, overview: Overview) -> list[Section]:
        """The tree as rows, each with its rails to the left."""
        if not self._frames.edges:
            return []
        moving = sum(not edge.is_static for edge in self._frames.parents.values())
        count = len(self._frames.names)
        lead = f"{count} frames, {moving} of them moving in their parent; x y z in the parent in metres, as first seen."
        rows = [row for root in roots_of(self._frames) for row in _rows(self._frames, root, overview.intervals_ns)]
        more = [element("p", f"and {len(rows) - MAX_FRAMES} more", class_="muted")] if len(rows) > MAX_FRAMES else []
        tree = element("div", *rows[:MAX_FRAMES], class_="tree two" if len(rows) > ONE_COLUMN else "tree")
        return [Section("tf", "Frames", element("div", _key(), tree, *more, class_="card"), lead)]


def roots_of(frames: Frames) -> list[str]:
    """Where the trees begin; of frames that hang on each other in a ring, one."""
    parents = frames.parents
    return list(dict.fromkeys(frames.path_to_root(name)[-1] for name in frames.names if name)) if parents else []


def _key() -> Html:
    entries = (("root", "root"), ("", "fixed in its parent (tf_static)"), ("moving", "moving in its parent (tf)"))
    items = (element("span", element("i", class_=f"node {kind}".strip()), label) for kind, label in entries)
    return element("div", *items, class_="tree-key")


def _rows(frames: Frames, root: str, intervals_ns: NDArray[np.int64]) -> list[Html]:
    """The tree below a root: an only child stands straight below its parent, several are set in by a step."""
    parents = frames.parents
    children: dict[str, list[str]] = {}
    for child, above in parents.items():
        children.setdefault(above.parent, []).append(child)
    rows: list[Html] = []
    seen: set[str] = set()
    waiting: list[tuple[str, int, tuple[int, ...], str]] = [(root, 0, (), "")]
    while waiting:
        name, column, rails, line = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        kids = [kid for kid in children.get(name, []) if kid not in seen]
        edge = None if name == root else parents[name]
        drawn = _rails(column, rails, above=line, goes_on=bool(kids))
        details = Html("") if edge is None else _edge_details(edge, intervals_ns)
        rows.append(_row(name, drawn, details, kind=_kind(edge), column=column))
        if len(kids) == 1:
            waiting.append((kids[0], column, rails, "straight"))
        else:
            for number, kid in enumerate(reversed(kids)):
                waiting.append((kid, column + 1, rails if number == 0 else (*rails, column), "bent"))
    return rows


def _rails(column: int, passing: tuple[int, ...], *, above: str, goes_on: bool) -> Html:
    """The lines beside a row: those that pass, one from the parent, straight or bent, and one that goes on below."""
    x, middle = column * STEP + 9, 12
    lines: list[tuple[int, int, int, int | str]] = [(rail * STEP + 9, 0, rail * STEP + 9, "100%") for rail in passing]
    if above == "bent":
        lines += [(x - STEP, 0, x - STEP, middle), (x - STEP, middle, x, middle)]
    elif above == "straight":
        lines.append((x, 0, x, middle))
    if goes_on:
        lines.append((x, middle, x, "100%"))
    drawn = (element("line", x1=x1, y1=y1, x2=x2, y2=y2) for x1, y1, x2, y2 in lines)
    return element("svg", *drawn, width=(column + 1) * STEP)


def _kind(edge: FrameEdge | None) -> str:
    return "root" if edge is None else "" if edge.is_static else "moving"


def _row(name: str, rails: Html, details: Html, *, kind: str, column: int) -> Html:
    node = element("i", class_=f"node {kind}".strip(), style=f"left:{column * STEP + 4}px")
    rail_cell = element("span", rails, node, class_="rails", style=f"width:{(column + 1) * STEP}px")
    text = element("span", element("b", name), " ", element("small", details), class_="told")
    return element("div", rail_cell, text, class_="row")


def _edge_details(edge: FrameEdge, intervals_ns: NDArray[np.int64]) -> Html:
    _, values = edge.rows.rows()
    position = " ".join(number_text(round(float(value), 3)) for value in values[0, :3])
    rate_hz = None if edge.is_static else edge.rate_hz(intervals_ns)
    return join_html([position, "" if rate_hz is None else f" · {number_text(rate_hz)} Hz"])
