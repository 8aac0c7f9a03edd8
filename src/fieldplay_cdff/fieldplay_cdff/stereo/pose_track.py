"""A trajectory from motions between pairs: plausibility checks, prediction, and uncertainty."""

from dataclasses import dataclass, replace
from math import ceil
from typing import NamedTuple

import numpy as np

from fieldplay.core.timestamps import NS_PER_S
from fieldplay.geometry.transforms import (
    Array,
    inverse_from_transform,
    quaternion_from_rotation,
    transform_from_vectors,
    vector_from_rotation,
)
from fieldplay_cdff.stereo.parameters import parameter
from fieldplay_cdff.stereo.presets import motion_limits
from fieldplay_cdff.stereo.refusals import Reason, Refusal

PART_S = 0.25  # of a motion, over which its direction does not change


@dataclass(frozen=True, kw_only=True)
class TrackSettings:
    """Which motions are plausible, and the prediction where none is known; 0 is no limit, None is by the camera."""

    prediction: str = parameter("Prediction", "Still")  # of the next step: Still or Constant
    maximum_shift_m: float | None = parameter("MaximumShift", 0.0)  # from the prediction, per pair
    maximum_turn_rad: float | None = parameter("MaximumTurn", 0.0)
    minimum_quality: float = parameter("MinimumQuality", 0.0)
    restart_after_pairs: int = parameter("RestartAfter", 0)  # that failed, after which it goes on as before
    predicted_pairs: int = parameter("PredictedPairs", 12)  # periods for which it may go on as before
    minimum_points: int = parameter("LeastBasis", 0)  # of a key pair
    kept_within_m: float | None = parameter("KeptWithin", 0.0)  # of the key pair, within which that stays
    kept_within_rad: float = parameter("KeptWithinTurn", 0.0)
    maximum_time_s: float = parameter("MaximumTime", 3.0)  # for which points are searched at predicted positions

    def of_camera(self, depth_m: float, period_s: float) -> "TrackSettings":
        """The settings, with the values that follow from the camera.

        Args:
            depth_m: median depth of the points of the key pair.
            period_s: from pair to pair; 0 where it is not known yet.
        """
        limits = motion_limits(depth_m, period_s)
        return replace(
            self,
            maximum_shift_m=limits["MaximumShift"] if self.maximum_shift_m is None else self.maximum_shift_m,
            maximum_turn_rad=limits["MaximumTurn"] if self.maximum_turn_rad is None else self.maximum_turn_rad,
            kept_within_m=limits["KeptWithin"] if self.kept_within_m is None else self.kept_within_m,
        )


@dataclass(frozen=True, kw_only=True)
class DriftSettings:
    """The drift of an odometry: deviations that grow with the root of the path length, and with gaps."""

    shift_per_root_m: float = parameter("ShiftPerRoot", 0.006)  # after a metre
    turn_per_root_rad: float = parameter("TurnPerRoot", 0.003)
    metres_per_turn: float = parameter("MetresPerTurn", 0.5)  # weight of a rotation by 1 rad
    gap_speed_m_s: float = parameter("GapSpeed", 0.3)
    gap_turn_rad_s: float = parameter("GapTurn", 0.2)

    def length_m(self, step: Array) -> float:
        """Length of a step (4, 4) in m, its rotation included."""
        turned = float(np.linalg.norm(vector_from_rotation(step[:3, :3])))
        return float(np.linalg.norm(step[:3, 3])) + self.metres_per_turn * turned

    def covariance_of_length(self, length_m: float) -> Array:
        """The covariance (6, 6) that a path length adds."""
        return np.diag([self.shift_per_root_m**2 * length_m] * 3 + [self.turn_per_root_rad**2 * length_m] * 3)

    def covariance_of_gap(self, seconds: float) -> Array:
        """The covariance (6, 6) that a time adds in which nothing was known."""
        return np.diag([(self.gap_speed_m_s * seconds) ** 2] * 3 + [(self.gap_turn_rad_s * seconds) ** 2] * 3)


class TrackOutcome(NamedTuple):
    """The result of a pair.

    Args:
        pose: scene_T_left (4, 4), none where it is not known.
        is_key: whether this pair is now the key.
        quality: of the step.
        refusal: why there is no pose.
        is_scene: whether this pair is the first, whose pose is that of the scene by definition.
    """

    pose: Array | None
    is_key: bool
    quality: float | None
    refusal: Refusal | None = None
    is_scene: bool = False


class Motion(NamedTuple):
    """The pose of the last known pair in the key pair, and its velocity about the axes of the camera.

    Both are a rotation vector and a shift (6,), `rates` in rad/s and m/s.
    """

    position: Array
    rates: Array
    stamp_ns: int


