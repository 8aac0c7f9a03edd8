import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from fieldplay_samples.world.rays import MeshHits, Rays
from fieldplay_samples.world.solids import WITHIN_M, Solids, box, capsule, cylinder, merge_solids, pole, sphere, stone

Array = NDArray[np.float64]
TURN = Rotation.from_euler("xyz", [0.3, -0.5, 1.1]).as_matrix()


def hits_of(solids: Solids, origins: Array, directions: Array, *, farthest_m: float = 100.0) -> MeshHits:
    rays = Rays(origins=origins, directions=directions)
    return solids.mesh.first_hits(rays, np.full(len(origins), farthest_m))


def solid_of(solids: Solids, met: MeshHits) -> list[int]:
    return solids.owner[solids.triangles[met.triangle, 0]].tolist()


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


def cylinder_signed(points: Array, centre: Array, axis: Array, radius_m: float, half_m: float) -> Array:
    along = (points - centre) @ axis
    aside = np.linalg.norm(points - centre - along[..., None] * axis, axis=-1)
    return np.asarray(np.maximum(np.abs(along) - half_m, aside - radius_m))


@pytest.mark.parametrize("radius_m", [0.05, 0.5, 1.5, 3.0])
def test_faces_of_sphere_lie_within_millimetres_of_it(radius_m: float) -> None:
    centre = np.array([1.0, 2.0, 3.0])
    origins, directions = rays_towards(centre, 3000, 0.7 * radius_m)
    met = hits_of(sphere(centre, radius_m), origins, directions)
    points = origins[met.ray] + met.distance_m[:, None] * directions[met.ray]
    inside = radius_m - np.linalg.norm(points - centre, axis=1)
    assert len(inside) > 1000
    assert inside.min() > -1e-5
    assert inside.max() < WITHIN_M


def test_turned_ellipsoid_is_stretched_sphere() -> None:
    centre, radii = np.array([1.0, 2.0, 3.0]), np.array([0.5, 1.0, 0.3])
    origins, directions = rays_towards(centre, 500, 0.4)
    distance = distance_all(stone(centre, radii, world_R_stone=TURN), origins, directions)
    met = np.isfinite(distance)
    points = origins[met] + distance[met, None] * directions[met]
    np.testing.assert_allclose(np.linalg.norm((points - centre) @ TURN / radii, axis=1), 1.0, atol=0.005)
    assert 0.3 < met.mean() < 1.0


@pytest.mark.parametrize("kind", ["box", "capsule", "cylinder"])
def test_hits_of_bodies_match_small_step_search(kind: str) -> None:
    centre, halves, axis = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.6, 0.2]), TURN[:, 0]
    start, end = centre + np.array([[-0.1, -0.4, -0.2], [0.3, 0.2, 0.5]])
    solid = {
        "box": box(centre, 2 * halves, world_R_box=TURN),
        "capsule": capsule(start, end, 0.2),
        "cylinder": cylinder(centre, axis, 0.4, 0.2),
    }[kind]
    origins, directions = rays_towards(centre, 300, 0.7)
    distance = distance_all(solid, origins, directions)
    steps = np.arange(0.0, 8.0, 0.002)
    points = origins[:, None] + steps[:, None] * directions[:, None]
    signed = {
        "box": lambda: box_signed((points - centre) @ TURN, halves),
        "capsule": lambda: capsule_signed(points, start, end, 0.2),
        "cylinder": lambda: cylinder_signed(points, centre, axis, 0.4, 0.2),
    }[kind]()
    inside = signed <= 0
    first = np.where(inside.any(axis=1), steps[inside.argmax(axis=1)], np.inf)
    clear = np.abs(signed.min(axis=1)) > 0.006
    assert 0.2 < np.isfinite(first).mean() < 0.98
    np.testing.assert_array_equal(np.isfinite(distance[clear]), np.isfinite(first[clear]))
    both = clear & np.isfinite(first)
    entered = (origins + np.where(both, distance, 0.0)[:, None] * directions)[:, None]
    surface = {
        "box": lambda: box_signed((entered - centre) @ TURN, halves),
        "capsule": lambda: capsule_signed(entered, start, end, 0.2),
        "cylinder": lambda: cylinder_signed(entered, centre, axis, 0.4, 0.2),
    }[kind]()
    assert np.abs(surface[both]).max() < 0.006


def test_stone_is_ellipsoid_cut_by_its_planes() -> None:
    cut = stone((0, 0, 0), 1.0, planes=[[1.0, 0.0, 0.0, 0.5]])
    origins = np.array([[5.0, 0.0, 0.0], [-5.0, 0.0, 0.0], [0.8, 0.0, 5.0]])
    directions = np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
    met = hits_of(cut, origins, directions)
    assert met.ray.tolist() == [0, 1]
    np.testing.assert_allclose(met.distance_m, [4.5, 4.0], atol=WITHIN_M)


