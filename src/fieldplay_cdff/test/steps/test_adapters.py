"""Steps of our own: what holds the published ones together."""

from typing import Any

import numpy as np
import pytest

from fieldplay.geometry.transforms import (
    quaternion_from_rotation,
    rotation_about_axis,
    rotation_from_quaternion,
    transform_from_rotation,
)
from fieldplay_cdff.steps.step import Step, step_of
from fieldplay_cdff.steps.values import (
    Array,
    Cloud,
    Features3D,
    Frame,
    Matches2D,
)

A = transform_from_rotation(
    rotation_from_quaternion([0.072851827, -0.084305680, 0.250694801, 0.961632612]), [1.0, 2, 3]
)
B = transform_from_rotation(
    rotation_from_quaternion([0.130531229, 0.030424507, -0.154248035, 0.978899122]), [0.4, -0.5, 0.2]
)


def make_step(dfn: str, implementation: str, **general: Any) -> Step:
    return step_of(dfn, implementation)({"GeneralParameters": general} if general else {})


def matches(source: Any, sink: Any) -> Matches2D:
    source, sink = np.array(source, float).reshape(-1, 2), np.array(sink, float).reshape(-1, 2)
    return Matches2D(source=source, sink=sink, probability=np.ones(len(source)))


def test_relative_poses_are_composed_with_rotations() -> None:
    trajectory = make_step("PoseTrack", "ComposePose")
    assert trajectory.process(trigger=1) == {"success": False, "accepted": False}, "nothing to begin with"
    first = trajectory.process(trigger=1, basis=1)
    np.testing.assert_array_equal(first["pose"], np.eye(4))
    trajectory.process(trigger=1, step=A)
    both = trajectory.process(trigger=1, step=B, quality=0.5)
    np.testing.assert_allclose(both["pose"][:3, 3], [1.566130848, 1.719626175, 3.225580100], atol=1e-6)
    quaternion = quaternion_from_rotation(both["pose"][:3, :3])
    np.testing.assert_allclose(quaternion, [0.202214396, -0.009308807, 0.110295984, 0.973066020], atol=1e-6)
    assert both["quality"] == 0.5
    np.testing.assert_allclose(trajectory.process(trigger=1, estimate=A)["pose"], A)


def test_after_failures_trajectory_restarts_at_predicted_pose() -> None:
    trajectory = make_step("PoseTrack", "ComposePose", Prediction="Constant", RestartAfter=2)
    forward = np.eye(4)
    forward[0, 3] = 1.0
    trajectory.process(trigger=1, basis=1)
    trajectory.process(trigger=1, step=forward, basis=1)
    failed = [trajectory.process(trigger=1, success=False, basis=1) for _ in range(2)]
    assert [(each["success"], each["accepted"]) for each in failed] == [(False, False), (False, True)]
    assert failed[0]["nextPose"][0, 3] == 3 and failed[0]["motion"].values[9] == 1
    assert trajectory.process(trigger=1, step=forward, basis=1)["pose"][0, 3] == pytest.approx(4)


def test_prediction_uses_time_so_lost_pair_is_tolerated() -> None:
    trajectory = make_step("PoseTrack", "ComposePose", Prediction="Constant", MaximumShift=1.2)
    ahead = make_step("MotionExpectation", "ConstantMotion", MaximumTime=2.0)
    frames = [Frame(image=np.zeros((1, 1), np.uint8), stamp_ns=stamp_ns * 10**8) for stamp_ns in (0, 2, 4, 10, 90)]
    forward = np.eye(4)
    forward[2, 3] = 1.0
    trajectory.process(trigger=frames[0], basis=1)
    trajectory.process(trigger=frames[1], basis=1, success=True, step=forward)
    refused = trajectory.process(trigger=frames[2], basis=1, step=forward @ forward @ forward)
    assert not refused["success"], "two metres more than was to be expected"
    expected = ahead.process(trigger=frames[3], motion=refused["motion"])["pose"]
    np.testing.assert_allclose(expected[:3, 3], [0, 0, 4])
    assert trajectory.process(trigger=frames[3], basis=1, step=expected)["pose"][2, 3] == pytest.approx(5)
    late = ahead.process(trigger=frames[4], motion=refused["motion"])["pose"]
    np.testing.assert_allclose(late[:3, 3], [0, 0, 10], atol=1e-9)