class PoseTrack:
    """scene_T_left of the steps key_T_left; the first pair that can be a key is the scene.

    A failed or implausible motion does not change the pose. After some failures in a row the pair gets the pose
    predicted at constant velocity, and is the new key.
    """

    def __init__(self, settings: TrackSettings) -> None:
        self._settings = settings.of_camera(0.0, 0.0)
        self._key: Array | None = None  # of the pair that others are compared with
        self._last = np.eye(4)  # of the last pair that is known
        self._step = np.eye(4)  # from pair to pair, as they first arrived
        self._period_ns = 0  # between these
        self._last_ns = self._now_ns = 0
        self._failed = 0

    @property
    def settings(self) -> TrackSettings:
        """The limits that hold for the next pair."""
        return self._settings

    def limit(self, settings: TrackSettings) -> None:
        """Set other limits, without None, from the next pair on."""
        self._settings = settings

    @property
    def period_s(self) -> float:
        """From pair to pair; 0 before two are known."""
        return self._period_ns / NS_PER_S

    def add(
        self,
        stamp_ns: int | None,
        *,
        can_be_key: bool,
        step: Array | None = None,
        estimate: Array | None = None,
        success: bool | None = None,
        quality: float | None = None,
    ) -> TrackOutcome:
        """The next pair.

        Args:
            stamp_ns: when it was taken; without one, pairs count as one a second.
            can_be_key: whether later pairs can be compared with it.
            step: key_T_left (4, 4), none where it is not known.
            estimate: scene_T_left (4, 4) instead.
            success: false where the step is not to be believed.
            quality: of the step, 0 to 1.
        """
        self._now_ns = self._now_ns + NS_PER_S if stamp_ns is None else stamp_ns
        if self._key is None:
            if not can_be_key:
                return TrackOutcome(None, False, None, Refusal(reason=Reason.FEW_DISPARITIES))
            self._key, self._last_ns = np.eye(4), self._now_ns
            return TrackOutcome(self._key, is_key=True, quality=1.0, is_scene=True)
        new = step if estimate is None else inverse_from_transform(self._key) @ estimate
        if new is None or success is False:
            return self._refuse(Refusal(reason=Reason.NO_RESULT), can_be_key=can_be_key)
        if (refusal := self._outlier(self._key @ new, quality)) is not None:
            return self._refuse(refusal, can_be_key=can_be_key)
        before, self._last = self._last, self._key @ new
        self._period_ns = self._period_ns or self._now_ns - self._last_ns
        self._step = _part(inverse_from_transform(before) @ self._last, 1 / self._pairs)
        self._last_ns, self._failed = self._now_ns, 0
        is_new = not self._is_near(new)
        if is_new:
            self._key = self._last
        return TrackOutcome(self._last, is_key=is_new, quality=quality)

    @property
    def next_pose(self) -> Array:
        """scene_T_left (4, 4) that is to be expected of the next pair, where none is lost."""
        since = (self._now_ns - self._last_ns) / self._period_ns if self._period_ns else float(self._failed)
        return self._expected_pose(since + 1)

    @property
    def motion(self) -> Motion | None:
        """Return the predicted velocity; None before the first key pair."""
        if self._key is None:
            return None
        speed, rates = self._period_ns / NS_PER_S, np.zeros(6)
        if speed and self._settings.prediction == "Constant":
            rates = np.concatenate([vector_from_rotation(self._step[:3, :3]), self._step[:3, 3]]) / speed
        position = inverse_from_transform(self._key) @ self._last
        return Motion(np.concatenate([vector_from_rotation(position[:3, :3]), position[:3, 3]]), rates, self._last_ns)

    def _is_near(self, new: Array) -> bool:
        own = self._settings
        return bool(np.linalg.norm(new[:3, 3]) < (own.kept_within_m or 0) and _angle(new) < own.kept_within_rad)

    def _outlier(self, pose: Array, quality: float | None) -> Refusal | None:
        """Return the reason why a pose is implausible; None if it is plausible."""
        if not np.isfinite(pose).all():
            return Refusal(reason=Reason.AMBIGUOUS, detail="the pose is not finite")
        own, pairs = self._settings, max(self._pairs, 1)
        off = inverse_from_transform(self._expected_pose(self._pairs)) @ pose
        shift_m, turn_rad = float(np.linalg.norm(off[:3, 3])) / pairs, _angle(off) / pairs
        for name, reason, limit, value in (
            ("MaximumShift", Reason.BEYOND_SHIFT, own.maximum_shift_m, shift_m),
            ("MaximumTurn", Reason.BEYOND_TURN, own.maximum_turn_rad, turn_rad),
        ):
            if limit and value > limit:
                return Refusal(reason=reason, parameter=name, value=value)
        if quality is not None and quality < own.minimum_quality:
            return Refusal(reason=Reason.LOW_QUALITY, parameter="MinimumQuality", value=quality)
        return None

    @property
    def _pairs(self) -> float:
        """Return how many periods ago the last known pair was."""
        since_ns = self._now_ns - self._last_ns
        return since_ns / self._period_ns if self._period_ns and since_ns > 0 else float(1 + self._failed)

    def _expected_pose(self, pairs: float) -> Array:
        """Predict the pose so many periods after the last known one; for some predictions only."""
        if self._settings.prediction != "Constant":
            return self._last
        return self._last @ repeat_step(self._step, min(pairs, self._settings.predicted_pairs))

    def _refuse(self, refusal: Refusal, *, can_be_key: bool) -> TrackOutcome:
        self._failed += 1
        restarts = 0 < self._settings.restart_after_pairs <= self._failed and can_be_key
        if restarts:
            self._key = self._last = self._expected_pose(self._pairs)
            self._last_ns, self._failed = self._now_ns, 0
        return TrackOutcome(None, is_key=restarts, quality=0.0, refusal=refusal)


