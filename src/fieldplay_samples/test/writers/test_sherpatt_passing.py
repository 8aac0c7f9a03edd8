"""The sample of SherpaTT where another rover passes: where that is, what the standing unit sees of it."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fieldplay_samples.data import numbers_of
from fieldplay_samples.motion.rotations import floats
from fieldplay_samples.output_folder import SampleError
from fieldplay_samples.sensors.camera import camera_from_numbers, depth
from fieldplay_samples.write_sample import SampleOptions, usual_seconds, write_sample
from fieldplay_samples.writers.sherpatt.scenario import PassingRover, SherpattScenario, make_scenario, make_world

NUMBERS = numbers_of("sherpatt")
LENS, OWN = NUMBERS["camera"], NUMBERS["passing"]
SETTINGS: dict[str, Any] = {**NUMBERS["settings"], "scene": "passing"}
TIME = floats(np.linspace(0.0, OWN["seconds"], 45))
SHRINK = 8
Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def scenario() -> SherpattScenario:
    return make_scenario(1, usual_seconds("sherpatt", SETTINGS), SETTINGS)


@pytest.fixture(scope="module")
def rover(scenario: SherpattScenario) -> PassingRover:
    assert scenario.passing is not None
    return scenario.passing


def camera_T_robot(scenario: SherpattScenario, rover: PassingRover) -> Array:
    map_T_left = scenario.drive.motion.pose_at(TIME) @ scenario.body_T_camera()["left"]
    assert np.ptp(map_T_left, axis=0).max() < 1e-9, "the unit stands"
    return np.asarray(np.linalg.inv(map_T_left) @ rover.map_T_robot(TIME))


def pixels(points: Array) -> Array:
    """Columns and rows (..., 2) of points (..., 3) before the camera."""
    return np.asarray(LENS["f"] * points[..., :2] / points[..., 2:] + [LENS["cx"], LENS["cy"]])


def test_other_rover_enters_from_right_shows_left_wheels_and_leaves(
    scenario: SherpattScenario, rover: PassingRover
) -> None:
    poses = camera_T_robot(scenario, rover)
    left = rover.wheels_m()[[0, 2]] @ poses[:, :3, :3].swapaxes(1, 2) + poses[:, None, :3, 3]
    assert (left[..., 2] > 2.8).all() and (left[..., 2] < 4.5).all()
    column = pixels(left)[..., 0]
    margin = LENS["f"] * OWN["wheels"]["radius"] / left[..., 2]
    assert (column[0] - margin[0] > LENS["width"]).all()
    assert (column[-1] + margin[-1] < 0).all()
    both = ((column > 0) & (column < LENS["width"])).all(axis=1)
    assert 4.5 < both.sum() * np.diff(TIME)[0] < 6.5
    heading = np.unwrap(np.arctan2(poses[both, 2, 0], -poses[both, 0, 0]))
    assert np.degrees(np.ptp(heading)) > 5, "it bends"


def test_wheels_of_other_rover_touch_ground_and_roll(scenario: SherpattScenario, rover: PassingRover) -> None:
    poses, wheels = rover.map_T_robot(TIME), rover.wheels_m()
    below = wheels - [0.0, 0.0, OWN["wheels"]["radius"]]
    feet = below @ poses[:, :3, :3].swapaxes(1, 2) + poses[:, None, :3, 3]
    gap = feet[..., 2] - scenario.terrain.height_m(feet[..., 0], feet[..., 1])
    assert np.abs(gap).max() < 0.08
    ahead = np.diff(poses[:, :3, 3], axis=0)
    assert np.einsum("nc,nc->n", ahead, poses[:-1, :3, 0]) == pytest.approx(np.linalg.norm(ahead, axis=1), rel=0.01)
    assert np.linalg.norm(ahead, axis=1).sum() / OWN["seconds"] == pytest.approx(OWN["speed"], rel=0.01)


def test_camera_view_of_other_rover_matches_truth(scenario: SherpattScenario, rover: PassingRover) -> None:
    intrinsics = (LENS["f"], LENS["f"], LENS["cx"], LENS["cy"])
    camera = camera_from_numbers(LENS["width"], LENS["height"], intrinsics, (0.0,) * 5)
    world = make_world(scenario)
    for time_s in (4.0, 5.5):
        pose = scenario.drive.motion.pose_at(floats([time_s]))[0] @ scenario.body_T_camera()["left"]
        camera_T_now = np.linalg.inv(pose) @ rover.map_T_robot(floats([time_s]))[0]
        with_it = depth(world.with_solids(rover.solids_at(time_s)), camera, pose, shrink=SHRINK)
        without = depth(world, camera, pose, shrink=SHRINK)
        away = floats([OWN["wheels"]["radius"] * 0.45, 0.0, 0.0])  # off the knob
        for face in rover.wheels_m()[[0, 2]]:
            for corner in (face + away, face - away):
                point = camera_T_now[:3, :3] @ corner + camera_T_now[:3, 3]
                column, row = (round((each + 0.5) / SHRINK - 0.5) for each in pixels(point))
                assert with_it[row, column] == pytest.approx(point[2], abs=0.03)
                assert without[row, column] > point[2] + 0.3
        assert 0.03 < (with_it < without - np.float32(0.01)).mean() < 0.15


def test_truth_is_written_next_to_archive(tmp_path: Any) -> None:
    settings = {"scene": "passing", "image_rate_hz": 1.0, "image_shrink": 24, "lidar_columns": 8, "color_every": 100}
    result = write_sample(
        "sherpatt", tmp_path / "out", SampleOptions(seconds=2.0, seed=1, settings=settings, workers=1)
    )
    with np.load(tmp_path / "out.passing.npz") as truth:
        assert sorted(truth.files) == ["map_T_left", "map_T_robot", "stamp_ns", "wheel_radius_m", "wheels_m"]
        assert truth["map_T_robot"].shape == truth["map_T_left"].shape == (2, 4, 4)
        assert np.diff(truth["stamp_ns"]).tolist() == [1_000_000_000]
        assert truth["wheels_m"].tolist() == [[x, y, 0.0] for x in (0.4, -0.4) for y in (0.39, -0.39)]
        assert truth["wheel_radius_m"] == 0.22
    again = write_sample("sherpatt", tmp_path / "out", SampleOptions(seconds=2.0, seed=1, settings=settings, workers=1))
    assert again.reused and not result.reused


def test_other_rover_has_its_own_trajectory(tmp_path: Any) -> None:
    settings = {"scene": "passing", "route": "loop"}
    with pytest.raises(SampleError, match="route: expected free where another rover passes, got 'loop'"):
        write_sample("sherpatt", tmp_path / "out", SampleOptions(settings=settings))
