"""Steps on clouds against numbers worked out by hand."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial import cKDTree

from fieldplay_cdff.steps.neighbours import edges_within, surfaces_of, voxel_means
from fieldplay_cdff.steps.step import Step, step_of
from fieldplay_cdff.steps.values import Array, Cloud

GENERAL = "GeneralParameters"
CELLS = np.array([
    [0.01, 0.02, 0.03], [0.04, 0.01, 0.02], [0.06, 0.02, 0.03], [-0.01, 0.02, 0.03], [-0.04, -0.01, 0.07],
    [0.049, 0.049, 0.049], [0.12, 0.13, 0.14], [0.11, 0.14, 0.11],
])  # fmt: skip
STORED = np.array([[0, 0, 1.0], [0.1, 0, 1], [0.2, 0, 1], [1, 0, 1]])
NEW = np.array([[0.004, 0, 1.002], [0.002, 0.004, 1], [0.103, 0.002, 1], [0.15, 0, 1.01], [0.6, 0, 1]])


def assembly(name: str, **general: Any) -> Step:
    return step_of("PointCloudAssembly", name)({GENERAL: general})


def merge(step: Step, first: Array, second: Array | None = None, **more: Any) -> Array:
    clouds = {"firstPointCloud": Cloud(points=first)}
    if second is not None:
        clouds["secondPointCloud"] = Cloud(points=second)
    points: Array = step.process(**clouds, **more)["assembledCloud"].points
    return points


def test_cell_points_become_their_mean_in_cell_order() -> None:
    expected = [
        [-0.04, -0.01, 0.07], [-0.01, 0.02, 0.03], [0.033, 0.026333333, 0.033], [0.06, 0.02, 0.03],
        [0.115, 0.135, 0.125],
    ]  # fmt: skip
    points = merge(assembly("VoxelBinning", VoxelResolution=0.05), CELLS[:3], CELLS[3:])
    np.testing.assert_allclose(points, expected, atol=1e-9)


def test_point_attributes_are_averaged_too() -> None:
    cloud = Cloud(
        points=np.array([[0.1, 0, 0], [0.2, 0, 0]]), normals=np.array([[1.0, 0, 0], [0, 1, 0]]),
        intensity=np.array([1, 2], np.float32), colors=np.array([[0, 255, 10], [11, 254, 10]], np.uint8),
    )  # fmt: skip
    means = voxel_means(cloud, 1.0)
    assert means.normals is not None and means.intensity is not None and means.colors is not None
    np.testing.assert_allclose(means.normals, [[0.5**0.5, 0.5**0.5, 0]])
    assert (means.intensity.tolist(), means.colors.tolist()) == ([1.5], [[6, 254, 10]])


def test_points_far_from_all_others_are_outliers() -> None:
    points = np.array([
        [0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0.1, 0.1, 0], [0.05, 0.05, 0.1], [0.2, 0, 0], [1, 1, 1], [0, 0.2, 0.05],
    ])  # fmt: skip
    inliers = np.delete(np.arange(8), 6)
    for only, expected in ((False, points[inliers]), (True, points[[6]])):
        step = step_of("PointCloudFiltering", "StatisticalOutlierRemoval")(
            {GENERAL: {"NumberOfNearestNeighbours": 3, "TakeOutliersOnly": only}}
        )
        outputs = step.process(pointCloud=Cloud(points=np.concatenate([points, [[np.nan, 0, 0]]])))
        assert outputs["filteredPointCloud"].points.tolist() == expected.tolist()
    # mean 0.304607256, deviation 0.527761561: (1 1 1) with 1.610086480 lies 2.47362 deviations away
    for multiplier, count in ((2.4736, 7), (2.4737, 8)):
        strict = step_of("PointCloudFiltering", "StatisticalOutlierRemoval")(
            {GENERAL: {"NumberOfNearestNeighbours": 3, "StandardDeviationMultiplier": multiplier}}
        )
        assert len(strict.process(pointCloud=Cloud(points=points))["filteredPointCloud"]) == count
    with pytest.raises(ValueError, match="pointCloud: expected 3 or more points, got 0 of 1 with numbers"):
        strict.process(pointCloud=Cloud(points=np.full((1, 3), np.nan)))


def test_stored_points_move_half_way_to_new_ones_and_move_neighbours() -> None:
    expected = [
        [0.0015, 0.001, 1.0005], [0.1015, 0.001, 1], [0.2015, 0.001, 1], [1.0015, 0.001, 1], [0.1485, -0.001, 1.01],
        [0.5985, -0.001, 1],
    ]  # fmt: skip
    np.testing.assert_allclose(merge(assembly("NeighbourPointAverage"), STORED, NEW), expected, atol=1e-9)


def test_points_far_from_matched_ones_can_stay() -> None:
    points = merge(assembly("NeighbourPointAverage", ShiftedWithinRadii=15.0), STORED, NEW)
    expected = [[0.2015, 0.001, 1], [1, 0, 1], [0.1485, -0.001, 1.01], [0.6, 0, 1]]
    np.testing.assert_allclose(points[2:], expected, atol=1e-9)


def test_pairs_of_single_points_are_within_distance_not_its_root() -> None:
    """The original compares a squared distance with 0.01, so that 0.05 m would be near."""
    points = merge(assembly("NeighbourSinglePointAverage"), STORED, NEW)
    expected = [
        [0.001, 0.002, 1], [0.1015, 0.001, 1], [0.2, 0, 1], [1, 0, 1], [0.004, 0, 1.002], [0.15, 0, 1.01], [0.6, 0, 1],
    ]  # fmt: skip
    np.testing.assert_allclose(points, expected, atol=1e-9)
    alone = assembly(
        "NeighbourSinglePointAverage", IgnoreUnmatchedPointsOnFirstCloud=True, IgnoreUnmatchedPointsOnSecondCloud=True
    )
    np.testing.assert_allclose(merge(alone, STORED, NEW), expected[:2], atol=1e-9)


def test_disjoint_clouds_are_concatenated() -> None:
    for name in ("NeighbourPointAverage", "NeighbourSinglePointAverage"):
        assert len(merge(assembly(name), STORED, NEW + 5)) == 9


def test_dense_cloud_is_downsampled_to_requested_density_deterministically() -> None:
    points = np.random.default_rng(1).uniform(size=(4000, 3))
    results = [merge(assembly("MatcherAssembly", MaximumSamplingDensity=400.0), points[:1], points[1:]) for _ in "ab"]
    assert 0.06 < len(results[0]) / 4000 < 0.2
    assert results[0].tobytes() == results[1].tobytes()
    sparse = assembly("MatcherAssembly", MaximumSamplingDensity=1e6)
    assert len(merge(sparse, points[:5], points[5:])) == 4000


def test_clouds_accumulate_until_reset_and_view_limits_only_output() -> None:
    step = assembly("VoxelBinning", UseIncrementalMode=True, UseDistanceFilter=True, VoxelResolution=0.05)
    center = np.eye(4)
    center[:3, 3] = 5
    assert len(merge(step, CELLS[:3])) == 2
    assert len(merge(step, CELLS[3:], viewCenter=center, viewRadius=1.0)) == 0
    assert len(merge(step, np.zeros((0, 3)), viewRadius=0.1)) == 4
    step.reset()
    assert len(merge(step, CELLS[:1])) == 1
    with pytest.raises(ValueError, match="secondPointCloud: expected a cloud, got none"):
        merge(assembly("VoxelBinning"), CELLS)


def test_empty_and_broken_clouds_change_nothing() -> None:
    none, broken = np.zeros((0, 3)), np.full((2, 3), np.inf)
    for name in ("VoxelBinning", "NeighbourPointAverage", "NeighbourSinglePointAverage", "MatcherAssembly"):
        assert len(merge(assembly(name), none, broken)) == 0
        assert len(merge(assembly(name), broken, STORED[:1])) == 1
    with pytest.raises(ValueError, match=r"expected points nearer to each other, got .* cells"):
        voxel_means(Cloud(points=np.array([[0, 0, 0], [1e7, 1e7, 1e7]])), 0.001)


def test_normal_points_to_sensor_and_has_curvature() -> None:
    points = np.array(
        [[0, 0, 1], [0.1, 0, 1.01], [0, 0.1, 0.99], [0.1, 0.1, 1.02], [0.05, 0.05, 1], [-0.1, 0.05, 0.985]]
    )
    for how in ({"nearest": 6}, {"radius": 1.0}):
        normals, curvatures = surfaces_of(points, **how)
        np.testing.assert_allclose(normals, np.tile([0.151221013, 0, -0.988499977], (6, 1)), atol=2e-9)
        np.testing.assert_allclose(curvatures, 0.003829704, atol=1e-9)
    turned, _ = surfaces_of(points, nearest=6, sensor=np.array([0, 0, 5.0]))
    np.testing.assert_allclose(turned, -normals, atol=1e-9)
    assert np.isnan(surfaces_of(points, radius=0.01)[0]).all(), "no surface without neighbours"


def test_edges_are_all_pairs_within_radius() -> None:
    points = np.array([[0.0, 0, 0], [3, 4, 0], [0, 0, 5.1]])
    edges = edges_within(cKDTree(points), points[:2], 5.0)
    assert (edges.of.tolist(), edges.to.tolist()) == ([0, 0, 1, 1], [0, 1, 0, 1])
    assert edges.distances.tolist() == [0, 5, 5, 0]
