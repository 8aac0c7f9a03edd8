import pickle
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from fieldplay_samples.world.light import Sun, radiance, sky, skyline_rad
from fieldplay_samples.world.rays import Rays
from fieldplay_samples.world.scene import Scene, make_scene
from fieldplay_samples.world.solids import box, capsule, sphere

Array = NDArray[np.float64]
PATH = np.array([[0.0, 0.0], [12.0, 0.0], [20.0, 8.0]])
CLEARANCE_M = 1.5


@pytest.fixture(scope="module")
def scene() -> Scene:
    return make_scene(1, keep_out=PATH, clearance_m=CLEARANCE_M)


def along(path: Array, step_m: float = 0.02) -> Array:
    distances = []
    for start, end in pairwise(path):
        fraction = np.arange(0, 1, step_m / np.linalg.norm(end - start))
        distances.append(start + fraction[:, None] * (end - start))
    return np.concatenate(distances)


def on_ground(scene: Scene, x: float, y: float, above_m: float) -> Array:
    return np.array([x, y, float(scene.terrain.height_m(x, y)) + above_m])


def test_scene_depends_on_seed_only(scene: Scene) -> None:
    again, other = (make_scene(seed, keep_out=PATH, clearance_m=CLEARANCE_M) for seed in (1, 2))
    np.testing.assert_array_equal(again.solids.vertices_m, scene.solids.vertices_m)
    assert not np.isin(other.solids.anchor_m, scene.solids.anchor_m).any()


def test_nothing_is_placed_on_path(scene: Scene) -> None:
    low, high = scene.solids.bounds()
    nearest = np.clip(along(PATH)[None], low[:, None, :2], high[:, None, :2])
    gap = np.linalg.norm(nearest - along(PATH)[None], axis=2).min(axis=1)
    assert gap.min() > 0.9 * CLEARANCE_M
    assert np.sort(gap)[20] < 8 * CLEARANCE_M


def test_callable_defines_where_nothing_is_placed() -> None:
    half = make_scene(1, keep_out=lambda x, y: x < 0)
    assert half.solids.anchor_m[:, 0].min() >= 0
    assert len(half.solids) > 100


def is_pole(scene: Scene) -> NDArray[np.bool_]:
    return np.asarray(scene.solids.bands.any(axis=1))


def test_rocks_and_poles_have_requested_sizes(scene: Scene) -> None:
    low, high = scene.solids.bounds()
    longest = (high - low).max(axis=1)[~is_pole(scene)]
    assert longest.min() >= 0.05
    assert 0.1 < np.median(longest) < 1.2
    assert longest.max() <= 3.0
    assert len(longest) > 300
    top = high[is_pole(scene)]
    heights = top[:, 2] - scene.terrain.height_m(*scene.solids.anchor_m[is_pole(scene), :2].T)
    assert len(heights) >= 3
    assert heights.min() >= 2.0
    assert heights.max() <= 4.0


def test_rocks_are_embedded_in_ground(scene: Scene) -> None:
    rocks = ~is_pole(scene)
    (low, high), centre = scene.solids.bounds(), scene.solids.anchor_m
    ground = scene.terrain.height_m(centre[:, 0], centre[:, 1])
    assert (centre[rocks, 2] > ground[rocks]).all()
    assert (low[rocks, 2] < ground[rocks]).all()
    assert (high[rocks, 2] > ground[rocks]).all()


def test_added_solids_are_hit_and_scene_is_unchanged(scene: Scene) -> None:
    target = on_ground(scene, 3.0, 0.0, 1.0)
    origin, ahead = target[None] - [3.0, 0.0, 0.0], np.array([[1.0, 0.0, 0.0]])
    arm = scene.with_solids(sphere(target, 0.2), capsule(target, on_ground(scene, 3.0, 0.0, 2.0), 0.1))
    assert arm.cast(origin, ahead).distance_m[0] == pytest.approx(2.8, abs=0.003)
    assert scene.cast(origin, ahead).distance_m[0] > 3.0


def test_scene_is_pickled_without_grids_and_trees(scene: Scene) -> None:
    origins, down = np.array([[0.0, 0.0, 5.0]]), np.array([[0.0, 0.0, -1.0]])
    scene.cast(origins, down)
    data = pickle.dumps(scene)
    assert len(data) < 30_000_000
    assert pickle.loads(data).cast(origins, down).distance_m[0] == scene.cast(origins, down).distance_m[0]


def test_solid_casts_shadow_away_from_sun(scene: Scene) -> None:
    sun = Sun(azimuth_rad=0.0, height_rad=np.pi / 4)
    wall = scene.with_solids(box(on_ground(scene, 0.0, 0.0, 1.0), (0.2, 2.0, 2.2)))
    positions = np.array([on_ground(scene, x, 0.0, 0.0) for x in (-1.0, 1.0, -4.0)])
    assert wall.in_shadow(positions, sun.direction()).tolist() == [True, False, False]
    assert not scene.in_shadow(positions, sun.direction()).any()


def test_shadowed_surfaces_are_darker(scene: Scene) -> None:
    sun = Sun(azimuth_rad=0.0, height_rad=np.pi / 4)
    wall = scene.with_solids(box(on_ground(scene, 0.0, 0.0, 1.0), (0.2, 2.0, 2.2)))
    rays = Rays(origins=np.array([on_ground(scene, -1.0, 0.0, 0.5)]), directions=np.array([[0.0, 0.0, -1.0]]))
    lit, dark = (radiance(one, one.cast(rays.origins, rays.directions), rays, sun=sun) for one in (scene, wall))
    assert (dark < 0.5 * lit).all()


def test_sky_is_brighter_below_than_above_and_brightest_at_sun() -> None:
    sun = Sun()
    overhead, low = np.array([[0.0, 0.0, 1.0]]), np.array([[0.0, 0.995, 0.1]])
    brightness = [sky(direction, sun).mean() for direction in (overhead, low, sun.direction()[None])]
    assert brightness[0] < brightness[1] < brightness[2]


def test_mountains_surround_scene_and_are_darker_than_sky() -> None:
    azimuth = np.linspace(-np.pi, np.pi, 200)
    height = skyline_rad(azimuth)
    assert (height > 0).all()
    assert height.max() > 3 * np.median(height)
    at, above = (
        np.stack([np.cos(azimuth) * np.cos(up), np.sin(azimuth) * np.cos(up), np.sin(up)], axis=1)
        for up in (0.9 * height, height + 0.01)
    )
    assert (sky(at, Sun()).mean(axis=1) < sky(above, Sun()).mean(axis=1)).all()
