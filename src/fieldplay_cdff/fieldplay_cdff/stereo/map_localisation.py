"""Localisation in an existing map of keyframes.

keyframe_map, index = load_map(Path("map.npz"), print)
localisation = MapLocalisation(keyframe_map, index=index)
for stamp_ns, left, right in pairs:  # rectified grey images (h, w), uint8
    estimate = localisation.track(left, right, stamp_ns)
    if estimate.success:
        print(estimate.pose)  # the left camera in the map
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldplay.geometry.camera_model import StereoCamera
from fieldplay.geometry.transforms import Array, inverse_from_transform
from fieldplay_cdff.stereo.keyframe_map import KeyframeMap, View
from fieldplay_cdff.stereo.pair_matching import Grey
from fieldplay_cdff.stereo.parameters import AUTO, parameter
from fieldplay_cdff.stereo.place_recognition import PlaceIndex
from fieldplay_cdff.stereo.refusals import Reason, Refusal
from fieldplay_cdff.stereo.stereo_odometry import OdometrySettings
from fieldplay_cdff.stereo.stereo_slam import KeyframeTracker, MapSettings, angle, fuse_poses


@dataclass(frozen=True, kw_only=True)
class FixSettings:
    """When keyframes correct the pose, and when it counts as lost."""

    shift_m: float = parameter("Shift", AUTO, rover=0.3)  # of the path, after which the next fix is due
    turn_rad: float = parameter("Turn", 0.15)
    search_every_pairs: int = parameter("SearchEvery", 2)  # where it is lost
    maximum_shift_m: float = parameter("MaximumShift", AUTO, rover=0.3)  # deviation with which it counts as lost
    maximum_turn_rad: float = parameter("MaximumTurn", 0.1)
    maximum_path_m: float = parameter("MaximumWay", AUTO, rover=5.0)  # without a fix
    maximum_refused: int = parameter("MaximumRefused", 3)  # in a row, which contradict the odometry


@dataclass(frozen=True, kw_only=True)
class LocalisationSettings(MapSettings):
    """Settings of `MapLocalisation`."""

    fixes: FixSettings = parameter("Fixes", FixSettings())


class MapLocalisation(KeyframeTracker):
    """The pose in a map: found by two keyframes that agree, then corrected by nearby ones.

    The odometry carries the pose in between. The pose is lost when no keyframe was seen for too long, or observations
    repeatedly contradict the odometry; then the search starts again. The map is not changed.

    Args:
        keyframe_map: as returned by `load_map`.
        index: the index of its places; computed if None.
        camera: of the rectified images, if it is not that of the map; the image size must be the same.
        settings: of views, places and fixes.
        odometry: settings of the odometry that `track` runs.
    """

    def __init__(
        self,
        keyframe_map: KeyframeMap,
        *,
        index: PlaceIndex | None = None,
        camera: StereoCamera | None = None,
        settings: LocalisationSettings = LocalisationSettings(),
        odometry: OdometrySettings = OdometrySettings(),
    ) -> None:
        super().__init__(camera or keyframe_map.camera, settings, odometry)
        self._map = keyframe_map
        depths = [keyframe.view.points[:, 2] for keyframe in keyframe_map.keyframes.values()]
        if depths:
            self._suit_depth(float(np.median(np.concatenate(depths))))
        views = [(number, keyframe.view) for number, keyframe in keyframe_map.keyframes.items()]
        self._index = PlaceIndex.of(views) if index is None else index
        self.reset()

    def _apply(self, settings: Any) -> None:
        super()._apply(settings)
        self._fixes: FixSettings = settings.fixes

    def _refusal(self, odometry: Array | None) -> Refusal:
        return Refusal(reason=Reason.NOT_IN_MAP)

    def reset(self) -> None:
        """Forget the pose; the search starts again."""
        self._odometry.reset()
        self._lose()

    def require_size(self, image: Grey) -> None:
        """Raise ValueError if an image has another size than those of the map."""
        assert self._map is not None
        height, width = image.shape[:2]
        if (width, height) != self._map.size:
            expected = " x ".join(map(str, self._map.size))
            raise ValueError(f"imagePair: expected images of {expected} as those of the map, got {width} x {height}")

    def _lose(self) -> None:
        self._is_localised = False
        self._last, self._failed, self._waits, self._refused = None, 0, 0, 0
        self._fixed = np.eye(4)  # reference_T_camera when it was last seen

    def _update(self, left: Grey, right: Grey, stamp_ns: int, odometry: Array | None) -> Array | None:
        self.require_size(left)
        is_known = self._is_held(left, right, odometry, stamp_ns) if self._is_localised else False
        if not self._is_localised:
            is_known = self._is_localised = self._search(left, right, odometry, stamp_ns)
        return self._known if is_known else None

    def _is_held(self, left: Grey, right: Grey, odometry: Array | None, stamp_ns: int) -> bool:
        """Go on from where it was; whether it is known where it is."""
        is_sure = self._follow(odometry, stamp_ns)
        options = self._fixes
        moved = inverse_from_transform(self._fixed) @ self._pose
        is_due = np.linalg.norm(moved[:3, 3]) >= options.shift_m or angle(moved) >= options.turn_rad
        is_fixed = (is_due or not is_sure) and self._fix(self._view(left, right), odometry, stamp_ns)
        is_far = self._moved_m > options.maximum_path_m
        shift, turn = (float(np.sqrt(self._known.diagonal()[part].max())) for part in (slice(3), slice(3, 6)))
        if (
            is_far
            or shift > options.maximum_shift_m
            or turn > options.maximum_turn_rad
            or self._refused >= options.maximum_refused
        ):
            self._lose()
            return False
        if odometry is not None:
            self._failed = 0
        elif self._failed >= self._carry.pairs_of_gap and not is_fixed:
            self._lose()
        return is_fixed or odometry is not None

    def _fix(self, view: View, odometry: Array | None, stamp_ns: int) -> bool:
        """Correct the pose by a nearby keyframe that is seen at a plausible pose; return whether there is one."""
        assert self._map is not None
        options, pose = self._places, self._map_pose
        known = self._known if odometry is not None else self._known + self._gap(stamp_ns)
        near = self._map.near(pose, shift_m=options.neighbour_shift_m, turn_rad=options.neighbour_turn_rad)
        for number in near[: options.neighbours]:
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

    def _search(self, left: Grey, right: Grey, odometry: Array | None, stamp_ns: int) -> bool:
        """Search the complete map, every so many pairs; return whether the pose was found."""
        self._waits -= 1
        if self._waits > 0:
            return False
        self._waits = self._fixes.search_every_pairs
        view = self._view(left, right)
        candidates = self._agreeing(view, self._alike(view, frozenset()))
        if not candidates:
            return False
        best = max(candidates, key=lambda number: (candidates[number].points, -number))
        self._relocate(best, candidates[best], odometry, stamp_ns)
        self._fixed, self._failed, self._refused, self._moved_m = self._pose, 0, 0, 0.0
        return True
