import numpy as np
import pytest
from numpy.typing import NDArray

from fieldplay_samples.sensors.lidar import Spinning, Sweep, lidar_named, scan, sweep
from fieldplay_samples.world.scene import Scene, make_scene
from fieldplay_samples.world.solids import box, merge_solids

Array = NDArray[np.float64]
VLP32C = lidar_named("vlp32c")
TURN_S = 0.2
AZIMUTHS = np.arange(0.0, 2 * np.pi, np.pi / 2)


@pytest.fixture(scope="module")
def scene() -> Scene:
    return make_scene(1, keep_out=np.array([[0.0, 0.0], [10.0, 0.0]]))


@pytest.fixture(scope="module")
def room(scene: Scene) -> Scene:
    """Four walls 5 m off the origin, and no stones."""
    walls = [
        box(
            (5.1 * np.cos(side), 5.1 * np.sin(side), 0.0),
            np.where(np.abs([np.cos(side), np.sin(side), 0]) > 0.5, 0.2, 40.0),
        )
        for side in AZIMUTHS
    ]
    return Scene(terrain=scene.terrain, solids=merge_solids(walls))


def static_scan(height_m: float = 1.5) -> Array:
    pose = np.eye(4)
    pose[2, 3] = height_m
    return pose


def at_rest(scene: Scene, lidar: Spinning = VLP32C, *, noise_m: float = 0.0, seed: int = 0) -> Sweep:
    rng = np.random.default_rng(seed)
    return sweep(scene, lidar, lambda times: np.tile(static_scan(), (len(times), 1, 1)), 0.0, noise_m=noise_m, rng=rng)


@pytest.fixture(scope="module")
def cloud(scene: Scene) -> Sweep:
    """A sweep over the scene, without noise."""
    return at_rest(scene)


@pytest.fixture(scope="module")
def room_cloud(room: Scene) -> Sweep:
    return at_rest(room)


def azimuth_without_offset(cloud: Sweep) -> Array:
    azimuth = np.arctan2(cloud.points_m[:, 1], cloud.points_m[:, 0])
    return np.asarray(azimuth + np.deg2rad(VLP32C.azimuth_offsets_deg)[cloud.laser])


def test_vlp32c_has_lasers_and_rate_of_its_data_sheet() -> None:
    elevations = np.sort(VLP32C.elevations_deg)
    assert len(elevations) == len(VLP32C.azimuth_offsets_deg) == 32
    assert (elevations[0], elevations[-1]) == (-25, 15)
    assert np.diff(elevations).min() == pytest.approx(0.333, abs=0.001)
    assert VLP32C.elevations_deg[3] == -15.639
    assert VLP32C.columns * 32 == pytest.approx(115_000, rel=0.01)
    assert VLP32C.columns * VLP32C.firing_cycle_s == pytest.approx(TURN_S, abs=30e-6)


def test_each_point_lies_on_cone_of_its_laser(scene: Scene) -> None:
    cloud = at_rest(scene, noise_m=0.05)
    x, y, z = cloud.points_m.T.astype(float)
    elevation = np.rad2deg(np.arctan2(z, np.hypot(x, y)))
    np.testing.assert_allclose(elevation, np.array(VLP32C.elevations_deg)[cloud.laser], atol=1e-4)


def test_points_come_in_firing_order_clockwise_seen_from_above(cloud: Sweep) -> None:
    assert (np.diff(cloud.time_s) >= 0).all()
    assert 0 <= cloud.time_s[0] < 1e-3
    assert TURN_S - 1e-3 < cloud.time_s[-1] < TURN_S
    turned = -azimuth_without_offset(cloud) - 2 * np.pi * cloud.time_s / TURN_S
    np.testing.assert_allclose(np.angle(np.exp(1j * turned)), 0.0, atol=1e-5)