@pytest.mark.parametrize(
    "solid", [sphere((0, 0, 0), 1.0), box((0, 0, 0), (2, 2, 2)), capsule((0, 0, -1), (0, 0, 1), 1.0)]
)
def test_ray_starting_inside_solid_does_not_hit_it(solid: Solids) -> None:
    inside = np.array([[0.0, 0.0, 0.0], [0.3, 0.2, 0.1], [0.0, 0.0, 0.9]])
    directions = np.array([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.6, -0.8]])
    assert len(hits_of(solid, inside, directions).ray) == 0


def test_ray_that_leaves_one_solid_meets_next() -> None:
    both = merge_solids([sphere((0, 0, 0), 1.0), sphere((4, 0, 0), 0.5)])
    met = hits_of(both, np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0]]))
    assert solid_of(both, met) == [1]
    np.testing.assert_allclose(met.distance_m, 3.5, atol=WITHIN_M)


def test_nearer_of_two_solids_hides_other_whatever_their_kind() -> None:
    solids = merge_solids([capsule((3, 0, -1), (3, 0, 1), 0.2), sphere((6, 0, 0), 0.5), box((9, 0, 0), (1, 1, 1))])
    origins = np.zeros((2, 3))
    origins[1, 0] = 12.0
    met = hits_of(solids, origins, np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]))
    np.testing.assert_allclose(met.distance_m, [2.8, 2.5], atol=WITHIN_M)
    assert solid_of(solids, met) == [0, 2]


def test_solids_beyond_ray_end_are_neither_hit_nor_in_the_way() -> None:
    origin, ahead = np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0]])
    ball, rays = sphere((10, 0, 0), 1.0), Rays(origins=origin, directions=ahead)
    for farthest_m, count in ((8.9, 0), (9.1, 1)):
        assert len(hits_of(ball, origin, ahead, farthest_m=farthest_m).ray) == count
        assert ball.mesh.occludes(rays, farthest_m).sum() == count


def test_empty_scene_has_no_hits() -> None:
    nothing = merge_solids([])
    assert len(hits_of(nothing, np.zeros((3, 3)), np.eye(3)).ray) == 0
    assert not nothing.mesh.occludes(Rays(origins=np.zeros((3, 3)), directions=np.eye(3)), 10.0).any()
    assert len(hits_of(sphere((0, 0, 0), 1.0), np.zeros((0, 3)), np.zeros((0, 3))).ray) == 0


@pytest.mark.parametrize(
    ("solid", "volume_m3"),
    [
        (sphere((1, 2, 3), 0.5), np.pi / 6),
        (box((1, 2, 3), (1, 0.4, 0.8), world_R_box=TURN), 0.32),
        (capsule((0, 2, 3), (2, 2, 3), 0.1), np.pi * (0.02 + 0.004 / 3)),
        (cylinder((1, 2, 3), TURN[:, 2], 0.3, 0.2), np.pi * 0.09 * 0.4),
    ],
)
def test_bodies_are_closed_and_face_outwards(solid: Solids, volume_m3: float) -> None:
    a, b, c = np.moveaxis(solid.vertices_m[solid.triangles] - [1.0, 2.0, 3.0], 1, 0)
    volume = np.einsum("tc,tc->t", a, np.cross(b, c)).sum() / 6  # by the divergence theorem
    assert volume == pytest.approx(volume_m3, rel=0.05)
    across, mean = np.cross(b - a, c - a), solid.normals[solid.triangles].mean(axis=1)
    assert (np.einsum("tc,tc->t", across, mean) >= 0).all()
    np.testing.assert_allclose(np.linalg.norm(solid.normals, axis=1), 1.0)


def test_bounds_hold_bodies_in_their_order() -> None:
    low, high = merge_solids([sphere((1, 2, 3), 0.5), box((7, 0, 0), (1, 2, 3))]).bounds()
    np.testing.assert_allclose(low, [[0.5, 1.5, 2.5], [6.5, -1.0, -1.5]], atol=WITHIN_M)
    np.testing.assert_allclose(high, [[1.5, 2.5, 3.5], [7.5, 1.0, 1.5]], atol=WITHIN_M)


def test_bands_of_pole_are_white_in_turn() -> None:
    survey = pole((0, 0, 0), 3.0, albedo=(0.6, 0.1, 0.0))  # it starts 0.3 m below its foot, bands have 0.4 m
    points = np.array([[0.04, 0.0, height] for height in (0.05, 0.3, 0.7)])
    albedo = survey.albedo_at(np.zeros(3, np.intp), points)
    np.testing.assert_allclose(albedo, [[0.6, 0.1, 0.0], [0.7, 0.7, 0.7], [0.6, 0.1, 0.0]])
