from typing import Any

import numpy as np
import pytest

from fieldplay.geometry.transforms import (
    inverse_from_transform,
    quaternion_from_rotation,
    rotation_from_vector,
    transform_from_rotation,
)
from fieldplay_cdff.steps.step import step_of
from fieldplay_cdff.steps.two_views import project, sampson
from fieldplay_cdff.steps.values import (
    Array,
    Cloud,
    Features2D,
    Matches2D,
)

FIRST = {"FocalLengthX": 868.664, "FocalLengthY": 868.505, "PrinciplePointX": 519.775, "PrinciplePointY": 383.36}
SECOND = {"FocalLengthX": 867.226, "FocalLengthY": 867.128, "PrinciplePointX": 519.111, "PrinciplePointY": 390.755}
K1 = np.array([[868.664, 0, 519.775], [0, 868.505, 383.36], [0, 0, 1]])
K2 = np.array([[867.226, 0, 519.111], [0, 867.128, 390.755], [0, 0, 1]])
CAMERAS = {"FirstCameraMatrix": FIRST, "SecondCameraMatrix": SECOND}
ASIDE = transform_from_rotation(np.eye(3), [0.092906721, 0, 0])  # first_T_second
TURNED = transform_from_rotation(rotation_from_vector([0.02, -0.05, 0.01]), [-0.3, 0.05, 0.1])  # second_T_first
MATRIX = np.array([
    [1.392260777e-07, -8.868814801e-06, 7.370115275e-03],
    [1.029305707e-05, 4.366030539e-07, 1.740727614e-02],
    [-8.194814875e-03, -1.882980123e-02, 9.996103999e-01],
])  # fmt: skip
POINTS = np.array([(-1, -0.6, 3), (-0.4, 0.5, 4), (0.2, -0.3, 2.5), (0.7, 0.4, 5), (1.1, -0.7, 3.5), (-0.9, 0.2, 4.5)])
CAMERA_MATRIX = {"FocalLengthX": 867.356, "FocalLengthY": 867.356, "PrinciplePointX": 516.0, "PrinciplePointY": 386.0}
EXACT = [(353.642981226, 199.474815185), (547.016875109, 440.643397902), (685.639085939, 231.877587408),
         (738.096830820, 391.814207968), (872.881994506, 144.879134150), (459.645791923, 383.574617587)]  # fmt: skip
NOISY = [(354.043, 199.175), (546.817, 441.143), (685.939, 231.978), (737.597, 391.614), (872.982, 145.279),
         (459.546, 383.075)]  # fmt: skip


def pairs(source: Any, sink: Any) -> Matches2D:
    source, sink = np.asarray(source, float).reshape(-1, 2), np.asarray(sink, float).reshape(-1, 2)
    return Matches2D(source=source, sink=sink, probability=np.ones(len(source)))


def scene(count: int = 60) -> Matches2D:
    """Exact pixels of points that both cameras see."""
    points = np.random.default_rng(0).uniform([-1, -0.8, 2], [1, 0.8, 6], (count, 3))
    return pairs(project(K1 @ np.eye(3, 4), points), project(K2 @ TURNED[:3], points))


def points_of(matches: Matches2D, pose: Array = ASIDE, **general: Any) -> Array:
    step = step_of("PointCloudReconstruction2DTo3D", "Triangulation")({**CAMERAS, "GeneralParameters": general})
    cloud: Cloud = step.process(matches=matches, pose=pose)["pointcloud"]
    return cloud.points


def solve(points: Array, pixels: Any, **general: Any) -> dict[str, Any]:
    step = step_of("PerspectiveNPointSolving", "IterativePnpSolver")(
        {"CameraMatrix": CAMERA_MATRIX, "GeneralParameters": general}
    )
    return step.process(points=Cloud(points=points), projections=Features2D(points=np.asarray(pixels, float)))


