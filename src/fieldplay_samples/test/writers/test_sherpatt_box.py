"""The sample of SherpaTT around a box: what the stereo unit sees of it, and how far points are from what is there."""

from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fieldplay_samples.data import numbers_of
from fieldplay_samples.output_folder import SampleError
from fieldplay_samples.sensors.camera import camera_from_numbers, depth
from fieldplay_samples.world.layers import Unevenness
from fieldplay_samples.world.terrain import GroundWithBox, StandingBox, Terrain, terrain_named
from fieldplay_samples.write_sample import SampleOptions, write_sample
from fieldplay_samples.writers.sherpatt.scenario import make_scenario, make_world, truth_of

TINY: dict[str, Any] = {"image_rate_hz": 1.0, "image_shrink": 24, "lidar_columns": 30, "scene": "box"}
NUMBERS = numbers_of("sherpatt")
CAMERA = NUMBERS["camera"]
CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sherpatt") / "box"
    return write_sample("sherpatt", path, SampleOptions(seconds=10.0, seed=1, settings=TINY, workers=1)).path


@pytest.fixture(scope="module")
def world_with_truth(out: Path) -> tuple[GroundWithBox, dict[str, np.ndarray]]:
    return truth_of(out)


def test_whole_box_is_in_every_image_and_all_its_sides_in_some(
    world_with_truth: tuple[GroundWithBox, dict[str, np.ndarray]],
) -> None:
    world, true = world_with_truth
    assert len(true["map_T_left"]) == len(true["stamp_ns"]) == 10
    corners = world.box.world_T_box @ np.c_[CORNERS * world.box.sizes_m, np.ones(8)].T
    optical = np.linalg.inv(true["map_T_left"]) @ corners
    u, v = CAMERA["f"] * optical[:, :2].swapaxes(0, 1) / optical[:, 2]
    assert (np.abs(u) < 400).all() and (np.abs(v) < 386).all()
    assert (optical[:, 2] > 2.0).all() and (optical[:, 2] < 5.0).all()
    positions = (np.linalg.inv(world.box.world_T_box) @ true["map_T_left"])[:, :2, 3]
    for side in ([1, 0], [0, 1], [-1, 0], [0, -1]):
        before = (positions * side).sum(axis=1) - np.abs(np.array(side) * world.box.sizes_m[:2]).sum() / 2
        steepest = before / np.linalg.norm(positions, axis=1)
        assert steepest.max() > np.sin(np.radians(20))
    turned = np.diff(np.unwrap(np.arctan2(*positions.T[::-1])))
    assert np.degrees(turned) == pytest.approx(np.full(9, 18.0), abs=1.5)


def test_visible_depths_lie_on_surfaces_and_others_do_not(
    world_with_truth: tuple[GroundWithBox, dict[str, np.ndarray]],
) -> None:
    world, true = world_with_truth
    intrinsics = (CAMERA["f"], CAMERA["f"], CAMERA["cx"], CAMERA["cy"])
    camera = camera_from_numbers(CAMERA["width"], CAMERA["height"], intrinsics, (0.0,) * 5)
    scenario = make_scenario(1, 10.0, {**NUMBERS["settings"], **TINY})
    shrink = 12
    for pose in true["map_T_left"][::4]:
        deep = depth(make_world(scenario), camera, pose, shrink=shrink).astype(float)
        v, u = (np.indices(deep.shape) + 0.5) * shrink - 0.5
        points = np.stack(
            [(u - CAMERA["cx"]) / CAMERA["f"] * deep, (v - CAMERA["cy"]) / CAMERA["f"] * deep, deep], axis=-1
        )
        near = points[deep < 8.0] @ pose[:3, :3].T + pose[:3, 3]
        on_box = np.abs(world.box.distance_m(near)) < 1e-3
        assert 0.05 < on_box.mean() < 0.3
        assert world.distance_m(near).max() < 0.002
        raised = near[on_box & (near[:, 2] > world.box.world_T_box[2, 3])] + [0, 0, 0.1]
        assert world.distance_m(raised).max() > 0.09


