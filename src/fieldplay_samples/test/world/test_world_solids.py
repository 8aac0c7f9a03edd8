import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from fieldplay_samples.world.rays import Rays
from fieldplay_samples.world.scene import SolidHits, first_hits
from fieldplay_samples.world.solids import Solids, box, capsule, merge_solids, pole, sphere, stone

Array = NDArray[np.float64]
TURN = Rotation.from_euler("xyz", [0.3, -0.5, 1.1]).as_matrix()


def hits_of(solids: Solids, origins: Array, directions: Array, *, farthest_m: float = 100.0) -> SolidHits:
    """What rays meet if each is a bundle of its own."""
    return first_hits(
        solids,
        Rays(origins=origins, directions=directions),
        np.arange(len(origins)),
        end_m=np.full(len(origins), farthest_m),
    )


def rays_towards(target: Array, count: int, spread_m: float) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    around = rng.standard_normal((count, 3))
    origins = target + 5.0 * around / np.linalg.norm(around, axis=1, keepdims=True)
    directions = target + rng.uniform(-spread_m, spread_m, (count, 3)) - origins
    return origins, directions / np.linalg.norm(directions, axis=1, keepdims=True)


def distance_all(solids: Solids, origins: Array, directions: Array) -> Array:
    met = hits_of(solids, origins, directions)
    distance = np.full(len(origins), np.inf)
    distance[met.ray] = met.distance_m
    return distance


def box_signed(points: Array, halves: Array) -> Array:
    return np.asarray((np.abs(points) - halves).max(axis=-1))


def capsule_signed(points: Array, start: Array, end: Array, radius_m: float) -> Array:
    line = end - start
    fraction = np.clip((points - start) @ line / (line @ line), 0, 1)
    return np.asarray(np.linalg.norm(points - start - fraction[..., None] * line, axis=-1) - radius_m)


def test_sphere_is_hit_where_geometry_says() -> None:
    origins = np.array([[-5.0, 0.0, 0.0], [-5.0, 0.6, 0.0], [-5.0, 1.1, 0.0]])
    met = hits_of(sphere((0, 0, 0), 1.0), origins, np.tile([1.0, 0.0, 0.0], (3, 1)))
    assert met.ray.tolist() == [0, 1]
    np.testing.assert_allclose(met.distance_m, [4.0, 4.2])


def test_turned_ellipsoid_is_stretched_sphere() -> None:
    centre, radii = np.array([1.0, 2.0, 3.0]), np.array([0.5, 1.0, 0.3])
    origins, directions = rays_towards(centre, 500, 0.4)
    distance = distance_all(stone(centre, radii, world_R_stone=TURN), origins, directions)
    met = np.isfinite(distance)
    points = origins[met] + distance[met, None] * directions[met]
    np.testing.assert_allclose(np.linalg.norm((points - centre) @ TURN / radii, axis=1), 1.0)
    assert 0.3 < met.mean() < 1.0


@pytest.mark.parametrize("kind", ["box", "capsule"])
def test_box_and_capsule_hits_match_small_step_search(kind: str) -> None:
    centre, halves = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.6, 0.2])
    start, end = centre + np.array([[-0.1, -0.4, -0.2], [0.3, 0.2, 0.5]])
    solid = box(centre, 2 * halves, world_R_box=TURN) if kind == "box" else capsule(start, end, 0.2)
    origins, directions = rays_towards(centre, 300, 0.7)
    distance = distance_all(solid, origins, directions)
    steps = np.arange(0.0, 8.0, 0.002)
    points = origins[:, None] + steps[:, None] * directions[:, None]
    signed = box_signed((points - centre) @ TURN, halves) if kind == "box" else capsule_signed(points, start, end, 0.2)
    inside = signed <= 0
    first = np.where(inside.any(axis=1), steps[inside.argmax(axis=1)], np.inf)
    clear = np.abs(signed.min(axis=1)) > 0.002
    assert 0.2 < np.isfinite(first).mean() < 0.98
    np.testing.assert_array_equal(np.isfinite(distance[clear]), np.isfinite(first[clear]))
    both = clear & np.isfinite(first)
    assert (first[both] - distance[both]).min() > -1e-9
    assert (first[both] - distance[both]).max() < 0.0021


def test_stone_is_ellipsoid_cut_by_its_planes() -> None:
    cut = stone((0, 0, 0), 1.0, planes=[[1.0, 0.0, 0.0, 0.5]])
    origins = np.array([[5.0, 0.0, 0.0], [-5.0, 0.0, 0.0], [0.8, 0.0, 5.0]])
    directions = np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
    met = hits_of(cut, origins, directions)
    assert met.ray.tolist() == [0, 1]
    np.testing.assert_allclose(met.distance_m, [4.5, 4.0])
    assert met.side.tolist() == [0, -1]


