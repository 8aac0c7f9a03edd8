"""A rover that passes a standing camera is followed by its wheels: where it is, which way it heads, when it is gone."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fieldplay
from fieldplay.cli.main import main
from fieldplay.geometry.transforms import rotation_from_quaternion, transform_from_rotation, vector_from_rotation
from fieldplay_samples.write_sample import SampleOptions, usual_seconds, write_sample

RATE_HZ, WIDTH, FOCAL, CENTRE, EDGE_PX = 1.5, 1032, 867.356, 516.0, 20.0
SETTINGS: dict[str, Any] = {
    "scene": "passing", "image_rate_hz": RATE_HZ, "image_shrink": 8, "color_every": 1, "lidar_columns": 8
}  # fmt: skip
Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def passing(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Array]]:
    """The archive, and the truth beside it with camera_T_robot of each pair."""
    out = tmp_path_factory.mktemp("sherpatt") / "passing"
    options = SampleOptions(seconds=usual_seconds("sherpatt", SETTINGS), seed=1, settings=SETTINGS)
    sample = write_sample("sherpatt", out, options)
    with np.load(out.with_name("passing.passing.npz")) as file:
        truth = dict(file)
    return sample.path, truth | {"camera_T_robot": np.linalg.inv(truth["map_T_left"]) @ truth["map_T_robot"]}


def followed(archive: Path, out: Path, *arguments: str) -> tuple[NDArray[np.int64], Array, list[bool]]:
    """The stamps (n,) and poses (n, 4, 4) that were given, and of each picture whether it was found there."""
    assert main(["fuse", str(archive), "ModelBasedTracker", str(out), *arguments]) == 0
    with fieldplay.open(out) as data:
        parameters, success = (data.records(f"model_tracker/{port}") for port in ("pose", "success"))
    poses = transform_from_rotation(rotation_from_quaternion(parameters["orientation_xyzw"]), parameters["position_m"])
    return parameters["stamp_ns"], poses, success["values"].astype(bool).tolist()


def within_px(camera_T_robot: Array, wheels_m: Array) -> Array:
    """How far inside the picture's sides the middles of both wheels of the left side are, of each pose (n, 4, 4)."""
    middles = wheels_m[[0, 2]] @ camera_T_robot[:, :3, :3].swapaxes(1, 2) + camera_T_robot[:, None, :3, 3]
    columns = FOCAL * middles[..., 0] / middles[..., 2] + CENTRE
    return np.asarray(np.minimum(columns, WIDTH - columns).min(axis=1))


def test_it_is_followed_while_both_wheels_are_seen_and_its_loss_is_reported(
    passing: tuple[Path, dict[str, Array]], tmp_path: Path
) -> None:
    archive, truth = passing
    stamps, poses, success = followed(archive, tmp_path / "out")
    inside = within_px(truth["camera_T_robot"], truth["wheels_m"])
    seen = np.flatnonzero(inside > EDGE_PX)
    assert len(seen) >= 6
    assert all(success[position] for position in seen[1:]), "one picture does not tell where it heads to"
    assert not any(success[position] for position in np.flatnonzero(inside < 0))
    assert stamps.tolist() == truth["stamp_ns"][success].tolist()
    difference = np.linalg.inv(truth["camera_T_robot"][success]) @ poses
    assert np.linalg.norm(difference[:, :3, 3], axis=1).max() < 0.06  # 0.1 m are wanted
    assert np.degrees(np.linalg.norm(vector_from_rotation(difference[:, :3, :3]), axis=1)).max() < 5


def test_rover_of_another_model_is_not_taken_for_it(
    passing: tuple[Path, dict[str, Array]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = ["--set", "wheels.Model.WheelBase=1.2", "--start", "3", "--duration", "2"]
    assert main(["fuse", str(passing[0]), "ModelBasedTracker", str(tmp_path / "out"), *other]) == 1
    assert "ModelBasedTracker accepted nothing of 3 sets of inputs: 3 " in capsys.readouterr().err
