"""Bodies followed over time: against numbers worked out by hand, and along a known way."""

from typing import Any

import numpy as np
import pytest

from fieldplay.geometry.transforms import (
    inverse_from_transform,
    rotation_from_vector,
    transform_from_vectors,
    transform_points,
    vector_from_rotation,
)
from fieldplay_cdff.steps.filters import (
    KalmanCorrector,
    KalmanPredictor,
    NewerState,
    predict,
)
from fieldplay_cdff.steps.step import Step, step_of
from fieldplay_cdff.steps.values import (
    Array,
    Cloud,
    PoseEstimate,
    State,
)

VALUES = np.array([0.01, -0.02, 0.03, 1, 2, 3, 0.1, 0.2, -0.1, 0.4, -0.2, 0.05])
SPREAD = np.diag(np.repeat([0.01, 0.04, 0.02, 0.09], 3))
START = State(values=VALUES, covariance=SPREAD, stamp_ns=1_000_000_000)
SECOND = 1_000_000_000


def predict_state(now_ns: int = 1_250_000_000, state: State | None = START) -> State:
    step = step_of("KFPrediction", "KalmanPredictor")(
        {"KalmanParameters": {"StandardDeviationtdOrientation": 0.2, "StandardDeviationtdTranslation": 0.5}}
    )
    outputs = step.process(previousState=state, currentTime=now_ns)
    assert outputs["predictedState"] is outputs["predictedStateCovariance"]
    prediction: State = outputs["predictedState"]
    return prediction


def corrector(**more: float) -> Step:
    names = ("MeasurementNoiseStandardDeviationOrientation", "MeasurementNoiseStandardDeviationTranslation")
    return step_of("KFCorrection", "KalmanCorrector")({"KalmanParameters": {names[0]: 0.05, names[1]: 0.1, **more}})


def measurement(*numbers: float) -> State:
    return State(values=np.array([*numbers, *[np.nan] * 6]), covariance=np.full((12, 12), np.nan))


def test_state_is_predicted_from_its_velocities() -> None:
    state = predict_state()
    np.testing.assert_allclose(state.values[:6], [0.035, 0.03, 0.005, 1.1, 1.95, 3.0125], atol=1e-12)
    np.testing.assert_array_equal(state.values[6:], VALUES[6:])
    spread = np.repeat([0.011289062, 0.045869141, 0.0225, 0.105625], 3)
    np.testing.assert_allclose(np.diag(state.covariance), spread, atol=1e-9)
    np.testing.assert_array_equal(state.covariance, state.covariance.T)  # the original's is A P A: 0.0078 and 0.0003
    assert state.covariance[[0, 3], [6, 9]] == pytest.approx([0.0053125, 0.024453125], abs=1e-12)
    assert state.stamp_ns == 1_250_000_000


def test_two_prediction_steps_equal_one() -> None:
    """The original's float of microseconds since 1970 goes in steps of 134 s."""
    late = State(values=VALUES, covariance=SPREAD, stamp_ns=1_540_000_000 * SECOND)
    state = predict_state(1_540_000_000 * SECOND + 250_000_000, late)
    np.testing.assert_array_equal(state.values, predict_state().values)
    half, _ = predict(*predict(VALUES, SPREAD, 0.125, turns=0.0, shifts=0.0), 0.125, turns=0.0, shifts=0.0)
    np.testing.assert_allclose(half, predict_state().values, atol=1e-12)


def test_correction_updates_pose_and_velocities() -> None:
    state = predict_state()
    outputs = corrector().process(
        predictedState=state, measurement=measurement(0.03, 0.04, 0.01, 1.2, 1.9, 3.05), predictedStateCovariance=state
    )["correctedState"]
    values = [
        0.030906516, 0.038186969, 0.009093484, 1.182101031, 1.908949484, 3.043287887, 0.098073654, 0.203852691,
        -0.098073654, 0.443768572, -0.221884286, 0.066413214,
    ]  # fmt: skip
    np.testing.assert_allclose(outputs.values, values, atol=1e-9)
    spread = np.repeat([0.002046742, 0.008210103, 0.020453258, 0.094922216], 3)
    np.testing.assert_allclose(np.diag(outputs.covariance), spread, atol=1e-9)
    np.testing.assert_array_equal(outputs.covariance, outputs.covariance.T)