def test_box_is_on_ground_with_no_edge_in_air(
    world_with_truth: tuple[GroundWithBox, dict[str, np.ndarray]],
) -> None:
    world, _ = world_with_truth
    pose, sizes = world.box.world_T_box, world.box.sizes_m
    below = np.array([[x, y, -0.5] for x in np.linspace(-0.5, 0.5, 7) for y in np.linspace(-0.5, 0.5, 7)]) * sizes
    feet = below @ pose[:3, :3].T + pose[:3, 3]
    gap = feet[:, 2] - world.terrain.height_m(feet[:, 0], feet[:, 1])
    assert gap.max() < 0.005
    assert gap.min() > -0.15
    assert pose[:3, :3] @ pose[:3, :3].T == pytest.approx(np.eye(3), abs=1e-12)


def test_box_distances_match_explicit_values() -> None:
    turn = Rotation.from_euler("z", 90, degrees=True).as_matrix()
    box = StandingBox(world_T_box=np.vstack([np.c_[turn, [1, 2, 3]], [0, 0, 0, 1]]), sizes_m=np.array([2.0, 1.0, 0.6]))
    points = np.array([[1, 2, 3.5], [1, 3.2, 3], [1.8, 2, 3], [1.9, 3.3, 3.3], [1, 2, 3.2], [1, 2, 3]])
    assert box.distance_m(points) == pytest.approx([0.2, 0.2, 0.3, 0.5, -0.1, -0.3])


def test_distances_from_slope_are_those_along_its_normal() -> None:
    flat = (Unevenness(rms_m=1e-9, longest_m=100.0, shortest_m=50.0),)
    slope = Terrain(seed=1, layers=flat, soil=terrain_named("volcano", seed=1).soil, slope=(0.75, 0.0))
    far = StandingBox(world_T_box=np.eye(4) + np.eye(4, k=3) * 100, sizes_m=np.ones(3))
    world = GroundWithBox(terrain=slope, box=far)
    assert world.distance_m(np.array([[0, 0, 1.0], [4, 0, 3.0], [0, 5, -2.0]])) == pytest.approx(
        [0.8, 0.0, 1.6], abs=1e-9
    )


def test_rotated_unit_is_in_settings(out: Path, world_with_truth: tuple[GroundWithBox, dict[str, np.ndarray]]) -> None:
    data = (out / "recording_20181127-111500_tf.msg").read_bytes()
    frames = msgpack.unpackb(data, raw=False, strict_map_key=False, use_list=False)
    turn = Rotation.from_quat(frames["tcp_base", "tcp"]["rotation"])
    ahead = turn.apply([1, 0, 0])
    assert ahead[1] > 0.95 and 0.1 < ahead[2] < 0.25  # to the left, and up
    assert frames["tcp", "camera_left"]["rotation"] == tuple(NUMBERS["settings_tf"][4][5:])


def test_sample_without_box_has_no_box_truth(tmp_path: Path) -> None:
    with pytest.raises(SampleError, match=r"expected a sample of sherpatt around a box with out.box.npz next to it"):
        truth_of(tmp_path / "out")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scene": "barrel"}, "scene: expected rocks, box or passing, got 'barrel'"),
        ({"circle_deg_s": 91}, "expected 90 at most"),
    ],
)
def test_unknown_scene_is_rejected(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(SampleError, match=message):
        write_sample("sherpatt", tmp_path / "out", SampleOptions(settings=settings))


def test_box_is_measured_by_medians_of_its_sides(world_with_truth: tuple[GroundWithBox, dict[str, np.ndarray]]) -> None:
    world, _ = world_with_truth
    pose, sizes = world.box.world_T_box, world.box.sizes_m
    rng = np.random.default_rng(0)
    own = rng.uniform(-0.5, 0.5, (6000, 3)) * sizes
    own[:3000, 0] = np.repeat([-0.55, 0.5], 1500) * sizes[0]  # a side of it is 6 cm too far out
    own[3000:, 2] = 0.5 * sizes[2]
    ground = pose[:3, 3] + rng.uniform(-1.2, 1.2, (4000, 3))
    ground[:, 2] = world.terrain.height_m(ground[:, 0], ground[:, 1])
    points = np.concatenate([own @ pose[:3, :3].T + pose[:3, 3], ground])
    lengths, true = world.box_lengths_m(points)
    assert true[:2] == pytest.approx(sizes[:2])
    assert 0.5 < true[2] < 0.6  # what stands out of the ground
    assert lengths[0] == pytest.approx(1.26, abs=1e-6)
    assert np.isnan(lengths[1])  # nothing was seen of these sides
    assert lengths[2] == pytest.approx(true[2], abs=1e-6)
