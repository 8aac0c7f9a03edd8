"""Steps of our own that find points of a picture in another by their surroundings, without descriptors."""

from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry.transforms import inverse_from_transform
from fieldplay_cdff.steps.intrinsics import camera_of, grey_pair
from fieldplay_cdff.steps.rigid import moved
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import (
    Array,
    Cloud,
    Features2D,
    Frame,
    Matches2D,
)

PORTS = ("sourceFrame", "sinkFrame")
FARTHEST_PX = 500.0  # that a point may be expected to move
SAME_GAIN, SAME_MEAN = 0.05, 5.0  # by which contrast (as a logarithm) and brightness of pictures may differ
Grey = NDArray[np.uint8]


def followed(
    source: Grey, sink: Grey, points: Array, *, window: int, levels: int, expected: Array | None = None
) -> tuple[Array, Array]:
    """Where points (n, 2) of a picture are in another (n, 2), and how far (n,) the way back ends from where it began.

    They are looked for about where they are expected (n, 2), else at their own place. Infinitely far where they are
    lost, or left the picture.
    """
    begin = np.array(points, np.float32).reshape(-1, 1, 2)
    aim = begin if expected is None else np.array(expected, np.float32).reshape(-1, 1, 2)
    size, begins = (window, window), cv2.OPTFLOW_USE_INITIAL_FLOW
    there, is_found, _ = cv2.calcOpticalFlowPyrLK(
        source, sink, begin, aim.copy(), winSize=size, maxLevel=levels, flags=begins
    )
    home = begin + np.asarray(there) - aim
    back, is_back, _ = cv2.calcOpticalFlowPyrLK(sink, source, there, home, winSize=size, maxLevel=levels, flags=begins)
    places = there[:, 0].astype(np.float64)
    height, width = source.shape
    is_there = (
        (is_found[:, 0] > 0) & (is_back[:, 0] > 0) & ((places >= 0) & (places <= [width - 1, height - 1])).all(axis=1)
    )
    return places, np.where(is_there, np.linalg.norm((back - begin)[:, 0], axis=1), np.inf)


def as_bright_as(source: Grey, sink: Grey) -> Grey:
    """The sink with the mean and the deviation of the source's grey values; as it is where they differ little."""
    (mean, spread), (own_mean, own_spread) = (
        [float(np.ravel(each)[0]) for each in cv2.meanStdDev(picture)] for picture in (source, sink)
    )
    gain = spread / own_spread if own_spread > 0 else 1.0
    if abs(np.log(max(gain, 1e-3))) < SAME_GAIN and abs(mean - own_mean) < SAME_MEAN:
        return sink
    return np.asarray(cv2.convertScaleAbs(sink, None, gain, mean - gain * own_mean), np.uint8)


def _expected(pixels: Array, points: Array, step: Array, matrix: Array) -> Array:
    """Where points (n, 3) are seen by a camera (3, 3) with a pose in their frame; their own pixels where not."""
    seen = moved(inverse_from_transform(step), points)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (seen / seen[:, 2:]) @ matrix[:2].T
        good = (seen[:, 2] > 0) & (np.abs(found - pixels) < FARTHEST_PX).all(axis=1)  # which NaN is not
    return np.where(good[:, None], found, pixels)


@implements("FeaturesTracking2D")
class PyramidTracker(Step):
    """Points followed by the slopes of grey values, from coarse to fine; one that is not found on the way back goes.

    Where the exposure changed, the later picture is made as bright and as rich in contrast as the earlier one. With the
    points (n, 3) that features are pictures of, in the earlier camera, and the pose that the later one is expected to
    have in it, they are looked for where they then would be.
    """

    optional = ("points", "step")

    def process(
        self, *, sourceFrame: Frame, sinkFrame: Frame, features: Features2D, points: Cloud | None = None,
        step: Array | None = None,
    ) -> Ports:  # fmt: skip
        own = self.general
        source, sink = grey_pair(sourceFrame, sinkFrame, PORTS)
        if own["EqualizeBrightness"]:
            sink = as_bright_as(source, sink)
        known = np.isfinite(features.points).all(axis=1)
        pixels, guess = features.points[known], None
        if not len(pixels):
            return {"matches": Matches2D(source=pixels, sink=pixels, probability=np.zeros(0)), "quality": 0.0}
        if points is not None and step is not None:
            guess = _expected(pixels, points.points[known], step, camera_of(sinkFrame, PORTS[1]).matrix)
        window, levels = own["WindowSize"], own["PyramidLevels"]
        sinks, off = followed(source, sink, pixels, window=window, levels=levels, expected=guess)
        kept = off < own["MaximumReturnError"]
        if own["MaximumRowError"] > 0:  # of a rectified pair
            kept &= np.abs(sinks[:, 1] - pixels[:, 1]) <= own["MaximumRowError"]
        probability = np.exp(-(off[kept] ** 2) / 2)
        matches = Matches2D(source=pixels[kept], sink=sinks[kept], probability=probability)
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