def test_measurement_beyond_gate_is_rejected() -> None:
    """The squared distance is 0.259785721 of the gate's 22.46 there."""
    state, near = predict_state(), measurement(0.03, 0.04, 0.01, 1.2, 1.9, 3.05)
    for gate, is_believed in ((0.2597, False), (0.2598, True), (0.0, True)):
        corrected = corrector(MahalanobisGate=gate).process(predictedState=state, measurement=near)["correctedState"]
        assert (corrected.values != state.values).any() == is_believed
    far = corrector().process(predictedState=state, measurement=measurement(0, 0, 0, 9, 9, 9))["correctedState"]
    np.testing.assert_array_equal(far.values, state.values)


def test_rotation_is_corrected_along_shorter_arc() -> None:
    values = np.zeros(12)
    values[2] = 3.1
    state = State(values=values, covariance=SPREAD, stamp_ns=0)
    outputs = corrector().process(predictedState=state, measurement=measurement(0, 0, 3.12 - 2 * np.pi, 0, 0, 0))
    assert 3.1 < outputs["correctedState"].values[2] < 3.12


def test_initial_state_is_created_and_invalid_states_are_rejected() -> None:
    step = step_of("KFPrediction", "KalmanPredictor")()
    state = step.process(currentTime=5)["predictedState"]
    assert (state.stamp_ns, state.values.any(), np.diag(state.covariance).tolist()) == (5, False, [10000.0] * 12)
    with pytest.raises(ValueError, match="expected a time not before that of the state, 1000000000 ns, got 5 ns"):
        step.process(previousState=START, currentTime=5)
    broken = State(values=np.full(12, np.nan), covariance=SPREAD, stamp_ns=0)
    with pytest.raises(ValueError, match="previousState: expected numbers, got NaN"):
        step.process(previousState=broken, currentTime=5)
    with pytest.raises(ValueError, match="measurement: expected a rotation and a position, got NaN"):
        corrector().process(predictedState=START, measurement=broken)


def pose_at(x: float, y: float, turn: float = 0.0) -> Array:
    return transform_from_vectors(np.array([0, 0, turn]), np.array([x, y, 0.0]))


def test_pose_nearest_to_last_one_is_chosen() -> None:
    """The original compares whole numbers, to which 1.9 and 1.1 are the same."""
    step = step_of("PoseWeighting", "KalmanFilter")({"GeneralParameters": {"MaxDistance": 2.0, "NumFrames": 3}})
    chosen: list[Any] = []
    far, lost = pose_at(50, 50), np.full((4, 4), np.nan)
    for poses in ([pose_at(1, 1)], [pose_at(1.9, 1), pose_at(1.1, 1), far], [far], [far], [lost, far]):
        chosen.append(step.process(poses=np.stack(poses)).get("pose"))
    assert [None if pose is None else pose[0, 3] for pose in chosen] == [1, 1.1, None, None, 50]
    step.reset()
    assert step.process(poses=np.stack([far, pose_at(2, 2), pose_at(2.1, 2)]))["pose"][0, 3] == 2.1
    for none in (np.zeros((0, 4, 4)), lost[None]):
        with pytest.raises(ValueError, match="poses: expected one or more, got 0 of"):
            step.process(poses=none)


def test_poses_are_weighted_by_inverse_covariance() -> None:
    sure, unsure = np.diag([0.01] * 6), np.diag([0.03] * 6)
    estimates = [
        PoseEstimate(pose=pose_at(0, 0, 0.1), covariance=sure),
        PoseEstimate(pose=pose_at(4, 8, 0.5), covariance=unsure),
    ]
    mean = step_of("PoseWeighting", "KalmanFilter")().process(poses=estimates)["pose"]
    np.testing.assert_allclose(mean, pose_at(1, 2, 0.2), atol=1e-12)


def model() -> Cloud:
    """A bent plate with a fin."""
    random = np.random.default_rng(0)
    x, y = random.uniform(-0.5, 0.5, (2, 1500))
    plate = np.stack([x, y, 0.2 * np.sin(3 * x) + 0.1 * y**2], axis=1)
    fin = np.stack([np.full(300, 0.1), random.uniform(-0.5, 0.5, 300), random.uniform(0, 0.3, 300)], axis=1)
    return Cloud(points=np.concatenate([plate, fin]))


