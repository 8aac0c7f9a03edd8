"""The chains that come with the workspace, on pictures of a plane whose truth is exact."""

from functools import cache
from typing import Any

import cv2
import numpy as np
import pytest

from fieldplay.geometry.camera_model import camera_from_numbers
from fieldplay.geometry.transforms import inverse_from_transform, rotation_from_vector, transform_from_rotation
from fieldplay_cdff.pipeline import Pipeline, load_pipeline, settings_of_arguments
from fieldplay_cdff.steps.values import (
    Array,
    Cloud,
    Frame,
    Wrench,
)

SIZE = (400, 300)
FOCAL, BASELINE_M, AWAY_M = 320.0, 0.1, 2.0
MATRIX = np.array([[FOCAL, 0, 199.5], [0, FOCAL, 149.5], [0, 0, 1]])
CAMERA = camera_from_numbers(MATRIX, [], "", width=SIZE[0], height=SIZE[1])
CAMERAS = {"left": CAMERA, "right": CAMERA}
PIXELS_PER_M = 250.0
SCENE_T_PLANE = transform_from_rotation(rotation_from_vector([0.45, 0.1, 0.0]), [-3.0, -2.4, AWAY_M - 1.2])
NARROW = ["reconstructor3D.Disparities.NumberOfIntervals=64", "reconstructor3D.ReconstructionSpace.LimitZ=4"]
STEP = transform_from_rotation(rotation_from_vector([0.004, 0.02, -0.01]), [0.02, -0.01, 0.06])
PAIRS = 4


@cache
def texture() -> Array:
    random = np.random.default_rng(3)
    fine = random.uniform(0, 255, (1200, 1500)).astype(np.float32)
    coarse = cv2.resize(random.uniform(0, 255, (240, 300)).astype(np.float32), (1500, 1200))
    return np.clip(cv2.GaussianBlur(fine, (0, 0), 1.2) * 2 - 128 + coarse - 128, 0, 255)


def render(scene_t_camera: Array) -> np.ndarray[Any, Any]:
    """What a camera sees of the plane."""
    camera_t_plane = inverse_from_transform(scene_t_camera) @ SCENE_T_PLANE
    scale = np.diag([1 / PIXELS_PER_M, 1 / PIXELS_PER_M, 1])
    whole = MATRIX @ camera_t_plane[:3][:, [0, 1, 3]] @ scale
    return cv2.warpPerspective(texture(), whole, SIZE, flags=cv2.INTER_LINEAR).astype(np.uint8)


@cache
def pairs() -> list[tuple[int, Frame, Frame]]:
    right = np.eye(4)
    right[0, 3] = BASELINE_M
    stereo_pairs = []
    for index in range(PAIRS):
        pose = np.linalg.matrix_power(STEP, index)
        stamp_ns = (index + 1) * 250_000_000
        frames = [
            Frame(image=render(each), stamp_ns=stamp_ns, camera=CAMERA, baseline_m=BASELINE_M)
            for each in (pose, pose @ right)
        ]
        stereo_pairs.append((stamp_ns, *frames))
    return stereo_pairs


def load(name: str, implementation: str, *arguments: str, threads: int = 2) -> Pipeline:
    return load_pipeline(name, implementation, settings_of_arguments(arguments), CAMERAS, BASELINE_M, threads=threads)


def run(pipeline: Pipeline) -> dict[str, list[Any]]:
    """What came out of each port, by its stamps."""
    values: dict[str, list[Any]] = {port: [] for port in pipeline.outputs}
    for stamp_ns, left, right in pairs():
        for each in pipeline.feed("leftImage", left, stamp_ns) + pipeline.feed("rightImage", right, stamp_ns):
            assert each.stamp_ns == stamp_ns
            values[each.port].append(each.value)
    return values


def narrow_arguments(implementation: str) -> list[str]:
    step = "reconstructor3d" if implementation[:3] in ("Est", "Adj") else "reconstructor3D"
    return [word.replace("reconstructor3D", step) for word in NARROW]


