"""The published scene before the standing vehicle: every sensor finds its things where the report has them."""

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from fieldplay_samples.motion.rotations import (
    Floats,
    floats,
    inverse,
    transform_points,
)
from fieldplay_samples.sensors import lidar
from fieldplay_samples.sensors.scanning_radar import strongest
from fieldplay_samples.writers.acfr import settings
from fieldplay_samples.writers.acfr.acfr_images import AcfrStage, camera_here, image_of
from fieldplay_samples.writers.acfr.acfr_sensors import radar_of, scans
from fieldplay_samples.writers.acfr.acfr_sensors import radar_samples as samples
from fieldplay_samples.writers.acfr.scenario import AcfrScenario, World, make_scenario, make_world, world_T_table

LASER = ((-0.732828, -8.586863, -1.631319), (0.108987, 0.008302, -0.919726))  # roll pitch yaw, x y z, as printed
RADAR = ((-0.151571, 191.161703, 173.278081), (-0.025753, -0.047174, -1.399104))
SEEN_M_DEG = [  # from the sensors, + to the right; and the thing's radius
    (3.492, -32.96, 0.03),
    (3.794, 39.44, 0.03),
    (6.254, -19.91, 0.03),
    (7.030, 20.83, 0.03),
    (10.746, 3.15, 0.14),
]
STEP_DEG = 0.25


@pytest.fixture(scope="module")
def scenario() -> AcfrScenario:
    return make_scenario(1, 4.0, {**settings(), "static": True, "image_shrink": 4})


@pytest.fixture(scope="module")
def world(scenario: AcfrScenario) -> World:
    return make_world(scenario)


@pytest.fixture(scope="module")
def image(scenario: AcfrScenario, world: World, tmp_path_factory: pytest.TempPathFactory) -> NDArray[np.uint8]:
    stage = AcfrStage(scenario=scenario, world=world, folder=tmp_path_factory.mktemp("pictures"))
    return image_of(stage, "visual", 1)


def in_body(row: tuple[tuple[float, ...], tuple[float, ...]], range_m: Floats, angle_rad: Floats) -> Floats:
    """Points (n, 3) forward right down, by SciPy, from the horizontal laser's place."""
    points = np.stack([range_m * np.cos(angle_rad), range_m * np.sin(angle_rad), 0.0 * angle_rad], axis=1)
    turn = Rotation.from_euler("xyz", row[0], degrees=True)
    return floats(turn.apply(points) + row[1] - floats(LASER[1]))


def polar(points: Floats) -> tuple[Floats, Floats]:
    """Ranges and bearings in degrees, to the right positive, seen from above."""
    return np.hypot(points[:, 0], points[:, 1]), np.degrees(np.arctan2(points[:, 1], points[:, 0]))


@pytest.mark.parametrize(("range_m", "azimuth_deg", "radius_m"), SEEN_M_DEG)
def test_horizontal_laser_sees_things_at_published_positions(
    scenario: AcfrScenario, world: World, range_m: float, azimuth_deg: float, radius_m: float
) -> None:
    lines = np.arange(40)
    readings = scans(scenario, world.scene, "laser_horizontal", lines=lines)
    ranges, bearings = polar(
        in_body(LASER, readings.range_cm.ravel() / 100.0, lidar.beam_angles_rad(lines).reshape(-1))
    )
    width = np.degrees(np.arctan(radius_m / range_m))
    on_it = (np.abs(ranges + radius_m - range_m) < 0.15) & (np.abs(bearings - azimuth_deg) < width + 0.5)
    assert on_it.sum() >= 10
    assert 0.5 * (bearings[on_it].min() + bearings[on_it].max()) == pytest.approx(azimuth_deg, abs=STEP_DEG)
    assert np.median(ranges[on_it]) + radius_m == pytest.approx(range_m, abs=0.06)


def test_radar_detects_reflector_at_published_position(scenario: AcfrScenario, world: World) -> None:
    readings = samples(scenario, world, numbers=np.arange(600))
    range_m, power = strongest(radar_of(scenario), readings.spectrum_db)
    ranges, bearings = polar(in_body(RADAR, range_m, np.radians(readings.angle_deg)))
    near = np.flatnonzero((np.abs(bearings + 9.43) < 4.0) & (power > power.max() - 12.0))
    assert len(near) >= 5
    weight = 10.0 ** (0.1 * power[near])
    assert np.average(bearings[near], weights=weight) == pytest.approx(-9.43, abs=0.7)
    assert np.average(ranges[near], weights=weight) + 0.10 == pytest.approx(6.224, abs=0.15)


def test_radar_hits_ground_ahead_at_its_tilt(scenario: AcfrScenario, world: World) -> None:
    """2.33 m above the ground and 11.2 degrees down: 12 m."""
    readings = samples(scenario, world, numbers=np.arange(400))
    range_m, power = strongest(radar_of(scenario), readings.spectrum_db)
    _, bearings = polar(in_body(RADAR, range_m, np.radians(readings.angle_deg)))
    empty = (np.abs(bearings + 15.0) < 4.0) & (power > 30.0) & (power < 55.0)
    assert empty.sum() >= 4
    assert np.median(range_m[empty]) == pytest.approx(2.33 / np.sin(np.radians(11.16)), abs=1.0)


@pytest.mark.parametrize(("height_m", "is_red"), [(0.75, False), (1.05, True)])
def test_right_frame_pole_is_rendered_at_its_projection(
    scenario: AcfrScenario, image: NDArray[np.uint8], height_m: float, is_red: bool
) -> None:
    x, y, _ = transform_points(world_T_table(scenario), floats([4.31, 0.0, 0.0]))
    point = floats([x, y, float(scenario.terrain.height_m(x, y)) + height_m])
    pose = scenario.poses_at(floats([0.0]))[0]
    body = transform_points(inverse(pose), point) * [1.0, -1.0, -1.0]
    laser = Rotation.from_euler("xyz", LASER[0], degrees=True).inv().apply(body - floats(LASER[1]))
    phi = Rotation.from_euler("XYZ", [-4.7341, -0.3780, -0.4230], degrees=True)
    seen = phi.inv().apply([laser[1], laser[2], laser[0]]) - [0.4139, -0.2976, -0.0099]
    camera = camera_here(scenario, "visual")
    pixels, _ = cv2.projectPoints(
        seen[None], np.zeros(3), np.zeros(3), floats(camera.matrix), floats(camera.distortion)
    )
    u, v = np.round(pixels.ravel()).astype(int).tolist()
    red, green, blue = image[v - 4 : v + 5, u - 3 : u + 4].reshape(-1, 3).mean(axis=0)
    assert (red > 1.6 * green) == is_red
    assert red > 170.0
    assert is_red or (green > 0.9 * red and blue > 0.8 * red)


def test_sensors_are_above_their_published_position(scenario: AcfrScenario) -> None:
    pose = scenario.poses_at(floats([1.0]))[0]
    laser = transform_points(pose, scenario.robot.base_T_sensor["laser_horizontal"][:3, 3])
    position = transform_points(world_T_table(scenario), floats([1.90, -2.93, 0.0]))
    np.testing.assert_allclose(laser[:2], position[:2], atol=1e-9)
    assert laser[2] - float(scenario.terrain.height_m(laser[0], laser[1])) == pytest.approx(1.85, abs=0.05)
