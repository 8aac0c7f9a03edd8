import numpy as np
import pytest
from numpy.typing import NDArray

from fieldplay_samples.world import ground_rays
from fieldplay_samples.world.scene import Scene
from fieldplay_samples.world.solids import merge_solids
from fieldplay_samples.world.terrain import Terrain, terrain_named

Array = NDArray[np.float64]
FARTHEST_M = 60.0


@pytest.fixture(scope="module", params=["volcano", "ploughed_field"])
def ground(request: pytest.FixtureRequest) -> Scene:
    return Scene(terrain=terrain_named(request.param, seed=1), solids=merge_solids([]))


def random_rays(terrain: Terrain, count: int, height_m: float) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-300, 300, (2, count))
    origins = np.stack([x, y, terrain.height_m(x, y) + height_m], axis=1)
    directions = rng.standard_normal((count, 3)) * [1.0, 1.0, 0.15]
    return origins, directions / np.linalg.norm(directions, axis=1, keepdims=True)


def height_above(terrain: Terrain, points: Array) -> Array:
    return np.asarray(points[..., 2] - terrain.height_m(points[..., 0], points[..., 1]))


def test_rays_hit_the_surface_that_supports_wheels(ground: Scene) -> None:
    origins, directions = random_rays(ground.terrain, 20000, 1.5)
    distance = ground.cast(origins, directions).distance_m
    met = np.isfinite(distance)
    assert 0.3 < met.mean() < 0.99
    points = origins[met] + distance[met, None] * directions[met]
    assert np.abs(height_above(ground.terrain, points)).max() < 1e-3


@pytest.mark.parametrize("height_m", [0.05, 1.5, 15.0])
def test_ray_hits_match_small_step_search(ground: Scene, height_m: float) -> None:
    origins, directions = random_rays(ground.terrain, 300, height_m)
    distance = ground.cast(origins, directions, farthest_m=FARTHEST_M).distance_m
    steps = np.arange(0.0, FARTHEST_M, 0.01)
    for origin, direction, met in zip(origins, directions, distance, strict=True):
        above = height_above(ground.terrain, origin + steps[:, None] * direction)
        before = above[steps < met - 1e-3]
        assert before.min() > -1e-3
        assert np.isfinite(met) or above.min() > -1e-3


@pytest.mark.parametrize("nearest_m", [0.0, 0.5])
def test_rays_from_one_point_agree_with_single_rays_at_less_work(
    ground: Scene, nearest_m: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    azimuth, elevation = np.meshgrid(np.linspace(0.2, 1.0, 160), np.linspace(0.15, -1.5, 120))
    directions = directions_of(azimuth.ravel(), elevation.ravel())
    height_m = ground.terrain.height_m(3.0, 4.0) + 1.5
    origins = np.tile([3.0, 4.0, float(height_m)], (len(directions), 1))
    requested = {"nearest_m": nearest_m, "farthest_m": FARTHEST_M}
    alone = np.concatenate(
        [
            ground.cast(*part, **requested).distance_m
            for part in zip(np.array_split(origins, 20), np.array_split(directions, 20), strict=True)
        ]
    )
    followed: list[int] = []
    exactly = ground_rays.distances_m
    monkeypatch.setattr(
        ground_rays, "distances_m", lambda relief, rays, end: followed.append(len(rays)) or exactly(relief, rays, end)
    )
    distance = ground.cast(origins, directions, **requested).distance_m
    assert sum(followed) < 0.01 * len(directions)
    met = np.isfinite(distance)
    points = origins[met] + distance[met, None] * directions[met]
    assert np.abs(height_above(ground.terrain, points)).max() < 1e-4
    assert (met == np.isfinite(alone)).mean() > 0.999
    both = met & np.isfinite(alone)
    off = np.abs(distance[both] - alone[both])
    assert (off < 1e-5 * alone[both]).mean() > 0.995


def test_rays_from_one_point_in_or_far_above_ground_agree_with_single_rays(ground: Scene) -> None:
    _, directions = random_rays(ground.terrain, 3000, 1.0)
    for above in (0.05, 40.0):
        origins = np.tile([7.0, -3.0, float(ground.terrain.height_m(7.0, -3.0)) + above], (3000, 1))
        together = ground.cast(origins, directions, nearest_m=1.0, farthest_m=200.0).distance_m
        alone = [ground.cast(origins[:1500], half, nearest_m=1.0, farthest_m=200.0) for half in np.split(directions, 2)]
        each = np.concatenate([hits.distance_m for hits in alone])
        assert (np.isfinite(together) == np.isfinite(each)).mean() > 0.99
        both = np.isfinite(together) & np.isfinite(each)
        assert both.sum() > 250
        assert (np.abs(together[both] - each[both]) < 1e-4 * each[both]).mean() > 0.97


def directions_of(azimuth: Array, elevation: Array) -> Array:
    across = np.cos(elevation)
    return np.stack([across * np.cos(azimuth), across * np.sin(azimuth), np.sin(elevation)], axis=1)


def test_ray_straight_down_measures_height(ground: Scene) -> None:
    x, y = np.random.default_rng(1).uniform(-100, 100, (2, 500))
    origins = np.stack([x, y, np.full(500, 30.0)], axis=1)
    down = np.tile([0.0, 0.0, -1.0], (500, 1))
    np.testing.assert_allclose(30.0 - ground.cast(origins, down).distance_m, ground.terrain.height_m(x, y), atol=1e-3)


def test_rays_to_sky_meet_nothing(ground: Scene) -> None:
    origins, _ = random_rays(ground.terrain, 100, 50.0)
    hits = ground.cast(origins, np.tile([0.6, 0.0, 0.8], (100, 1)))
    assert np.isinf(hits.distance_m).all()
    assert not hits.normal.any()
    assert not hits.albedo.any()


def test_hits_outside_range_limits_are_ignored(ground: Scene) -> None:
    origins = np.array([[0.0, 0.0, 5.0]])
    down = np.array([[0.0, 0.0, -1.0]])
    assert ground.cast(origins, down, nearest_m=4.0, farthest_m=6.0).distance_m[0] == pytest.approx(5.0, abs=1e-3)
    assert np.isinf(ground.cast(origins, down, farthest_m=4.9).distance_m[0])


def test_normals_and_albedos_are_those_of_terrain(ground: Scene) -> None:
    origins, directions = random_rays(ground.terrain, 500, 1.5)
    hits = ground.cast(origins, directions)
    met = np.isfinite(hits.distance_m)
    x, y, _ = (origins[met] + hits.distance_m[met, None] * directions[met]).T
    np.testing.assert_allclose(hits.normal[met], ground.terrain.normal(x, y))
    np.testing.assert_allclose(hits.albedo[met], ground.terrain.colour(x, y))
    assert (hits.solid == -1).all()
