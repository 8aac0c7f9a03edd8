"""Steps of our own that find points of a picture in another by their surroundings, without descriptors."""

from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay_fusion.dfn.intrinsics import grey_pair
from fieldplay_fusion.dfn.step import Ports, Step, implements
from fieldplay_fusion.dfn.values import Array, Features2D, Frame, Matches2D

PORTS = ("sourceFrame", "sinkFrame")
Grey = NDArray[np.uint8]


def followed(source: Grey, sink: Grey, points: Array, *, window: int, levels: int) -> tuple[Array, Array]:
    """Where points (n, 2) of a picture are in another (n, 2), and how far (n,) the way back ends from where it began.

    Infinitely far where they are lost, or left the picture.
    """
    begin = points.astype(np.float32)[:, None]
    there, is_found, _ = cv2.calcOpticalFlowPyrLK(
        source, sink, begin, begin.copy(), winSize=(window, window), maxLevel=levels
    )
    back, is_back, _ = cv2.calcOpticalFlowPyrLK(
        sink, source, there, there.copy(), winSize=(window, window), maxLevel=levels
    )
    moved = there[:, 0].astype(np.float64)
    height, width = source.shape
    is_there = (
        (is_found[:, 0] > 0) & (is_back[:, 0] > 0) & ((moved >= 0) & (moved <= [width - 1, height - 1])).all(axis=1)
    )
    return moved, np.where(is_there, np.linalg.norm((back - begin)[:, 0], axis=1), np.inf)


@implements("FeaturesTracking2D")
class PyramidTracker(Step):
    """Points followed by the slopes of grey values, from coarse to fine; one that is not found on the way back goes."""

    def process(self, *, sourceFrame: Frame, sinkFrame: Frame, features: Features2D) -> Ports:
        own = self.general
        source, sink = grey_pair(sourceFrame, sinkFrame, PORTS)
        points = features.points[np.isfinite(features.points).all(axis=1)]
        if not len(points):
            return {"matches": Matches2D(source=points, sink=points, probability=np.zeros(0)), "quality": 0.0}
        moved, off = followed(source, sink, points, window=own["WindowSize"], levels=own["PyramidLevels"])
        kept = off < own["MaximumReturnError"]
        if own["MaximumRowError"] > 0:  # of a rectified pair
            kept &= np.abs(moved[:, 1] - points[:, 1]) <= own["MaximumRowError"]
        probability = np.exp(-(off[kept] ** 2) / 2)
        matches = Matches2D(source=points[kept], sink=moved[kept], probability=probability)
        return {"matches": matches, "quality": float(kept.mean())}


@implements("MatchRefinement")
class LucasKanade(Step):
    """Matches whose sink is moved by parts of a pixel to where the picture looks most as it does about the source.

    Those that would move too far, or leave the picture, go. Quality: the share that stays.
    """

    def process(self, *, sourceFrame: Frame, sinkFrame: Frame, matches: Matches2D) -> Ports:
        own, (source, sink) = self.general, grey_pair(sourceFrame, sinkFrame, PORTS)
        if not len(matches):
            return {"matches": matches, "quality": 0.0}
        begun = matches.sink.astype(np.float32)
        found, is_found, _ = cv2.calcOpticalFlowPyrLK(
            source, sink, matches.source.astype(np.float32), begun.copy(),
            winSize=(own["WindowSize"], own["WindowSize"]), maxLevel=own["PyramidLevels"],
            criteria=(cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, own["Iterations"], own["LeastStep"]),
            flags=cv2.OPTFLOW_USE_INITIAL_FLOW,
        )  # fmt: skip
        is_near = np.linalg.norm(found - begun, axis=1) <= own["MaximumShift"]
        rows = np.flatnonzero(np.asarray(is_found).ravel().astype(np.bool_) & is_near)
        kept = replace(matches.taken(rows), sink=np.asarray(found, np.float64)[rows])
        return {"matches": kept, "quality": len(rows) / len(matches)}
