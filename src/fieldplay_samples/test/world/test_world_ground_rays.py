import numpy as np
import pytest
from numpy.typing import NDArray

from fieldplay_samples.world.scene import Scene
from fieldplay_samples.world.solids import merge_solids
from fieldplay_samples.world.terrain import Terrain, terrain_named

Array = NDArray[np.float64]
FARTHEST_M = 60.0


@pytest.fixture(scope="module", params=["volcano", "ploughed_field"])
def ground(request: pytest.FixtureRequest) -> Scene:
    return Scene(terrain=terrain_named(request.param, seed=1), solids=merge_solids([]))


def random_rays(terrain: Terrain, count: int, height_m: float, *, from_m: float = 1.0) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(from_m, 15.0, (2, count))
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
    above = np.abs(height_above(ground.terrain, origins[met] + distance[met, None] * directions[met]))
    near = distance[met] < 10.0  # where the mesh is as fine as the surface's control points
    assert np.quantile(above[near], 0.99) < 1e-4
    assert above[near].max() < 0.01
    assert np.quantile(above, 0.9) < 1e-3
    assert above.max() < 0.3


@pytest.mark.parametrize("height_m", [0.05, 1.5, 15.0])
def test_ray_hits_match_small_step_search(ground: Scene, height_m: float) -> None:
    origins, directions = random_rays(ground.terrain, 300, height_m)
    distance = ground.cast(origins, directions, farthest_m=FARTHEST_M).distance_m
    steps = np.arange(0.0, FARTHEST_M, 0.01)
    for origin, direction, met in zip(origins, directions, distance, strict=True):
        above = height_above(ground.terrain, origin + steps[:, None] * direction)
        before = np.minimum(above, 0.0)[steps < min(met, FARTHEST_M) - 1e-3]
        tolerance = 0.01 + 0.01 * np.maximum(steps[: len(before)] - 10.0, 0.0)  # of bumps between the mesh's lines
        assert (before > -tolerance).all(), (met, before.min())


def test_distances_depend_neither_on_what_is_cast_before_nor_together(ground: Scene) -> None:
    origins, directions = random_rays(ground.terrain, 3000, 1.0, from_m=-15.0)  # of four tiles
    together = ground.distances_m(origins, directions)
    parts = [ground.distances_m(origins[rows], directions[rows]) for rows in (slice(2000, None), slice(0, 2000))]
    np.testing.assert_array_equal(np.concatenate(parts[::-1]), together)
    np.testing.assert_array_equal(ground.cast(origins, directions).distance_m, together)


def test_ground_is_not_seen_from_below(ground: Scene) -> None:
    origins = np.array([[3.0, 4.0, float(ground.terrain.height_m(3.0, 4.0)) - 0.5]])
    assert np.isinf(ground.cast(origins, np.array([[0.0, 0.0, 1.0]])).distance_m).all()


def test_ray_straight_down_measures_height(ground: Scene) -> None:
    x, y = np.random.default_rng(1).uniform(1, 15, (2, 500))
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
    off = np.abs(hits.normal[met] - ground.terrain.normal(x, y)).max(axis=1)
    assert np.quantile(off, 0.98) < 0.02
    np.testing.assert_allclose(hits.albedo[met], ground.terrain.colour(x, y), atol=1e-6)
    assert (hits.solid == -1).all()
