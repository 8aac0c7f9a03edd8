"""Our own steps that track matches over several pairs, by the pixels that they have in common."""

from collections import deque
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import (
    Array,
    Cloud,
    Features2D,
    Matches2D,
    Matches3D,
)
from fieldplay_cdff.stereo.pair_matching import common_pixels
from fieldplay_cdff.stereo.refusals import few_matches

Indices = NDArray[np.intp]


@implements("MatchJoining")
class JoinMatches(Step):
    """Points of a pair, and the matches of its left pixels in a later image; too few determine nothing."""

    def process(self, *, stereoMatches: Matches2D, points: Cloud, matches: Matches2D) -> Ports:
        _require_alike(stereoMatches, points)
        there = np.flatnonzero(np.isfinite(points.points).all(axis=1))
        own, other = common_pixels(stereoMatches.source[there], matches.source)
        if len(own) < self.general["MinimumMatches"]:
            self.refusal = few_matches(len(own), "GeneralParameters.MinimumMatches")
            return {}
        return {
            "points": Cloud(points=points.points[there[own]], stamp_ns=points.stamp_ns),
            "projections": Features2D(points=matches.sink[other]),
        }


@dataclass(frozen=True, eq=False)
class TrackedPair:
    """What both images of a pair observe: pixels, points, and the tracks that they belong to (n,)."""

    left: Array
    right: Array
    points: Array
    tracks: Indices


@implements("MatchTracking")
class TracksOfMatches(Step):
    """Matches between the last pairs, all with all, the newest first, of matches from each pair to the next.

    Images are ordered left and right of the newest pair, left and right of the previous one, and so on; maps (1, 2),
    (1, 3) .. (2, 3) .. of them. Points that two pairs observe count, they need not be in all.
    """

    keeps_state = True
    optional = ("matches", "accepted")

    def configure(self) -> None:
        self._pairs: deque[TrackedPair] = deque(maxlen=self.general["NumberOfAdjustedStereoPairs"])
        self._next = 0

    def reset(self) -> None:
        self.configure()

    def process(
        self, *, stereoMatches: Matches2D, points: Cloud, matches: Matches2D | None = None, accepted: bool = True
    ) -> Ports:
        _require_alike(stereoMatches, points)
        if not accepted and self._pairs:
            self._pairs.popleft()
        self._pairs.appendleft(self._track_pair(stereoMatches, points.points, matches))
        if len(self._pairs) < 2:
            return {}
        return {"matches2D": tuple(self._matches_of_images()), "matches3D": tuple(self._matches_of_points())}

    def _track_pair(self, stereo: Matches2D, points: Array, matches: Matches2D | None) -> TrackedPair:
        there = np.isfinite(points).all(axis=1)
        left = stereo.source[there]
        tracks = np.full(len(left), -1)
        if matches is not None and self._pairs:
            last = self._pairs[0]
            old, by_old = common_pixels(last.left, matches.source)
            by_new, new = common_pixels(matches.sink, left)
            _, one, other = np.intersect1d(by_old, by_new, return_indices=True)
            tracks[new[other]] = last.tracks[old[one]]
        fresh = tracks < 0
        tracks[fresh] = self._next + np.arange(fresh.sum())
        self._next += int(fresh.sum())
        return TrackedPair(left, stereo.sink[there], points[there], tracks)

    def _matches_of_images(self) -> list[Matches2D]:
        images = [(pair, pixels) for pair in self._pairs for pixels in (pair.left, pair.right)]
        pairs = []
        for (one, source), (other, sink) in combinations(images, 2):
            indices, its = _same(one, other)
            pairs.append(Matches2D(source=source[indices], sink=sink[its], probability=np.ones(len(indices))))
        return pairs

    def _matches_of_points(self) -> list[Matches3D]:
        pairs = []
        for one, other in combinations(self._pairs, 2):
            indices, its = _same(one, other)
            pairs.append(
                Matches3D(source=one.points[indices], sink=other.points[its], probability=np.ones(len(indices)))
            )
        return pairs


def _same(one: TrackedPair, other: TrackedPair) -> tuple[Indices, Indices]:
    """Indices in two pairs of the pixels of the same tracks."""
    _, indices, its = np.intersect1d(one.tracks, other.tracks, assume_unique=True, return_indices=True)
    return indices, its


def _require_alike(matches: Matches2D, points: Cloud) -> None:
    if len(matches) != len(points):
        raise ValueError(f"expected a point for each match, got {len(points)} points and {len(matches)} matches")
