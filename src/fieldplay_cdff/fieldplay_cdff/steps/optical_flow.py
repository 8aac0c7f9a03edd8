"""Steps of our own that find points of an image in another by their surroundings, without descriptors."""

from dataclasses import replace

import cv2
import numpy as np

from fieldplay_cdff.steps.intrinsics import camera_of, grey_pair
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import Array, Cloud, Features2D, Frame, Matches2D
from fieldplay_cdff.stereo.pair_matching import FlowSettings, follow_points, project_points
from fieldplay_cdff.stereo.parameters import settings_from_parameters

PORTS = ("sourceFrame", "sinkFrame")


@implements("FeaturesTracking2D")
class PyramidTracker(Step):
    """Pyramidal Lucas-Kanade tracking; a point that fails the forward-backward check is removed.

    With the 3D points (n, 3) of the features in the previous camera, and the predicted pose of the next camera in
    the previous one, the search starts at the projected positions.
    """

    optional = ("points", "step")

    def configure(self) -> None:
        self._flow = settings_from_parameters(FlowSettings, self.general)

    def process(
        self, *, sourceFrame: Frame, sinkFrame: Frame, features: Features2D, points: Cloud | None = None,
        step: Array | None = None,
    ) -> Ports:  # fmt: skip
        source, sink = grey_pair(sourceFrame, sinkFrame, PORTS)
        known = np.isfinite(features.points).all(axis=1)
        pixels, guess = features.points[known], None
        if len(pixels) and points is not None and step is not None:
            guess = project_points(pixels, points.points[known], step, camera_of(sinkFrame, PORTS[1]).matrix)
        sources, sinks, errors = follow_points(source, sink, pixels, self._flow, guess)
        matches = Matches2D(source=sources, sink=sinks, probability=np.exp(-(errors**2) / 2))
        return {"matches": matches, "quality": len(sources) / max(len(pixels), 1)}


@implements("MatchRefinement")
class LucasKanade(Step):
    """Matches refined to a fraction of a pixel: the sink moves to where its patch is most like that of the source.

    Those that would move too far, or leave the image, are removed. Quality: the fraction that remains.
    """

    def process(self, *, sourceFrame: Frame, sinkFrame: Frame, matches: Matches2D) -> Ports:
        options, (source, sink) = self.general, grey_pair(sourceFrame, sinkFrame, PORTS)
        if not len(matches):
            return {"matches": matches, "quality": 0.0}
        started = matches.sink.astype(np.float32)
        pixels, is_tracked, _ = cv2.calcOpticalFlowPyrLK(
            source, sink, matches.source.astype(np.float32), started.copy(),
            winSize=(options["WindowSize"], options["WindowSize"]), maxLevel=options["PyramidLevels"],
            criteria=(cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, options["Iterations"], options["LeastStep"]),
            flags=cv2.OPTFLOW_USE_INITIAL_FLOW,
        )  # fmt: skip
        is_near = np.linalg.norm(pixels - started, axis=1) <= options["MaximumShift"]
        rows = np.flatnonzero(np.asarray(is_tracked).ravel().astype(np.bool_) & is_near)
        tracked = replace(matches.subset(rows), sink=np.asarray(pixels, np.float64)[rows])
        return {"matches": tracked, "quality": len(rows) / len(matches)}
