"""Reconstruction 3D around a box of known place and size: the way, the cloud and the box's lengths, in numbers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldplay
from fieldplay.cli.main import main
from fieldplay.geometry.transforms import rotation_from_quaternion, transform_from_rotation, vector_from_rotation
from fieldplay_cdff.offline.elevation import frame_t_camera
from fieldplay_cdff.offline.product_files import ply_bytes
from fieldplay_cdff.steps.values import Cloud
from fieldplay_samples.data import numbers_of
from fieldplay_samples.write_sample import SampleOptions, write_sample
from fieldplay_samples.writers.sherpatt.scenario import truth_of
from fieldplay_testing.solid_scenes import block

PAIRS = 4
SETTINGS = {"scene": "box", "circle_deg_s": 14.0, "image_rate_hz": 1.0, "lidar_columns": 30, "color_every": 100}
VARIANTS = ("ReconstructionFromStereo", "AdjustmentFromStereo")


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sherpatt") / "box"
    return write_sample("sherpatt", out, SampleOptions(seconds=float(PAIRS), seed=3, settings=SETTINGS, workers=1)).path


@pytest.mark.parametrize("variant", VARIANTS)
def test_box_is_where_it_is_and_as_large(variant: str, sample: Path, tmp_path: Path) -> None:
    stats, tum, ply = (tmp_path / f"run{suffix}" for suffix in (".json", ".tum", ".ply"))
    positions = ["--stats", str(stats), "--tum", str(tum), "--ply", str(ply)]
    world, true = truth_of(sample)
    map_T_left = true["map_T_left"]
    origin = origin_on_grid(sample, true)
    positions += ["--dem", str(tmp_path / "run.tif"), "--dem-by", "dgps/odom", "--dem-origin", *map(str, origin)]
    positions += ["--dem-truth", str(sample / "2018_11_27_dsm.tif")]
    assert (
        main(["fuse", str(sample), "Reconstruction3D", str(tmp_path / "out"), "--implementation", variant, *positions])
        == 0
    )
    result = json.loads(stats.read_text())
    assert result["accepted"] == PAIRS
    assert result["dem"]["compared"] > 3000 and result["dem"]["median_m"] < 0.022
    start = map_T_left[0]
    ends = np.loadtxt(tum)[:, 1:4] @ start[:3, :3].T + start[:3, 3]
    distance_m = np.linalg.norm(np.diff(map_T_left[:, :3, 3], axis=0), axis=1).sum()
    assert distance_m > 2.1
    assert np.linalg.norm(ends - map_T_left[:, :3, 3], axis=1).max() < 0.02 * distance_m
    points = points_of(ply) @ start[:3, :3].T + start[:3, 3]
    off_m = world.distance_m(points)
    assert np.median(off_m) < 0.025
    assert (off_m > 0.05).mean() < 0.2
    lengths, expected = world.box_lengths_m(points)
    assert lengths[2] == pytest.approx(expected[2], rel=0.1)  # of the others only one side was seen


def test_box_is_found_in_what_is_reconstructed(
    sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half a turn about its upright axis leaves it as it is."""
    _, true = truth_of(sample)
    model = block(np.random.default_rng(0), 6000, true["sizes_m"] / 2).points
    model = model[model[:, 2] > -0.48 * true["sizes_m"][2]]  # it stands on the ground
    (tmp_path / "box.ply").write_bytes(ply_bytes(Cloud(points=model)))
    arguments = ["fuse", str(sample), "ReconstructionAndIdentification", str(tmp_path / "out")]
    arguments += ["--implementation", "ReconstructionAndMatching", "--set", "gate.GeneralParameters.CloudUpdateTime=3"]
    with pytest.raises(SystemExit, match="2"):
        main([*arguments, "--input", f"leftImage={tmp_path}/box.ply"])
    assert "a file can be a cloud that stays, which leftImage is not" in capsys.readouterr().err
    assert main([*arguments, "--input", f"model={tmp_path}/box.ply"]) == 0
    with fieldplay.open(tmp_path / "out") as data:
        result, success = (data.records(f"reconstruction_and_identification/{port}") for port in ("pose", "success"))
    assert success["values"].tolist() == [bool(success["values"][0]), False, False, True]
    turn = rotation_from_quaternion(result["orientation_xyzw"][-1])
    map_T_model = true["map_T_left"][0] @ transform_from_rotation(turn, result["position_m"][-1])
    difference = np.linalg.inv(map_T_model) @ true["map_T_box"]
    turned = (difference[:3, :3], difference[:3, :3] @ np.diag([-1.0, -1.0, 1.0]))
    assert min(np.degrees(np.linalg.norm(vector_from_rotation(each))) for each in turned) < 4
    assert np.linalg.norm(map_T_model[:3, 3] - true["map_T_box"][:3, 3]) < 0.08


def origin_on_grid(sample: Path, true: Any) -> Any:
    """Where the origin of the satellites' odometry lies in the grid of the surface model; east, north, up."""
    with fieldplay.open(sample) as data:
        _, odometry_T_left = frame_t_camera(data, "dgps/odom", "camera_left", int(true["stamp_ns"][0]))
    numbers = numbers_of("sherpatt")
    surface, (x, y, _) = numbers["surface"], numbers["start_xy_heading"]
    of_map = [surface["easting_of_start"] - x, surface["northing_of_start"] - y, surface["offset"]]
    return true["map_T_left"][0, :3, 3] - odometry_T_left[:3, 3] + of_map


def points_of(ply: Path) -> Any:
    head, _, rows = ply.read_bytes().partition(b"end_header\n")
    assert b"property float x\nproperty float y\nproperty float z" in head
    kinds = [(name, "<f4") for name in "xyz"]
    assert head.count(b"property") == 3
    table = np.frombuffer(rows, kinds)
    return np.stack([table[axis] for axis in "xyz"], axis=-1).astype(float)
