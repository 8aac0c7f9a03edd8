"""`fieldplay fuse` where pairs have no result: why, what would help, and what is kept; pictures of a room."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldplay
from fieldplay.cli.main import main
from fieldplay.geometry.camera_model import CameraModel
from support import stereo_bags
from support.room import BASELINE_M, FOCAL_PX, HEIGHT, WIDTH, Room, looking

LEFT = CameraModel(
    width=WIDTH, height=HEIGHT, fx=FOCAL_PX, fy=FOCAL_PX, cx=159.5, cy=119.5, distortion_model="plumb_bob",
    distortion=(0.0,) * 5,
)  # fmt: skip
PROJECTION = (FOCAL_PX, 0, 159.5, -FOCAL_PX * BASELINE_M, 0, FOCAL_PX, 119.5, 0, 0, 0, 1, 0)
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def pairs() -> list[Any]:
    room = Room()
    return [room.pair(looking(1.0 + 0.12 * number)) for number in range(4)]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(pairs: Sequence[Any], name: str, *arguments: str) -> tuple[int, str, str]:
        bag = tmp_path / "bag"
        if not bag.exists():
            stereo_bags.write_bag(bag, list(pairs), left=LEFT, right=replace(LEFT, projection=PROJECTION))
        code = main(["fuse", str(bag), name, str(tmp_path / "out"), "--overwrite", *arguments])
        output = capsys.readouterr()
        return code, output.out, output.err

    return call


def suggestion(text: str) -> list[str]:
    """What the summary says to set, as arguments."""
    found = re.search(r"--set (\S+=[0-9.e+-]+)", text)
    assert found is not None, text
    return ["--set", found[1]]


def successes(out: Path, topic: str) -> list[bool]:
    with fieldplay.open(out) as data:
        return [bool(value) for value in data.records(f"{topic}/success")["values"]]


def test_odometry_that_accepts_nothing_exits_with_1_and_the_value_that_helps(
    tmp_path: Path, pairs: list[Any], run: Run
) -> None:
    code, output, error = run(pairs, "VisualOdometry", "--set", "stereoOdometry.PoseTrack.MaximumShift=0.01", "--json")
    result = json.loads(output)
    assert code == 1 and "accepted nothing of 4 sets of inputs beyond the first pair" in error
    assert result["refused"] == {"motion beyond MaximumShift": 3}
    assert result["refused_because"]["motion beyond MaximumShift"]["parameter"] == "PoseTrack.MaximumShift"
    assert successes(tmp_path / "out", "visual_odometry") == [True, False, False, False], "OUT says so, too"
    code, _, error = run(pairs, "VisualOdometry", *suggestion(error))
    assert code == 0 and successes(tmp_path / "out", "visual_odometry") == [True] * 4


def test_parameters_by_the_camera_are_printed_and_in_json(pairs: list[Any], run: Run) -> None:
    code, output, error = run(pairs, "VisualOdometry", "--json")
    track = json.loads(output)["parameters"]["stereoOdometry"]["PoseTrack"]
    assert code == 0 and set(track) == {"MaximumShift", "MaximumTurn", "KeptWithin"}
    assert f"stereoOdometry.PoseTrack.KeptWithin={track['KeptWithin']:g}" in error
    assert track["MaximumShift"] == pytest.approx(max(8.0 * 0.25**2, 0.05 * track["KeptWithin"] / 0.03), rel=0.1)


def test_swapped_pairs_are_refused(tmp_path: Path, pairs: list[Any], run: Run) -> None:
    code, _, error = run([(right, left) for left, right in pairs], "VisualOdometry")
    assert code == 1 and "4 left and right swapped" in error and "further right in the right one" in error
    assert successes(tmp_path / "out", "visual_odometry") == [False] * 4


def test_pairs_that_are_not_rectified_are_refused(pairs: list[Any], run: Run) -> None:
    code, _, error = run([(left, np.roll(right, 6, axis=0)) for left, right in pairs], "VisualOdometry")
    assert code == 1 and "4 not rectified" in error and "differ by 6.0 px from line to line" in error


def test_too_few_disparities_are_refused_with_their_number(tmp_path: Path, pairs: list[Any], run: Run) -> None:
    narrow = "reconstructor3D.Disparities.NumberOfIntervals=16"
    near = [(np.roll(left, 40, axis=1), right) for left, right in pairs]  # 40 px more
    code, _, error = run(near[:1], "Reconstruction3D", "--set", narrow)
    assert code == 1 and "1 disparities out of range" in error
    assert successes(tmp_path / "out", "reconstruction_3d") == [False]
    code, _, error = run(near[:1], "Reconstruction3D", *suggestion(error))
    assert code == 0 and successes(tmp_path / "out", "reconstruction_3d") == [True]


def test_empty_cloud_is_refused_with_a_limit_that_fits(tmp_path: Path, pairs: list[Any], run: Run) -> None:
    code, _, error = run(pairs[:1], "Reconstruction3D", "--set", "reconstructor3D.ReconstructionSpace.LimitZ=0.3")
    assert code == 1 and "nothing within the limits of distance (0.0 % of the points are within 0.3 m" in error
    code, output, error = run(pairs[:1], "Reconstruction3D", *suggestion(error), "--json")
    assert code == 0 and "LimitZ" not in json.loads(output)["parameters"]["reconstructor3D"]["ReconstructionSpace"]


def test_published_preset_computes_nothing_by_the_camera(pairs: list[Any], run: Run) -> None:
    code, output, error = run(pairs, "VisualOdometry", "--preset", "published", "--json")
    assert code == 0 and json.loads(output)["parameters"] == {} and "parameters by the camera" not in error
    limit = "stereoOdometry.PoseTrack.MaximumShift=auto"
    code, output, _ = run(pairs, "VisualOdometry", "--set", limit, "--json")
    assert code == 0 and "MaximumShift" in json.loads(output)["parameters"]["stereoOdometry"]["PoseTrack"]
