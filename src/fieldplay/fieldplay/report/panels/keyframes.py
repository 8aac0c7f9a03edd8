"""Maps of keyframes: where pairs were kept, and which places were known again, seen along the narrowest axis."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.number_text import many
from fieldplay.messages.records import Poses
from fieldplay.recording.record_source import Issues, RecordBatch
from fieldplay.report.html.charts import dots, mark, plane_drawing, plane_of_points, route
from fieldplay.report.html.page import Html, Section, element, joined, path_text
from fieldplay.report.panels.overview import Overview

KEYFRAMES, CLOSURES = "keyframes", "closures"

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Kept:
    """The keyframes (n, 3) that came last, and their frame."""

    places: Array
    frame: str


class KeyframePanel:
    """Keeps the last map of each pipeline: keyframes, and both ends of each place that was known again."""

    msgtypes = ("geometry_msgs/msg/PoseArray",)

    def __init__(self) -> None:
        self._maps: dict[str, dict[str, _Kept]] = {}

    def add(self, batch: RecordBatch) -> None:
        """The poses of a map; other arrays of poses are none."""
        place, _, name = batch.topic.name.rpartition("/")
        if name not in (KEYFRAMES, CLOSURES):
            return
        for framed in batch.records:
            if isinstance(framed.record, Poses):
                self._maps.setdefault(place, {})[name] = _Kept(framed.record.position_m[-1], framed.frame)

    def tell(self, issues: Issues) -> None:
        """Nothing can be wrong with them."""

    def sections(self, overview: Overview) -> list[Section]:
        """A drawing for each map."""
        figures = [
            _figure(place, found[KEYFRAMES], found.get(CLOSURES))
            for place, found in self._maps.items()
            if KEYFRAMES in found and np.isfinite(found[KEYFRAMES].places).all() and len(found[KEYFRAMES].places) > 1
        ]
        lead = "Dots are keyframes, in their order; lines between them places that were known again. Axes in metres."
        return [Section("keyframes", "Maps of keyframes", joined(figures), lead)] if figures else []


def _figure(place: str, kept: _Kept, closures: _Kept | None) -> Html:
    axes = np.sort(np.argsort(np.ptp(kept.places, axis=0), kind="stable")[1:])
    points = kept.places[:, axes]
    ends = np.zeros((0, 2)) if closures is None else closures.places[:, axes]
    plane = plane_of_points(np.concatenate([points, ends]), room=0.12, least_m=0.1)
    lines = [route(plane, ends, "s1", breaks=range(2, len(ends), 2))] if len(ends) else []
    layers = [route(plane, points, "s0"), dots(plane, points, "s0"), *lines]
    marks = [mark(plane, *points[-1].tolist(), kind="end s0"), mark(plane, *points[0].tolist(), kind="start s0")]
    across, up = ("xyz"[axis] for axis in axes)
    told = f"{many(len(points), 'keyframe')}, {many(len(ends) // 2, 'closure')}; {across} to the right, {up} up"
    caption = element("figcaption", element("b", path_text(place)), element("span", told, class_="muted"))
    return element("figure", caption, plane_drawing(plane, layers, marks), class_="card")
