"""Dust, smoke and rain in the samples of ACFR's datasets: what they do to lasers and pictures, and not to the radar."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldplay_samples.motion.rotations import Floats, floats
from fieldplay_samples.sensors.scanning_radar import strongest
from fieldplay_samples.writers.acfr import optical_depth_ahead, settings
from fieldplay_samples.writers.acfr.acfr_images import AcfrStage, image_of
from fieldplay_samples.writers.acfr.acfr_sensors import LaserLines, radar_of, scans
from fieldplay_samples.writers.acfr.acfr_sensors import radar_samples as samples
from fieldplay_samples.writers.acfr.scenario import AcfrScenario, World, make_scenario, make_world

SECONDS = 10.0  # dust is raised, and it rains, from 2.0 to 5.5 s
LINES = np.arange(330, 362)  # at 4.5 s
BEYOND = 8183


def scenario_of(condition: str, **chosen: Any) -> AcfrScenario:
    return make_scenario(2, SECONDS, {**settings(), "static": True, "condition": condition, **chosen})


@pytest.fixture(scope="module")
def scenarios() -> dict[str, AcfrScenario]:
    return {name: scenario_of(name) for name in ("clear", "dust", "smoke", "rain")}


@pytest.fixture(scope="module")
def world(scenarios: dict[str, AcfrScenario]) -> World:
    return make_world(scenarios["clear"])


@pytest.fixture(scope="module")
def lines(scenarios: dict[str, AcfrScenario], world: World) -> dict[str, LaserLines]:
    return {name: scans(scenario, world.scene, "laser_horizontal", lines=LINES) for name, scenario in scenarios.items()}


def images_alike(world: World, condition: str, camera: str) -> float:
    """How much of the contrast of a clear picture is left in another one at 4.5 s."""
    differences = []
    for name in ("clear", condition):
        chosen = scenario_of(name, image_shrink=16, visual_rate_hz=2.0, ir_rate_hz=2.0)
        stage = AcfrStage(scenario=chosen, world=world, folder=Path())
        differences.append(image_of(stage, camera, 9).astype(float).ravel())
    clear, other = (values - values.mean() for values in differences)
    return float(clear @ other / (clear @ clear))


@pytest.mark.parametrize("condition", ["dust", "smoke"])
def test_clouds_hide_things_that_clear_air_shows(lines: dict[str, LaserLines], condition: str) -> None:
    clear, cloudy = lines["clear"].range_cm, lines[condition].range_cm
    kind = lines[condition].kind
    assert set(np.unique(kind).tolist()) == {0, 1}
    assert 0.1 < (kind == 1).mean() < 0.6
    assert (cloudy[kind == 1] < clear[kind == 1] + 8).all()
    assert np.median(clear[kind == 1] - cloudy[kind == 1]) > 200
    clouds = cloudy[kind == 0]
    assert ((clouds == clear[kind == 0]) | (clouds == BEYOND)).all()
    assert (cloudy[kind == 1] < 1500).all()


def test_neighbouring_beams_come_back_from_different_depths_of_cloud(lines: dict[str, LaserLines]) -> None:
    kind, ranges = lines["dust"].kind, lines["dust"].range_cm
    both = (kind[:, 1:] == 1) & (kind[:, :-1] == 1)
    assert 20 < np.median(np.abs(np.diff(ranges, axis=1))[both]) < 300


def test_drops_are_few_alone_and_near(lines: dict[str, LaserLines]) -> None:
    kind, ranges = lines["rain"].kind, lines["rain"].range_cm
    drops = kind == 2
    assert 0.005 < drops.mean() < 0.03
    assert (ranges[drops] < lines["clear"].range_cm[drops]).all()
    assert np.median(ranges[drops]) < 500
    assert (drops[4:] & drops[:-4]).sum() < 0.1 * drops.sum()
    others = ~drops
    assert ((ranges == lines["clear"].range_cm) | (ranges == BEYOND))[others].all()


@pytest.mark.parametrize("condition", ["dust", "smoke", "rain"])
def test_air_is_clear_at_start_and_dusty_later(scenarios: dict[str, AcfrScenario], condition: str) -> None:
    time = floats(np.arange(0.0, SECONDS, 0.1))
    depth = optical_depth_ahead(scenarios[condition], time)
    assert not depth[time <= 2.0].any()
    highest = depth.max()
    assert highest > (0.05 if condition == "rain" else 1.0)
    assert depth[-1] < 0.5 * highest


def test_wind_blows_clouds_from_left_to_right(scenarios: dict[str, AcfrScenario]) -> None:
    puffs = scenarios["dust"].weather.puffs
    right = -scenarios["dust"].poses_at(floats([0.0]))[0, :3, 1]
    assert (puffs.drift_m_s @ right > 0.2).all()
    np.testing.assert_allclose(puffs.drift_m_s @ scenarios["dust"].poses_at(floats([0.0]))[0, :3, 0], 0.0, atol=0.02)


@pytest.mark.parametrize("condition", ["dust", "smoke"])
def test_radar_does_not_see_clouds(scenarios: dict[str, AcfrScenario], world: World, condition: str) -> None:
    rows = np.arange(4500, 4700)
    clear, cloudy = (samples(scenarios[name], world, numbers=rows) for name in ("clear", condition))
    np.testing.assert_array_equal(clear.spectrum_db, cloudy.spectrum_db)
    np.testing.assert_array_equal(clear.angle_deg, cloudy.angle_deg)


def test_rain_weakens_echoes_of_radar_little(scenarios: dict[str, AcfrScenario], world: World) -> None:
    rows = np.arange(4500, 4700)
    (near, strong), (also_near, weak) = (
        strongest(radar_of(scenarios[name]), samples(scenarios[name], world, numbers=rows).spectrum_db)
        for name in ("clear", "rain")
    )
    echoes = strong > 40.0
    assert echoes.sum() > 20
    assert (np.abs(near - also_near)[echoes] < 0.1).mean() > 0.9
    loss: Floats = (strong - weak)[echoes]
    assert 0.05 < np.median(loss) < 1.5


def test_clouds_veil_visual_camera_far_more_than_infra_red_one(world: World) -> None:
    assert images_alike(world, "dust", "visual") < 0.7
    assert images_alike(world, "smoke", "visual") < 0.5
    assert images_alike(world, "dust", "ir") > 0.75
    assert images_alike(world, "smoke", "ir") > 0.85


def test_clouds_come_again_in_long_sample() -> None:
    scenario = make_scenario(2, 60.0, {**settings(), "condition": "dust"})
    time = floats(np.arange(0.0, 60.0, 0.25))
    inside = optical_depth_ahead(scenario, time) > 0.5
    assert (np.diff(inside.astype(int)) == 1).sum() >= 3
    assert 0.1 < inside.mean() < 0.8
