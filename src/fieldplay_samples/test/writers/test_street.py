"""The sample of a stereo camera in a street: its images agree with its geometry."""

from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import pytest

from fieldplay_samples.data import numbers_of
from fieldplay_samples.output_folder import SampleError
from fieldplay_samples.write_sample import SampleOptions
from fieldplay_samples.writers.stereo.street import Shot, StreetScenario, render, scenario_of

SHARP = {"noise_counts": 0.0, "exposure_s": 0.0, "gain_right": 1.0, "shrink": 4}


def scenario(**settings: Any) -> StreetScenario:
    own = {**numbers_of("stereo")["settings"], **SHARP, **settings}
    return scenario_of(SampleOptions(seconds=2.0, seed=1, settings=own))


def disparity_px(street: StreetScenario, at: tuple[int, int]) -> float:
    """How far a patch of 31 x 15 about a pixel (u, v) lies further left in the right image."""
    left, right = (render(street, Shot(0, side)).astype(np.float32) for side in ("left", "right"))
    u, v = at
    patch = left[v - 7 : v + 8, u - 15 : u + 16]
    found = cv2.matchTemplate(right[v - 7 : v + 8], patch, cv2.TM_CCOEFF_NORMED)[0]
    best = int(found.argmax())
    before, there, after = found[best - 1 : best + 2]
    return float(u - 15 - (best + 0.5 * (before - after) / (before - 2 * there + after)))


def test_disparity_of_the_ground_is_that_of_its_distance() -> None:
    """The ground at 1.65 m below: in row v it is f 1.65 / (v - cy) ahead, as far as the camera looks straight."""
    street = scenario()
    still = replace(street, settings={**street.settings, "preset": "kitti"})
    pose = still.world_T_left(np.zeros(1))[0]
    u, v = 160, 80
    ray = pose[:3, :3] @ np.linalg.inv(still.matrix) @ [u, v, 1.0]
    depth_m = (1.65 - pose[1, 3]) / ray[1]  # along the ray, whose third component in the camera is 1
    expected = still.matrix[0, 0] * 0.54 / depth_m
    assert disparity_px(still, (u, v)) == pytest.approx(expected, abs=0.6)


def test_offset_of_the_calibration_makes_disparities_smaller() -> None:
    exact, off = disparity_px(scenario(), (160, 80)), disparity_px(scenario(offset_px=2.0), (160, 80))
    assert exact - off == pytest.approx(2.0, abs=0.3)


def test_same_seed_gives_the_same_image_and_another_preset_another_camera() -> None:
    first, again = (render(scenario(noise_counts=2.0), Shot(1, "right")) for _ in (0, 1))
    np.testing.assert_array_equal(first, again)
    assert first.shape == (94, 310) and render(scenario(preset="euroc"), Shot(0, "left")).shape == (120, 188)


def test_unknown_preset_is_named() -> None:
    with pytest.raises(SampleError, match="preset: expected one of kitti, euroc, got boat"):
        scenario(preset="boat")
