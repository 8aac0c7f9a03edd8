"""The sample of ACFR's datasets against the numbers that are published or follow from what is."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fieldplay_samples.motion.rotations import Floats, floats
from fieldplay_samples.output_folder import SampleError
from fieldplay_samples.robots.argo import camera_of, load_argo, wheel_rates
from fieldplay_samples.sensors import lidar
from fieldplay_samples.sensors.scanning_radar import Radar, spectra, strongest
from fieldplay_samples.writers.acfr import settings
from fieldplay_samples.writers.acfr.acfr_images import camera_here
from fieldplay_samples.writers.acfr.acfr_sensors import (
    covariance,
    nav_values,
    payload_lines,
    radar_of,
    true_values,
)
from fieldplay_samples.writers.acfr.scenario import AcfrScenario, make_scenario

FLIP = np.array([1.0, -1.0, -1.0])
POSITIONS_M = {
    "laser_horizontal": (0.108987, -0.008302, 0.919726),
    "laser_vertical": (-0.000291, 0.082272, 1.126802),
    "laser_port": (0.190857, 0.548777, 0.763776),
    "laser_starboard": (0.198663, -0.534253, 0.849538),
    "radar": (-0.025753, 0.047174, 1.399104),
}
AXES = [  # sensor, axis of its frame forward left up, as seen in base_link
    ("laser_horizontal", 0, (0.988390, 0.028149, -0.149309)),
    ("laser_vertical", 2, (0.019647, -0.999492, 0.025078)),
    ("radar", 0, (0.974341, 0.114837, -0.193579)),
    ("radar", 2, (-0.191938, -0.025286, -0.981081)),
]
CAMERAS = {  # place, then quaternion x y z w
    "visual": (
        (0.183635946, -0.414215997, 1.219122630),
        (-0.569131368, 0.539748320, -0.435233060, 0.441965406),
    ),
    "ir": ((0.266830288, 0.353304530, 1.195903685), (-0.587281885, 0.534418893, -0.428627021, 0.431016602)),
}
BINS_M = {1: -0.06919746, 2: 0.21230509, 143: 39.90416370, 144: 40.18566624, 512: 143.77860220}


@pytest.fixture(scope="module")
def driving() -> AcfrScenario:
    return make_scenario(1, 20.0, settings())


@pytest.fixture(scope="module")
def radar(driving: AcfrScenario) -> Radar:
    return radar_of(driving)


def payload_of(scenario: AcfrScenario, kind: str) -> Floats:
    """Times since the start, and values (n, m), of the lines of a type of text."""
    rows = [line[1:].split() for line in payload_lines(scenario)]
    values = [[float(row[0]), *map(float, row[2:])] for row in rows if row[1] == kind]
    return floats(values) - [scenario.start_ns / 1e9, *[0.0] * (len(values[0]) - 1)]


@pytest.mark.parametrize("sensor", sorted(POSITIONS_M))
def test_sensors_are_where_published_rows_put_them(sensor: str) -> None:
    np.testing.assert_allclose(load_argo().base_T_sensor[sensor][:3, 3], POSITIONS_M[sensor], atol=1e-9)


@pytest.mark.parametrize(("sensor", "axis", "expected"), AXES)
def test_axes_of_sensors_point_as_published(sensor: str, axis: int, expected: tuple[float, ...]) -> None:
    direction = load_argo().base_T_sensor[sensor][:3, axis] * FLIP[axis]
    np.testing.assert_allclose(direction, expected, atol=2e-6)


@pytest.mark.parametrize("camera", sorted(CAMERAS))
def test_cameras_are_where_laser_has_them(camera: str) -> None:
    pose, (position, xyzw) = load_argo().base_T_camera[camera], CAMERAS[camera]
    np.testing.assert_allclose(pose[:3, 3], position, atol=1e-8)
    np.testing.assert_allclose(pose[:3, :3], Rotation.from_quat(xyzw).as_matrix(), atol=1e-7)


def test_clip_of_infra_red_image_moves_its_centre_alone(driving: AcfrScenario) -> None:
    whole, stored = camera_of(load_argo(), "ir"), camera_here(driving, "ir")
    assert (stored.width, stored.height) == (511, 398)
    assert stored.distortion == whole.distortion
    np.testing.assert_allclose(floats(whole.matrix) - floats(stored.matrix), [[0, 0, 64], [0, 0, 41], [0, 0, 0]])


def test_four_lines_have_181_and_three_times_180_values() -> None:
    line = np.arange(8)
    assert lidar.beam_counts(line).tolist() == [181, 180, 180, 180] * 2
    starts = np.degrees(lidar.start_angles_rad(line))
    np.testing.assert_allclose(starts, [-90.0, -89.75, -89.5, -89.25] * 2)
    stops = starts + lidar.beam_counts(line) - 1
    np.testing.assert_allclose(stops[:4], [90.0, 89.25, 89.5, 89.75])
    np.testing.assert_allclose(np.diff(lidar.beam_delays_s(line), axis=1), 37.037e-6, atol=1e-9)


def test_bins_of_radar_are_at_their_ranges(radar: Radar) -> None:
    assert radar.metres_per_bin == pytest.approx(0.28150254336, abs=1e-11)
    for number, expected in BINS_M.items():
        assert radar.range_m(floats([number]))[0] == pytest.approx(expected, abs=1e-8)
        assert radar.bin_at(floats([expected]))[0] == pytest.approx(number, abs=1e-6)


def test_parabola_finds_echo_between_two_bins(radar: Radar) -> None:
    distance = floats([[4.0], [7.13], [11.871], [25.3]])
    echoes = spectra(radar, distance, np.full_like(distance, 1e7), rng=np.random.default_rng(1))
    range_m, power_db = strongest(radar, echoes)
    np.testing.assert_allclose(range_m, distance[:, 0], atol=0.01)
    np.testing.assert_allclose(power_db, 70.0, atol=0.2)


def test_strongest_peak_is_not_beyond_40_m(radar: Radar) -> None:
    distance = floats([[15.0, 60.0], [39.95, 39.95]])
    power = floats([[1e5, 1e8], [1e5, 1e5]])
    range_m, _ = strongest(radar, spectra(radar, distance, power, rng=np.random.default_rng(1)))
    np.testing.assert_allclose(range_m, [15.0, 39.95], atol=0.05)


def test_outer_wheels_turn_faster() -> None:
    robot = load_argo()
    rates = wheel_rates(robot, floats([0.56, 0.0, 1.0]), floats([0.0, 0.4, -0.3]))
    np.testing.assert_allclose(rates[0], [2.0, 2.0])
    np.testing.assert_allclose(rates[:, 1] - rates[:, 0], robot.track_m / robot.wheel_radius_m * floats([0, 0.4, -0.3]))
    np.testing.assert_allclose(rates.mean(axis=1) * robot.wheel_radius_m, [0.56, 0.0, 1.0])


def test_wheels_and_nav_agree_on_motion(driving: AcfrScenario) -> None:
    """Skid steer forwards from the lines of the payload, against the derivative of Nav's places."""
    sensors = payload_of(driving, "SENSOR_DATA")
    left, right = (sensors[sensors[:, 1] == number][:, [0, 2]] for number in (4, 5))
    assert len(left) == len(right) == 200
    speed, turn = 0.28 * 0.5 * (left[:, 1] + right[:, 1]), 0.28 / 1.3 * (right[:, 1] - left[:, 1])
    step_s = 0.02
    before, after = (true_values(driving, left[:, 0] + side * step_s) for side in (-0.5, 0.5))
    nav_speed = np.linalg.norm(after[:, :3] - before[:, :3], axis=1) / step_s
    yaw_rate = np.angle(np.exp(1j * (after[:, 8] - before[:, 8]))) / step_s
    assert np.abs(speed).max() > 0.4
    np.testing.assert_allclose(np.abs(speed), nav_speed, atol=0.06)
    np.testing.assert_allclose(turn, -yaw_rate, atol=0.06)
    assert np.abs(yaw_rate).max() > 0.05


