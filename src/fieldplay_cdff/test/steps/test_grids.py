"""Points in cells, and points by touch."""

import numpy as np
import pytest

from fieldplay.geometry.camera_model import camera_from_numbers
from fieldplay.geometry.transforms import (
    rotation_from_quaternion,
    transform_from_rotation,
    transform_from_vectors,
    transform_points,
)
from fieldplay_cdff.steps.step import step_of
from fieldplay_cdff.steps.values import (
    Cloud,
    ElevationGrid,
    Frame,
    Wrench,
)

GENERAL = "GeneralParameters"
POINTS = np.array([
    [0.01, 0.02, 0.10], [0.04, 0.03, 0.20], [0.06, 0.02, 0.05], [0.12, 0.11, -0.30], [0.13, 0.14, -0.10],
    [0.11, 0.12, 0.5], [-0.02, 0.01, 0.7], [0.049999, 0.05, 0.3],
])  # fmt: skip
CELLS = {(0, -1): (1, 0.7, 0.7, 0.7), (0, 0): (2, 0.15, 0.2, 0.1), (0, 1): (1, 0.05, 0.05, 0.05),
         (1, 0): (1, 0.3, 0.3, 0.3), (2, 2): (3, 0.033333333, 0.5, -0.3)}  # fmt: skip


def check(grid: ElevationGrid) -> None:
    first_column = round(grid.x_m / 0.05)
    assert (first_column, grid.y_m, grid.resolution_m, grid.mean.shape) == (-1, 0, 0.05, (3, 4))
    for (row, column), (count, mean, highest, lowest) in CELLS.items():
        cell = (row, column - first_column)
        assert grid.count[cell] == count
        heights = grid.mean[cell], grid.highest[cell], grid.lowest[cell]
        assert heights == pytest.approx((mean, highest, lowest), abs=1e-9)
    assert grid.deviation[2, 3] == pytest.approx(0.339934634, abs=1e-9)
    assert grid.count.sum() == 8 and np.isnan(grid.mean).sum() == 12 - 5


def test_cell_heights_match_reference_for_any_point_order() -> None:
    whole = step_of("ElevationMapping", "ElevationMap")()
    check(whole.process(pointCloud=Cloud(points=POINTS))["map"])
    step = step_of("ElevationMapping", "ElevationMap")()
    parts = np.random.default_rng(0).permutation(POINTS)
    for part in (parts[:3], parts[3:4], np.zeros((0, 3)), parts[4:]):
        outputs = step.process(pointCloud=Cloud(points=part))
    check(outputs["map"])
    step.reset()
    assert step.process(pointCloud=Cloud(points=np.zeros((0, 3)))) == {}


def test_clouds_are_transformed_by_poses_and_invalid_points_dropped() -> None:
    pose = transform_from_vectors(np.array([0.2, -0.4, 1.0]), np.array([3.0, 2, 1]))
    far = np.array([[2e4, 0, 0], [np.nan, 0, 0]])
    inner = transform_points(np.linalg.inv(pose), POINTS + np.array([0, 1e-9, 0]))  # one lies on the border of a cell
    step = step_of("ElevationMapping", "ElevationMap")({GENERAL: {"OutputEvery": 2}})
    check(step.process(pointCloud=Cloud(points=np.concatenate([inner, far])), pose=pose)["map"])
    assert step.process(pointCloud=Cloud(points=inner), pose=pose) == {}
    small = step_of("ElevationMapping", "ElevationMap")({GENERAL: {"MaximumCells": 100}})
    small.process(pointCloud=Cloud(points=POINTS))
    with pytest.raises(ValueError, match="expected points within 100 cells with all before, got 203 x 204"):
        small.process(pointCloud=Cloud(points=np.array([[10.13, 10.13, 0]])))
    check(small.process(pointCloud=Cloud(points=far))["map"])
    with pytest.raises(ValueError, match="pose: expected numbers, got NaN"):
        small.process(pointCloud=Cloud(points=POINTS), pose=np.full((4, 4), np.nan))


def test_map_of_many_points_matches_each_cell() -> None:
    points = np.random.default_rng(3).normal(size=(5000, 3))
    grid = step_of("ElevationMapping", "ElevationMap")({GENERAL: {"Resolution": 0.5, "OriginX": 0.1}}).process(
        pointCloud=Cloud(points=points)
    )["map"]
    inside = (points[:, 0] >= 0.6) & (points[:, 0] < 1.1) & (points[:, 1] >= -0.5) & (points[:, 1] < 0)
    cell = round((-0.5 - grid.y_m) / 0.5), round((0.6 - grid.x_m) / 0.5)
    z = points[inside, 2]
    values = [getattr(grid, name)[cell] for name in ("count", "mean", "deviation", "lowest", "highest")]
    assert values == pytest.approx([len(z), z.mean(), z.std(), z.min(), z.max()])


