"""Odometry on what real pairs have: blur, noise, another brightness right, moving bodies, a calibration that is off."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldplay.cli.main import main
from fieldplay.geometry.transforms import Array, rotation_from_quaternion, transform_from_rotation
from fieldplay_samples.write_sample import SampleOptions, write_sample

OFF = {"offset_px": 0.5, "radial_px": 0.8}  # of images at half the size


def sample(folder: Path, seconds: float, settings: dict[str, Any]) -> tuple[Path, Array]:
    """A sample at half the size, and the true positions of the left camera (n, 3)."""
    options = SampleOptions(seconds=seconds, seed=3, settings={"shrink": 2, **settings}, workers=1)
    result = write_sample("stereo", folder / "stereo", options)
    return result.path, np.loadtxt(result.truth, delimiter=",", skiprows=1)[:, 1:8]


def estimated(bag: Path, out: Path, *arguments: str) -> tuple[dict[str, Any], Array]:
    """What `fuse` said of a run, and its positions (n, 3)."""
    tum, stats = out.with_suffix(".tum"), out.with_suffix(".json")
    words = ["fuse", str(bag), "VisualOdometry", str(out), "--tum", str(tum), "--stats", str(stats), *arguments]
    assert main(words) == 0
    return json.loads(stats.read_text()), np.loadtxt(tum)[:, 1:4]


def scale_error(positions: Array, true: Array) -> float:
    """By how much the distance from the first pair to the last one is too long, as a fraction."""
    own, whole = (np.linalg.norm(each[-1, :3] - each[0, :3]) for each in (positions, true))
    return float(own / whole - 1)


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Array]:
    """A street of 18 m, by a pair whose calibration is off."""
    return sample(tmp_path_factory.mktemp("street"), 2.0, {"preset": "kitti", **OFF})


def test_drive_with_calibration_that_is_off_keeps_its_length(street: tuple[Path, Array], tmp_path: Path) -> None:
    bag, true = street
    result, positions = estimated(bag, tmp_path / "out")
    assert result["accepted"] == len(true) == 20
    exact = [f"stereoOdometry.Refinement.{name}Deviation=0" for name in ("Offset", "Radial")]
    _, plain = estimated(bag, tmp_path / "plain", *(word for each in exact for word in ("--set", each)))
    assert scale_error(plain, true) > 0.05, "such a calibration makes the drive too long"
    assert abs(scale_error(positions, true)) < 0.025


def test_published_limits_of_a_rover_refuse_the_steps_of_a_car(street: tuple[Path, Array], tmp_path: Path) -> None:
    bag, _ = street
    assert main(["fuse", str(bag), "VisualOdometry", str(tmp_path / "out"), "--preset", "published", "--json"]) == 1


def test_fast_turns_in_a_hall_are_followed(tmp_path: Path) -> None:
    bag, true = sample(tmp_path, 2.0, {"preset": "euroc", "rate_hz": 15.0})
    result, positions = estimated(bag, tmp_path / "out")
    first = transform_from_rotation(rotation_from_quaternion(true[0, 3:]), true[0, :3])
    expected = (true[:, :3] - first[:3, 3]) @ first[:3, :3]
    path_m = np.linalg.norm(np.diff(true[:, :3], axis=0), axis=1).sum()
    assert result["accepted"] == len(true) == 30 and path_m > 2
    assert np.linalg.norm(positions - expected, axis=1).max() < 0.01 * path_m