def test_turn_rate_of_payload_is_positive_to_starboard(driving: AcfrScenario) -> None:
    turn_rates = payload_of(driving, "VELOCITY_TURN_RATE_DATA")
    yaw_rate = true_values(driving, turn_rates[:, 0] - 0.002)[:, 11]
    assert np.abs(yaw_rate).max() > 0.05
    np.testing.assert_allclose(turn_rates[:, 2], yaw_rate, atol=5e-3)


def test_nav_heading_follows_motion_in_north_east_down(driving: AcfrScenario) -> None:
    values = true_values(driving, driving.times("nav"))
    speed = np.hypot(values[:, 3], values[:, 4])
    fast = speed > 0.3
    course, yaw = np.arctan2(values[fast, 4], values[fast, 3]), values[fast, 8]
    assert np.abs(np.cos(course - yaw)).min() > 0.9999  # also backwards
    first = values[0]
    np.testing.assert_allclose(first[:3], [6154243.229, 225261.411, -655.93], atol=0.2)
    assert np.degrees(first[8]) == pytest.approx(178.0, abs=1e-9)
    np.testing.assert_allclose(np.diff(values[:, :3], axis=0) / 0.02, values[:-1, 3:6], atol=0.02)


def test_rates_of_nav_are_those_of_its_angles(driving: AcfrScenario) -> None:
    time = driving.times("nav")
    before, after = (true_values(driving, time + side) for side in (-1e-4, 1e-4))
    change = np.angle(np.exp(1j * (after - before)[:, 6:9])) / 2e-4
    np.testing.assert_allclose(true_values(driving, time)[5:-5, 9:], change[5:-5], atol=1e-5)


def test_yaw_from_true_north_is_greater_by_convergence() -> None:
    grid, true = (make_scenario(1, 2.0, {**settings(), "yaw_reference": name}) for name in ("grid", "true"))
    time = floats([0.0, 1.0])
    difference = true_values(true, time)[:, 8] - true_values(grid, time)[:, 8]
    np.testing.assert_allclose(np.degrees(np.angle(np.exp(1j * difference))), 1.70964, atol=1e-9)


def test_covariance_is_that_of_errors(driving: AcfrScenario) -> None:
    matrix, time = covariance(driving), driving.times("nav")
    assert np.linalg.eigvalsh(matrix).min() > 0.0
    np.testing.assert_allclose(matrix, matrix.T)
    error = nav_values(driving, time) - true_values(driving, time)
    error[:, 8] = np.angle(np.exp(1j * error[:, 8]))
    assert (np.abs(error) < 6.0 * np.sqrt(np.diag(matrix))).all()
    assert (error.std(axis=0) > 0.0).all()


@pytest.mark.parametrize("wrong", [{"condition": "fog"}, {"yaw_reference": "magnetic"}])
def test_impossible_settings_are_rejected_by_name(wrong: dict[str, object]) -> None:
    with pytest.raises(SampleError, match=next(iter(wrong))):
        make_scenario(1, 2.0, {**settings(), **wrong})
