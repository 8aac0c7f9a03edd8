"""A body found among others by pairs of points with normals; half of it is hidden, or it is not there."""

import numpy as np
import pytest

from fieldplay.geometry.transforms import vector_from_rotation
from fieldplay_cdff.pipeline.pipeline_run import load_pipeline
from fieldplay_cdff.steps.point_pair_features import OrientedPairs, SurfaceNormals3D, VoxelSampling3D
from fieldplay_cdff.steps.values import Array, Cloud, Features3D
from fieldplay_testing.solid_scenes import any_pose, body, scene

MODEL = body(np.random.default_rng(7)).points
SIZE_M = float(np.linalg.norm(np.ptp(MODEL, axis=0)))


def match_in(points: Array) -> dict[str, object]:
    with load_pipeline("PointCloudModelLocalisation", threads=1) as pipeline:
        pipeline.feed("model", Cloud(points=MODEL), 1)
        return {each.port: each.value for each in pipeline.feed("scene", Cloud(points=points), 1)}


@pytest.mark.parametrize("seed", [9, 16])
def test_half_hidden_body_is_found(seed: int) -> None:
    random = np.random.default_rng(seed)
    true = any_pose(random)
    result = match_in(scene(random, true))
    assert result["success"] is True
    pose = result["pose"]
    assert isinstance(pose, np.ndarray)
    turn = np.linalg.norm(vector_from_rotation(pose[:3, :3].T @ true[:3, :3]))
    assert np.linalg.norm(pose[:3, 3] - true[:3, 3]) < 0.01 * SIZE_M
    assert SIZE_M * np.sin(turn / 2) < 0.01 * SIZE_M


def test_absent_body_is_not_found_and_same_input_gives_same_result() -> None:
    points = scene(np.random.default_rng(3), None)
    result = match_in(points)
    assert result["success"] is False
    assert result == match_in(points)


def test_one_point_per_cell_is_kept_with_its_normal() -> None:
    grid = np.stack(np.meshgrid(np.arange(20), np.arange(20)), axis=-1).reshape(-1, 2) * 0.01
    cloud = Cloud(points=np.column_stack([grid, np.full(len(grid), 1.0)]))
    features = VoxelSampling3D({"GeneralParameters": {"Resolution": 0.05}}).process(pointcloud=cloud)["features"]
    assert len(features) == 16
    described = SurfaceNormals3D().process(pointcloud=cloud, features=features)["features"]
    np.testing.assert_allclose(np.abs(described.descriptors), np.tile([0, 0, 1], (16, 1)), atol=1e-6)


def test_model_in_millimetres_is_reported() -> None:
    points = scene(np.random.default_rng(3), None)[::10]
    with load_pipeline("PointCloudModelLocalisation", threads=1) as pipeline:
        assert len(list(pipeline.feed("model", Cloud(points=1000 * MODEL[::20]), 1))) == 0
        assert not any(each.port == "pose" for each in pipeline.feed("scene", Cloud(points=points), 1))
        messages = [str(failure) for failure in pipeline.failures]
    assert len(messages) == 1 and "the model is " in messages[0] and "is it in millimetres?" in messages[0]


def test_other_descriptors_and_too_few_points_are_reported() -> None:
    random = np.random.default_rng(1)
    points = random.uniform(-1, 1, (100, 3))
    other = Features3D(points=points, descriptors=random.uniform(0, 1, (100, 33)).astype(np.float32))
    with pytest.raises(ValueError, match="expected normals as descriptors, got 33 numbers"):
        OrientedPairs().process(sourceFeatures=other, sinkFeatures=other)
    few = Features3D(points=points[:9], descriptors=np.tile([0, 0, 1], (9, 1)).astype(np.float32))
    assert OrientedPairs().process(sourceFeatures=few, sinkFeatures=few) == {"success": False}