def test_cloud_is_merged_after_pairs_distance_rotation_or_low_coverage() -> None:
    cloud = Cloud(points=np.array([[0.0, 0, 1], [1, 0, 1]]))
    gate = make_step("MergeGate", "MergeGate", CloudUpdateTime=3)
    is_passed = [bool(gate.process(pointCloud=cloud, pose=np.eye(4))) for _ in range(7)]
    assert is_passed == [True, False, False, True, False, False, True]
    gate = make_step("MergeGate", "MergeGate", CloudUpdateType="Distance", CloudUpdateOrientationDistance=0.1339)
    turns = (rotation_about_axis(2, np.radians(degrees)) for degrees in (0, 59, 60.1))
    turned = [transform_from_rotation(turn, np.zeros(3)) for turn in turns]
    assert [bool(gate.process(pointCloud=cloud, pose=pose)) for pose in turned] == [True, False, True]
    gate = make_step("MergeGate", "MergeGate", CloudUpdateType="Overlapping", OverlapThreshold=0.6)
    known = Cloud(points=np.array([[0.0, 0, 1.005]]))
    assert [bool(gate.process(pointCloud=cloud, pose=np.eye(4), map=each)) for each in (None, cloud, known)] == [
        True,
        False,
        True,
    ]


def test_map_is_mean_of_all_points_of_each_cell() -> None:
    points = np.array([[0.01, 0.02, 0.03], [0.04, 0.01, 0.02], [0.06, 0.02, 0.03], [-0.01, 0.02, 0.03],
              [-0.04, -0.01, 0.07], [0.049, 0.049, 0.049], [0.12, 0.13, 0.14], [0.11, 0.14, 0.11]])  # fmt: skip
    requested = [[-0.04, -0.01, 0.07], [-0.01, 0.02, 0.03], [0.033, 0.026333333, 0.033], [0.06, 0.02, 0.03],
              [0.115, 0.135, 0.125]]  # fmt: skip
    step = make_step("PointCloudAssembly", "CloudMap", VoxelResolution=0.05)
    for part in (points[:3], points[3:], np.array([[np.nan, 0, 0], [1e9, 0, 0]])):
        assembled = step.process(firstPointCloud=Cloud(points=part))["assembledCloud"].points
    np.testing.assert_allclose(assembled, requested, atol=1e-6)
    near = make_step("PointCloudAssembly", "CloudMap", VoxelResolution=0.05, ViewRadius=0.1, MinimumObservations=2)
    seen = near.process(firstPointCloud=Cloud(points=points), viewCenter=np.eye(4))["assembledCloud"].points
    np.testing.assert_allclose(seen, requested[2:3], atol=1e-6)
    unlimited = make_step("PointCloudAssembly", "CloudMap", VoxelResolution=0.05, ViewRadius=-1.0)
    assert len(unlimited.process(firstPointCloud=Cloud(points=points), viewCenter=np.eye(4))["assembledCloud"]) == 5


def test_matches_are_joined_by_equal_pixels_with_a_point() -> None:
    points = Cloud(points=np.array([[0.0, 0, 1], [np.nan, 0, 0], [0, 0, 3]]))
    stereo = matches([(1, 1), (2, 2), (3, 3)], [(0, 1), (1, 2), (2, 3)])
    outputs = make_step("MatchJoining", "JoinMatches").process(
        stereoMatches=stereo, points=points, matches=matches([(3, 3), (2, 2), (9, 9)], [(30, 3), (20, 2), (90, 9)])
    )
    assert outputs["points"].points.tolist() == [[0, 0, 3]]
    assert outputs["projections"].points.tolist() == [[30, 3]]
    few = make_step("MatchJoining", "JoinMatches", MinimumMatches=2)
    assert few.process(stereoMatches=stereo, points=points, matches=matches([(3, 3)], [(30, 3)])) == {}
    with pytest.raises(ValueError, match="expected a point for each match, got 2 points and 3 matches"):
        make_step("MatchJoining", "JoinMatches").process(
            stereoMatches=stereo, points=points.subset(np.arange(2)), matches=stereo
        )


