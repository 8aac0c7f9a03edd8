"""Poses of a stereo camera from all its pictures, and poses of a closed way."""

import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from fieldplay.geometry.transforms import (
    inverse_from_transform,
    transform_from_vectors,
    transform_points,
    vector_from_rotation,
)
from fieldplay_cdff.steps.adjustment import StereoRig, longest, tracks_of
from fieldplay_cdff.steps.step import step_of
from fieldplay_cdff.steps.values import Array, Matches2D

SEEN = np.array(yaml.safe_load(Path(__file__).with_name("dfn_adjustment.yaml").read_text()))
RIG = StereoRig(
    left=np.array([867.356, 867.356, 516, 386]), right=np.array([867.356, 867.356, 516, 386]), baseline_m=0.0900125
)
GENERAL = "GeneralParameters"
MOVED = np.array([0, 0, 90, -50])


def camera(numbers: Array) -> dict[str, float]:
    names = ("FocalLengthX", "FocalLengthY", "PrincipalPointX", "PrincipalPointY")
    return dict(zip(names, numbers.tolist(), strict=True))


def adjust(
    name: str, pixels: Array, *, rig: StereoRig = RIG, guess: Array | None = None, **general: Any
) -> dict[str, Any]:
    """What a step makes of pixels (places, n, 4), NaN where nothing is seen."""
    if name == "CeresAdjustment":
        general = {"SquaredPixelErrorTolerance": 1e8, **general}
    parameters = {
        "LeftCameraMatrix": camera(rig.left), "RightCameraMatrix": camera(rig.right),
        GENERAL: {"Baseline": rig.baseline_m, **general},
    }  # fmt: skip
    step = step_of("BundleAdjustment", name)(parameters)
    return step.process(correspondenceMapsSequence=maps_of(pixels), guessedPosesSequence=guess)


def maps_of(pixels: Array) -> list[Matches2D]:
    """The matches of all pairs of pictures, in another order in each."""
    images = pixels.reshape(len(pixels), -1, 2, 2).swapaxes(1, 2).reshape(2 * len(pixels), -1, 2)
    random, maps = np.random.default_rng(0), []
    for one, other in combinations(images, 2):
        both = random.permutation(np.flatnonzero(np.isfinite(one + other).all(axis=1)))
        maps.append(Matches2D(source=one[both], sink=other[both], probability=np.ones(len(both))))
    return maps


def rectified_pixels(seen: Array) -> Array:
    return seen[:, :, [0, 1, 2, 1]]


def world(
    positions: int, points: int, *, rig: StereoRig = RIG, noise_px: float = 0.2, wrong: float = 0.0
) -> tuple[Array, Array]:
    """Poses first_T_k of a camera that drives and turns, and what it sees (places, n, 4) of points before it."""
    random = np.random.default_rng(4)
    steps = np.arange(positions)[:, None]
    poses = transform_from_vectors(steps * [0.01, 0.04, -0.01], steps * [0.08, -0.01, 0.15])
    cloud = random.uniform([-2, -1.5, 2.5], [2, 1.5, 7], (points, 3))
    pixels, _ = rig.pixels(transform_points(inverse_from_transform(poses), cloud[None]))
    noise = random.normal(0, noise_px, pixels.shape)
    if rig.is_rectified:
        noise[..., 3] = noise[..., 1]
    pixels = pixels + noise
    for index in range(1, positions):
        off = random.uniform(size=points) < wrong
        pixels[index, off] += random.uniform(-60, 60, 4)
    return poses, pixels


def test_poses_and_points_match_least_squares() -> None:
    result = adjust("CeresAdjustment", rectified_pixels(SEEN))
    turns_and_shifts = [
        [0.008870083, -0.020503808, 0.005203173, -0.048880466, 0.007430989, -0.101434941],
        [0.018870088, -0.050206733, 0.000786377, -0.119677489, -0.002525376, -0.220441085],
    ]
    seen_from = inverse_from_transform(result["posesSequence"])
    np.testing.assert_allclose(seen_from[0], np.eye(4), atol=1e-12)
    for pose, (expected) in zip(seen_from[1:], np.array(turns_and_shifts), strict=True):
        np.testing.assert_allclose(vector_from_rotation(pose[:3, :3]), expected[:3], atol=1e-6)
        np.testing.assert_allclose(pose[:3, 3], expected[3:], atol=1e-6)
    assert result["error"] == pytest.approx(0.137078398, abs=1e-8)
    assert result["quality"] == 1.0
    # half of 1.352915084 px^2 by 5 x 8 x 3
    assert not adjust("CeresAdjustment", rectified_pixels(SEEN), SquaredPixelErrorTolerance=0.005637)["success"]
    assert adjust("CeresAdjustment", rectified_pixels(SEEN), SquaredPixelErrorTolerance=0.005638)["success"]


