"""Where a camera is by points of a stereo pair, on points of which the truth is known."""

import numpy as np
import pytest

from fieldplay.geometry.transforms import inverse_from_transform, rotation_from_vector, transform_from_rotation
from fieldplay_cdff.steps.pnp import log_chance
from fieldplay_cdff.steps.step import Ports, step_of
from fieldplay_cdff.steps.values import Array, Cloud, Features2D

FOCAL, CENTRE, BASELINE_M = 867.0, np.array([516.0, 386.0]), 0.09
CAMERA = {"FocalLengthX": FOCAL, "FocalLengthY": FOCAL, "PrinciplePointX": 516.0, "PrinciplePointY": 386.0}
ASIDE = transform_from_rotation(rotation_from_vector([0.0, -0.314, 0.0]), [0.93, 0.02, 0.15])  # 18 degrees further


def solve(name: str, points: Array, pixels: Array, **general: float) -> Ports:
    own = {"Baseline": BASELINE_M} if name == "StereoPnpSolver" else {}
    step = step_of("PerspectiveNPointSolving", name)({"CameraMatrix": CAMERA, "GeneralParameters": {**own, **general}})
    return step.process(points=Cloud(points=points), projections=Features2D(points=pixels))


def observe(pose: Array, count: int, *, depths: tuple[float, float], noise_px: float = 1.0) -> tuple[Array, Array]:
    """Points with disparities that are off by some pixels, and where the camera at a pose in their frame sees them."""
    random = np.random.default_rng(4)
    depth = random.uniform(*depths, count)
    rays = np.column_stack([random.uniform(-0.4, 0.4, count), random.uniform(-0.3, 0.3, count), np.ones(count)])
    inside = (rays * depth[:, None]) @ inverse_from_transform(pose)[:3, :3].T + inverse_from_transform(pose)[:3, 3]
    pixels = inside[:, :2] / inside[:, 2:] * FOCAL + CENTRE + random.normal(0, 0.3, (count, 2))
    disparity = FOCAL * BASELINE_M / depth + random.normal(0, noise_px, count)
    return rays * (FOCAL * BASELINE_M / disparity)[:, None], pixels


def off_m(outputs: Ports, pose: Array) -> float:
    return float(np.linalg.norm(outputs["camera"][:3, 3] - pose[:3, 3]))


def test_far_points_have_less_weight_and_tolerate_depth_errors() -> None:
    points, pixels = observe(ASIDE, 60, depths=(2.0, 8.0))
    by_rays, by_pixels = (solve(name, points, pixels) for name in ("StereoPnpSolver", "IterativePnpSolver"))
    assert off_m(by_rays, ASIDE) < 0.02
    assert by_rays["quality"] > 0.9
    assert not by_pixels["success"] or (by_pixels["quality"] < 0.6 and off_m(by_pixels, ASIDE) > 0.04)


def test_exact_points_give_exact_pose() -> None:
    points, _ = observe(ASIDE, 30, depths=(2.0, 8.0), noise_px=0.0)
    inside = (points - ASIDE[:3, 3]) @ ASIDE[:3, :3]
    outputs = solve("StereoPnpSolver", points, inside[:, :2] / inside[:, 2:] * FOCAL + CENTRE, DisparityDeviation=0.0)
    np.testing.assert_allclose(outputs["camera"], ASIDE, atol=1e-9)
    assert outputs["quality"] == 1.0


def test_half_wrong_matches_are_separated_and_only_wrong_ones_give_no_pose() -> None:
    points, pixels = observe(ASIDE, 60, depths=(2.0, 8.0))
    pixels[::2] = np.random.default_rng(0).uniform(0, 2 * CENTRE, (30, 2))
    outputs = solve("StereoPnpSolver", points, pixels)
    assert off_m(outputs, ASIDE) < 0.05
    assert outputs["quality"] == pytest.approx(0.5, abs=0.08)
    assert not solve("StereoPnpSolver", points[::2], pixels[::2])["success"]


def test_few_matches_give_pose_only_where_hardly_one_is_wrong() -> None:
    points, pixels = observe(ASIDE, 9, depths=(2.0, 4.0), noise_px=0.5)
    assert off_m(solve("StereoPnpSolver", points, pixels), ASIDE) < 0.06
    assert not solve("StereoPnpSolver", points[:5], pixels[:5])["success"]
    assert log_chance(14, 14, 0.03) < log_chance(10, 14, 0.03) < np.log(0.01) < log_chance(7, 14, 0.03)


def test_far_points_only_leave_position_undetermined() -> None:
    points, pixels = observe(ASIDE, 12, depths=(36.0, 40.0), noise_px=0.3)
    assert not solve("StereoPnpSolver", points, pixels, MaximumDeviation=0.01)["success"]
    assert not solve("StereoPnpSolver", points[:3], pixels[:3])["success"]
    with pytest.raises(ValueError, match="a pixel of each of 12 points, got 3"):
        solve("StereoPnpSolver", points, pixels[:3])