def test_model_is_tracked_through_clouds_with_velocities() -> None:
    names = ("OrientationProcess", "TranslationProcess", "OrientationMeasurement", "TranslationMeasurement")
    values = (0.5, 0.5, 0.01, 0.005)
    parameters = {f"StandardDeviationtd{name}": value for name, value in zip(names, values, strict=True)}
    step = step_of("LidarBasedTracking", "LidarBasedTracking")(
        {"LidarTrackParameters": {**parameters, "MaxCorrespondenceDistance": 0.1, "InitialStateCovariance": 0.01}}
    )
    random = np.random.default_rng(1)
    turn, shift = np.array([0.0, 0.02, 0.05]), np.array([0.03, -0.01, 0.02])
    start = transform_from_vectors(np.array([0.1, 0, 0.2]), np.array([0, 0, 3.0]))
    initial = State(values=np.array([0.1, 0, 0.2, 0, 0, 3, *[0] * 6]), covariance=SPREAD, stamp_ns=0)
    with pytest.raises(ValueError, match="modelCloud: expected the cloud of a model"):
        step.process(sourceCloud=model())
    more: dict[str, Any] = {"modelCloud": model(), "initialState": initial}
    pose, rest = start, random.uniform([-2, -2, 4], [2, 2, 5], (500, 3))
    for second in range(12):
        cloud = np.concatenate([transform_points(pose, model().points) + random.normal(0, 0.003, (1800, 3)), rest])
        state = step.process(sourceCloud=Cloud(points=cloud, stamp_ns=second * SECOND), **more)["state"]
        more = {}
        if second < 11:
            pose = pose @ transform_from_vectors(turn, shift)
    estimate = transform_from_vectors(state.values[:3], state.values[3:6])
    difference = inverse_from_transform(pose) @ estimate
    assert np.linalg.norm(difference[:3, 3]) < 0.01 and np.linalg.norm(vector_from_rotation(difference[:3, :3])) < 0.01
    np.testing.assert_allclose(state.values[9:], pose[:3, :3] @ shift, atol=0.01)
    np.testing.assert_allclose(state.values[6:9], pose[:3, :3] @ turn, atol=0.01)
    seen = step.process(sourceCloud=Cloud(points=rest, stamp_ns=12 * SECOND))["state"]
    expected = pose @ transform_from_vectors(turn, shift)
    np.testing.assert_allclose(seen.values[3:6], expected[:3, 3], atol=0.02)
    assert np.trace(seen.covariance) > np.trace(state.covariance), "not seen, it is less sure"


def test_incremental_rotations_track_a_full_turn() -> None:
    """Vectors of turns do not: their sum is another rotation as soon as the body has turned far."""
    rate, step_s = np.array([0.3, -0.2, 0.25]), 0.5
    start = rotation_from_vector([0.9, 1.1, -0.7])
    parameters = {"KalmanParameters": {"Increments": True}}
    predictor, correct = KalmanPredictor(parameters), KalmanCorrector(parameters)
    values = np.concatenate([vector_from_rotation(start), np.zeros(3), rate, np.zeros(3)])
    state = State(values=values, covariance=np.eye(12) * 1e-4, stamp_ns=0)
    for number in range(1, 60):
        stamp_ns = round(number * step_s * 1e9)
        expected = predictor.process(currentTime=stamp_ns, previousState=state)["predictedState"]
        true = rotation_from_vector(rate * number * step_s) @ start
        np.testing.assert_allclose(rotation_from_vector(expected.values[:3]), true, atol=1e-9)
        measured = State(
            values=np.concatenate([vector_from_rotation(true), np.zeros(9)]), covariance=np.zeros((12, 12)),
            stamp_ns=stamp_ns,
        )  # fmt: skip
        state = correct.process(predictedState=expected, measurement=measured)["correctedState"]
        np.testing.assert_allclose(state.values[6:9], rate, atol=1e-9)


def test_newer_state_wins_and_initial_state_reports_its_uncertainty() -> None:
    old, new = (State(values=np.zeros(12), covariance=np.eye(12), stamp_ns=stamp_ns) for stamp_ns in (1, 2))
    choice = NewerState()
    assert choice.process(first=new, second=old)["state"] is new
    assert choice.process() == {}
    chosen = choice.process(first=old, second=State(values=np.ones(12), covariance=np.zeros((12, 12)), stamp_ns=3))
    deviations = np.sqrt(np.diag(chosen["state"].covariance))
    np.testing.assert_allclose(deviations, np.repeat([0.02, 0.02, 0.1, 0.1], 3))
