"""The tf tree: what is published on /tf and /tf_static, and the parent of each frame."""

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.number_text import count_noun, number_text
from fieldplay.geometry.frames import FrameEdge, Frames
from fieldplay.recording.record_batches import TF, FrameReader, Issues, RecordBatch
from fieldplay.report.overview import Overview, Panel
from fieldplay.report.page import Section, render

MAX_FRAMES = 400
ONE_COLUMN = 16  # rows


class TransformPanel(Panel):
    """Receives the transforms, for all panels, and draws the tree."""

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
        """The tree as rows, each set in by its depth."""
        if not self._frames.edges:
            return []
        moving = sum(not edge.is_static for edge in self._frames.parents.values())
        count = len(self._frames.names)
        lead = f"{count} frames, {moving} of them moving in their parent; x y z in the parent in metres, as first seen."
        rows = [row for root in roots_of(self._frames) for row in _rows(self._frames, root, overview.intervals_ns)]
        more = max(len(rows) - MAX_FRAMES, 0)
        return [Section("tf", "Frames", render("tree", rows[:MAX_FRAMES], more, len(rows) > ONE_COLUMN), lead)]


def roots_of(frames: Frames) -> list[str]:
    """The roots of the trees; of frames that hang on each other in a ring, one."""
    parents = frames.parents
    return list(dict.fromkeys(frames.path_to_root(name)[-1] for name in frames.names if name)) if parents else []


def _rows(frames: Frames, root: str, intervals_ns: NDArray[np.int64]) -> list[dict[str, object]]:
    """The tree below a root: an only child stands straight below its parent, several are set in by a step."""
    parents = frames.parents
    children: dict[str, list[str]] = {}
    for child, above in parents.items():
        children.setdefault(above.parent, []).append(child)
    rows: list[dict[str, object]] = []
    seen: set[str] = set()
    waiting = [(root, 0)]
    while waiting:
        name, depth = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        edge = None if name == root else parents[name]
        kind = "root" if edge is None else "" if edge.is_static else "moving"
        details = "" if edge is None else _edge_details(edge, intervals_ns)
        rows.append({"name": name, "depth": depth, "kind": kind, "details": details})
        below = [child for child in children.get(name, []) if child not in seen]
        waiting += [(child, depth + (len(below) > 1)) for child in reversed(below)]
    return rows


def _edge_details(edge: FrameEdge, intervals_ns: NDArray[np.int64]) -> str:
    _, values = edge.rows.rows()
    position = " ".join(number_text(round(float(value), 3)) for value in values[0, :3])
    rate_hz = None if edge.is_static else edge.rate_hz(intervals_ns)
    return position if rate_hz is None else f"{position} · {number_text(rate_hz)} Hz"
