"""Steps on image features: detection, description, matching."""

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from fieldplay_cdff.steps.intrinsics import grey_of
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import (
    Array,
    Features2D,
    Frame,
    Matches2D,
)
from fieldplay_cdff.stereo.pair_matching import CornerSettings, find_corners
from fieldplay_cdff.stereo.parameters import settings_from_parameters
from fieldplay_cdff.stereo.place_recognition import nearest_of

BITS_OF_ORB = 256
ORB = {
    "MaxFeatures": "MaxFeaturesNumber",
    "ScaleFactor": "ScaleFactor",
    "NLevels": "LevelsNumber",
    "EdgeThreshold": "EdgeThreshold",
    "FirstLevel": "FirstLevel",
    "WTA_K": "SizeOfBrightnessTestSet",
    "ScoreType": "ScoreType",
    "PatchSize": "PatchSize",
    "FastThreshold": "FastThreshold",
}  # OpenCV's names and the published ones
MAX_CORNERS = 1024  # of an image: the limit of the published type
BRIGHTEST = 255.0  # that responses are scaled to
ROWS_AT_ONCE = 64  # of features that are compared with those of the same lines

Indices = NDArray[np.intp]


class Orb(Step):
    """The common base of ORB detection and description."""

    def configure(self) -> None:
        self.orb: Any = cv2.ORB.create()
        for name, published in ORB.items():
            getattr(self.orb, f"set{name}")(self.general[published])


def features_of(points: Sequence[Any], descriptors: Any) -> Features2D:
    """Convert OpenCV's keypoints and descriptors."""
    return Features2D(
        points=np.array([point.pt for point in points], np.float64).reshape(-1, 2),
        descriptors=np.zeros((0, 0), np.uint8) if descriptors is None else descriptors,
        size=np.array([point.size for point in points], np.float64),
        angle_deg=np.array([point.angle for point in points], np.float64),
        response=np.array([point.response for point in points], np.float64),
        octave=np.array([point.octave for point in points], np.int32),
    )


@implements("FeaturesExtraction2D")
class OrbDetectorDescriptor(Orb):
    """Corners at several scales, with 256 comparisons of brightness about each as 32 bytes."""

    def process(self, *, frame: Frame) -> Ports:
        return {"features": features_of(*self.orb.detectAndCompute(grey_of(frame, "frame"), None))}


@implements("FeaturesExtraction2D")
class SpreadCorners(Step):
    """The strongest corners, by the smaller of both slopes, none nearer to a stronger one than a distance."""

    def configure(self) -> None:
        self._corners = settings_from_parameters(CornerSettings, self.general)

    def process(self, *, frame: Frame) -> Ports:
        points, response = find_corners(grey_of(frame, "frame"), self._corners)
        return {"features": Features2D(points=points, response=response)}


@implements("FeaturesDescription2D")
class OrbDescriptor(Orb):
    """Describes given keypoints; those too near to the border of the image are removed.

    Keypoints without size or angle get an upright patch of the configured size.
    """

    def process(self, *, frame: Frame, features: Features2D) -> Ports:
        count, grey = len(features), grey_of(frame, "frame")
        size = features.size if len(features.size) == count else np.full(count, self.general["PatchSize"])
        angle = features.angle_deg if len(features.angle_deg) == count else np.zeros(count)
        octave = features.octave if len(features.octave) == count else np.zeros(count, np.int32)
        rows = np.flatnonzero(np.isfinite(features.points).all(axis=1))
        columns = zip(*features.points[rows].T.tolist(), size[rows].tolist(), angle[rows].tolist(), strict=True)
        points = [
            cv2.KeyPoint(u, v, wide, turned, 0.0, level, row)
            for (u, v, wide, turned), level, row in zip(columns, octave[rows].tolist(), rows.tolist(), strict=True)
        ]
        keypoints, descriptors = self.orb.compute(grey, points)
        order = np.argsort([point.class_id for point in keypoints], kind="stable").astype(np.intp)
        return {
            "features": features_of(
                [keypoints[row] for row in order], None if descriptors is None else descriptors[order]
            )
        }


@implements("FeaturesExtraction2D")
class HarrisDetector2D(Step):
    """Corners by the product and sum of slopes: above a threshold on a scale of 0 to 255, and the best of their eight.

    The 1024 strongest, in the order of rows. `response` is the corner's own, not scaled.
    """

    def process(self, *, frame: Frame) -> Ports:
        grey, options = grey_of(frame, "frame"), self.general
        if options["UseGaussianBlur"]:
            blur = self.settings["GaussianBlur"]
            grey = np.asarray(
                cv2.GaussianBlur(
                    grey,
                    (blur["KernelWidth"], blur["KernelHeight"]),
                    sigmaX=blur["WidthStandardDeviation"],
                    sigmaY=blur["HeightStandardDeviation"],
                ),
                np.uint8,
            )
        response = cv2.cornerHarris(grey, options["BlockSize"], options["ApertureSize"], options["ParameterK"])
        scaled = cv2.normalize(response, np.empty_like(response), 0, BRIGHTEST, cv2.NORM_MINMAX)
        is_best = response >= cv2.dilate(response, np.ones((3, 3), np.uint8))
        indices = np.flatnonzero(is_best & (response > 0) & (scaled > options["DetectionThreshold"]))
        strongest = np.argsort(-response.flat[indices], kind="stable")[:MAX_CORNERS]
        indices = np.sort(indices[strongest])
        rows, columns = np.unravel_index(indices, response.shape)
        return {
            "features": Features2D(
                points=np.stack([columns, rows], axis=-1).astype(np.float64),
                size=np.full(len(indices), float(options["BlockSize"])),
                angle_deg=np.zeros(len(indices)),
                response=response.flat[indices].astype(np.float64),
                octave=np.zeros(len(indices), np.int32),
            )
        }


