"""The step that finds a stereo camera in a map of keyframes that is there, and says when it does not."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np

from fieldplay.geometry.transforms import inverse_from_transform
from fieldplay_cdff.steps.keyframes import View
from fieldplay_cdff.steps.map_files import load_map
from fieldplay_cdff.steps.slam import (
    FAILED,
    AmongKeyframes,
    angle,
    fuse_poses,
)
from fieldplay_cdff.steps.step import Ports, implements
from fieldplay_cdff.steps.values import Array, FramePair, PoseEstimate


@implements("StereoSlam", name="KeyframeLocalisation")
class InMapOfKeyframes(AmongKeyframes):
    """Found by two keyframes that agree, then held by those that are near; between them the odometry carries.

    It is lost where nothing of the map was seen for so long that it might be too far off, or what is seen contradicts
    the odometry again and again; then it is looked for anew. The map stays as it is.
    """

    files: ClassVar[Mapping[str, str]] = {"GeneralParameters.MapFile": "the map in which to find the camera"}

    def configure(self) -> None:
        super().configure()
        if self.general["MapFile"]:
            self._map, self._index = load_map(Path(self.general["MapFile"]), self.notes.append)
        self._forget()

    def reset(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._is_localised = False
        self._last, self._failed, self._waits, self._refused = None, 0, 0, 0
        self._fixed = np.eye(4)  # reference_T_camera when it was last seen

    def process(self, *, imagePair: FramePair, odometry: PoseEstimate | None = None, tracked: bool = True) -> Ports:
        self._require_size(imagePair)
        stamp_ns, odometry_pose = imagePair.left.stamp_ns, odometry.pose if odometry is not None and tracked else None
        is_known = self._is_held(imagePair, odometry_pose, stamp_ns) if self._is_localised else False
        if not self._is_localised:
            is_known = self._is_localised = self._search(imagePair, odometry_pose, stamp_ns)
        if not is_known:
            return FAILED
        return {"pose": self._estimate(self._known, stamp_ns), "success": True}

    def _require_size(self, pair: FramePair) -> None:
        """ValueError where the pictures cannot be those of the map's camera."""
        assert self._map is not None
        height, width = pair.left.image.shape[:2]
        if (width, height) != self._map.size:
            expected = " x ".join(map(str, self._map.size))
            raise ValueError(f"imagePair: expected pictures of {expected} as those of the map, got {width} x {height}")

    def _is_held(self, pair: FramePair, odometry: Array | None, stamp_ns: int) -> bool:
        """Go on from where it was; whether it is known where it is."""
        is_sure = self._follow(odometry, stamp_ns)
        options = self.settings["Fixes"]
        moved = inverse_from_transform(self._fixed) @ self._pose
        is_due = np.linalg.norm(moved[:3, 3]) >= options["Shift"] or angle(moved) >= options["Turn"]
        is_fixed = (is_due or not is_sure) and self._fix(self._finder.view(pair)[0], odometry, stamp_ns)
        is_far = self._moved_m > options["MaximumWay"]
        shift, turn = (float(np.sqrt(self._known.diagonal()[part].max())) for part in (slice(3), slice(3, 6)))
        if (
            is_far
            or shift > options["MaximumShift"]
            or turn > options["MaximumTurn"]
            or self._refused >= options["MaximumRefused"]
        ):
            self._forget()
            return False
        if odometry is not None:
            self._failed = 0
        elif self._failed >= self.settings["Odometry"]["FailuresOfGap"] and not is_fixed:
            self._forget()
        return is_fixed or odometry is not None

    def _fix(self, view: View, odometry: Array | None, stamp_ns: int) -> bool:
        """Where it is by a keyframe that is near, if one is seen, and as far from what was known as may be."""
        assert self._map is not None
        options, pose = self.settings["Places"], self._map_pose
        known = self._known if odometry is not None else self._known + self._gap(stamp_ns)
        near = self._map.near(pose, shift_m=options["NeighbourShift"], turn_rad=options["NeighbourTurn"])
        for number in near[: options["Neighbours"]]:
            seen = self._match_keyframe(view, number)
            if seen is None:
                continue
            expected = inverse_from_transform(self._map.keyframes[number].pose) @ pose
            if not self._is_consistent(expected, known, seen):
                self._refused += 1
                return False
            self._relocate(number, seen, odometry, stamp_ns)
            self._pose, self._known = fuse_poses(expected, known, seen.pose, seen.covariance)
            self._fixed, self._refused, self._moved_m = self._pose, 0, 0.0
            return True
        return False

    def _search(self, pair: FramePair, odometry: Array | None, stamp_ns: int) -> bool:
        """Search the complete map, every so many pairs; return whether the pose was found."""
        self._waits -= 1
        if self._waits > 0:
            return False
        self._waits = self.settings["Fixes"]["SearchEvery"]
        view = self._finder.view(pair)[0]
        candidates = self._agreeing(view, self._alike(view, frozenset()))
        if not candidates:
            return False
        best = max(candidates, key=lambda number: (candidates[number].points, -number))
        self._relocate(best, candidates[best], odometry, stamp_ns)
        self._fixed, self._failed, self._refused, self._moved_m = self._pose, 0, 0, 0.0
        return True
