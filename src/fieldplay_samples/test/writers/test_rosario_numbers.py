"""The sample of Rosario against the numbers that are published or follow from what is."""

import numpy as np
import pytest

from fieldplay_samples.data import numbers_of
from fieldplay_samples.motion.rotations import floats
from fieldplay_samples.output_folder import SampleError
from fieldplay_samples.robots.ackermann import Ackermann, wheel_speeds
from fieldplay_samples.writers.rosario import settings
from fieldplay_samples.writers.rosario.authors_bag import authors_odometry, rectification
from fieldplay_samples.writers.rosario.raw_logs import (
    OdometryRows,
    imu_rows,
    odometry_rows,
    sentence,
)
from fieldplay_samples.writers.rosario.scenario import RosarioScenario, make_scenario

LEFT_CAMERA_M = {
    1: (1.974382, 0.058951, 0.979559),
    2: (1.976952, 0.059563, 0.981769),
    3: (1.979425, 0.059949, 0.983774),
    4: (1.978525, 0.060181, 0.983796),
    5: (1.983168, 0.058856, 0.983669),
    6: (1.981008, 0.059588, 0.983893),
}
LOOKS_DOWN_DEG = {1: 19.17, 2: 12.44, 3: 6.88, 4: 6.96, 5: 6.62, 6: 6.38}
LOGGED = [(30, 32, 0, 0), (30, 32, 0, 0), (80, 31, -50, 0), (90, 95, -50, 0), (30, 32, 100, 1)]  # 13, 9, 16, 17
COMPUTED = [  # x, y, heading, speed, turn
    (0.0, 0.0, 0.0, 0.925199036, -0.010873776),
    (0.092519904, 0.0, -0.001087378, 0.925199036, -0.010873776),
    (0.185039753, -0.000100604, -0.002174755, 0.925199036, 0.085622548),
    (0.277559437, -0.000301812, 0.006387499, 0.925199036, 0.085622548),
    (0.370077454, 0.000289155, 0.014949754, -0.925199036, 0.211349491),
]


@pytest.fixture(scope="module")
def scenario() -> RosarioScenario:
    return make_scenario(2, 20.0, settings())


@pytest.fixture(scope="module")
def robot() -> Ackermann:
    return Ackermann(**numbers_of("rosario")["robot"])


@pytest.mark.parametrize("sequence", sorted(LEFT_CAMERA_M))
def test_left_camera_is_where_calibration_puts_it(sequence: int) -> None:
    pose = make_scenario(1, 2.0, {**settings(), "sequence": sequence}).rig.base_T_camera["left"]
    np.testing.assert_allclose(pose[:3, 3], LEFT_CAMERA_M[sequence], atol=2e-6)
    assert np.degrees(np.arcsin(-pose[2, 2])) == pytest.approx(LOOKS_DOWN_DEG[sequence], abs=0.01)


def test_right_camera_is_at_baseline_of_left(scenario: RosarioScenario) -> None:
    cameras = scenario.rig.base_T_camera
    right_T_left = np.linalg.inv(cameras["right"]) @ cameras["left"]
    np.testing.assert_allclose(right_T_left[:3, 3], [-0.118718331, 0.0000521848390, -0.000269290935], atol=1e-9)


def test_pair_is_rectified_as_in_authors_bags(scenario: RosarioScenario) -> None:
    matrices = rectification(scenario.rig)
    assert matrices["left"]["R"][0] == pytest.approx([0.999873448, 0.000736688, 0.015891669], abs=1e-8)
    assert matrices["right"]["R"][2] == pytest.approx([-0.002268999, -0.001567742, 0.999996197], abs=1e-8)
    projection = [351.0571182029654, 0, 340.7338447570801, -41.67702640441882]
    assert matrices["right"]["P"][0] == pytest.approx(projection, abs=0.01)
    assert matrices["left"]["P"][1] == pytest.approx([0, 351.0571182029654, 201.70985984802246, 0], abs=0.01)


def test_authors_odometry_gives_published_numbers(robot: Ackermann) -> None:
    logged = floats(LOGGED)
    rows = OdometryRows(
        stamp_ns=np.arange(5) * 100_000_000,
        rpm=np.column_stack([np.zeros((5, 2)), logged[:, 1], logged[:, 0]]),
        steering=logged[:, 2],
        digit=logged[:, 3].astype(np.int64),
    )
    speed, turn, poses = authors_odometry(robot, rows)
    np.testing.assert_allclose(np.column_stack([poses, speed, turn]), COMPUTED, atol=1e-9)


def test_sentences_end_with_their_checksum() -> None:
    gga = "GPGGA,152545.20,3301.8000000,S,06052.8000000,W,4,12,0.9,50.000,M,18.000,M,0.8,0000"
    rmc = "GPRMC,152545.20,A,3301.8000000,S,06052.8000000,W,1.943845,090.0,261217,,,A"
    assert (sentence(gga), sentence(rmc)) == (f"${gga}*76", f"${rmc}*6F")


def test_hundred_units_beyond_zero_steer_19_degrees_to_right(robot: Ackermann) -> None:
    assert robot.raw_from_steering(np.radians([-19.0, 0.0])) == pytest.approx([100.0 - 5.67, -5.67])
    assert robot.rpm_from_speed(floats([2.0892])) == pytest.approx([70.0], abs=0.01)


def test_outer_wheels_are_faster_and_rear_ones_mean_speed(scenario: RosarioScenario) -> None:
    time = scenario.times("odometry")
    speeds = wheel_speeds(scenario.robot, scenario.wheels, time)
    truth, turn = scenario.wheels.speed_m_s.at(time), scenario.wheels.turn_rad_s.at(time)
    np.testing.assert_allclose(speeds[:, 2:].mean(axis=1), truth, atol=1e-12)
    np.testing.assert_allclose(speeds[:, 3] - speeds[:, 2], 1.054 * turn, atol=1e-12)
    steered = np.abs(truth) > 0.3
    by_steering = truth * np.tan(scenario.wheels.steering_rad.at(time)) / 1.6
    np.testing.assert_allclose(by_steering[steered], turn[steered], atol=1e-3)
    assert np.abs(turn).max() > 0.01


def test_speed_of_log_follows_digit(scenario: RosarioScenario) -> None:
    time = scenario.times("odometry")
    rows = odometry_rows(scenario, wheel_speeds(scenario.robot, scenario.wheels, time))
    mean = np.minimum(rows.rpm[:, 2], rows.rpm[:, 3]) * np.where(rows.digit == 0, 1, -1) * np.pi * 0.57 / 60
    assert (rows.rpm >= 0).all()
    assert set(rows.digit.tolist()) == {0, 1}
    np.testing.assert_allclose(mean, scenario.wheels.speed_m_s.at(time), atol=0.06)


def test_offsets_are_in_numbers_of_imu(scenario: RosarioScenario) -> None:
    rows, offsets = imu_rows(scenario), scenario.rig.calibration["imu"]
    force = rows.force_milli_g[:20].mean(axis=0) - offsets["acc_offset"]
    assert np.linalg.norm(force) == pytest.approx(1000 * 9.796 / 9.80665, abs=4.0)
    np.testing.assert_allclose(rows.gyro_deg_s[:20].mean(axis=0), offsets["gyro_offset"], atol=0.25)


@pytest.mark.parametrize("wrong", [{"sequence": 7}, {"bag_compression": "zip"}])
def test_impossible_settings_are_rejected_by_name(wrong: dict[str, object]) -> None:
    with pytest.raises(SampleError, match=next(iter(wrong))):
        make_scenario(1, 2.0, {**settings(), **wrong})
