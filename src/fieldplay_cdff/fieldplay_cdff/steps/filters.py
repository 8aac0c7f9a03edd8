"""Steps that track a body over time: prediction, correction by measurements, selection among several poses."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fieldplay.geometry.transforms import (
    inverse_from_transform,
    rotation_from_vector,
    transform_from_vectors,
    transform_points,
    vector_from_rotation,
)
from fieldplay.kinematics.robots import UNKNOWN_VARIANCE
from fieldplay_cdff.descriptors.description_reader import GENERAL
from fieldplay_cdff.steps.neighbours import finite
from fieldplay_cdff.steps.registration import Icp3D
from fieldplay_cdff.steps.step import Ports, Step, implements
from fieldplay_cdff.steps.values import (
    NO_TIME,
    Array,
    Cloud,
    PoseEstimate,
    State,
)

GROUP, TRACKING = "KalmanParameters", "LidarTrackParameters"
MEASURED = 6  # of the twelve numbers of a state: orientation and position
NEAREST_POINTS = 10  # of a model, that are enough to follow it
NS = 1e-9


def predict(values: Array, covariance: Array, step_s: float, *, turns: float, shifts: float) -> tuple[Array, Array]:
    """Predict a state (12,) and its covariance, with random accelerations (rad/s^2, m/s^2)."""
    change = np.eye(2 * MEASURED) + np.diag(np.full(MEASURED, step_s), MEASURED)
    deviations = np.repeat([turns, shifts], 3)
    noise = np.vstack([np.diag(step_s**2 / 2 * deviations), np.diag(step_s * deviations)])
    return change @ values, change @ covariance @ change.T + noise @ noise.T


def correct(
    values: Array, covariance: Array, measured: Array, *, turns: float, shifts: float, gate: float = 0.0
) -> tuple[Array, Array]:
    """Correct a state and its covariance by a measured rotation and position (6,) with these deviations (rad, m).

    A measurement whose squared Mahalanobis distance from the prediction is above the gate changes nothing.
    """
    missing = measured - values[:MEASURED]
    spread = covariance[:MEASURED, :MEASURED] + np.diag(np.repeat([turns**2, shifts**2], 3))
    if gate and missing @ np.linalg.solve(spread, missing) > gate:
        return values, covariance
    gain = np.linalg.solve(spread, covariance[:MEASURED]).T
    left = covariance - gain @ spread @ gain.T
    return values + gain @ missing, (left + left.T) / 2


def nearest_turn(turn: Array, expected: Array) -> Array:
    """Of the rotation vectors of the same rotation the one nearest to another."""
    angle = float(np.linalg.norm(turn))
    if not angle:
        return turn
    around = [turn * (1 + 2 * np.pi * times / angle) for times in (-1, 0, 1)]
    return min(around, key=lambda each: float(np.linalg.norm(each - expected)))


def _step_s(before_ns: int, now_ns: int) -> float:
    if NO_TIME in (before_ns, now_ns) or now_ns < before_ns:
        raise ValueError(f"expected a time not before that of the state, {before_ns} ns, got {now_ns} ns")
    return (now_ns - before_ns) * NS


@implements("KFPrediction")
class KalmanPredictor(Step):
    """Predicts the state of a body at a time. Without a state it may be anywhere."""

    optional = ("previousState",)

    def process(self, *, currentTime: int, previousState: State | None = None) -> Ports:
        options = self.settings[GROUP]
        if previousState is None:
            covariance = np.eye(2 * MEASURED) * options["InitialStateCovariance"]
            state = State(values=np.zeros(2 * MEASURED), covariance=covariance, stamp_ns=currentTime)
            return {"predictedState": state, "predictedStateCovariance": state}
        _check(previousState, "previousState")
        start = _without_turn(previousState.values) if options["Increments"] else previousState.values
        values, covariance = predict(
            start, previousState.covariance, _step_s(previousState.stamp_ns, currentTime),
            turns=options["StandardDeviationtdOrientation"], shifts=options["StandardDeviationtdTranslation"],
        )  # fmt: skip
        if options["Increments"]:
            values = _rotate_state(values, previousState.values)
        state = State(values=values, covariance=covariance, stamp_ns=currentTime)
        return {"predictedState": state, "predictedStateCovariance": state}


@implements("KFCorrection")
class KalmanCorrector(Step):
    """The state of a body from its prediction and a measurement."""

    optional = ("predictedStateCovariance",)

    def process(
        self, *, predictedState: State, measurement: State, predictedStateCovariance: State | None = None
    ) -> Ports:
        options = self.settings[GROUP]
        _check(predictedState, "predictedState")
        if not np.isfinite(measurement.values[:MEASURED]).all():
            raise ValueError("measurement: expected a rotation and a position, got NaN")
        expected, turn = predictedState.values, measurement.values[:3]
        if options["Increments"]:
            expected = _without_turn(expected)
            difference = rotation_from_vector(turn) @ rotation_from_vector(predictedState.values[:3]).T
            turn = vector_from_rotation(difference)
        turn = nearest_turn(turn, expected[:3])
        covariance = (predictedStateCovariance or predictedState).covariance
        values, covariance = correct(
            expected, covariance, np.concatenate([turn, measurement.values[3:MEASURED]]),
            turns=options["MeasurementNoiseStandardDeviationOrientation"],
            shifts=options["MeasurementNoiseStandardDeviationTranslation"], gate=options["MahalanobisGate"],
        )  # fmt: skip
        if options["Increments"]:
            values = _rotate_state(values, predictedState.values)
        state = State(values=values, covariance=covariance, stamp_ns=predictedState.stamp_ns)
        return {"correctedState": state, "stateCovariance": state}


def _without_turn(values: Array) -> Array:
    return np.concatenate([np.zeros(3), values[3:]])


def _rotate_state(values: Array, before: Array) -> Array:
    """Return a state (12,) whose rotation is relative to that of another."""
    turn = rotation_from_vector(values[:3]) @ rotation_from_vector(before[:3])
    return np.concatenate([vector_from_rotation(turn), values[3:]])


@implements("StateTransformation")
class StateTransformation(Step):
    """Transforms the state of a body from a frame into that frame's base, or back; the frame counts as static.

    Rotations of the state are those in its frame, as increments are.
    """

    def process(self, *, state: State, frame: State) -> Ports:
        _check(state, "state")
        if not np.isfinite(frame.values[:MEASURED]).all():
            raise ValueError("frame: expected a rotation and a position, got NaN")
        turn, shift = rotation_from_vector(frame.values[:3]), frame.values[3:MEASURED]
        if self.general["Invert"]:
            turn, shift = turn.T, -turn.T @ shift
        rotation, position, *rates = state.values.reshape(4, 3)
        rotation = vector_from_rotation(turn @ rotation_from_vector(rotation))
        whole = np.kron(np.eye(4), turn)
        values = np.concatenate([rotation, turn @ position + shift, *(turn @ rate for rate in rates)])
        covariance = whole @ state.covariance @ whole.T
        same = np.isclose(covariance, state.covariance, rtol=1e-9, atol=0.0)  # unknown values stay exactly as they are
        return {"state": replace(state, values=values, covariance=np.where(same, state.covariance, covariance))}


@implements("StateChoice")
class NewerState(Step):
    """The newer of two states. The second one initialises: where it has no covariance, the settings have."""

    optional = ("first", "second")

    def process(self, *, first: State | None = None, second: State | None = None) -> Ports:
        if second is None or (first is not None and first.stamp_ns >= second.stamp_ns):
            return {} if first is None else {"state": first}
        options = self.general
        names = ("BeginTurn", "BeginShift", "BeginTurnRate", "BeginSpeed")
        usual = np.repeat([options[name] ** 2 for name in names], 3)
        deviations = np.diag(second.covariance)
        known = np.where((deviations > 0) & (deviations < UNKNOWN_VARIANCE), deviations, usual)
        return {"state": replace(second, covariance=np.diag(known))}


def _check(state: State, port: str) -> None:
    if not (np.isfinite(state.values).all() and np.isfinite(state.covariance).all()):
        raise ValueError(f"{port}: expected numbers, got NaN")


@implements("PoseWeighting")
class KalmanFilter(Step):
    """One pose of several: their mean by their covariances where these are known, else the one nearest to the last."""

    keeps_state = True

    def configure(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._last: Array | None = None
        self._missed = 0

    def process(self, *, poses: Array | Sequence[PoseEstimate]) -> Ports:
        if len(poses) and isinstance(poses[0], PoseEstimate):
            return {"pose": weighted_mean([each for each in poses if isinstance(each, PoseEstimate)])}
        known_poses = np.asarray(poses, float).reshape(-1, 4, 4)
        known = known_poses[np.isfinite(known_poses).all(axis=(1, 2))]
        if not len(known):
            raise ValueError(f"poses: expected one or more, got {len(known)} of {len(known_poses)} that are known")
        positions = known[:, :2, 3]
        last = np.median(positions, axis=0) if self._last is None else self._last[:2, 3]
        distances = np.linalg.norm(positions - last, axis=1)
        nearest = int(np.argmin(distances))
        if self._last is not None and distances[nearest] > self.general["MaxDistance"]:
            self._missed += 1
            if self._missed < self.general["NumFrames"]:
                return {}
        self._last, self._missed = known[nearest], 0
        return {"pose": known[nearest]}


def weighted_mean(estimates: Sequence[PoseEstimate]) -> Array:
    """Mean of poses (4, 4), weighted by their inverse covariances."""
    first = estimates[0].pose
    weights = np.stack([np.linalg.inv(each.covariance) for each in estimates])
    steps = np.stack([
        np.concatenate([each.pose[:3, 3] - first[:3, 3], vector_from_rotation(first[:3, :3].T @ each.pose[:3, :3])])
        for each in estimates
    ])  # fmt: skip
    mean = np.linalg.solve(weights.sum(axis=0), np.einsum("nij,nj->i", weights, steps))
    pose: Array = first.copy()
    pose[:3, :3] = first[:3, :3] @ rotation_from_vector(mean[3:])
    pose[:3, 3] += mean[:3]
    return pose


@implements("LidarBasedTracking")
class LidarBasedTracking(Step):
    """The pose of a model in successive clouds: nearest points from its predicted pose, then a filter.

    A model and its initial pose arrive once; the state is of sensor_T_model.
    """

    keeps_state = True
    optional = ("modelCloud", "initialState")

    def configure(self) -> None:
        options = self.settings[TRACKING]
        names = ("MaxCorrespondenceDistance", "MaximumIterations", "TransformationEpsilon", "EuclideanFitnessEpsilon")
        values = {
            GENERAL: {name: options[name] for name in names},
            "Acceptance": {"MinimumInlierShare": options["MinimumInlierShare"]},
        }
        self._icp = Icp3D(values, threads=self.threads, seed=self.seed)
        self.reset()

    def reset(self) -> None:
        self._model: Cloud | None = None
        self._pose = np.eye(4)
        self._speeds = np.zeros(MEASURED)  # turning and moving, in the model's frame
        self._covariance = np.eye(2 * MEASURED) * self.settings[TRACKING]["InitialStateCovariance"]
        self._stamp_ns = NO_TIME

    def process(
        self, *, sourceCloud: Cloud, modelCloud: Cloud | None = None, initialState: State | None = None
    ) -> Ports:
        if initialState is not None:
            self._start(initialState)
        if modelCloud is not None:
            self._model = finite(modelCloud, "modelCloud", minimum=NEAREST_POINTS)
        if self._model is None:
            raise ValueError("modelCloud: expected the cloud of a model before the first cloud, got none")
        options = self.settings[TRACKING]
        step_s = _step_s(self._stamp_ns, sourceCloud.stamp_ns) if self._stamp_ns != NO_TIME else 0.0
        values, covariance = predict(
            np.concatenate([np.zeros(MEASURED), self._speeds]), self._covariance, step_s,
            turns=options["StandardDeviationtdOrientationProcess"],
            shifts=options["StandardDeviationtdTranslationProcess"],
        )  # fmt: skip
        expected = self._pose @ transform_from_vectors(values[:3], values[3:MEASURED])
        measured = self._measure(finite(sourceCloud, "sourceCloud", minimum=0), self._model, expected)
        if measured is not None:
            difference = inverse_from_transform(self._pose) @ measured
            values, covariance = correct(
                values, covariance, np.concatenate([vector_from_rotation(difference[:3, :3]), difference[:3, 3]]),
                turns=options["StandardDeviationtdOrientationMeasurement"],
                shifts=options["StandardDeviationtdTranslationMeasurement"],
            )  # fmt: skip
        self._pose = self._pose @ transform_from_vectors(values[:3], values[3:MEASURED])
        self._speeds, self._covariance, self._stamp_ns = values[MEASURED:], covariance, sourceCloud.stamp_ns
        return {"state": self._state()}

    def _start(self, state: State) -> None:
        _check(state, "initialState")
        self._pose = transform_from_vectors(state.values[:3], state.values[3:MEASURED])
        self._speeds = (state.values[MEASURED:].reshape(2, 3) @ self._pose[:3, :3]).ravel()
        self._stamp_ns = state.stamp_ns

    def _measure(self, cloud: Cloud, model: Cloud, expected: Array) -> Array | None:
        """Return sensor_T_model by the points near the expected model; None where it is not there."""
        there = transform_points(expected, model.points)
        margin = self.settings[TRACKING]["MaxCorrespondenceDistance"]
        low, high = there.min(axis=0) - margin, there.max(axis=0) + margin
        near = cloud.subset(((cloud.points >= low) & (cloud.points <= high)).all(axis=1))
        if len(near) < NEAREST_POINTS:
            return None
        registration = self._icp.register(near, model, inverse_from_transform(expected))
        return inverse_from_transform(registration["transform"]) if registration["success"] else None

    def _state(self) -> State:
        turn = self._pose[:3, :3]
        speeds = self._speeds.reshape(2, 3) @ turn.T
        values = np.concatenate([vector_from_rotation(turn), self._pose[:3, 3], *speeds])
        return State(values=values, covariance=self._covariance, stamp_ns=self._stamp_ns)


@implements("PoseOfState")
class PoseOfState(Step):
    """Outputs the pose of a body's state."""

    def process(self, *, state: State) -> Ports:
        return {"pose": transform_from_vectors(state.values[:3], state.values[3:MEASURED])}
