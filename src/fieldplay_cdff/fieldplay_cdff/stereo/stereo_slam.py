"""Stereo SLAM: a growing map of keyframes, which each loop closure corrects.

    camera = StereoCamera(focal_x=700.0, focal_y=700.0, center_x=516.0, center_y=386.0, baseline_m=0.1)
    slam = StereoSlam(camera)
    for stamp_ns, left, right in pairs:  # rectified grey images (h, w), uint8
        estimate = slam.track(left, right, stamp_ns)
        if estimate.success:
            print(estimate.pose)  # the left camera in the map
    save_map(Path("map.npz"), slam.map)

Between keyframes an odometry carries. The pose that counts is reference_T_camera of a keyframe, the reference, with its
covariance in the camera.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fieldplay.core.timestamps import NS_PER_S
from fieldplay.geometry.camera_model import StereoCamera
from fieldplay.geometry.transforms import (
    Array,
    inverse_from_transform,
    transform_from_vectors,
    vector_from_rotation,
)
from fieldplay.trajectories.trajectory import Trajectory
from fieldplay_cdff.stereo.keyframe_map import (
    Keyframe,
    KeyframeEdge,
    KeyframeMap,
    RelativeFrame,
    View,
    ViewFinder,
    ViewSettings,
    corrected_view,
)
from fieldplay_cdff.stereo.pair_matching import Grey, require_grey_pair
from fieldplay_cdff.stereo.parameters import AUTO, chosen_of_scale, parameter, settings_of_scale
from fieldplay_cdff.stereo.place_recognition import LoopCandidate, PlaceIndex, SightingSettings, sighting
from fieldplay_cdff.stereo.pose_graph import covariance_of_pose, deviations_of_edges, poses_of_graph
from fieldplay_cdff.stereo.pose_track import DriftSettings, covariance_in_parent, transport_covariance
from fieldplay_cdff.stereo.presets import map_scale
from fieldplay_cdff.stereo.refusals import Reason, Refusal
from fieldplay_cdff.stereo.stereo_odometry import (
    OdometrySettings,
    StereoEstimate,
    StereoOdometry,
)

MIN_CHANGE_PX = 0.1  # uncertainty of the calibration
LoopCandidates = dict[int, LoopCandidate]


# Settings. A field names the parameter of the processing step that it is the same as.


@dataclass(frozen=True, kw_only=True)
class CarrySettings(DriftSettings):
    """Uncertainty of the odometry between keyframes."""

    shift_per_root_m: float = parameter("ShiftPerRoot", AUTO, rover=0.003, power=0.5)  # after a metre
    turn_per_root_rad: float = parameter("TurnPerRoot", 0.001)
    metres_per_turn: float = parameter("MetresPerTurn", AUTO, rover=0.5)
    gap_speed_m_s: float = parameter("GapSpeed", AUTO, rover=0.3)
    pairs_of_gap: int = parameter("FailuresOfGap", 3)  # that failed in a row, after which the pose is only predicted
    maximum_deviations: float = parameter("MaximumDeviations", 8.0)  # by which a view may differ from it


@dataclass(frozen=True, kw_only=True)
class PlaceSettings:
    """When a place is recognised, and how it constrains the map."""

    candidates: int = parameter("Candidates", 3)  # most similar keyframes
    neighbours: int = parameter("Neighbours", 3)  # near the candidate, which have to agree
    neighbour_shift_m: float = parameter("NeighbourShift", AUTO, rover=1.2)
    neighbour_turn_rad: float = parameter("NeighbourTurn", 0.6)
    agreement_m: float = parameter("Agreement", AUTO, rover=0.1)  # between the poses by two keyframes
    agreement_rad: float = parameter("AgreementTurn", 0.03)
    edges: int = parameter("Edges", 3)  # of a loop closure
    recent_keyframes: int = parameter("RecentKeyframes", 10)  # which are excluded from place recognition
    recent_path_m: float = parameter("RecentWay", AUTO, rover=3.0)
    drift_m: float = parameter("DriftShift", AUTO, rover=0.3)  # maximum drift: this, plus a fraction of the path
    drift_fraction: float = parameter("DriftShare", 0.05)
    drift_rad: float = parameter("DriftTurn", 0.1)
    drift_rad_per_m: float = parameter("DriftTurnPerMetre", AUTO, rover=0.01, power=-1.0)
    huber: float = parameter("Huber", 3.0)  # deviations above which a loop closure has linear cost
    maximum_deviations: float = parameter("MaximumDeviations", 60.0)  # above which a loop closure is rejected


@dataclass(frozen=True, kw_only=True)
class KeyframeSettings:
    """When a pair becomes a keyframe, and how many are kept."""

    shift_m: float = parameter("Shift", AUTO, rover=0.4)
    turn_rad: float = parameter("Turn", 0.2)
    retry_after_pairs: int = parameter("RetryAfter", 4)  # if there are too few features
    maximum_keyframes: int = parameter("MaximumKeyframes", 1000)
    recent_kept: int = parameter("RecentKept", 20)  # that are not dropped where there are too many
    maximum_frames: int = parameter("MaximumFrames", 50000)  # of the trajectory, between keyframes


@dataclass(frozen=True, kw_only=True)
class MapSettings:
    """Settings common to mapping and localisation."""

    views: ViewSettings = parameter("Views", ViewSettings())
    sightings: SightingSettings = parameter("Sightings", SightingSettings())
    carry: CarrySettings = parameter("Odometry", CarrySettings())
    places: PlaceSettings = parameter("Places", PlaceSettings())


@dataclass(frozen=True, kw_only=True)
class SlamSettings(MapSettings):
    """Settings of `StereoSlam`."""

    keyframes: KeyframeSettings = parameter("Keyframes", KeyframeSettings())


class KeyframeTracker:
    """The common base of SLAM and localisation in a map: views, the odometry's steps, place recognition.

    Args:
        camera: of the rectified images.
        settings: of views, of their plausibility, and of the odometry's drift.
        odometry: settings of the odometry that `track` runs.
    """

    def __init__(self, camera: StereoCamera, settings: MapSettings, odometry: OdometrySettings) -> None:
        self.camera = camera
        self._odometry = StereoOdometry(camera, odometry)
        self._finder = ViewFinder(settings.views)
        self.settings = settings
        self.chosen: dict[str, Any] = {}  # parameters that were `auto`, by group and name
        self._apply(settings_of_scale(settings, 1.0))
        self._correction = np.zeros(2)  # of disparities, as the odometry knows it
        self._map: KeyframeMap | None = None
        self._index = PlaceIndex()
        self._reference = -1
        self._pose, self._known = np.eye(4), np.zeros((6, 6))
        self._last: Array | None = None  # pose of the odometry
        self._known_ns = 0  # when the pose was last known
        self._failed, self._waits, self._moved_m = 0, 0, 0.0

    def _apply(self, settings: Any) -> None:
        """Use settings in which nothing is AUTO."""
        self._views: ViewSettings = settings.views
        self._sightings: SightingSettings = settings.sightings
        self._carry: CarrySettings = settings.carry
        self._places: PlaceSettings = settings.places

    def _suit_depth(self, depth_m: float) -> None:
        """Fill in the lengths that follow from the median depth of the scene."""
        scale = map_scale(depth_m)
        self.chosen = chosen_of_scale(self.settings, scale)
        self._apply(settings_of_scale(self.settings, scale))

    def track(self, left: Grey, right: Grey, stamp_ns: int) -> StereoEstimate:
        """The pose of a pair.

        Args:
            left: rectified image (h, w), uint8.
            right: the same of the right camera, of the same size.
            stamp_ns: when they were taken; it increases.

        Returns:
            The pose in the map; `quality` is that of the odometry.
        """
        moved = self._odometry.track(left, right, stamp_ns)
        correction = self._odometry.correction.values
        result = self.update(left, right, stamp_ns, odometry=moved.pose, quality=moved.quality, correction=correction)
        return result if result.success else replace(result, refusal=moved.refusal or result.refusal)

    def update(
        self, left: Grey, right: Grey, stamp_ns: int, *, odometry: Array | None, quality: float = 0.0,
        correction: Array | None = None,
    ) -> StereoEstimate:  # fmt: skip
        """The pose of a pair, by the pose (4, 4) of any odometry, none where that is not known.

        Args:
            left: rectified image (h, w), uint8.
            right: the same of the right camera.
            stamp_ns: when they were taken.
            odometry: the left camera in a frame of the odometry's own.
            quality: of the odometry, passed on.
            correction: offset and radial part (2,) in px that disparities lack, where the odometry knows it.
        """
        require_grey_pair(left, right)
        if correction is not None:
            self._correction = correction
        is_start = self._map is None or not len(self._map)
        known = self._update(left, right, stamp_ns, odometry)
        if known is None:
            refusal = self._refusal(odometry)
            return StereoEstimate(stamp_ns=stamp_ns, success=False, quality=quality, refusal=refusal)
        pose = self._map_pose
        covariance = covariance_in_parent(pose, known)
        return StereoEstimate(
            stamp_ns=stamp_ns, success=True, pose=pose, covariance=covariance, quality=quality, is_scene=is_start
        )

    def _refusal(self, odometry: Array | None) -> Refusal:
        """Return the reason why the last pair has no pose."""
        return Refusal(reason=Reason.NO_RESULT if odometry is None else Reason.FEW_CORNERS)

    def _update(self, left: Grey, right: Grey, stamp_ns: int, odometry: Array | None) -> Array | None:
        """The covariance (6, 6) of the pose about its own axes; none where it is not known."""
        raise NotImplementedError

    def _view(self, left: Grey, right: Grey) -> View:
        return self._finder.view(left, right, self.camera, self._correction)

    def _follow(self, odometry: Array | None, stamp_ns: int) -> bool:
        """Go the odometry's step; whether that is sure, as it is where it did not fail before."""
        self._waits = max(0, self._waits - 1)
        if odometry is None:
            self._failed += 1
            return False
        if self._last is not None:
            self._advance(inverse_from_transform(self._last) @ odometry)
        is_sure = self._last is not None and not self._failed
        if self._last is None or self._failed >= self._carry.pairs_of_gap:
            self._known = self._known + self._gap(stamp_ns)
        self._last, self._known_ns = odometry, stamp_ns
        return is_sure

    def _advance(self, step: Array) -> None:
        """One step on, as the odometry has it."""
        moved_m = self._carry.length_m(step)
        self._pose = self._pose @ step
        self._known = transport_covariance(self._known, step) + self._carry.covariance_of_length(moved_m)
        self._moved_m += moved_m

    def _gap(self, stamp_ns: int) -> Array:
        """Return the covariance (6, 6) of the pose after a gap: as far as the camera can have moved."""
        gap_s = (stamp_ns - self._known_ns) / NS_PER_S
        self._moved_m += self._carry.gap_speed_m_s * gap_s
        return self._carry.covariance_of_gap(gap_s)

    def _relocate(self, number: int, seen: LoopCandidate, odometry: Array | None, stamp_ns: int) -> None:
        """Set the pose by a recognised keyframe."""
        self._reference, self._pose, self._known = number, seen.pose, seen.covariance
        self._last, self._known_ns = odometry, stamp_ns

    @property
    def _map_pose(self) -> Array:
        assert self._map is not None
        pose: Array = self._map.keyframes[self._reference].pose @ self._pose
        return pose

    def _match_keyframe(self, view: View, number: int) -> LoopCandidate | None:
        """Match a view to a keyframe; None where they do not agree."""
        assert self._map is not None
        return sighting(self._map.keyframes[number].view, view, self._map.camera, self._map.size, self._sightings)

    def _alike(self, view: View, skipped: frozenset[int]) -> list[int]:
        """The keyframes that are most similar to a view."""
        assert self._map is not None
        scores = self._index.scores(view, len(self._map))
        candidates = sorted((number for number in scores if number not in skipped), key=lambda n: (-scores[n], n))
        return candidates[: self._places.candidates]

    def _agreeing(self, view: View, candidates: list[int], *, skipped: frozenset[int] = frozenset()) -> LoopCandidates:
        """Keyframes from which a view has one and the same pose, two of them at least; else none."""
        assert self._map is not None
        matches: LoopCandidates = {}
        for number in candidates:
            seen = self._match_keyframe(view, number)
            if seen is not None:
                matches[number] = seen
        if not matches:
            return {}
        best = max(matches, key=lambda number: (matches[number].points, -number))
        options = self._places
        neighbours = self._map.near(
            self._map.keyframes[best].pose, shift_m=options.neighbour_shift_m, turn_rad=options.neighbour_turn_rad
        )
        for number in [each for each in neighbours if each not in skipped and each not in candidates][
            : options.neighbours
        ]:
            if len(matches) > options.neighbours:
                break
            seen = self._match_keyframe(view, number)
            if seen is not None:
                matches[number] = seen
        pose = self._map.keyframes[best].pose @ matches[best].pose
        agreeing = {
            number: seen for number, seen in matches.items()
            if self._is_near(
                pose, self._map.keyframes[number].pose @ seen.pose, options.agreement_m, options.agreement_rad
            )
        }  # fmt: skip
        return agreeing if len(agreeing) > 1 else {}

    def _is_consistent(self, pose: Array, known: Array, seen: LoopCandidate) -> bool:
        """Whether an observed pose is plausible by the current estimate."""
        difference = inverse_from_transform(pose) @ seen.pose
        off = np.concatenate([difference[:3, 3], vector_from_rotation(difference[:3, :3])])
        whole = known + seen.covariance
        maximum: float = self._carry.maximum_deviations
        return float(off @ np.linalg.solve(whole, off)) <= maximum**2

    @staticmethod
    def _is_near(one: Array, other: Array, shift_m: float, turn_rad: float) -> bool:
        difference = inverse_from_transform(one) @ other
        return bool(np.linalg.norm(difference[:3, 3]) <= shift_m and angle(difference) <= turn_rad)


