import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.ndimage import map_coordinates

from fieldplay_samples.world import terrain as terrain_module
from fieldplay_samples.world.layers import CELL_M, PERIOD_M, Furrows
from fieldplay_samples.world.terrain import Terrain, relief_of, terrain_named

Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def volcano() -> Terrain:
    return terrain_named("volcano", seed=1)


@pytest.fixture(scope="module")
def field() -> Terrain:
    return terrain_named("ploughed_field", seed=1)


def grid_positions(count: int, reach_m: float = 60.0) -> tuple[Array, Array]:
    x, y = np.random.default_rng(0).uniform(-reach_m, reach_m, (2, count))
    return x, y


def test_ground_depends_on_seed_only(volcano: Terrain, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = grid_positions(100)
    monkeypatch.setattr(terrain_module, "_reliefs", {})
    np.testing.assert_array_equal(terrain_named("volcano", seed=1).height_m(x, y), volcano.height_m(x, y))
    assert np.abs(terrain_named("volcano", seed=2).height_m(x, y) - volcano.height_m(x, y)).max() > 0.5


def test_origin_lies_on_ground(volcano: Terrain, field: Terrain) -> None:
    assert volcano.height_m(0.0, 0.0) == pytest.approx(0.0, abs=1e-6)
    assert field.height_m(0.0, 0.0) == pytest.approx(0.0, abs=1e-6)


def test_heights_match_quadratic_spline_of_scipy(volcano: Terrain) -> None:
    x, y = grid_positions(2000, 400.0)
    spline = map_coordinates(
        relief_of(volcano)[1:-1, 1:-1].astype(float),
        [y / CELL_M, x / CELL_M],
        order=2,
        prefilter=False,
        mode="grid-wrap",
    )
    slope_east, slope_north = volcano.slope
    np.testing.assert_allclose(volcano.height_m(x, y), spline + slope_east * x + slope_north * y, atol=1e-9)


def test_ground_repeats_after_its_period_but_for_overall_slope(volcano: Terrain) -> None:
    x, y = grid_positions(200)
    rise = volcano.height_m(x + PERIOD_M, y) - volcano.height_m(x, y)
    np.testing.assert_allclose(rise, volcano.slope[0] * PERIOD_M, atol=1e-6)


def test_slopes_are_derivatives_of_heights_and_have_no_steps_between_cells(volcano: Terrain) -> None:
    x, y = grid_positions(5000)
    x[:2500] = (np.round(x[:2500] / CELL_M) + 0.5) * CELL_M  # on the borders of cells
    step = 1e-4
    east, north = volcano.slopes(x, y)
    np.testing.assert_allclose(
        (volcano.height_m(x + step, y) - volcano.height_m(x - step, y)) / 2 / step, east, atol=2e-3
    )
    np.testing.assert_allclose(
        (volcano.height_m(x, y + step) - volcano.height_m(x, y - step)) / 2 / step, north, atol=2e-3
    )
    np.testing.assert_allclose(volcano.slopes(x - 1e-9, y)[0], volcano.slopes(x + 1e-9, y)[0], atol=1e-6)


def test_normals_are_unit_vectors_across_slopes(volcano: Terrain) -> None:
    x, y = grid_positions(100)
    normal = volcano.normal(x, y)
    east, north = volcano.slopes(x, y)
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0)
    np.testing.assert_allclose(normal[:, 0] + east * normal[:, 2], 0.0, atol=1e-12)
    np.testing.assert_allclose(normal[:, 1] + north * normal[:, 2], 0.0, atol=1e-12)
    assert (normal[:, 2] > 0).all()


def test_around_origin_rover_can_drive_and_further_off_it_is_steeper(volcano: Terrain) -> None:
    def steep_deg(reach_m: float) -> float:
        x, y = grid_positions(20000, reach_m)
        return float(np.rad2deg(np.arctan(np.percentile(np.hypot(*volcano.slopes(x, y)), 95))))

    assert steep_deg(6.0) < 20 < steep_deg(60.0) < 35


@pytest.mark.parametrize("heading_deg", [0.0, 30.0, 90.0])
def test_furrows_have_their_pitch_their_depth_and_their_heading(field: Terrain, heading_deg: float) -> None:
    furrows = Furrows(pitch_m=0.7, depth_m=0.12, heading_deg=heading_deg)
    bare = Terrain(seed=0, layers=(furrows,), soil=field.soil)
    heading = np.deg2rad(heading_deg)
    along = np.linspace(0, 2, 201)
    across = np.linspace(0, 7, 1401)
    assert np.ptp(bare.height_m(along * np.cos(heading), along * np.sin(heading))) < 0.02
    profile = bare.height_m(-across * np.sin(heading), across * np.cos(heading))
    assert np.ptp(profile) == pytest.approx(0.12, abs=0.002)
    crests = np.flatnonzero((profile[1:-1] > profile[:-2]) & (profile[1:-1] > profile[2:]))
    assert np.diff(across[crests]) == pytest.approx(0.7, abs=0.012)


def test_colours_are_albedos_with_grain_down_to_centimetre(volcano: Terrain) -> None:
    x, y = grid_positions(20000)
    colour = volcano.colour(x, y)
    assert colour.shape == (20000, 3)
    assert (colour >= 0).all()
    assert (colour <= 1).all()
    brightness = np.log(colour.mean(axis=1))
    near = np.log(volcano.colour(x + 0.01, y).mean(axis=1))
    nearer = np.log(volcano.colour(x + 0.001, y).mean(axis=1))
    assert np.abs(near - brightness).mean() > 0.15
    assert np.abs(nearer - brightness).mean() < 0.06


def test_detail_below_footprint_is_averaged(volcano: Terrain) -> None:
    x, y = grid_positions(20000)
    sharp, soft = volcano.colour(x, y).mean(axis=1), volcano.colour(x, y, 0.2).mean(axis=1)
    step = np.abs(np.log(volcano.colour(x + 0.05, y, 0.2).mean(axis=1)) - np.log(soft))
    assert step.mean() < 0.05
    assert soft.mean() == pytest.approx(sharp.mean(), rel=0.1)
    assert volcano.colour(x, y, 1e3).std() < 0.25 * volcano.colour(x, y).std()


def test_plants_grow_on_crests_of_field(field: Terrain) -> None:
    furrows = next(layer for layer in field.layers if isinstance(layer, Furrows))
    x, y = grid_positions(20000, 20.0)
    phase = np.cos(furrows.phase(x, y))
    colour = field.colour(x, y)
    green = colour[:, 1] > colour[:, 0]
    assert green[phase > 0.99].mean() > 0.9
    assert green[phase < 0.0].mean() < 0.01