@pytest.mark.parametrize(
    "solid", [sphere((0, 0, 0), 1.0), box((0, 0, 0), (2, 2, 2)), capsule((0, 0, -1), (0, 0, 1), 1.0)]
)
def test_ray_starting_inside_solid_does_not_hit_it(solid: Solids) -> None:
    inside = np.array([[0.0, 0.0, 0.0], [0.3, 0.2, 0.1], [0.0, 0.0, 0.9]])
    directions = np.array([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.6, -0.8]])
    assert len(hits_of(solid, inside, directions).ray) == 0


def test_nearer_of_two_solids_hides_other_whatever_their_kind() -> None:
    solids = merge_solids([capsule((3, 0, -1), (3, 0, 1), 0.2), sphere((6, 0, 0), 0.5), box((9, 0, 0), (1, 1, 1))])
    origins = np.zeros((2, 3))
    origins[1, 0] = 12.0
    met = hits_of(solids, origins, np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]))
    np.testing.assert_allclose(met.distance_m, [2.8, 2.5])
    assert met.solid.tolist() == [2, 1]  # stones are counted first: sphere, box, capsule


def test_bundling_rays_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    solids = merge_solids(
        [
            sphere(centre, radius)
            for centre, radius in zip(rng.uniform(-9, 9, (40, 3)), rng.uniform(0.05, 1, 40), strict=True)
        ]
        + [pole(foot, 3.0) for foot in rng.uniform(-9, 9, (10, 3))]
    )
    directions = rng.standard_normal((3000, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    origins = rng.uniform(-0.2, 0.2, (3000, 3))
    one_by_one = hits_of(solids, origins, directions)
    for keys in (np.zeros(3000, np.int64), (directions[:, 0] * 5).astype(np.int64), rng.integers(0, 50, 3000)):
        bundled = first_hits(solids, Rays(origins=origins, directions=directions), keys, end_m=np.full(3000, 100.0))
        np.testing.assert_array_equal(bundled.ray, one_by_one.ray)
        np.testing.assert_array_equal(bundled.solid, one_by_one.solid)
    assert len(one_by_one.ray) > 100


def test_solids_beyond_ray_end_are_not_hit() -> None:
    origin, ahead = np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0]])
    assert len(hits_of(sphere((10, 0, 0), 1.0), origin, ahead, farthest_m=8.9).ray) == 0
    assert len(hits_of(sphere((10, 0, 0), 1.0), origin, ahead, farthest_m=9.1).ray) == 1


def test_empty_scene_has_no_hits() -> None:
    assert len(hits_of(merge_solids([]), np.zeros((3, 3)), np.eye(3)).ray) == 0
    assert len(hits_of(sphere((0, 0, 0), 1.0), np.zeros((0, 3)), np.zeros((0, 3))).ray) == 0


@pytest.mark.parametrize(
    "solid", [sphere((1, 2, 3), 0.5), box((1, 2, 3), (1, 0.4, 0.8)), capsule((0, 2, 3), (2, 2, 3), 0.1)]
)
def test_bounds_hold_all_of_solid(solid: Solids) -> None:
    centres, radii = solid.bounds()
    np.testing.assert_allclose(centres, [[1, 2, 3]])
    origins, directions = rays_towards(np.array([1.0, 2.0, 3.0]), 500, 0.9)
    met = hits_of(solid, origins, directions)
    points = origins[met.ray] + met.distance_m[:, None] * directions[met.ray]
    reach = np.linalg.norm(points - centres[0], axis=1)
    assert len(reach) > 50
    assert reach.max() <= radii[0] + 1e-9


def test_long_limb_is_covered_by_small_balls_and_stone_by_one() -> None:
    limb = capsule((0, 0, 0), (0, 3, 0), 0.05)
    centres, radii, owner = merge_solids([sphere((5, 0, 0), 0.7), limb]).covers()
    assert owner.tolist() == [0] + [1] * (len(owner) - 1)
    assert radii[0] == 0.7
    assert radii[1:].max() < 0.2
    along, turn = np.meshgrid(np.linspace(0, 3, 301), np.linspace(0, 2 * np.pi, 24))
    skin = np.stack([0.05 * np.cos(turn), along, 0.05 * np.sin(turn)], axis=-1).reshape(-1, 3)
    skin = np.concatenate([skin, [[0, -0.05, 0], [0, 3.05, 0]]])
    gaps = np.linalg.norm(skin[:, None] - centres[None, 1:], axis=2) - radii[1:]
    assert gaps.min(axis=1).max() < 1e-9
