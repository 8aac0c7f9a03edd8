"""A motion by the pixels of both images, over points whose projections are computed here by their own formulas."""

from typing import Any

import numpy as np
import pytest

from fieldplay.geometry.transforms import inverse_from_transform, transform_from_vectors, vector_from_rotation
from fieldplay_cdff.stereo import StereoCamera
from fieldplay_cdff.stereo.pose_refinement import (
    DisparityCorrection,
    RefinementSettings,
    StereoTracks,
    refine_motion,
)

CAMERA = StereoCamera(focal_x=718.0, focal_y=718.0, center_x=607.0, center_y=185.0, baseline_m=0.54)
MOTION = transform_from_vectors(np.array([0.004, 0.03, -0.002]), np.array([0.02, -0.01, 1.1]))  # key_T_new
START = transform_from_vectors(np.array([0.0, 0.02, 0.0]), np.array([0.0, 0.0, 0.8]))


def project(points: Any) -> tuple[Any, Any]:
    """Pixels (n, 2) in the left image and columns (n,) in the right one of points (n, 3)."""
    x, y, z = points.T
    left = np.stack([718 * x / z + 607, 718 * y / z + 185], axis=-1)
    return left, 718 * (x - 0.54) / z + 607


def tracks(
    seed: int, *, noise_px: float = 0.0, wrong: int = 0, offset_px: float = 0.0, count: int = 300
) -> StereoTracks:
    """A street of points, 5 to 60 m off; the disparities of a rig whose right image is shifted by `offset_px`."""
    random = np.random.default_rng(seed)
    depth = 1 / random.uniform(1 / 60, 1 / 5, count)
    rays = np.stack([random.uniform(-0.8, 0.8, count), random.uniform(-0.24, 0.24, count), np.ones(count)], axis=-1)
    points = rays * depth[:, None]
    back = inverse_from_transform(MOTION)
    (pixels, columns), (new, new_columns) = project(points), project(points @ back[:3, :3].T + back[:3, 3])
    noise = random.normal(0, noise_px, (6, count))
    new = new + noise[:2].T
    new[:wrong] += random.uniform(-60, 60, (wrong, 2))
    first, second = pixels[:, 0] - columns - offset_px, new[:, 0] - noise[0] - new_columns - offset_px
    return StereoTracks(pixels, first + noise[2], new, second + noise[3])


def off(pose: Any) -> tuple[float, float]:
    """By how many metres and radians a pose differs from the motion."""
    difference = inverse_from_transform(MOTION) @ pose
    return float(np.linalg.norm(difference[:3, 3])), float(np.linalg.norm(vector_from_rotation(difference[:3, :3])))


def refined(seen: StereoTracks, **settings: Any) -> Any:
    own = RefinementSettings(**settings)
    result = refine_motion(seen, START, CAMERA, settings=own, correction=DisparityCorrection(own, CAMERA))
    assert result is not None
    return result


def test_exact_pixels_give_the_motion_and_all_points_support_it() -> None:
    result = refined(tracks(1))
    assert off(result.pose) == (pytest.approx(0, abs=1e-8), pytest.approx(0, abs=1e-8)) and result.inliers.all()


def test_wrong_matches_are_no_inliers_and_do_not_move_the_pose() -> None:
    result = refined(tracks(2, noise_px=0.2, wrong=90))
    assert off(result.pose)[0] < 0.01 and result.inliers[90:].mean() > 0.98 and result.inliers[:90].mean() < 0.15


def test_points_without_right_pixel_in_the_new_pair_still_count() -> None:
    seen = tracks(3, noise_px=0.2)
    missing = seen._replace(new_disparities=np.full(300, np.nan))
    assert off(refined(missing).pose)[0] < 0.02


def test_covariance_has_the_size_of_the_errors() -> None:
    """Mean normalised squared errors over 40 sets of noise: 1 for each degree of freedom where it is right."""
    squares = []
    for seed in range(40):
        result = refined(tracks(seed, noise_px=0.3), disparity_deviation=0.3)
        difference = inverse_from_transform(MOTION) @ result.pose
        error = np.concatenate([difference[:3, 3], vector_from_rotation(difference[:3, :3])])
        squares.append(error @ np.linalg.solve(result.covariance, error) / 6)
    assert 0.6 < np.mean(squares) < 1.6


def test_distant_points_with_an_offset_make_motion_too_long_unless_calibrated() -> None:
    """An offset of one pixel is 1.5 % of the motion; by thirty key pairs it is known to a tenth of a pixel."""
    own = RefinementSettings()
    correction = DisparityCorrection(own, CAMERA)
    plain = refined(tracks(0, noise_px=0.2, offset_px=1.0))
    for seed in range(30):
        seen = tracks(seed, noise_px=0.2, offset_px=1.0)
        both = refine_motion(seen, START, CAMERA, settings=own, correction=correction, calibrates=True)
        assert both is not None
        correction.update(both.correction, both.correction_covariance)
    assert correction.is_applied and correction.values == pytest.approx([1.0, 0.0], abs=0.1)
    better = refine_motion(tracks(0, noise_px=0.2, offset_px=1.0), START, CAMERA, settings=own, correction=correction)
    assert better is not None
    lengths = [np.linalg.norm(each.pose[:3, 3]) / np.linalg.norm(MOTION[:3, 3]) - 1 for each in (plain, better)]
    assert lengths[0] > 0.012 and abs(lengths[1]) < 0.004


@pytest.mark.parametrize(("offset_px", "is_applied"), [(0.0, False), (0.15, False), (0.6, True)])
def test_calibration_that_is_off_by_less_than_the_threshold_counts_as_exact(offset_px: float, is_applied: bool) -> None:
    own = RefinementSettings()
    correction = DisparityCorrection(own, CAMERA)
    for seed in range(10):
        seen = tracks(seed, noise_px=0.1, offset_px=offset_px)
        both = refine_motion(seen, START, CAMERA, settings=own, correction=correction, calibrates=True)
        assert both is not None
        correction.update(both.correction, both.correction_covariance)
    assert correction.is_applied == is_applied
    assert (np.abs(correction.at(seen.pixels)).max() > 0) == is_applied


def test_exact_calibration_by_settings_is_never_corrected() -> None:
    own = RefinementSettings(offset_deviation=0.0, radial_deviation=0.0)
    correction = DisparityCorrection(own, CAMERA)
    seen = tracks(4, noise_px=0.1, offset_px=1.0)
    both = refine_motion(seen, START, CAMERA, settings=own, correction=correction, calibrates=True)
    assert both is not None
    correction.update(both.correction, both.correction_covariance)
    assert np.abs(correction.estimate).max() < 1e-3 and not correction.is_applied
