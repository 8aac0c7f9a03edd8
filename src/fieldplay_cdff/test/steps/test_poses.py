"""Transforms from points of the same things in several frames."""

from typing import Any

import numpy as np
import pytest

from fieldplay.geometry.transforms import (
    inverse_from_transform,
    quaternion_from_rotation,
    transform_from_vectors,
    transform_points,
    vector_from_rotation,
)
from fieldplay_cdff.steps.rigid import rigid_fit
from fieldplay_cdff.steps.step import step_of
from fieldplay_cdff.steps.values import Array, Matches3D

SOURCE = np.array([[0, 0, 1], [1, 0, 1.5], [0, 2, 1], [1, 1, 2], [-1, 0.5, 3]])
SINK = np.array([
    [0.72, -0.338, 1.98], [1.736, -0.039, 2.302], [0.164, 1.588, 2.22], [1.568, 0.882, 2.877], [0.043, -0.292, 4.175],
])  # fmt: skip


def pairs(source: Array, sink: Array) -> Matches3D:
    return Matches3D(source=source, sink=sink, probability=np.ones(len(source)))


def estimate(name: str, *maps: Matches3D, **general: Any) -> dict[str, Any]:
    return step_of("Transform3DEstimation", name)({"GeneralParameters": general}).process(matches=maps)


def test_transform_is_rigid_least_squares() -> None:
    result = estimate("LeastSquaresMinimization", pairs(SOURCE, SINK), MaximumAllowedError=0.03)
    (transform,) = result["transforms"]
    turn = [
        [0.936263339, -0.285460202, 0.204752126], [0.303506873, 0.950792639, -0.062265045],
        [-0.176902622, 0.120440156, 0.976831424],
    ]  # fmt: skip
    np.testing.assert_allclose(transform[:3, :3], turn, atol=1e-9)
    assert np.linalg.det(transform) == pytest.approx(1, abs=1e-12), "the original's is affine: 0.994593009"
    np.testing.assert_allclose(transform[:3, 3], [0.510690860, -0.260205646, 1.001258994], atol=1e-9)
    quaternion = [0.046473853, 0.097079704, 0.149812755, 0.982838670]
    np.testing.assert_allclose(quaternion_from_rotation(transform[:3, :3]), quaternion, atol=1e-9)
    assert np.sum((transform_points(transform, SOURCE) - SINK) ** 2) == pytest.approx(0.002284336, abs=1e-9)
    assert result["error"] == pytest.approx(0.021374454, abs=1e-9), "its rms, not half its mean square 0.000228"


def test_half_rotation_is_estimated_too() -> None:
    """The original's formula for quaternions fails there."""
    truth = transform_from_vectors(np.array([0.0, np.pi, 0]), np.array([1.0, 2, 3]))
    result = estimate("LeastSquaresMinimization", pairs(SOURCE, transform_points(truth, SOURCE)))
    np.testing.assert_allclose(result["transforms"][0], truth, atol=1e-9)


def test_mirrored_cloud_gives_no_reflection() -> None:
    mirrored = rigid_fit(SOURCE, SOURCE * [1, 1, -1])
    assert np.linalg.det(mirrored[:3, :3]) == pytest.approx(1)


def test_undetermined_transforms_are_nan_and_others_stay() -> None:
    line = np.outer(np.arange(5.0), [1, 2, 3])
    for name in ("LeastSquaresMinimization", "CeresEstimation"):
        result = estimate(name, pairs(SOURCE, SINK), pairs(line, line), pairs(SOURCE, SINK), MaximumAllowedError=0.03)
        assert np.isfinite(result["transforms"]).all(axis=(1, 2)).tolist() == [True, False, True]
        few, broken = pairs(SOURCE[:2], SINK[:2]), pairs(SOURCE, np.full((5, 3), np.nan))
        assert estimate(name, few) == estimate(name, broken) == estimate(name, pairs(line, line)) == {"success": False}
        assert estimate(name, pairs(SOURCE, SINK), MaximumAllowedError=0.02) == {"success": False}
        with pytest.raises(
            ValueError, match=r"expected the matches of all pairs of frames \(1, 3, 6, 10 \.\.\), got 2"
        ):
            estimate(name, few, few)


def world_in(frames: int, noise: float) -> tuple[list[Array], list[Array]]:
    """The poses of frames in the first one, and where each sees the same 40 points."""
    random = np.random.default_rng(3)
    poses = [
        transform_from_vectors(np.array([0.1, -0.2, 0.3]) * k, np.array([0.5, 0.1, -0.3]) * k) for k in range(frames)
    ]
    points = random.uniform([-2, -2, 3], [2, 2, 7], (40, 3))
    seen = [
        transform_points(inverse_from_transform(pose), points) + random.normal(0, noise, points.shape) for pose in poses
    ]
    return poses, seen


def inconsistency(transforms: Array) -> float:
    difference = inverse_from_transform(transforms[1]) @ transforms[2] @ transforms[0]
    return float(np.linalg.norm(difference[:3, 3]) + np.linalg.norm(vector_from_rotation(difference[:3, :3])))


def test_transforms_of_three_frames_are_consistent_when_estimated_jointly() -> None:
    poses, seen = world_in(3, 0.01)
    few = slice(0, 6)  # of the last pair only: what it says is weak
    maps = (pairs(seen[0], seen[1]), pairs(seen[0][few], seen[2][few]), pairs(seen[1], seen[2]))
    alone = estimate("LeastSquaresMinimization", *maps, MaximumAllowedError=0.1)["transforms"]
    joint = estimate("CeresEstimation", *maps, MaximumAllowedError=0.1)["transforms"]
    truth = inverse_from_transform(poses[2]) @ poses[0]
    assert inconsistency(joint) < 0.5 * inconsistency(alone)
    assert np.abs(joint[1] - truth).max() < np.abs(alone[1] - truth).max()


def test_outliers_are_excluded_on_request() -> None:
    poses, seen = world_in(2, 0.0)
    wrong = seen[1].copy()
    wrong[:12] = wrong[:12][::-1]
    for name in ("LeastSquaresMinimization", "CeresEstimation"):
        result = estimate(name, pairs(seen[0], wrong), OutlierDistance=0.05)
        np.testing.assert_allclose(result["transforms"][0], inverse_from_transform(poses[1]), atol=1e-9)
        assert estimate(name, pairs(seen[0], wrong)) == {"success": False}


def test_fewer_inliers_than_requested_give_no_transform() -> None:
    source = np.random.default_rng(1).uniform(-1, 1, (20, 3))
    sink = source + np.array([0.1, 0.2, 0.3])
    sink[6:] = np.random.default_rng(2).uniform(-1, 1, (14, 3))
    loose = {"MaximumAllowedError": 0.1, "OutlierDistance": 0.01}
    np.testing.assert_allclose(
        estimate("LeastSquaresMinimization", pairs(source, sink), **loose)["transforms"][0, :3, 3], [0.1, 0.2, 0.3]
    )
    assert not estimate("LeastSquaresMinimization", pairs(source, sink), **loose, MinimumInliers=8)["success"]