@pytest.mark.parametrize(
    ("implementation", "within_m"),
    # points are as far off as their depths are, some 3 cm here, which only pixels do not feel
    [("ReconstructionFromStereo", 0.01), ("EstimationFromStereo", 0.2), ("AdjustmentFromStereo", 0.01)],
)
def test_feature_pipelines_end_at_camera_with_cloud_on_plane(implementation: str, within_m: float) -> None:
    pipeline = load("Reconstruction3D", implementation, *narrow_arguments(implementation))
    outputs = run(pipeline)
    assert list(pipeline.failures) == []
    assert outputs["success"] == [True] * PAIRS
    assert len(outputs["quality"]) == PAIRS and min(outputs["quality"]) > 0.2
    truth = np.linalg.matrix_power(STEP, PAIRS - 1)
    assert np.linalg.norm(outputs["pose"][-1][:3, 3] - truth[:3, 3]) < within_m
    on_plane = inverse_from_transform(SCENE_T_PLANE)
    heights = outputs["pointCloud"][-1].points @ on_plane[2, :3] + on_plane[2, 3]
    assert np.median(np.abs(heights)) < max(0.02, within_m / 2)
    assert len(outputs["pointCloud"][0]) < len(outputs["pointCloud"][-1])


@pytest.mark.parametrize(
    "implementation", ["DenseRegistrationFromStereo", "SparseRegistrationFromStereo", "RegistrationFromStereo"]
)
def test_cloud_pipelines_report_for_each_pair_whether_it_was_merged(implementation: str) -> None:
    pipeline = load("Reconstruction3D", implementation, *narrow_arguments(implementation))
    outputs = run(pipeline)
    assert list(pipeline.failures) == []
    assert len(outputs["success"]) == PAIRS and outputs["success"][0]
    assert len(outputs["pose"]) == sum(outputs["success"]) == len(outputs["pointCloud"])
    np.testing.assert_array_equal(outputs["pose"][0], np.eye(4))


def test_odometry_of_tracked_points_is_near_truth() -> None:
    outputs = run(load("VisualOdometry", "LucasKanadePnp"))
    for index, estimate in enumerate(outputs["pose"]):
        truth = np.linalg.matrix_power(STEP, index)
        assert np.linalg.norm(estimate.pose[:3, 3] - truth[:3, 3]) < 0.005, index


def test_result_bytes_do_not_depend_on_threads() -> None:
    one, two = (
        run(load("Reconstruction3D", "ReconstructionFromStereo", *NARROW, threads=threads)) for threads in (1, 2)
    )
    assert np.stack(one["pose"]).tobytes() == np.stack(two["pose"]).tobytes()
    assert one["pointCloud"][-1].points.tobytes() == two["pointCloud"][-1].points.tobytes()


def test_black_pair_is_counted_and_next_continues_from_last() -> None:
    pipeline = load("VisualOdometry", "LucasKanadePnp")
    black = Frame(image=np.zeros(SIZE[::-1], np.uint8), camera=CAMERA, baseline_m=BASELINE_M)
    results = []
    for index, (stamp_ns, left, right) in enumerate(pairs()):
        frames = (black, black) if index == 1 else (left, right)
        outputs = pipeline.feed("leftImage", frames[0], stamp_ns) + pipeline.feed("rightImage", frames[1], stamp_ns)
        results.append({each.port: each.value for each in outputs})
    assert [each["success"] for each in results] == [True, False, True, True]
    assert "pose" not in results[1]
    truth = np.linalg.matrix_power(STEP, 3)
    assert np.linalg.norm(results[3]["pose"].pose[:3, 3] - truth[:3, 3]) < 0.005
    assert pipeline.statistics.accepted == 3


def test_model_is_processed_once_and_found_in_each_scene() -> None:
    random = np.random.default_rng(5)
    blocks = [
        random.uniform(-0.5, 0.5, 3) + random.uniform(-1, 1, (400, 3)) * random.uniform(0.03, 0.2, 3) for _ in range(8)
    ]
    points = np.concatenate([block - (block - np.round(block, 1)) * [0, 0, 0.9] for block in blocks])
    truth = transform_from_rotation(rotation_from_vector([0.1, -0.2, 0.4]), [0.5, 0.2, -0.3])
    pipeline = load_pipeline("PointCloudModelLocalisation", "FeaturesMatching3D")
    assert pipeline.feed("model", Cloud(points=points), 0) == []
    for stamp_ns in (1, 2):
        moved = points @ truth[:3, :3].T + truth[:3, 3]
        outputs = {each.port: each.value for each in pipeline.feed("scene", Cloud(points=moved), stamp_ns)}
        assert outputs["success"]
        assert np.linalg.norm(outputs["pose"][:3, 3] - truth[:3, 3]) < 0.05
    calls = {name: each.calls for name, each in pipeline.statistics.steps.items()}
    assert calls["featuresDescriptor3d"] == 2
    assert calls["featuresExtractor3dOfModel"] == calls["featuresDescriptor3dOfModel"] == 1


