"""Parameters by the camera: what pairs of known disparities ask for, and how lengths follow the depth of a scene."""

from typing import Any

import cv2
import numpy as np
import pytest

from fieldplay_cdff.stereo import SlamSettings, StereoCamera
from fieldplay_cdff.stereo.parameters import chosen_of_scale, settings_of_scale
from fieldplay_cdff.stereo.pose_track import TrackSettings
from fieldplay_cdff.stereo.presets import (
    intervals_of,
    map_scale,
    measure_disparities,
    motion_limits,
    reconstruction_limits,
    voxel_size,
)

CAMERA = StereoCamera(focal_x=700.0, focal_y=700.0, center_x=320.0, center_y=120.0, baseline_m=0.5)


def stepped_pair(near_px: int, far_px: int, *, seed: int = 1) -> tuple[Any, Any]:
    """Two walls, 640 x 240: the lower half has the larger disparity."""
    texture = np.random.default_rng(seed).integers(0, 256, (120, 600), np.uint8)
    texture = cv2.resize(texture, (1200, 240), interpolation=cv2.INTER_LINEAR)
    left, right = texture[:, :640].copy(), texture[:, :640].copy()
    for rows, disparity in ((slice(0, 120), far_px), (slice(120, 240), near_px)):
        left[rows] = texture[rows, 200:840]
        right[rows] = texture[rows, 200 + disparity : 840 + disparity]
    return left, right


@pytest.mark.parametrize(("near_px", "far_px"), [(40, 20), (120, 30), (210, 60)])
def test_disparities_are_measured_wherever_they_lie(near_px: int, far_px: int) -> None:
    measured = measure_disparities(*stepped_pair(near_px, far_px))
    assert measured is not None
    assert near_px - 4 <= measured.high <= near_px + 6 and far_px - 3 <= measured.median <= near_px + 3
    assert near_px + 1 < intervals_of(measured, 640) <= 1.1 * near_px + 24 and intervals_of(measured, 640) % 16 == 0


def test_pair_without_texture_has_no_measure() -> None:
    flat = np.full((240, 640), 128, np.uint8)
    assert measure_disparities(flat, flat) is None


def test_space_ends_where_ten_pixels_are_left_and_further_in_a_distant_scene() -> None:
    near, far = (measure_disparities(*stepped_pair(*each)) for each in ((60, 40), (12, 6)))
    assert near is not None and far is not None
    limits = reconstruction_limits(near, CAMERA, 640)
    assert limits["LimitZ"] == pytest.approx(700 * 0.5 / 10, rel=0.02) and limits["NumberOfIntervals"] == 80
    assert reconstruction_limits(far, CAMERA, 640)["LimitZ"] > 700 * 0.5 / 8
    assert limits["LimitX"] > limits["LimitZ"] * 320 / 700, "the whole field of view is within it"


def test_limits_of_motion_follow_rate_and_depth() -> None:
    rover, car = motion_limits(1.8, 0.25), motion_limits(25.0, 0.1)
    assert rover["MaximumShift"] == pytest.approx(8 * 0.25**2) and car["MaximumShift"] == pytest.approx(1.25, abs=0.06)
    assert car["KeptWithin"] / rover["KeptWithin"] == pytest.approx(25 / 1.8, rel=0.05)
    assert motion_limits(25.0, 0.0)["MaximumShift"] == 0, "without a period there is no limit yet"


def test_explicit_limits_win() -> None:
    settings = TrackSettings(maximum_shift_m=0.7, maximum_turn_rad=None, kept_within_m=None).of_camera(25.0, 0.1)
    assert settings.maximum_shift_m == 0.7 and settings.maximum_turn_rad == pytest.approx(0.15)


def test_lengths_of_a_map_grow_with_the_scene() -> None:
    assert map_scale(1.8) == 1.0 and map_scale(9.0) == 5.0 and map_scale(1000.0) == 10.0
    rover, car = settings_of_scale(SlamSettings(), 1.0), settings_of_scale(SlamSettings(), 9.0)
    assert rover.keyframes.shift_m == 0.4 and car.keyframes.shift_m == pytest.approx(3.6)
    assert car.carry.shift_per_root_m == pytest.approx(0.009) and car.places.drift_rad_per_m == pytest.approx(
        0.01 / 9, rel=0.01
    )
    assert rover.keyframes.turn_rad == car.keyframes.turn_rad
    assert chosen_of_scale(SlamSettings(), 9.0)["Keyframes"] == {"Shift": 3.6}


def test_voxels_are_a_hundredth_of_the_distance_and_none_of_no_points() -> None:
    points = np.random.default_rng(1).uniform(-1, 1, (500, 3)) + np.array([0, 0, 10])
    assert 0.06 < voxel_size(points) < 0.09 and voxel_size(np.zeros((0, 3))) == 0
