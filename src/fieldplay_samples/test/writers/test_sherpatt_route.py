"""Drives of SherpaTT on a route: they come back to where they began, and know the place again on another day."""

from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from fieldplay_samples.data import numbers_of
from fieldplay_samples.motion.plan import Route
from fieldplay_samples.output_folder import SampleError
from fieldplay_samples.sensors.camera import camera_from_numbers, render
from fieldplay_samples.write_sample import SampleOptions, usual_seconds, write_sample
from fieldplay_samples.writers.sherpatt.rover_logs import dgps_log
from fieldplay_samples.writers.sherpatt.scenario import SherpattScenario, make_scenario, make_world

NUMBERS = numbers_of("sherpatt")
CAMERA = NUMBERS["camera"]
LAP_M = 60.0
Image = NDArray[np.uint8]


def drive_of(name: str, seconds: float | None = None) -> SherpattScenario:
    settings: dict[str, Any] = NUMBERS["settings"] | {"route": name}
    return make_scenario(1, seconds or usual_seconds("sherpatt", settings), settings)


@pytest.fixture(scope="module")
def loop() -> SherpattScenario:
    return drive_of("loop")


@pytest.fixture(scope="module")
def again() -> SherpattScenario:
    return drive_of("again")


def trajectories(scenario: SherpattScenario) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times (n,), travelled way (n,), x y z roll pitch yaw (n, 6)."""
    time = np.linspace(0.0, scenario.seconds, 4000)
    return time, scenario.drive.travelled_m.at(time), scenario.drive.motion.coordinates.at(time)


def test_loop_returns_to_start_and_repeats_first_ten_metres(loop: SherpattScenario) -> None:
    time, distance, poses = trajectories(loop)
    assert loop.seconds == 74.0
    assert distance[-1] == pytest.approx(LAP_M + 10.0, abs=1e-6)
    first, second = (
        np.stack([np.interp(start + np.linspace(0.1, 9.9, 50), distance, column) for column in poses.T], axis=1)
        for start in (0.0, LAP_M)
    )
    assert np.abs(second[:, :5] - first[:, :5]).max() < 5e-4
    assert second[:, 5] - first[:, 5] == pytest.approx(np.full(50, 2 * np.pi), abs=5e-4)
    speed = np.linalg.norm(loop.drive.motion.velocity(time)[:, :2], axis=1)
    assert speed.max() == pytest.approx(1.0, abs=1e-3)
    assert np.abs(speed[[0, -1]]).max() < 1e-6


def test_loop_has_feasible_bends_to_both_sides(loop: SherpattScenario) -> None:
    curvature = loop.drive.curvature_1_m.at(np.linspace(3.0, 60.0, 500))
    assert 0.1 < curvature.max() < 1 / NUMBERS["limits"]["least_radius_m"]
    assert -1 / NUMBERS["limits"]["least_radius_m"] < curvature.min() < -0.1


def test_shorter_sample_is_start_of_longer_one(loop: SherpattScenario) -> None:
    short = drive_of("loop", 20.0)
    time = np.linspace(0.0, 20.0, 101)
    assert short.drive.motion.coordinates.at(time) == pytest.approx(loop.drive.motion.coordinates.at(time), abs=1e-6)


def test_other_day_follows_same_path_from_elsewhere_slightly_offset(
    loop: SherpattScenario, again: SherpattScenario
) -> None:
    positions, others = trajectories(loop)[2][:, :2], trajectories(again)[2][:, :2]
    distances = np.linalg.norm(others[:, None] - positions[None], axis=2).min(axis=1)
    assert distances.min() > 0.05
    assert 0.25 < distances.max() < 0.35
    assert np.linalg.norm(others[0] - positions[0]) > 10.0
    assert again.start_ns - loop.start_ns > 86_400 * 10**9


def test_ground_and_rocks_are_same_for_any_day_and_length(loop: SherpattScenario, again: SherpattScenario) -> None:
    assert loop.terrain == again.terrain
    worlds = [make_world(scenario).solids for scenario in (loop, again, drive_of("again", 10.0))]
    for other in worlds[1:]:
        assert np.array_equal(worlds[0].vertices_m, other.vertices_m)
    path = trajectories(again)[2][::20, :2]
    near = worlds[0].vertices_m[:, :2]
    gaps = np.concatenate(
        [np.linalg.norm(part[:, None] - path[None], axis=2).min(axis=1) for part in np.array_split(near, 99)]
    )
    clear = np.full(len(worlds[0]), np.inf)
    np.minimum.at(clear, worlds[0].owner, gaps)
    assert clear.min() > 1.0
    assert (clear < 5.0).sum() >= 15


def test_measurement_errors_differ_on_another_day() -> None:
    errors = []
    for name in ("loop", "again"):
        scenario = drive_of(name, 4.0)
        logged = np.array([sample["pos"] for sample in dgps_log(scenario).samples])
        errors.append(np.diff(logged, 2, axis=0)[:, 2][:18])  # at rest
    assert np.abs(errors[0] - errors[1]).max() > 0.01


def test_place_is_recognised_on_another_day_and_no_other_is(loop: SherpattScenario, again: SherpattScenario) -> None:
    time, _, poses = trajectories(loop)
    here = again.drive.motion.coordinates.at(np.array([20.0]))[0]
    near = float(time[np.linalg.norm(poses[:3200, :2] - here[:2], axis=1).argmin()])
    other_day = render_left(again, 20.0)
    before = render_left(loop, near)
    assert before.mean() > other_day.mean() + 5
    assert count_matches(before, other_day) > 150
    assert count_matches(render_left(loop, (near + 25.0) % 60.0), other_day) < 20


def render_left(scenario: SherpattScenario, time_s: float) -> Image:
    intrinsics = (CAMERA["f"], CAMERA["f"], CAMERA["cx"], CAMERA["cy"])
    camera = camera_from_numbers(CAMERA["width"], CAMERA["height"], intrinsics, (0.0,) * 5)
    pose = scenario.drive.motion.pose_at(np.array([time_s]))[0] @ scenario.body_T_camera()["left"]
    return np.asarray(
        cv2.cvtColor(render(make_world(scenario), camera, pose, sun=scenario.sun()), cv2.COLOR_RGB2GRAY), np.uint8
    )


def count_matches(first: Image, second: Image) -> int:
    """How many points of both lie as two pictures of one scene have them."""
    detector = cv2.ORB_create(2000)
    (points, about), (others, about_others) = (detector.detectAndCompute(one, None) for one in (first, second))
    pairs = cv2.BFMatcher(cv2.NORM_HAMMING).knnMatch(about, about_others, k=2)
    good = [best for best, next_best in pairs if best.distance < 0.8 * next_best.distance]
    matrix = np.array([[CAMERA["f"], 0, CAMERA["cx"]], [0, CAMERA["f"], CAMERA["cy"]], [0, 0, 1]])
    here = np.array([points[match.queryIdx].pt for match in good])
    there = np.array([others[match.trainIdx].pt for match in good])
    cv2.setRNGSeed(1)
    _, fits = cv2.findEssentialMat(here, there, matrix, cv2.RANSAC, 0.999, 1.5)
    return int(fits.sum())


def test_circle_matches_explicit_values() -> None:
    circle = Route(length_m=10.0, aside=((0, 0.5, 0.0),))
    turn = circle.turn_at(np.array([0.0, circle.driven_m / 4, 1.5 * circle.driven_m]))
    assert turn == pytest.approx([0.0, np.pi / 2, 3 * np.pi], abs=1e-9)
    assert circle.driven_m == pytest.approx(10.0 + np.pi, abs=1e-6)
    radius = 5 / np.pi + 0.5
    assert np.stack(circle.pose_at(turn[:2])) == pytest.approx(
        np.array([[radius, 0], [0, radius], [np.pi / 2, np.pi]]), abs=1e-9
    )
    assert circle.curvature_1_m(turn) == pytest.approx(np.full(3, 1 / radius))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"route": "back"}, "route: expected free, loop or again, got 'back'"),
        ({"route": "loop", "scene": "box"}, "route: expected free around a box, got 'loop'"),
    ],
)
def test_unknown_route_is_rejected(settings: dict[str, Any], message: str, tmp_path: Any) -> None:
    with pytest.raises(SampleError, match=message):
        write_sample("sherpatt", tmp_path / "out", SampleOptions(settings=settings))
