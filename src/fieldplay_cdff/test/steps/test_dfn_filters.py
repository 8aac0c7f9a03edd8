"""Bodies followed over time: against numbers worked out by hand, and along a known way."""

from typing import Any

import numpy as np
import pytest

from fieldplay.geometry.transforms import inverse_from_transform, rotation_from_vector, vector_from_rotation
from fieldplay_cdff.steps.filters import (
    KalmanCorrector,
    KalmanPredictor,
    NewerState,
    predict,
)
from fieldplay_cdff.steps.rigid import transform_of_step, transform_points
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


def expected_state(now_ns: int = 1_250_000_000, state: State | None = START) -> State:
    step = step_of("KFPrediction", "KalmanPredictor")(
        {"KalmanParameters": {"StandardDeviationtdOrientation": 0.2, "StandardDeviationtdTranslation": 0.5}}
    )
    found = step.process(previousState=state, currentTime=now_ns)
    assert found["predictedState"] is found["predictedStateCovariance"]
    prediction: State = found["predictedState"]
    return prediction


def corrector(**more: float) -> Step:
    names = ("MeasurementNoiseStandardDeviationOrientation", "MeasurementNoiseStandardDeviationTranslation")
    return step_of("KFCorrection", "KalmanCorrector")({"KalmanParameters": {names[0]: 0.05, names[1]: 0.1, **more}})


def measurement(*numbers: float) -> State:
    return State(values=np.array([*numbers, *[np.nan] * 6]), covariance=np.full((12, 12), np.nan))


def test_a_state_is_predicted_with_what_its_speeds_tell() -> None:
    state = expected_state()
    np.testing.assert_allclose(state.values[:6], [0.035, 0.03, 0.005, 1.1, 1.95, 3.0125], atol=1e-12)
    np.testing.assert_array_equal(state.values[6:], VALUES[6:])
    spread = np.repeat([0.011289062, 0.045869141, 0.0225, 0.105625], 3)
    np.testing.assert_allclose(np.diag(state.covariance), spread, atol=1e-9)
    np.testing.assert_array_equal(state.covariance, state.covariance.T)  # the original's is A P A: 0.0078 and 0.0003
    assert state.covariance[[0, 3], [6, 9]] == pytest.approx([0.0053125, 0.024453125], abs=1e-12)
    assert state.stamp_ns == 1_250_000_000


def test_times_are_nanoseconds_and_two_steps_are_as_one() -> None:
    """The original's float of microseconds since 1970 goes in steps of 134 s."""
    late = State(values=VALUES, covariance=SPREAD, stamp_ns=1_540_000_000 * SECOND)
    found = expected_state(1_540_000_000 * SECOND + 250_000_000, late)
    np.testing.assert_array_equal(found.values, expected_state().values)
    half, _ = predict(*predict(VALUES, SPREAD, 0.125, turns=0.0, shifts=0.0), 0.125, turns=0.0, shifts=0.0)
    np.testing.assert_allclose(half, expected_state().values, atol=1e-12)


def test_a_state_is_corrected_and_its_speeds_too() -> None:
    state = expected_state()
    found = corrector().process(
        predictedState=state, measurement=measurement(0.03, 0.04, 0.01, 1.2, 1.9, 3.05), predictedStateCovariance=state
    )["correctedState"]
    values = [
        0.030906516, 0.038186969, 0.009093484, 1.182101031, 1.908949484, 3.043287887, 0.098073654, 0.203852691,
        -0.098073654, 0.443768572, -0.221884286, 0.066413214,
    ]  # fmt: skip
    np.testing.assert_allclose(found.values, values, atol=1e-9)
    spread = np.repeat([0.002046742, 0.008210103, 0.020453258, 0.094922216], 3)
    np.testing.assert_allclose(np.diag(found.covariance), spread, atol=1e-9)
    np.testing.assert_array_equal(found.covariance, found.covariance.T)


def test_what_is_too_far_off_is_not_believed() -> None:
    """The squared distance is 0.259785721 of the gate's 22.46 there."""
    state, near = expected_state(), measurement(0.03, 0.04, 0.01, 1.2, 1.9, 3.05)
    for gate, is_believed in ((0.2597, False), (0.2598, True), (0.0, True)):
        found = corrector(MahalanobisGate=gate).process(predictedState=state, measurement=near)["correctedState"]
        assert (found.values != state.values).any() == is_believed
    far = corrector().process(predictedState=state, measurement=measurement(0, 0, 0, 9, 9, 9))["correctedState"]
    np.testing.assert_array_equal(far.values, state.values)


def test_a_turn_is_taken_the_short_way() -> None:
    values = np.zeros(12)
    values[2] = 3.1
    state = State(values=values, covariance=SPREAD, stamp_ns=0)
    found = corrector().process(predictedState=state, measurement=measurement(0, 0, 3.12 - 2 * np.pi, 0, 0, 0))
    assert 3.1 < found["correctedState"].values[2] < 3.12