@pytest.mark.parametrize("name", ["CeresAdjustment", "SvdDecomposition"])
def test_principal_point_is_used(name: str) -> None:
    """The original leaves it out: the same poses seen through another one are the same only if it does not."""
    other = StereoRig(left=RIG.left + MOVED, right=RIG.right + MOVED, baseline_m=RIG.baseline_m)
    pixels = rectified_pixels(SEEN)
    one = adjust(name, pixels)["posesSequence"]
    np.testing.assert_allclose(adjust(name, pixels + MOVED[[2, 3, 2, 3]], rig=other)["posesSequence"], one, atol=1e-7)


@pytest.mark.parametrize("positions", [2, 3, 4])
def test_wrong_matches_have_no_weight_and_poses_are_in_first_camera(positions: int) -> None:
    poses, pixels = world(positions, 120, wrong=0.1)
    for name, limit in (("CeresAdjustment", 0.01), ("SvdDecomposition", 0.06)):
        result = adjust(name, pixels, MinimumInlierShare=0.3)
        assert result["success"], name
        assert np.linalg.norm(result["posesSequence"][:, :3, 3] - poses[:, :3, 3], axis=1).max() < limit, name
    assert result["error"] < 2.5


def test_tracks_seen_from_two_positions_are_enough() -> None:
    """The original uses only what all pictures show."""
    poses, pixels = world(4, 120)
    pixels[[2, 3], :40], pixels[[0, 3], 40:80], pixels[[0, 1], 80:] = np.nan, np.nan, np.nan
    result = adjust("CeresAdjustment", pixels)
    assert np.linalg.norm(result["posesSequence"][:, :3, 3] - poses[:, :3, 3], axis=1).max() < 0.02
    assert adjust("SvdDecomposition", pixels) == {"success": False}, "nothing is seen from everywhere"


def test_two_different_cameras_are_adjusted_in_both_rows() -> None:
    left, right = np.array([868.664, 868.505, 519.775, 383.36]), np.array([867.226, 867.128, 519.111, 390.755])
    rig = StereoRig(left=left, right=right, baseline_m=0.0929)
    poses, pixels = world(3, 100, rig=rig)
    result = adjust("CeresAdjustment", pixels, rig=rig)
    assert np.linalg.norm(result["posesSequence"][:, :3, 3] - poses[:, :3, 3], axis=1).max() < 0.01
    assert 0.15 < result["error"] < 0.2


def test_guessed_poses_are_first_t_k_and_give_same_result() -> None:
    poses, pixels = world(3, 60)
    anywhere = transform_from_vectors(np.array([0.3, 0.2, 0.1]), np.array([1.0, 2, 3]))
    one, other = (adjust("CeresAdjustment", pixels, guess=guess) for guess in (None, anywhere @ poses))
    np.testing.assert_allclose(one["posesSequence"], other["posesSequence"], atol=1e-7)
    wrong = poses @ transform_from_vectors(np.array([0.0, 1.0, 0.0]), np.array([2.0, 0, 0]))
    wrong[1] = np.eye(4)
    third = adjust("CeresAdjustment", pixels, guess=wrong)
    np.testing.assert_allclose(one["posesSequence"], third["posesSequence"], atol=1e-7, err_msg="a wrong guess")
    with pytest.raises(ValueError, match="guessedPosesSequence: expected 3 poses, got"):
        adjust("CeresAdjustment", pixels, guess=poses[:2])


def test_pixel_matched_to_two_pixels_gives_no_track() -> None:
    one, other = np.array([[1.0, 1], [2, 2]]), np.array([[5.0, 5], [6, 6]])
    third = other + np.array([[10], [11]])
    maps = [
        Matches2D(source=source, sink=sink, probability=np.ones(2))
        for source, sink in ((one, other), (one, other + 10), (other, third))
    ]
    assert tracks_of(maps, 3).tolist() == [[[1, 1], [5, 5], [15, 15]]]


def test_too_few_inputs_fail_and_wrong_number_of_maps_is_reported() -> None:
    none = np.full((2, 9, 4), np.nan)
    for name in ("CeresAdjustment", "SvdDecomposition"):
        assert adjust(name, none) == {"success": False}
        assert adjust(name, rectified_pixels(SEEN)[:, :4]) == {"success": False}
        swapped = rectified_pixels(SEEN)[:, :, [2, 1, 0, 3]]
        assert adjust(name, swapped) == {"success": False}, "left and right changed"
    for count in (1, 3, 5):
        with pytest.raises(ValueError, match=f"got {count}"):
            step_of("BundleAdjustment", "CeresAdjustment")().process(
                correspondenceMapsSequence=maps_of(none)[:1] * count
            )


def test_tracks_seen_from_most_positions_are_kept() -> None:
    pixels = np.zeros((10, 3, 4))
    pixels[::2, 2] = np.nan
    assert len(longest(pixels, 0)) == len(longest(pixels, 10)) == 10
    assert np.isfinite(longest(pixels, 5)).all()
    assert np.isfinite(longest(pixels, 7)[:, 2, 0]).sum() == 5


def test_four_positions_and_500_points_are_adjusted_fast() -> None:
    _, pixels = world(4, 500, wrong=0.1)
    before = time.process_time()
    adjust("CeresAdjustment", pixels)
    assert time.process_time() - before < 3
