"""Steps that know where a stereo camera is among keyframes: in a map that grows on the way, or in one that is there.

Between keyframes an odometry carries. The pose that counts is reference_T_camera, with its covariance in the camera.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fieldplay.core.errors import UsageError
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.geometry.transforms import inverse_from_transform, vector_from_rotation
from fieldplay.trajectories.trajectory import Trajectory
from fieldplay_cdff.steps.keyframes import (
    Keyframe,
    KeyframeEdge,
    KeyframeMap,
    RelativeFrame,
    View,
    ViewFinder,
)
from fieldplay_cdff.steps.map_files import save_map
from fieldplay_cdff.steps.place_recognition import (
    LoopCandidate,
    PlaceIndex,
    SightingLimits,
    sighting,
)
from fieldplay_cdff.steps.pose_graph import (
    covariance_of_pose,
    deviations_of_edges,
    poses_of_graph,
    transport_covariance,
)
from fieldplay_cdff.steps.rigid import transform_of_step
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import Array, Frame, FramePair, PoseEstimate

FAILED: Ports = {"success": False}
RadarCoverage = dict[int, LoopCandidate]


# How far an odometry may have drifted: deviations that grow with the root of the way, and with the time of a gap.


@dataclass(frozen=True, kw_only=True)
class Drift:
    """Deviations in m and rad after a metre, in m/s and rad/s of a gap; a turn by 1 rad counts as so many metres."""

    shift: float
    turn: float
    metres_per_turn: float
    gap_speed: float
    gap_turn: float

    @classmethod
    def of(cls, own: Mapping[str, Any]) -> "Drift":
        """As the parameters of a step tell."""
        return cls(
            shift=own["ShiftPerRoot"], turn=own["TurnPerRoot"], metres_per_turn=own["MetresPerTurn"],
            gap_speed=own["GapSpeed"], gap_turn=own["GapTurn"],
        )  # fmt: skip

    def length_m(self, step: Array) -> float:
        """Length of a step (4, 4) in m, its rotation included."""
        turned = float(np.linalg.norm(vector_from_rotation(step[:3, :3])))
        return float(np.linalg.norm(step[:3, 3])) + self.metres_per_turn * turned

    def covariance_of_length(self, length_m: float) -> Array:
        """The covariance (6, 6) that a path length adds."""
        return np.diag([self.shift**2 * length_m] * 3 + [self.turn**2 * length_m] * 3)

    def of_gap(self, seconds: float) -> Array:
        """The covariance (6, 6) that a time adds in which nothing was known."""
        return np.diag([(self.gap_speed * seconds) ** 2] * 3 + [(self.gap_turn * seconds) ** 2] * 3)


def pose_estimate(pose: Array, covariance: Array, stamp_ns: int) -> PoseEstimate:
    """Return an estimate of a pose whose covariance (6, 6) is given in its own axes."""
    turn = np.kron(np.eye(2), pose[:3, :3])
    return PoseEstimate(pose=pose, covariance=turn @ covariance @ turn.T, stamp_ns=stamp_ns)


@implements("PoseUncertainty")
class DriftingPose(Step):
    """The poses of a way, each with how far it may be off by now; a way that began anew has the gap in it, too."""

    keeps_state = True
    optional = ("pose", "accepted")

    def configure(self) -> None:
        self._drift = Drift.of(self.general)
        self._last: Array | None = None
        self._known, self._known_ns = np.zeros((6, 6)), 0
        self._is_gap = False

    def reset(self) -> None:
        self.configure()

    def process(self, *, trigger: Frame, pose: Array | None = None, accepted: bool = False) -> Ports:
        stamp_ns = trigger.stamp_ns
        if pose is None:
            self._is_gap |= accepted
            return {}
        if self._last is not None:
            step = inverse_from_transform(self._last) @ pose
            self._known = transport_covariance(self._known, step) + self._drift.covariance_of_length(
                self._drift.length_m(step)
            )
            if self._is_gap:
                self._known = self._known + self._drift.of_gap((stamp_ns - self._known_ns) / NS_PER_S)
        self._last, self._known_ns, self._is_gap = pose, stamp_ns, False
        return {"estimate": pose_estimate(pose, self._known, stamp_ns)}


class AmongKeyframes(Step):
    """What growing a map and finding oneself in one share: views, the odometry's way, places that are known again."""

    keeps_state = True
    optional = ("odometry", "tracked")

    def configure(self) -> None:
        options = self.settings["Views"]
        self._finder = ViewFinder(
            maximum=options["MaximumPoints"], contrast=options["Contrast"], width=options["PictureWidth"]
        )
        options = self.settings["Sightings"]
        self._limits = SightingLimits(
            points=options["MinimumPoints"], inlier_fraction=options["MinimumShare"], cells=options["MinimumCells"],
            ratio=options["Ratio"], error_px=options["MaximumError"],
        )  # fmt: skip
        self._map: KeyframeMap | None = None
        self._index = PlaceIndex()
        self._reference = -1
        self._pose, self._known = np.eye(4), np.zeros((6, 6))
        self._last: Array | None = None  # what the odometry said
        self._known_ns = 0  # when it was last known where it is
        self._failed, self._waits, self._moved_m = 0, 0, 0.0
        self._drift = Drift.of(self.settings["Odometry"])

    def reset(self) -> None:
        self.configure()

    def _follow(self, odometry: Array | None, stamp_ns: int) -> bool:
        """Go the odometry's step; whether that is sure, as it is where it did not fail before."""
        self._waits = max(0, self._waits - 1)
        if odometry is None:
            self._failed += 1
            return False
        if self._last is not None:
            self._advance(inverse_from_transform(self._last) @ odometry)
        is_sure = self._last is not None and not self._failed
        if self._last is None or self._failed >= self.settings["Odometry"]["FailuresOfGap"]:
            self._known = self._known + self._gap(stamp_ns)
        self._last, self._known_ns = odometry, stamp_ns
        return is_sure

    def _advance(self, step: Array) -> None:
        """One step on, as the odometry has it."""
        moved_m = self._drift.length_m(step)
        self._pose = self._pose @ step
        self._known = transport_covariance(self._known, step) + self._drift.covariance_of_length(moved_m)
        self._moved_m += moved_m

    def _gap(self, stamp_ns: int) -> Array:
        """By how much it may be wrong (6, 6) after a gap: as far as it can have gone."""
        gap_s = (stamp_ns - self._known_ns) / NS_PER_S
        self._moved_m += self._drift.gap_speed * gap_s
        return self._drift.of_gap(gap_s)

    def _relocate(self, number: int, seen: LoopCandidate, odometry: Array | None, stamp_ns: int) -> None:
        """Be where a keyframe is seen from."""
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
        return sighting(self._map.keyframes[number].view, view, self._map.camera, self._map.size, self._limits)

    def _alike(self, view: View, skipped: frozenset[int]) -> list[int]:
        """The keyframes that look most like a view."""
        assert self._map is not None
        scores = self._index.scores(view, len(self._map))
        candidates = sorted((number for number in scores if number not in skipped), key=lambda n: (-scores[n], n))
        return candidates[: self.settings["Places"]["Candidates"]]

    def _agreeing(self, view: View, candidates: list[int], *, skipped: frozenset[int] = frozenset()) -> RadarCoverage:
        """Keyframes that a view sees from one and the same place, two of them at least; else none."""
        assert self._map is not None
        matches: RadarCoverage = {}
        for number in candidates:
            seen = self._match_keyframe(view, number)
            if seen is not None:
                matches[number] = seen
        if not matches:
            return {}
        best = max(matches, key=lambda number: (matches[number].points, -number))
        options = self.settings["Places"]
        neighbours = self._map.near(
            self._map.keyframes[best].pose, shift_m=options["NeighbourShift"], turn_rad=options["NeighbourTurn"]
        )
        for number in [each for each in neighbours if each not in skipped and each not in candidates][
            : options["Neighbours"]
        ]:
            if len(matches) > options["Neighbours"]:
                break
            seen = self._match_keyframe(view, number)
            if seen is not None:
                matches[number] = seen
        pose = self._map.keyframes[best].pose @ matches[best].pose
        agreeing = {
            number: seen for number, seen in matches.items()
            if self._is_near(
                pose, self._map.keyframes[number].pose @ seen.pose, options["Agreement"], options["AgreementTurn"]
            )
        }  # fmt: skip
        return agreeing if len(agreeing) > 1 else {}

    def _is_consistent(self, pose: Array, known: Array, seen: LoopCandidate) -> bool:
        """Whether what is seen lies where it may be by what is known."""
        difference = inverse_from_transform(pose) @ seen.pose
        off = np.concatenate([difference[:3, 3], vector_from_rotation(difference[:3, :3])])
        whole = known + seen.covariance
        maximum: float = self.settings["Odometry"]["MaximumDeviations"]
        return float(off @ np.linalg.solve(whole, off)) <= maximum**2

    @staticmethod
    def _is_near(one: Array, other: Array, shift_m: float, turn_rad: float) -> bool:
        difference = inverse_from_transform(one) @ other
        return bool(np.linalg.norm(difference[:3, 3]) <= shift_m and angle(difference) <= turn_rad)

    def _estimate(self, covariance: Array, stamp_ns: int) -> PoseEstimate:
        return pose_estimate(self._map_pose, covariance, stamp_ns)