def frame_of(image: np.ndarray, encoding: str) -> Frame:
    camera = camera_from_numbers(
        [100, 0, 0, 0, 100, 0, 0, 0, 1], [], "plumb_bob", width=image.shape[1], height=image.shape[0]
    )
    return Frame(image=image, encoding=encoding, camera=camera)


def test_bytes_are_depths_from_nearest_to_farthest() -> None:
    octree = step_of("Voxelization", "Octree")().process(
        depth=frame_of(np.array([[0, 1, 128, 255]], np.uint8), "mono8")
    )
    centres = octree["octree"].centres
    assert (centres - 0.5)[:, 2].tolist() == [0, 50, 100], "0 and 1 are in the same cube"


def test_octree_cubes_are_at_camera_points_x_before_y() -> None:
    depth = np.zeros((200, 300), np.float32)
    depth[50, 250] = 2.0  # x 5, y 1
    step = step_of("Voxelization", "Octree")({GENERAL: {"MinDistance": 0.1, "Resolution": 0.4}})
    for image, encoding in ((depth, "32FC1"), ((depth * 1000).astype(np.uint16), "16UC1")):
        octree = step.process(depth=frame_of(image, encoding))["octree"]
        np.testing.assert_allclose(octree.centres, [[5.0, 1.0, 2.2]])
    assert len(step.process(depth=frame_of(np.full((2, 2), np.nan, np.float32), "32FC1"))["octree"].centres) == 0
    with pytest.raises(ValueError, match="depth: expected an image of a known camera"):
        step.process(depth=Frame(image=depth, encoding="32FC1"))
    with pytest.raises(ValueError, match="depth: expected 32FC1, 16UC1 or mono8, got rgb8"):
        step.process(depth=frame_of(np.zeros((2, 2), np.uint8), "rgb8"))


BASE = transform_from_rotation(
    rotation_from_quaternion([-0.109951379, 0.018042467, 0.298443097, 0.947901304]), [0.5, -0.3, 1.2]
)
TOOL = transform_from_rotation(np.eye(3), [0.7, 0.1, -0.4])


def test_contact_is_at_tool_position() -> None:
    step = step_of("ForceMeshGenerator", "ThresholdForce")()
    force = np.array([0.3, -0.5, 0.2])
    ports = {"armBasePose": BASE, "armEndEffectorPose": TOOL}
    for factor, count in ((1.0, 1), (0.811, 1), (0.8112, 2)):  # |F| 0.616441400, of which 0.5 N is 0.811107
        cloud = step.process(**ports, armEndEffectorWrench=Wrench(force=force * factor, stamp_ns=7))["outputPointCloud"]
        assert len(cloud) == count
    np.testing.assert_allclose(cloud.points[0], [1.030442385, 0.085357447, 0.720280796], atol=1e-9)
    assert cloud.stamp_ns == 7
    with pytest.raises(ValueError, match="expected a force and the poses of base and tool, got NaN"):
        step.process(**ports, armEndEffectorWrench=Wrench(force=force * np.nan))
    step.reset()
    assert len(step.process(**ports, armEndEffectorWrench=Wrench(force=0 * force))["outputPointCloud"]) == 0


def test_tool_weight_is_no_contact_and_radius_leads_to_surface() -> None:
    step = step_of("ForceMeshGenerator", "ThresholdForce")(
        {GENERAL: {"TareZ": -5.0, "ToolRadius": 0.02, "MaximumPoints": 2}}
    )
    turned = transform_from_vectors(np.array([np.pi, 0, 0]), np.array([1.0, 0, 0]))
    for z in (-5.2, -4.0, -3.0, 4.0):
        wrench = Wrench(force=np.array([0, 0, z]))
        outputs = step.process(armBasePose=np.eye(4), armEndEffectorPose=turned, armEndEffectorWrench=wrench)
        cloud = outputs["outputPointCloud"]
        assert len(cloud) == {-5.2: 0, -4.0: 1}.get(z, 2)
    np.testing.assert_allclose(cloud.points, [[1, 0, 0.02]] * 2, atol=1e-12)


@pytest.mark.parametrize(("frame", "touches"), [("Base", 1), ("Tool", 12)])
def test_measured_tare_rotates_with_tool_if_it_is_a_weight(frame: str, touches: int) -> None:
    """A tool of 5 N hangs on an arm that turns it about, and is touched once."""
    weight, taring = np.array([0, 0, -5.0]), {"TareSamples": 3, "TareFrame": frame}
    step = step_of("ForceMeshGenerator", "ThresholdForce")({GENERAL: taring})
    for number in range(16):
        pose = transform_from_vectors(np.array([0.2 * max(number - 3, 0), 0, 0]), np.array([number, 0, 0]))
        force = weight + (np.array([0, 0, 2.0]) if number == 9 else 0)
        wrench = Wrench(force=pose[:3, :3].T @ force)
        cloud = step.process(armEndEffectorPose=pose, armEndEffectorWrench=wrench)["outputPointCloud"]
    assert len(cloud) == touches
    assert 9.0 in cloud.points[:, 0]