def test_lasers_fire_in_pairs_within_column(room_cloud: Sweep) -> None:
    column = np.floor(room_cloud.time_s / 55.296e-6 + 1e-6)
    np.testing.assert_allclose(room_cloud.time_s - column * 55.296e-6, room_cloud.laser // 2 * 2.304e-6, atol=1e-9)


def test_most_rays_of_rover_in_hollow_meet_something_and_misses_are_skipped(cloud: Sweep) -> None:
    assert 60_000 < len(cloud.points_m) < 115_744
    assert np.isfinite(cloud.points_m).all()
    assert len(cloud.points_m) == len(cloud.intensity) == len(cloud.time_s) == len(cloud.laser)
    assert np.linalg.norm(cloud.points_m, axis=1).max() <= VLP32C.farthest_m


def test_walls_are_measured_at_their_distance(room_cloud: Sweep) -> None:
    points = room_cloud.points_m
    on_wall = np.abs(np.abs(points[:, :2]).max(axis=1) - 5.0) < 1e-4
    below = points[:, 2] < 0
    assert on_wall[~below].all()
    assert on_wall.mean() > 0.7


def test_ranges_are_scattered_by_noise_and_nothing_else_is(room: Scene, room_cloud: Sweep) -> None:
    clean, noisy = room_cloud, at_rest(room, noise_m=0.03)
    np.testing.assert_array_equal(clean.time_s, noisy.time_s)
    error = np.linalg.norm(noisy.points_m, axis=1) - np.linalg.norm(clean.points_m, axis=1)
    assert error.std() == pytest.approx(0.03, rel=0.03)
    assert abs(error.mean()) < 0.001
    np.testing.assert_array_equal(at_rest(room, noise_m=0.03).points_m, noisy.points_m)
    assert not np.array_equal(at_rest(room, noise_m=0.03, seed=1).points_m, noisy.points_m)


def test_moving_lidar_records_each_point_from_where_it_is_then(room: Scene) -> None:
    def driving(times_s: Array) -> Array:
        poses = np.tile(static_scan(), (len(times_s), 1, 1))
        poses[:, 0, 3] = 2.0 * (times_s - 7.0)
        return poses

    cloud = sweep(room, VLP32C, driving, 7.0, noise_m=0.0)
    ahead = (cloud.points_m[:, 0] > 3) & (np.abs(cloud.points_m[:, 1]) < 2) & (cloud.points_m[:, 2] > 0)
    assert ahead.sum() > 1000
    np.testing.assert_allclose(cloud.points_m[ahead, 0], 5.0 - 2.0 * cloud.time_s[ahead], atol=1e-3)
    assert np.ptp(cloud.points_m[ahead, 0]) > 0.3


def test_bright_perpendicular_surfaces_return_most(scene: Scene) -> None:
    dark, light = (scene.with_solids(box((3.0, 0.0, 1.5), (0.2, 2.0, 2.0), albedo=albedo)) for albedo in (0.05, 0.2))
    returned = []
    for one in (dark, light):
        cloud = at_rest(one)
        x, y, z = cloud.points_m.T
        assert cloud.intensity.min() >= 0
        assert cloud.intensity.max() <= 255
        returned.append(cloud.intensity[(np.abs(x - 2.9) < 1e-3) & (np.abs(y) < 0.9) & (np.abs(z) < 0.3)])
    assert len(returned[0]) > 50
    assert np.median(returned[1]) == pytest.approx(4 * np.median(returned[0]), rel=0.1)


def test_weak_returns_have_shorter_range(room: Scene) -> None:
    blind = Spinning(elevations_deg=(0.0,), azimuth_offsets_deg=(0.0,), firing_cycle_s=1e-4, reach_of_tenth_m=4.0)
    keen = Spinning(elevations_deg=(0.0,), azimuth_offsets_deg=(0.0,), firing_cycle_s=1e-4, reach_of_tenth_m=40.0)
    assert 0 < len(at_rest(room, blind).points_m) < 2000
    assert len(at_rest(room, keen).points_m) == keen.columns == 2000


def test_planar_scanner_measures_along_its_angles(room: Scene) -> None:
    bearings = np.deg2rad([0.0, 30.0, 90.0, 180.0])
    ranges, intensity = scan(room, static_scan(), bearings)
    np.testing.assert_allclose(ranges, [5.0, 5.0 / np.cos(np.pi / 6), 5.0, 5.0], atol=1e-4)
    assert (intensity > 0).all()
    turned = static_scan()
    turned[:2, :2] = [[0.0, -1.0], [1.0, 0.0]]
    turned[0, 3] = 1.0
    np.testing.assert_allclose(scan(room, turned, bearings)[0][2:], [6.0, 5.0], atol=1e-4)
    assert np.isinf(scan(room, static_scan(), bearings, farthest_m=4.0)[0]).all()


def test_neighbouring_sweeps_hold_rover_in_all_directions(scene: Scene, cloud: Sweep) -> None:
    """The normals of what a sweep meets point every way, so that it can be laid onto another one."""
    directions = cloud.points_m.astype(float) / np.linalg.norm(cloud.points_m, axis=1, keepdims=True)
    hits = scene.cast(np.tile(static_scan()[:3, 3], (len(directions), 1)), directions)
    normals = hits.normal[np.isfinite(hits.distance_m)]
    assert np.linalg.eigvalsh(normals.T @ normals / len(normals))[0] > 0.02