@implements("StereoSlam")
class KeyframeSlam(AmongKeyframes):
    """A map that grows: a keyframe every so far; where a place is known again, all keyframes are put right.

    `path` is the whole way as it is known by then, each time it was put right and at the end, `map` all that is known.
    """

    def configure(self) -> None:
        super().configure()
        self._of_reference = np.zeros((6, 6))  # how well it is known
        self._path_m: dict[int, float] = {}  # of keyframes
        self._next = 0
        file, saves = self.general["MapFile"], self.general["SaveMap"]
        if saves and not file:
            raise UsageError("SaveMap: expected a MapFile to save the map to")

    def process(self, *, imagePair: FramePair, odometry: PoseEstimate | None = None, tracked: bool = True) -> Ports:
        stamp_ns, odometry_pose = imagePair.left.stamp_ns, odometry.pose if odometry is not None and tracked else None
        if self._map is None:
            return self._start_map(imagePair, odometry_pose)
        is_sure = self._follow(odometry_pose, stamp_ns)
        view = None if is_sure else self._finder.view(imagePair)[0]
        if view is not None:
            seen = self._match_keyframe(view, self._reference)
            if seen is not None:
                self._relocate(self._reference, seen, odometry_pose, stamp_ns)
            elif odometry_pose is None:
                return FAILED
        self._failed = 0 if odometry_pose is not None else self._failed
        closed = False
        if self._is_due():
            closed = self._add_keyframe(view or self._finder.view(imagePair)[0], stamp_ns)
        else:
            self._attach_frame(stamp_ns)
        covariance = transport_covariance(self._of_reference, self._pose) + self._known
        outputs: Ports = {"pose": self._estimate(covariance, stamp_ns), "success": True}
        return {**outputs, "path": self._path()} if closed else outputs

    def finish(self) -> Ports:
        """The way and the map, which is saved if that is wanted."""
        if self._map is None:
            return {}
        if self.general["SaveMap"]:
            save_map(Path(self.general["MapFile"]), self._map)
        return {"path": self._path(), "map": self._map}

    def _path(self) -> Trajectory:
        assert self._map is not None
        stamp_ns, poses = self._map.trajectory()
        return Trajectory(stamp_ns=stamp_ns, poses=poses)

    def _start_map(self, pair: FramePair, odometry: Array | None) -> Ports:
        """Start the map with the first keyframe, which is the scene frame, once enough is visible."""
        view, camera = self._finder.view(pair)
        if len(view) < self.settings["Views"]["MinimumPoints"]:
            return FAILED
        height, width = pair.left.image.shape[:2]
        self._map = KeyframeMap(camera=camera, size=(width, height))
        self._last, self._known_ns = odometry, pair.left.stamp_ns
        self._add(view, pair.left.stamp_ns, np.eye(4))
        return {"pose": self._estimate(self._known, pair.left.stamp_ns), "success": True}

    def _add(self, view: View, stamp_ns: int, pose: Array) -> int:
        assert self._map is not None
        number = self._next
        self._map.keyframes[number] = Keyframe(id=number, stamp_ns=stamp_ns, pose=pose, view=view)
        self._index.add(number, view)
        self._path_m[number] = self._moved_m
        self._next += 1
        self._reference, self._pose, self._known = number, np.eye(4), np.zeros((6, 6))
        return number

    def _is_due(self) -> bool:
        options = self.settings["Keyframes"]
        is_far = np.linalg.norm(self._pose[:3, 3]) >= options["Shift"] or angle(self._pose) >= options["Turn"]
        is_lost = self._known[0, 0] > options["Shift"] ** 2 / 4  # after a gap
        return bool(is_far or is_lost) and not self._waits

    def _attach_frame(self, stamp_ns: int) -> None:
        assert self._map is not None
        frame = RelativeFrame(stamp_ns=stamp_ns, keyframe=self._reference, pose=self._pose)
        self._map.attach_frame(frame, self.settings["Keyframes"]["MaximumFrames"])

    def _add_keyframe(self, view: View, stamp_ns: int) -> bool:
        """Add a pair as a keyframe; return whether it closed a loop."""
        assert self._map is not None
        if len(view) < self.settings["Views"]["MinimumPoints"]:
            self._waits = self.settings["Keyframes"]["RetryAfter"]
            self._attach_frame(stamp_ns)
            return False
        before = self._reference
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

    def _close_loops(self, view: View, number: int) -> bool:
        """Look for loop closures, and optimise all keyframes by those that agree."""
        assert self._map is not None
        options = self.settings["Places"]
        path_m = self._path_m[number]
        recent = frozenset(
            each for each in self._map.keyframes
            if number - each <= options["RecentKeyframes"] or path_m - self._path_m[each] < options["RecentWay"]
        )  # fmt: skip
        if len(recent) == len(self._map):
            return False
        near = self._map.near(self._map_pose, shift_m=options["NeighbourShift"], turn_rad=options["NeighbourTurn"])
        near = [each for each in near if each not in recent][: options["Neighbours"]]
        alike = [each for each in self._alike(view, recent) if each not in near]
        candidates = self._agreeing(view, [*near, *alike], skipped=recent)
        candidates = {each: seen for each, seen in candidates.items() if self._may_be(each, number, seen)}
        best = sorted(candidates, key=lambda each: (-candidates[each].points, each))[: options["Edges"]]
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
        """Whether the odometry may have drifted by as much as a place that is known again tells."""
        assert self._map is not None
        options, path_m = self.settings["Places"], self._path_m[second] - self._path_m[first]
        expected = inverse_from_transform(self._map.keyframes[first].pose) @ self._map.keyframes[second].pose
        shift_m = options["DriftShift"] + options["DriftShare"] * path_m
        return self._is_near(expected, seen.pose, shift_m, options["DriftTurn"] + options["DriftTurnPerMetre"] * path_m)

    def _optimise(self) -> None:
        """Optimise all keyframes, and drop loop closures that do not fit."""
        assert self._map is not None
        options = self.settings["Places"]
        poses = poses_of_graph(self._map.poses, self._map.graph(), huber=options["Huber"])
        off = deviations_of_edges(poses, self._map.graph())
        wrong = [
            row
            for row, edge in enumerate(self._map.edges)
            if edge.is_closure and off[row] > options["MaximumDeviations"]
        ]
        if wrong:
            self._map.edges = [edge for row, edge in enumerate(self._map.edges) if row not in wrong]
            poses = poses_of_graph(self._map.poses, self._map.graph(), huber=options["Huber"])
        self._map.move(poses)
        row = list(self._map.keyframes).index(self._reference)
        self._of_reference = covariance_of_pose(poses, self._map.graph(), row)

    def _thin_out(self) -> None:
        assert self._map is not None
        options = self.settings["Keyframes"]
        if len(self._map) > options["MaximumKeyframes"]:
            recent = [each for each in self._map.keyframes if each > self._reference - options["RecentKept"]]
            number = self._map.redundant_keyframe(recent)
            self._map.drop(number)
            self._index.remove(number)
            del self._path_m[number]


def fuse_poses(first: Array, of_first: Array, second: Array, of_second: Array) -> tuple[Array, Array]:
    """Fuse two estimates of one pose and their covariances (6, 6), each in the pose's own frame."""
    difference = inverse_from_transform(first) @ second
    gain = of_first @ np.linalg.inv(of_first + of_second)
    step = gain @ np.concatenate([difference[:3, 3], vector_from_rotation(difference[:3, :3])])
    covariance = of_first - gain @ of_first
    return first @ transform_of_step(step[3:], step[:3]), (covariance + covariance.T) / 2


def angle(pose: Array) -> float:
    """By how much a pose turns, rad."""
    return float(np.linalg.norm(vector_from_rotation(pose[:3, :3])))