@pytest.mark.parametrize(
    ("left", "right", "point"),
    [
        ((577.685933333, 267.559333333), (523.211983983, 275.137933333), (0.1, -0.2, 1.5)),
        ((330.248309091, 478.106), (300.599463991, 485.350781818), (-0.6, 0.3, 2.75)),
        ((791.2325, 491.923125), (769.976343994, 499.146), (1.25, 0.5, 4)),
        ((577.7, 267.5), (523.2, 274.9), (0.099975667, -0.200159126, 1.499268472)),
        ((330.2, 478.2), (300.7, 485.2), (-0.603210916, 0.301438659, 2.764013725)),
        ((791.3, 491.9), (769.8, 499.2), (1.235361676, 0.494091978, 3.952174497)),
    ],
)
def test_two_pixels_give_one_point(left: Any, right: Any, point: tuple[float, ...]) -> None:
    assert points_of(pairs(left, right)) == pytest.approx(np.array([point]), rel=1e-6, abs=1e-8)


def test_pose_is_second_camera_in_first() -> None:
    matches = scene()
    points = points_of(matches, inverse_from_transform(TURNED))
    assert project(K1 @ np.eye(3, 4), points) == pytest.approx(matches.source, abs=1e-6)
    assert len(points_of(matches, TURNED)) < 10


def test_points_off_their_pixels_or_behind_are_dropped_or_nan() -> None:
    left = [(577.7, 267.5), (577.7, 267.5), (577.7, 267.5), (np.nan, 1.0)]
    right = [(523.2, 274.9), (632.0, 274.9), (523.2, 279.0), (1.0, 1.0)]
    matches = pairs(left, right)
    assert len(points_of(matches)) == 1
    all_points = points_of(matches, OutputInvalidPoints=True)
    assert np.isnan(all_points).all(axis=1).tolist() == [False, True, True, True]
    assert len(points_of(matches, MaximumReprojectionError=0.1264)) == 0, "its own is 0.126456062"
    assert len(points_of(matches, MaximumReprojectionError=4.0)) == 2
    assert len(points_of(pairs([], []))) == 0


def test_epipolar_distances_match_sampson() -> None:
    source = np.array([[600.0, 300.0]] * 3)
    distances = sampson(MATRIX, source, np.array([[560, 291.5], [560, 289], [560, 290.212902472]]))
    assert distances == pytest.approx([0.795073011, 0.705860505, 0], rel=1e-6, abs=1e-6)


def test_fundamental_matrix_is_found_among_outliers() -> None:
    exact = scene()
    sink = exact.sink.copy()
    sink[:10] += [40, -60]
    step = step_of("FundamentalMatrixComputation", "FundamentalMatrixRansac")()
    outputs = step.process(matches=pairs(exact.source, sink))
    assert outputs["success"] is True
    assert outputs["fundamentalMatrix"] == pytest.approx(MATRIX, rel=1e-6, abs=1e-11)
    assert np.array_equal(outputs["inlierMatches"].source, exact.source[10:])
    assert outputs["quality"] == pytest.approx(5 / 6)


@pytest.mark.parametrize("moved", [3.0, -3.0])
def test_matches_off_epipolar_line_are_dropped_on_both_sides(moved: float) -> None:
    """The original lets every negative residual pass."""
    exact = scene()
    sink = exact.sink.copy()
    sink[:5, 1] += moved
    step = step_of("FundamentalMatrixComputation", "FundamentalMatrixRansac")()
    assert len(step.process(matches=pairs(exact.source, sink))["inlierMatches"]) == 55


@pytest.mark.parametrize("count", [0, 7])
def test_too_few_matches_fail_and_pass_only_on_request(count: int) -> None:
    few = scene().subset(np.arange(count))
    name = ("FundamentalMatrixComputation", "FundamentalMatrixRansac")
    assert step_of(*name)().process(matches=few) == {"success": False}
    passed = step_of(*name)({"GeneralParameters": {"AllPassOnFailure": True}}).process(matches=few)
    assert (passed["success"], len(passed["inlierMatches"])) == (False, count)
    same = pairs([[5, 5]] * 20, [[6, 6]] * 20)
    assert step_of(*name)().process(matches=same) == {"success": False}


def test_camera_motion_is_inverse_of_original() -> None:
    step = step_of("CamerasTransformEstimation", "EssentialMatrixDecomposition")(CAMERAS)
    outputs = step.process(fundamentalMatrix=MATRIX, matches=scene())
    assert outputs["success"] is True
    pose = outputs["transform"]
    assert pose[:3, 3] == pytest.approx([0.918701035, -0.172134634, -0.355468811], rel=1e-6)
    quaternion = quaternion_from_rotation(pose[:3, :3])
    assert quaternion == pytest.approx([-0.009998750, 0.024996875, -0.004999375, 0.999625023], rel=1e-5)
    assert outputs["quality"] == 1


