"""Maps of keyframes: where pairs were kept, and which places were known again, seen along the narrowest axis."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.number_text import count_noun
from fieldplay.messages.records import Poses
from fieldplay.recording.record_batches import Issues, RecordBatch
from fieldplay.report.html.charts import dots, mark, plane_drawing, plane_of_points, polyline
from fieldplay.report.html.html_page import (
    Html,
    Section,
    element,
    join_html,
    path_text,
)
from fieldplay.report.panels.overview_panel import Overview

KEYFRAMES, CLOSURES = "keyframes", "closures"

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _PoseList:
    """The keyframes (n, 3) that came last, and their frame."""

    positions: Array
    frame: str


class KeyframePanel:
    """Keeps the last map of each pipeline: keyframes, and both ends of each place that was known again."""

    msgtypes = ("geometry_msgs/msg/PoseArray",)

    def __init__(self) -> None:
        self._maps: dict[str, dict[str, _PoseList]] = {}

    def add(self, batch: RecordBatch) -> None:
        """The poses of a map; other arrays of poses are none."""
        namespace, _, name = batch.topic.name.rpartition("/")
        if name not in (KEYFRAMES, CLOSURES):
            return
        for framed in batch.records:
            if isinstance(framed.record, Poses):
                self._maps.setdefault(namespace, {})[name] = _PoseList(framed.record.position_m[-1], framed.frame)

    def report_issues(self, issues: Issues) -> None:
        """Nothing can be wrong with them."""

    def sections(self, overview: Overview) -> list[Section]:
        """A drawing for each map."""
        figures = [
            _figure(namespace, lists[KEYFRAMES], lists.get(CLOSURES))
            for namespace, lists in self._maps.items()
            if KEYFRAMES in lists
            and np.isfinite(lists[KEYFRAMES].positions).all()
            and len(lists[KEYFRAMES].positions) > 1
        ]
        lead = "Dots are keyframes, in their order; lines between them places that were known again. Axes in metres."
        return [Section("keyframes", "Maps of keyframes", join_html(figures), lead)] if figures else []


def _figure(namespace: str, keyframes: _PoseList, closures: _PoseList | None) -> Html:
    axes = np.sort(np.argsort(np.ptp(keyframes.positions, axis=0), kind="stable")[1:])
    points = keyframes.positions[:, axes]
    closure_ends = np.zeros((0, 2)) if closures is None else closures.positions[:, axes]
    plane = plane_of_points(np.concatenate([points, closure_ends]), room=0.12, least_m=0.1)
    lines = [polyline(plane, closure_ends, "s1", breaks=range(2, len(closure_ends), 2))] if len(closure_ends) else []
    layers = [polyline(plane, points, "s0"), dots(plane, points, "s0"), *lines]
    marks = [mark(plane, *points[-1].tolist(), kind="end s0"), mark(plane, *points[0].tolist(), kind="start s0")]
    across, up = ("xyz"[axis] for axis in axes)
    counts = f"{count_noun(len(points), 'keyframe')}, {count_noun(len(closure_ends) // 2, 'closure')}"
    caption = f"{counts}; {across} to the right, {up} up"
    figcaption = element("figcaption", element("b", path_text(namespace)), element("span", caption, class_="muted"))
    return element("figure", figcaption, plane_drawing(plane, layers, marks), class_="card")
