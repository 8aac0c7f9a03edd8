"""Our own steps that connect others: they select values, hold them for the next set, convert them."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from fieldplay.geometry.transforms import inverse_from_transform
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import (
    Array,
    Cloud,
    Features2D,
    Features3D,
    Frame,
    FramePair,
    Matches2D,
)


@implements("FramePairing")
class PairUp(Step):
    """Pairs two images of the same time."""

    def process(self, *, left: Frame, right: Frame) -> Ports:
        return {"framePair": FramePair(left=left, right=right)}


@implements("FramePairSplit")
class FramePairSplit(Step):
    """Splits a pair into its two images."""

    def process(self, *, framePair: FramePair) -> Ports:
        return {"left": framePair.left, "right": framePair.right}


@implements("Previous")
class Previous(Step):
    """The last accepted value: the only step through which a cycle of connections may go."""

    keeps_state = True
    gives_later = True
    optional = ("accepted",)

    def process(self, *, value: Any, accepted: bool = True) -> Ports:
        return {"value": value} if accepted else {}


@implements("Either")
class Either(Step):
    """The first of two values, or the second if that is preferred, or if the first is missing."""

    optional = ("first", "second")

    def process(self, *, first: Any = None, second: Any = None) -> Ports:
        choice = (second, first) if self.general["PreferSecond"] else (first, second)
        value = next((each for each in choice if each is not None), None)
        return {} if value is None else {"value": value}


@implements("Both")
class Both(Step):
    """Whether none of two is false."""

    optional = ("first", "second")

    def process(self, *, first: bool | None = None, second: bool | None = None) -> Ports:
        return {"value": first is not False and second is not False}


@implements("FeaturesToCloud")
class FeaturesToCloud(Step):
    """The points of features as a cloud."""

    def process(self, *, features: Features3D) -> Ports:
        return {"pointCloud": Cloud(points=features.points)}


@implements("FeaturesOfMatches")
class SourceFeatures(Step):
    """Converts matches to features: the pixels in their first image."""

    def process(self, *, matches: Matches2D) -> Ports:
        return {"features": Features2D(points=matches.source)}


@implements("PoseOfSequence")
class PoseOfSequence(Step):
    """One of several poses, or its inverse."""

    def process(self, *, poses: Array) -> Ports:
        index = self.general["Index"]
        if index >= len(poses):
            raise ValueError(f"expected more than {index} poses, got {len(poses)}")
        pose = poses[index]
        if not np.isfinite(pose).all():  # which of several may be
            return {}
        return {"pose": inverse_from_transform(pose) if self.general["Invert"] else pose}


@implements("BaselinePose")
class BaselinePose(Step):
    """left_T_right of a rectified pair."""

    camera_groups: ClassVar[Mapping[str, str]] = {"GeneralParameters": "left"}

    def process(self, *, trigger: Any) -> Ports:
        pose = np.eye(4)
        pose[0, 3] = self.general["Baseline"]
        return {"pose": pose}


@implements("FrameTime")
class FrameTime(Step):
    """Outputs the stamp of an image."""

    def process(self, *, frame: Frame) -> Ports:
        return {"time": frame.stamp_ns}