class StepUncertainty(NamedTuple):
    """The uncertainty of a motion from the key pair.

    Args:
        covariance: of the motion (6, 6), about the axes of its end, from the residuals.
        scale: deviation of its length, as a fraction, by the calibration: it is the same error in all motions.
    """

    covariance: Array
    scale: float


class DriftingCovariance:
    """The uncertainty of the poses of a trajectory so far; where it was restarted, the gap is included."""

    def __init__(self, drift: DriftSettings) -> None:
        self._drift = drift
        self._last: Array | None = None
        self._known, self._known_ns = np.zeros((6, 6)), 0
        self._is_gap = False
        self._key, self._of_key = np.eye(4), np.zeros((6, 6))
        self._stretched, self._stretched_key = np.zeros(3), np.zeros(3)  # by an error of scale, m in the scene

    def add(
        self, pose: Array | None, stamp_ns: int, *, restarted: bool, step: StepUncertainty | None = None
    ) -> Array | None:
        """The covariance (6, 6) of the next pose (4, 4), about the axes of its parent; none without a pose.

        Args:
            pose: scene_T_left.
            stamp_ns: of the pair.
            restarted: whether the pair is a new key pair.
            step: the uncertainty of the motion from the key pair; else it drifts by the settings.
        """
        if pose is None:
            self._is_gap |= restarted
            return None
        if self._last is not None:
            self._move(self._last, pose, step)
            if self._is_gap:
                gap = self._drift.covariance_of_gap((stamp_ns - self._known_ns) / NS_PER_S)
                self._known, self._of_key = self._known + gap, self._of_key + gap
        self._last, self._known_ns, self._is_gap = pose, stamp_ns, False
        if restarted:
            self._key, self._of_key, self._stretched_key = pose, self._known, self._stretched
        covariance = covariance_in_parent(pose, self._known)
        covariance[:3, :3] += np.outer(self._stretched, self._stretched)
        return covariance

    def _move(self, last: Array, pose: Array, step: StepUncertainty | None) -> None:
        """Add a step from the last pose, or from the key pair where it is known how well that is measured."""
        if step is None:
            moved = inverse_from_transform(last) @ pose
            drift = self._drift.covariance_of_length(self._drift.length_m(moved))
            self._known = transport_covariance(self._known, moved) + drift
            return
        moved = inverse_from_transform(self._key) @ pose
        known = transport_covariance(self._of_key, moved) + step.covariance
        stretched = self._stretched_key + step.scale * (pose - self._key)[:3, 3]
        if _size(known, stretched) > _size(self._known, self._stretched):  # standing longer makes it no better known
            self._known, self._stretched = known, stretched


def _size(known: Array, stretched: Array) -> float:
    return float(np.trace(known[:3, :3]) + stretched @ stretched)


def transport_covariance(covariance: Array, step: Array) -> Array:
    """The covariance (6, 6) of a pose as that of the pose a step (4, 4) further, each in its own frame."""
    turn, shift = step[:3, :3], step[:3, 3]
    change = np.zeros((6, 6))
    change[:3, :3] = change[3:, 3:] = turn.T
    change[:3, 3:] = turn.T @ np.cross(shift, np.eye(3))  # of a rotation before the step
    result: Array = change @ covariance @ change.T
    return result


def covariance_in_parent(pose: Array, covariance: Array) -> Array:
    """The covariance (6, 6) of a pose (4, 4) about the axes of its parent, from that about its own axes."""
    turn = np.kron(np.eye(2), pose[:3, :3])
    result: Array = turn @ covariance @ turn.T
    return result


def expected_pose(motion: Motion, stamp_ns: int, maximum_s: float) -> Array:
    """key_T_left (4, 4) at a time, predicted at constant velocity, for so many seconds at most."""
    seconds = max(0.0, min((stamp_ns - motion.stamp_ns) / NS_PER_S, maximum_s))
    position, step = (transform_from_vectors(each[:3], each[3:]) for each in (motion.position, motion.rates * PART_S))
    return np.asarray(position @ repeat_step(step, seconds / PART_S))


def repeat_step(step: Array, times: float) -> Array:
    """Repeat a step (4, 4) a number of times, which may be fractional."""
    whole = max(1, ceil(times))
    power: Array = np.linalg.matrix_power(_part(step, times / whole), whole)
    return power


def _part(step: Array, fraction: float) -> Array:
    """A fraction of a step's shift and rotation."""
    if fraction == 1:
        return step
    return transform_from_vectors(vector_from_rotation(step[:3, :3]) * fraction, step[:3, 3] * fraction)


def _angle(pose: Array) -> float:
    """The angle of rotation of a pose, rad."""
    return 2 * float(np.arccos(min(1.0, abs(float(quaternion_from_rotation(pose[:3, :3])[3])))))