@implements("FeaturesMatching2D")
class FlannMatcher(Step):
    """The nearest descriptor of the other image, if it passes the ratio test. Quality: the matched fraction.

    All methods of the settings compare each with each: as quick for some hundreds, and always the same.
    """

    def process(self, *, sourceFeatures: Features2D, sinkFeatures: Features2D) -> Ports:
        source, sink = (
            _with_descriptors(sourceFeatures, "sourceFeatures"),
            _with_descriptors(sinkFeatures, "sinkFeatures"),
        )
        if not len(source) or len(sink) < 2:
            nothing = np.zeros((0, 2))
            empty = Matches2D(source=nothing, sink=nothing, probability=np.zeros(0), distances=np.zeros(0))
            return {"matches": empty, "quality": 0.0}
        if source.descriptors.shape[1:] != sink.descriptors.shape[1:] or _is_binary(source) != _is_binary(sink):
            shown = [f"{side.descriptors.shape[1]} {side.descriptors.dtype}" for side in (source, sink)]
            raise ValueError(f"sinkFeatures: expected descriptors of {shown[0]} as sourceFeatures, got {shown[1]}")
        distances, nearest = self._nearest(source, sink, 2)
        minimum, nearest = distances[:, 0], nearest[:, 0]
        rows = np.flatnonzero(minimum < self.general["AcceptanceRatio"] * distances[:, 1])
        if self.general["MutualOnly"] and len(rows):
            side = nearest[rows]
            partners = Features2D(points=sink.points[side], descriptors=sink.descriptors[side])
            rows = rows[self._nearest(partners, source, 1)[1][:, 0] == rows]
        if self.general["MaximumTurn"] and len(source.angle_deg) and len(sink.angle_deg):
            turns = sink.angle_deg[nearest[rows]] - source.angle_deg[rows]
            rows = rows[agreeing_rotations(turns, self.general["MaximumTurn"])]
        rows = rows[_first_of_each(source.points[rows])]
        rows = rows[_first_of_each(sink.points[nearest[rows]])]
        return {
            "matches": Matches2D(
                source=source.points[rows],
                sink=sink.points[nearest[rows]],
                probability=self.probability(minimum[rows], binary=_is_binary(source)),
                distances=minimum,
            ),
            "quality": len(rows) / len(source),
        }

    def _nearest(self, source: Features2D, sink: Features2D, count: int) -> tuple[Array, Indices]:
        within = self.general["MaximumRowDifference"]
        if within:
            return nearest_in_rows(source, sink, count, within)
        return nearest_of(source.descriptors, sink.descriptors, count)

    def probability(self, distances: Array, *, binary: bool) -> Array:
        """The confidence of matches (n,): the fraction of equal bits, or a Gaussian of the distance."""
        if binary:
            return 1 - distances / BITS_OF_ORB
        return np.asarray(np.exp(-((distances / self.general["DistanceThreshold"]) ** 2) / 2))


def nearest_in_rows(source: Features2D, sink: Features2D, count: int, within: float) -> tuple[Array, Indices]:
    """The same of the sinks whose rows differ by so many pixels at most; distances are 0 where there are fewer."""
    distances, nearest = np.zeros((len(source), count)), np.full((len(source), count), -1)
    own, order = (np.argsort(side.points[:, 1], kind="stable") for side in (source, sink))
    lines = sink.points[order, 1]
    for start in range(0, len(own), ROWS_AT_ONCE):
        some = own[start : start + ROWS_AT_ONCE]
        at = source.points[some, 1]
        first, end = np.searchsorted(lines, [at[0] - within, at[-1] + within])
        if end - first < count:
            continue
        allowed = (np.abs(at[:, None] - lines[None, first:end]) <= within).astype(np.uint8)
        there = order[first:end]
        minimum, side = nearest_of(source.descriptors[some], sink.descriptors[there], count, allowed)
        is_known = (side >= 0).all(axis=1)
        distances[some[is_known]], nearest[some[is_known]] = minimum[is_known], there[side[is_known]]
    return distances, nearest


def agreeing_rotations(turns_deg: Array, within: float) -> NDArray[np.bool_]:
    """Mask of rotations (n,) within so many degrees of the one that most agree with: an image rotates as one."""
    turns = turns_deg % 360
    if not len(turns):
        return np.zeros(0, np.bool_)
    round_ = np.sort(np.concatenate([turns - 360, turns, turns + 360]))
    agreeing = np.searchsorted(round_, turns + within, "right") - np.searchsorted(round_, turns - within)
    off = np.abs((turns - turns[np.argmax(agreeing)] + 180) % 360 - 180)
    return np.asarray(off <= within, np.bool_)


def _is_binary(features: Features2D) -> bool:
    return features.descriptors.dtype == np.uint8


def _with_descriptors(features: Features2D, port: str) -> Features2D:
    """Return the features that have numeric descriptors."""
    if len(features.descriptors) != len(features):
        raise ValueError(
            f"{port}: expected a descriptor of each of {len(features)} points, got {len(features.descriptors)}"
        )
    if not len(features) or _is_binary(features):
        return features
    descriptors = features.descriptors.astype(np.float32)
    is_number = np.isfinite(descriptors).all(axis=1)
    angles = features.angle_deg[is_number] if len(features.angle_deg) else features.angle_deg
    return Features2D(points=features.points[is_number], descriptors=descriptors[is_number], angle_deg=angles)


def _first_of_each(points: Array) -> NDArray[np.intp]:
    """Return which of points (n, 2) are new."""
    return np.sort(np.unique(points, axis=0, return_index=True)[1])