def test_tracks_span_pairs_newest_first_and_tolerate_gaps() -> None:
    step = make_step("MatchTracking", "TracksOfMatches", NumberOfAdjustedStereoPairs=3)

    def observe(number: int, names: list[int]) -> tuple[Matches2D, Cloud, Array]:
        left = np.array([(10.0 * name, number) for name in names])
        return matches(left, left - [5, 0]), Cloud(points=np.array([(name, number, 1.0) for name in names])), left

    first, second, third = observe(0, [1, 2, 3]), observe(1, [1, 2, 4]), observe(2, [2, 4, 5])
    assert step.process(stereoMatches=first[0], points=first[1]) == {}
    bad = observe(7, [1])
    step.process(stereoMatches=bad[0], points=bad[1])
    step.process(
        stereoMatches=second[0], points=second[1], matches=matches(first[2][:2], second[2][:2]), accepted=False
    )
    outputs = step.process(stereoMatches=third[0], points=third[1], matches=matches(second[2][1:], third[2][:2]))
    of_points = [(each.source[:, :2].tolist(), each.sink[:, :2].tolist()) for each in outputs["matches3D"]]
    assert of_points == [
        ([[2, 2], [4, 2]], [[2, 1], [4, 1]]),  # third, second
        ([[2, 2]], [[2, 0]]),  # third, first
        ([[1, 1], [2, 1]], [[1, 0], [2, 0]]),  # second, first
    ]
    assert len(outputs["matches2D"]) == 15
    assert outputs["matches2D"][0].source.tolist() == third[2].tolist(), "left and right of the newest"
    assert outputs["matches2D"][2].sink.tolist() == [[15, 1], [35, 1]], "left of the newest, right of the one before"


def test_last_poses_are_relative_to_newest() -> None:
    step = make_step("PoseHistory", "PoseHistory", NumberOfAdjustedStereoPairs=3)
    poses = [np.linalg.matrix_power(A, number) for number in range(3)]
    step.process(pose=poses[0], step=A)
    step.process(pose=poses[0], step=B)  # the one before failed
    step.process(pose=poses[1], step=A)
    sequence = step.process(pose=poses[2], step=A)["posesSequence"]
    assert len(sequence) == 3
    np.testing.assert_allclose(sequence[1], np.linalg.inv(A), atol=1e-9)
    np.testing.assert_allclose(sequence[2], np.linalg.inv(A @ A), atol=1e-9)


def test_small_adapter_steps() -> None:
    frames = Frame(image=np.zeros((2, 2), np.uint8)), Frame(image=np.ones((2, 2), np.uint8))
    pair = make_step("FramePairing", "PairUp").process(left=frames[0], right=frames[1])["framePair"]
    assert make_step("FramePairSplit", "FramePairSplit").process(framePair=pair) == {
        "left": frames[0],
        "right": frames[1],
    }
    assert make_step("Either", "Either").process(first=None, second=2) == {"value": 2}
    assert make_step("Either", "Either", PreferSecond=True).process(first=1, second=2) == {"value": 2}
    assert make_step("Either", "Either").process() == {}
    assert [
        make_step("Both", "Both").process(first=a, second=b)["value"] for a, b in ((True, None), (True, False))
    ] == [
        True,
        False,
    ]
    assert make_step("Previous", "Previous").process(value=1, accepted=False) == {}
    cloud = make_step("FeaturesToCloud", "FeaturesToCloud").process(features=Features3D(points=np.ones((1, 3))))
    assert len(cloud["pointCloud"]) == 1
    poses = np.stack([A, np.full((4, 4), np.nan)])
    picked = make_step("PoseOfSequence", "PoseOfSequence", Invert=True).process(poses=poses)["pose"]
    np.testing.assert_allclose(picked @ A, np.eye(4), atol=1e-9)
    assert make_step("PoseOfSequence", "PoseOfSequence", Index=1).process(poses=poses) == {}
    with pytest.raises(ValueError, match="expected more than 2 poses, got 2"):
        make_step("PoseOfSequence", "PoseOfSequence", Index=2).process(poses=poses)
    right = make_step("BaselinePose", "BaselinePose", Baseline=0.09).process(trigger=1)["pose"]
    assert right[:3, 3].tolist() == [0.09, 0, 0]


def test_points_are_tracked_and_lost_ones_are_dropped() -> None:
    random = np.random.default_rng(1)
    image = np.kron(random.integers(0, 255, (30, 40)), np.ones((5, 5))).astype(np.uint8)
    moved = np.roll(image, (2, 3), axis=(0, 1))
    step = make_step("FeaturesTracking2D", "PyramidTracker")
    features = step_of("FeaturesExtraction2D", "OrbDetectorDescriptor")().process(frame=Frame(image=image))["features"]
    outputs = step.process(sourceFrame=Frame(image=image), sinkFrame=Frame(image=moved), features=features)
    shifts = outputs["matches"].sink - outputs["matches"].source
    np.testing.assert_allclose(np.median(shifts, axis=0), [3, 2], atol=0.02)
    assert 0.5 < outputs["quality"] <= 1
    rows = make_step("FeaturesTracking2D", "PyramidTracker", MaximumRowError=1.0)
    none = rows.process(sourceFrame=Frame(image=image), sinkFrame=Frame(image=moved), features=features)
    assert len(none["matches"]) < 0.1 * len(outputs["matches"])