def test_strong_axis_tilt_succeeds() -> None:
    """The original refuses more than 8 degrees."""
    second_t_first = transform_from_rotation(rotation_from_vector([0.0, 0.35, 0.0]), [-0.5, 0.0, 0.3])
    points = np.random.default_rng(0).uniform([-1, -0.8, 4], [1, 0.8, 6], (30, 3))
    matches = pairs(project(K1 @ np.eye(3, 4), points), project(K2 @ second_t_first[:3], points))
    matrix = step_of("FundamentalMatrixComputation", "FundamentalMatrixRansac")().process(matches=matches)
    step = step_of("CamerasTransformEstimation", "EssentialMatrixDecomposition")(CAMERAS)
    pose = step.process(fundamentalMatrix=matrix["fundamentalMatrix"], matches=matches)["transform"]
    requested = inverse_from_transform(second_t_first)
    assert pose[:3, :3] == pytest.approx(requested[:3, :3], abs=1e-6)
    assert step.process(fundamentalMatrix=MATRIX, matches=matches.subset(np.arange(0))) == {"success": False}
    with pytest.raises(ValueError, match="fundamentalMatrix: expected 3 x 3 numbers"):
        step.process(fundamentalMatrix=np.full((3, 3), np.nan), matches=matches)


def test_exact_pixels_give_camera_pose_in_point_frame() -> None:
    outputs = solve(POINTS, EXACT)
    assert (outputs["success"], outputs["quality"]) == (True, 1)
    assert outputs["camera"][:3, 3] == pytest.approx([-0.091602991, 0.016198280, -0.312004019], rel=1e-6)
    quaternion = quaternion_from_rotation(outputs["camera"][:3, :3])
    assert quaternion == pytest.approx([-0.024980317, -0.049960634, 0.039968507, 0.997638430], rel=1e-6)


def test_noisy_pixels_give_least_squares_pose() -> None:
    camera = solve(POINTS, NOISY)["camera"]
    requested = transform_from_rotation(
        rotation_from_vector([0.050383672, 0.099002423, -0.078973852]), [0.123613837, -0.039038996, 0.301038612]
    )
    assert inverse_from_transform(camera) == pytest.approx(requested, abs=1e-6)


def test_wrong_pixels_are_excluded_and_too_few_fail() -> None:
    points = np.random.default_rng(0).uniform([-1, -1, 3], [1, 1, 6], (40, 3))
    matrix = np.array([[867.356, 0, 516], [0, 867.356, 386], [0, 0, 1]])
    pixels = project(matrix @ np.eye(3, 4), points)
    pixels[:8] += 50
    pixels[8] = np.nan
    outputs = solve(points, pixels)
    assert outputs["camera"] == pytest.approx(np.eye(4), abs=1e-6)
    assert outputs["quality"] == pytest.approx(31 / 39)
    assert solve(POINTS[:3], EXACT[:3]) == {"success": False}
    with pytest.raises(ValueError, match="projections: expected a pixel of each of 6 points, got 5"):
        solve(POINTS, EXACT[:5])


def test_points_of_disparities_lie_on_rays_of_their_first_pixels() -> None:
    group = {"FocalLengthX": 200.0, "FocalLengthY": 100.0, "PrinciplePointX": 50.0, "PrinciplePointY": 40.0}
    step = step_of("PointCloudReconstruction2DTo3D", "DisparityTriangulation")({"FirstCameraMatrix": group})
    pose = np.eye(4)
    pose[0, 3] = 0.1
    source = np.array([[150.0, 60.0], [50.0, 40.0], [10.0, 10.0], [10.0, 10.0]])
    sink = source - [[10.0, 0.5], [5.0, 0.0], [-3.0, 0.0], [10.0, 1.5]]
    outputs = step.process(matches=Matches2D(source=source, sink=sink, probability=np.ones(4)), pose=pose)
    points = outputs["pointcloud"].points
    np.testing.assert_allclose(points[:2], [[1.0, 0.4, 2.0], [0.0, 0.0, 4.0]], atol=1e-12)
    assert np.isnan(points[2:]).all(), "behind, and in another row"