class StereoSlam(KeyframeTracker):
    """SLAM with a growing map of keyframes; a recognised place corrects all keyframes.

    Args:
        camera: of the rectified images.
        settings: of views, places and keyframes.
        odometry: settings of the odometry that `track` runs.
    """

    def __init__(
        self,
        camera: StereoCamera,
        settings: SlamSettings = SlamSettings(),
        odometry: OdometrySettings = OdometrySettings(),
    ) -> None:
        super().__init__(camera, settings, odometry)
        self._of_reference = np.zeros((6, 6))  # how well it is known
        self._path_m: dict[int, float] = {}  # of keyframes
        self._corrected: dict[int, Array] = {}  # with what their disparities were corrected, px
        self._next = 0
        self.is_corrected = False  # whether the last pair corrected the keyframes

    def _apply(self, settings: Any) -> None:
        super()._apply(settings)
        self._keyframes: KeyframeSettings = settings.keyframes

    @property
    def map(self) -> KeyframeMap | None:
        """The keyframes as currently estimated; None before the first one."""
        return self._map

    @property
    def trajectory(self) -> Trajectory:
        """map_T_left of all pairs, as currently estimated."""
        assert self._map is not None
        stamp_ns, poses = self._map.trajectory()
        return Trajectory(stamp_ns=stamp_ns, poses=poses)

    def _update(self, left: Grey, right: Grey, stamp_ns: int, odometry: Array | None) -> Array | None:
        self.is_corrected = False
        if self._map is None:
            return self._start_map(left, right, stamp_ns, odometry)
        is_sure = self._follow(odometry, stamp_ns)
        view = None if is_sure else self._view(left, right)
        if view is not None:
            seen = self._match_keyframe(view, self._reference)
            if seen is not None:
                self._relocate(self._reference, seen, odometry, stamp_ns)
            elif odometry is None:
                return None
        self._failed = 0 if odometry is not None else self._failed
        if self._is_due():
            self.is_corrected = self._add_keyframe(view or self._view(left, right), stamp_ns)
        else:
            self._attach_frame(stamp_ns)
        return transport_covariance(self._of_reference, self._pose) + self._known

    def _start_map(self, left: Grey, right: Grey, stamp_ns: int, odometry: Array | None) -> Array | None:
        """Start the map with the first keyframe, which is the scene frame, once enough is visible."""
        view = self._view(left, right)
        if len(view) < self._views.minimum_points:
            return None
        self._suit_depth(float(np.median(view.points[:, 2])))
        height, width = left.shape
        self._map = KeyframeMap(camera=self.camera, size=(width, height))
        self._last, self._known_ns = odometry, stamp_ns
        self._add(view, stamp_ns, np.eye(4))
        return self._known

    def _add(self, view: View, stamp_ns: int, pose: Array) -> int:
        assert self._map is not None
        number = self._next
        self._map.keyframes[number] = Keyframe(id=number, stamp_ns=stamp_ns, pose=pose, view=view)
        self._index.add(number, view)
        self._path_m[number], self._corrected[number] = self._moved_m, self._correction
        self._next += 1
        self._reference, self._pose, self._known = number, np.eye(4), np.zeros((6, 6))
        return number

    def _is_due(self) -> bool:
        options = self._keyframes
        is_far = np.linalg.norm(self._pose[:3, 3]) >= options.shift_m or angle(self._pose) >= options.turn_rad
        is_lost = self._known[0, 0] > options.shift_m**2 / 4  # after a gap
        return bool(is_far or is_lost) and not self._waits

    def _attach_frame(self, stamp_ns: int) -> None:
        assert self._map is not None
        frame = RelativeFrame(stamp_ns=stamp_ns, keyframe=self._reference, pose=self._pose)
        self._map.attach_frame(frame, self._keyframes.maximum_frames)

    def _add_keyframe(self, view: View, stamp_ns: int) -> bool:
        """Add a pair as a keyframe; return whether it closed a loop."""
        assert self._map is not None
        if len(view) < self._views.minimum_points:
            self._waits = self._keyframes.retry_after_pairs
            self._attach_frame(stamp_ns)
            return False
        before = self._reference
        self._correct_again(before)
        seen = self._match_keyframe(view, before)
        if seen is not None and self._is_consistent(self._pose, self._known, seen):
            self._pose, self._known = fuse_poses(self._pose, self._known, seen.pose, seen.covariance)
        edge = KeyframeEdge(first=before, second=self._next, measured=self._pose, covariance=self._known)
        self._of_reference = transport_covariance(self._of_reference, self._pose) + self._known
        number = self._add(view, stamp_ns, self._map_pose)
        self._map.edges.append(edge)
        closes = self._close_loops(view, number)
        self._thin_out()
        return closes

    def _correct_again(self, number: int) -> None:
        """Correct the points of a keyframe by the current calibration."""
        assert self._map is not None
        change = self._correction - self._corrected.get(number, self._correction)
        if np.abs(change).max() > MIN_CHANGE_PX:
            keyframe = self._map.keyframes[number]
            view = corrected_view(keyframe.view, self.camera, change)
            self._map.keyframes[number] = replace(keyframe, view=view)
            self._corrected[number] = self._correction

    def _close_loops(self, view: View, number: int) -> bool:
        """Look for loop closures, and optimise all keyframes by those that agree."""
        assert self._map is not None
        options = self._places
        path_m = self._path_m[number]
        recent = frozenset(
            each for each in self._map.keyframes
            if number - each <= options.recent_keyframes or path_m - self._path_m[each] < options.recent_path_m
        )  # fmt: skip
        if len(recent) == len(self._map):
            return False
        near = self._map.near(self._map_pose, shift_m=options.neighbour_shift_m, turn_rad=options.neighbour_turn_rad)
        near = [each for each in near if each not in recent][: options.neighbours]
        alike = [each for each in self._alike(view, recent) if each not in near]
        candidates = self._agreeing(view, [*near, *alike], skipped=recent)
        candidates = {each: seen for each, seen in candidates.items() if self._may_be(each, number, seen)}
        best = sorted(candidates, key=lambda each: (-candidates[each].points, each))[: options.edges]
        if len(candidates) < 2:
            return False
        self._map.edges += [
            KeyframeEdge(
                first=each,
                second=number,
                measured=candidates[each].pose,
                covariance=candidates[each].covariance,
                is_closure=True,
            )
            for each in best
        ]
        self._optimise()
        return True

    def _may_be(self, first: int, second: int, seen: LoopCandidate) -> bool:
        """Return whether the odometry may have drifted by as much as a recognised place requires."""
        assert self._map is not None
        options, path_m = self._places, self._path_m[second] - self._path_m[first]
        expected = inverse_from_transform(self._map.keyframes[first].pose) @ self._map.keyframes[second].pose
        shift_m = options.drift_m + options.drift_fraction * path_m
        return self._is_near(expected, seen.pose, shift_m, options.drift_rad + options.drift_rad_per_m * path_m)

    def _optimise(self) -> None:
        """Optimise all keyframes, and drop loop closures that do not fit."""
        assert self._map is not None
        options = self._places
        poses = poses_of_graph(self._map.poses, self._map.graph(), huber=options.huber)
        off = deviations_of_edges(poses, self._map.graph())
        wrong = [
            row for row, edge in enumerate(self._map.edges) if edge.is_closure and off[row] > options.maximum_deviations
        ]
        if wrong:
            self._map.edges = [edge for row, edge in enumerate(self._map.edges) if row not in wrong]
            poses = poses_of_graph(self._map.poses, self._map.graph(), huber=options.huber)
        self._map.move(poses)
        row = list(self._map.keyframes).index(self._reference)
        self._of_reference = covariance_of_pose(poses, self._map.graph(), row)

    def _thin_out(self) -> None:
        assert self._map is not None
        options = self._keyframes
        if len(self._map) > options.maximum_keyframes:
            recent = [each for each in self._map.keyframes if each > self._reference - options.recent_kept]
            number = self._map.redundant_keyframe(recent)
            self._map.drop(number)
            self._index.remove(number)
            del self._path_m[number], self._corrected[number]


def fuse_poses(first: Array, of_first: Array, second: Array, of_second: Array) -> tuple[Array, Array]:
    """Fuse two estimates of one pose and their covariances (6, 6), each in the pose's own frame."""
    difference = inverse_from_transform(first) @ second
    gain = of_first @ np.linalg.inv(of_first + of_second)
    step = gain @ np.concatenate([difference[:3, 3], vector_from_rotation(difference[:3, :3])])
    covariance = of_first - gain @ of_first
    return first @ transform_from_vectors(step[3:], step[:3]), (covariance + covariance.T) / 2


def angle(pose: Array) -> float:
    """The angle of rotation of a pose, rad."""
    return float(np.linalg.norm(vector_from_rotation(pose[:3, :3])))