def test_a_state_from_nothing_and_bad_states() -> None:
    step = step_of("KFPrediction", "KalmanPredictor")()
    found = step.process(currentTime=5)["predictedState"]
    assert (found.stamp_ns, found.values.any(), np.diag(found.covariance).tolist()) == (5, False, [10000.0] * 12)
    with pytest.raises(ValueError, match="expected a time not before that of the state, 1000000000 ns, got 5 ns"):
        step.process(previousState=START, currentTime=5)
    broken = State(values=np.full(12, np.nan), covariance=SPREAD, stamp_ns=0)
    with pytest.raises(ValueError, match="previousState: expected numbers, got NaN"):
        step.process(previousState=broken, currentTime=5)
    with pytest.raises(ValueError, match="measurement: expected a turn and a place, got NaN"):
        corrector().process(predictedState=START, measurement=broken)


def pose_at(x: float, y: float, turn: float = 0.0) -> Array:
    return transform_of_step(np.array([0, 0, turn]), np.array([x, y, 0.0]))


def test_the_pose_next_to_the_last_one_is_chosen_by_its_real_distance() -> None:
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


def test_poses_of_known_covariance_weigh_as_much_as_they_are_sure() -> None:
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


def test_a_model_is_followed_through_clouds_with_its_speeds() -> None:
    names = ("OrientationProcess", "TranslationProcess", "OrientationMeasurement", "TranslationMeasurement")
    values = (0.5, 0.5, 0.01, 0.005)
    given = {f"StandardDeviationtd{name}": value for name, value in zip(names, values, strict=True)}
    step = step_of("LidarBasedTracking", "LidarBasedTracking")(
        {"LidarTrackParameters": {**given, "MaxCorrespondenceDistance": 0.1, "InitialStateCovariance": 0.01}}
    )
    random = np.random.default_rng(1)
    turn, shift = np.array([0.0, 0.02, 0.05]), np.array([0.03, -0.01, 0.02])
    start = transform_of_step(np.array([0.1, 0, 0.2]), np.array([0, 0, 3.0]))
    begin = State(values=np.array([0.1, 0, 0.2, 0, 0, 3, *[0] * 6]), covariance=SPREAD, stamp_ns=0)
    with pytest.raises(ValueError, match="modelCloud: expected the cloud of a model"):
        step.process(sourceCloud=model())
    more: dict[str, Any] = {"modelCloud": model(), "initialState": begin}
    pose, rest = start, random.uniform([-2, -2, 4], [2, 2, 5], (500, 3))
    for second in range(12):
        cloud = np.concatenate([transform_points(pose, model().points) + random.normal(0, 0.003, (1800, 3)), rest])
        state = step.process(sourceCloud=Cloud(points=cloud, stamp_ns=second * SECOND), **more)["state"]
        more = {}
        if second < 11:
            pose = pose @ transform_of_step(turn, shift)
    found = transform_of_step(state.values[:3], state.values[3:6])
    apart = inverse_from_transform(pose) @ found
    assert np.linalg.norm(apart[:3, 3]) < 0.01 and np.linalg.norm(vector_from_rotation(apart[:3, :3])) < 0.01
    np.testing.assert_allclose(state.values[9:], pose[:3, :3] @ shift, atol=0.01)
    np.testing.assert_allclose(state.values[6:9], pose[:3, :3] @ turn, atol=0.01)
    seen = step.process(sourceCloud=Cloud(points=rest, stamp_ns=12 * SECOND))["state"]
    expected = pose @ transform_of_step(turn, shift)
    np.testing.assert_allclose(seen.values[3:6], expected[:3, 3], atol=0.02)
    assert np.trace(seen.covariance) > np.trace(state.covariance), "not seen, it is less sure"


def test_turns_that_add_up_as_rotations_follow_a_body_around() -> None:
    """Vectors of turns do not: their sum is another rotation as soon as the body has turned far."""
    rate, step_s = np.array([0.3, -0.2, 0.25]), 0.5
    start = rotation_from_vector([0.9, 1.1, -0.7])
    given = {"KalmanParameters": {"Increments": True}}
    predictor, correct = KalmanPredictor(given), KalmanCorrector(given)
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


def test_the_newer_state_counts_and_a_begin_says_how_sure_it_is() -> None:
    old, new = (State(values=np.zeros(12), covariance=np.eye(12), stamp_ns=stamp_ns) for stamp_ns in (1, 2))
    choice = NewerState()
    assert choice.process(first=new, second=old)["state"] is new
    assert choice.process() == {}
    told = choice.process(first=old, second=State(values=np.ones(12), covariance=np.zeros((12, 12)), stamp_ns=3))
    deviations = np.sqrt(np.diag(told["state"].covariance))
    np.testing.assert_allclose(deviations, np.repeat([0.02, 0.02, 0.1, 0.1], 3))