def test_model_is_searched_every_nth_pair() -> None:
    matching = {"ModelPairs": 1000, "References": 10, "ScenePairs": 100, "Refined": 1}
    arguments = [f"reconstruction.{word}" for word in NARROW]
    arguments += ["reconstruction.reconstructor3D.GeneralParameters.PointCloudSamplingDensity=0.02"]
    arguments += [
        f"identification.featuresMatcher3d.GeneralParameters.{name}={value}" for name, value in matching.items()
    ]
    arguments += ["gate.GeneralParameters.CloudUpdateTime=2"]
    with load("ReconstructionAndIdentification", "ReconstructionAndMatching", *arguments) as pipeline:
        pipeline.feed("model", Cloud(points=np.random.default_rng(1).uniform(-0.2, 0.2, (500, 3))), 1)
        outputs = run(pipeline)
        calls = {name: step.calls for name, step in pipeline.statistics.steps.items()}
    assert len(outputs["pointCloud"]) == calls["gate"] == PAIRS
    assert calls["identification.featuresMatcher3d"] == PAIRS // 2
    assert outputs["success"] == [False] * PAIRS, "a plane has no such body on it"


def test_contacts_become_points() -> None:
    pipeline = load_pipeline("HapticScanning")
    outputs = []
    for stamp_ns, force in enumerate((0.1, 3.0)):
        outputs += pipeline.feed("armBasePose", np.eye(4), stamp_ns)
        outputs += pipeline.feed("armEndEffectorPose", np.eye(4), stamp_ns)
        outputs += pipeline.feed("armEndEffectorWrench", Wrench(force=np.array([0, 0, force])), stamp_ns)
    assert len(outputs[-1].value) == 1


def test_clouds_from_two_positions_become_one_elevation_grid() -> None:
    pipeline = load_pipeline("ElevationMapping")
    outputs = []
    for stamp_ns, x in enumerate((0.01, 0.21)):
        pose = transform_from_rotation(np.eye(3), [x, 0.01, 0.5])
        outputs += pipeline.feed("pointCloud", Cloud(points=np.zeros((1, 3))), stamp_ns)
        outputs += pipeline.feed("pose", pose, stamp_ns)
    assert [each.port for each in outputs] == ["map", "map"]
    heights = outputs[-1].value.mean
    assert np.isfinite(heights).sum() == 2
    assert np.nanmax(heights) == pytest.approx(0.5)


@pytest.mark.parametrize("implementation", ["ReconstructionFromStereo", "EstimationFromStereo", "AdjustmentFromStereo"])
def test_stationary_camera_has_constant_pose(implementation: str) -> None:
    pipeline = load("Reconstruction3D", implementation, *narrow_arguments(implementation))
    poses = []
    for index in range(PAIRS):
        stamp_ns = (index + 1) * 250_000_000
        _, left, right = pairs()[0]
        outputs = pipeline.feed("leftImage", left, stamp_ns) + pipeline.feed("rightImage", right, stamp_ns)
        poses += [each.value for each in outputs if each.port == "pose"]
    assert len(poses) == PAIRS
    np.testing.assert_allclose(poses[-1], np.eye(4), atol=2e-4)


def test_robot_is_tracked_by_its_wheels() -> None:
    pipeline = load_pipeline("ModelBasedTracker", "WheelTracker", settings_of_arguments([]), CAMERAS, BASELINE_M)
    poses = []
    for index in range(3):
        image = np.full(SIZE[::-1], 200, np.uint8)
        for u in (120 + 8 * index, 260 + 8 * index):
            cv2.circle(image, (u, 180), 25, 30, -1, cv2.LINE_AA)
        depth = np.full(SIZE[::-1], AWAY_M, np.float32)
        frames = (Frame(image=image, camera=CAMERA), Frame(image=depth, encoding="32FC1", camera=CAMERA))
        for port, frame in zip(("image", "depth"), frames, strict=True):
            outputs = pipeline.feed(port, frame, (index + 1) * 100_000_000)
            poses += [each.value for each in outputs if each.port == "pose"]
    assert list(pipeline.failures) == []
    assert poses, "the wheel that both pictures show"
    wheel_m = [AWAY_M * (128 - 199.5) / FOCAL, AWAY_M * (180 - 149.5) / FOCAL, AWAY_M]
    np.testing.assert_allclose(poses[0][:3, 3], wheel_m, atol=0.02)
