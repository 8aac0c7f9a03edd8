"""`fieldplay fuse` on bags of a stereo camera before a wall, whose distance is known."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rosbags.rosbag2 import Reader

import fieldplay
from fieldplay.cli.main import main
from fieldplay.geometry.camera_model import CameraModel
from fieldplay.geometry.transforms import rotation_about_axis
from support.stereo_bags import (
    CHAIN,
    HEIGHT,
    LEFT,
    RIGHT,
    SETTINGS,
    STAMPS_NS,
    WALL_M,
    WIDTH,
    Pair,
    pair,
    write_bag,
)

SET = [word for setting in SETTINGS for word in ("--set", setting)]
Fuse = Callable[..., tuple[int, str, str]]


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    path = tmp_path / "wall.yaml"
    path.write_text(CHAIN)
    return path


@pytest.fixture
def fuse(tmp_path: Path, chain: Path, capsys: pytest.CaptureFixture[str]) -> Fuse:
    def run(bag: Path, *arguments: str) -> tuple[int, str, str]:
        try:
            code = main(["fuse", str(bag), str(chain), str(tmp_path / "out"), *SET, *arguments])
        except SystemExit as end:
            code = int(str(end.code))
        output = capsys.readouterr()
        return code, output.out, output.err

    return run


def test_wall_is_where_it_is_and_clouds_have_times_of_their_images(tmp_path: Path, fuse: Fuse) -> None:
    bag = write_bag(tmp_path / "bag", [pair(row) for row in range(4)])
    code, output, _ = fuse(bag, "--json", "--ply", str(tmp_path / "wall.ply"), "--stats", str(tmp_path / "stats.json"))
    assert code == 0
    result = json.loads(output)
    assert result["inputs"] == {"leftImage": "/cam/left/image_raw", "rightImage": "/cam/right/image_raw"}
    assert (result["given"], result["accepted"], result["dfpc"], result["implementation"]) == (4, 4, "Wall", "Plain")
    (step,) = result["steps"]
    assert (step["name"], step["calls"], step["failures"]) == ("stereo", 4, 0)
    assert 0 < step["cpu_s"] <= result["cpu_s"] and set(step["wall_s"]) == {"mean", "p50", "p95", "max"}
    with fieldplay.open(tmp_path / "out") as out:
        clouds = list(out.clouds("wall/cloud"))
        assert out.topics["/wall/cloud"].frame == "wall/scene"
    assert [stamp_ns for stamp_ns, _ in clouds] == STAMPS_NS
    for _, points in clouds:
        assert len(points) > 0.5 * WIDTH * HEIGHT and np.median(points["z"]) == pytest.approx(WALL_M, rel=0.01)
    assert (tmp_path / "wall.ply").read_bytes().startswith(b"ply\nformat binary_little_endian 1.0\nelement vertex ")
    assert json.loads((tmp_path / "stats.json").read_text())["steps"][0]["name"] == "stereo"


def test_every_second_pair_is_taken_and_same_bytes_come_again(tmp_path: Path, fuse: Fuse) -> None:
    bag = write_bag(tmp_path / "bag", [pair(row) for row in range(4)])
    assert fuse(bag, "--every", "2")[0] == 0
    first = messages_of(tmp_path / "out")
    assert [stamp_ns for _, stamp_ns, _ in first] == STAMPS_NS[::2]
    assert fuse(bag, "--every", "2", "--overwrite", "--threads", "1")[0] == 0
    assert messages_of(tmp_path / "out") == first


def messages_of(bag: Path) -> list[tuple[str, int, bytes]]:
    """As another reader of bags has them."""
    with Reader(bag) as reader:
        return [(connection.topic, stamp_ns, bytes(data)) for connection, stamp_ns, data in reader.messages()]


def test_black_image_is_skipped_and_reported_while_rest_runs(tmp_path: Path, fuse: Fuse) -> None:
    pairs = [pair(row) for row in range(4)]
    pairs[1] = (np.zeros_like(pairs[1][0]), pairs[1][1])
    bag = write_bag(tmp_path / "bag", pairs)
    code, _, result = fuse(bag)
    assert code == 0 and "/cam/left/image_raw at 1600000000.250 s: nothing is to be seen in it" in result
    assert "/cam/left/image_raw: 1 skipped" in result
    assert [stamp_ns for _, stamp_ns, _ in messages_of(tmp_path / "out")] == [STAMPS_NS[row] for row in (0, 2, 3)]
    assert "no result for 1 set of inputs: 1 dark" in result
    code, out, _ = fuse(bag, "--json", "--overwrite")
    actual = json.loads(out)
    assert (actual["given"], actual["accepted"], actual["refused"]) == (4, 3, {"dark": 1})
    code, _, result = fuse(bag, "--strict", "--overwrite")
    assert code == 1 and "none may: nothing was written" in result


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda row, left, right: (left, np.roll(right, 5, axis=0)),
            "left and right differ by 5.0 px from line to line",
        ),
        (lambda row, left, right: (right, left), "may be swapped: features lie 16.0 px further right in the right one"),
        (lambda row, left, right: (left, pair(row + 9)[1]), "left and right show little of the same: "),
    ],
)
def test_images_that_are_no_rectified_pair_are_reported_with_number(
    tmp_path: Path, fuse: Fuse, change: Callable[..., Pair], message: str
) -> None:
    code, _, result = fuse(write_bag(tmp_path / "bag", [change(row, *pair(row)) for row in range(4)]))
    assert code == 0 and message in result


def test_stamps_that_differ_are_counted_and_those_too_far_apart_are_no_pair(tmp_path: Path, fuse: Fuse) -> None:
    pairs = [pair(row) for row in range(4)]
    code, _, result = fuse(write_bag(tmp_path / "bag", pairs, right_late_ns=3_000_000))
    assert code == 0 and "the stamps of 4 of 4 sets differ within half a period" in result
    code, _, result = fuse(write_bag(tmp_path / "late", pairs, right_late_ns=2_000_000_000), "--overwrite")
    assert code == 1
    assert "Wall gave nothing: nothing belongs by its stamp to 4 of 4 of leftImage, 4 of 4 of rightImage" in result


def test_camera_that_rectification_turns_has_frame_for_its_rectified_self(tmp_path: Path, fuse: Fuse) -> None:
    turn = rotation_about_axis(1, np.radians(1.0))
    turned = tuple(turn.reshape(-1).tolist())
    left, right = (replace(camera, rectification=turned) for camera in (LEFT, RIGHT))
    bag = write_bag(tmp_path / "bag", [pair(row) for row in range(4)], left=left, right=right)
    assert fuse(bag)[0] == 0
    with fieldplay.open(tmp_path / "out") as data:
        (edge,) = data.tf_static
    assert (edge.parent, edge.child) == ("left_camera", "left_camera_rectified")
    np.testing.assert_allclose(edge.parent_t_child[:3, :3], turn.T, atol=1e-9)


def test_baseline_that_no_robot_has_is_reported(tmp_path: Path, fuse: Fuse) -> None:
    wide = replace(RIGHT, projection=(200, 0, 95.5, -20000, 0, 200, 71.5, 0, 0, 0, 1, 0))
    result = fuse(write_bag(tmp_path / "bag", [pair(row) for row in range(4)], right=wide))[2]
    assert "/cam/right/camera_info: a baseline of 100 m: is its P in pixels and metres?" in result


@pytest.mark.parametrize(
    ("right", "message"),
    [
        (None, "/cam/right/image_raw: expected the CameraInfo of the right camera, got none"),
        (LEFT, "/cam/right/camera_info: expected P[3] = -fx * baseline below 0"),
        (replace(RIGHT, projection=(200, 0, 95.5, 20, 0, 200, 71.5, 0, 0, 0, 1, 0)), "got a baseline of -0.1 m"),
        (replace(RIGHT, fx=1.0, fy=1.0, cx=0.0, cy=0.0), "expected a camera matrix with focal lengths in pixels"),
        (replace(RIGHT, width=96), "expected images of one size, got /cam/left/camera_info 192 x 144 and"),
    ],
)
def test_pair_that_cannot_be_used_is_refused(
    tmp_path: Path, fuse: Fuse, right: CameraModel | None, message: str
) -> None:  # fmt: skip
    bag = write_bag(tmp_path / "bag", [pair(row) for row in range(4)], right=right)
    code, _, result = fuse(bag)
    assert code == 1 and message in result
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--input", "leftImage"], "--input: expected PORT=TOPIC, got 'leftImage'"),
        (["--input", "left=/cam/left/image_raw"], "there is no input left; there are leftImage, rightImage"),
        (["--input", "leftImage=/cam/left/camera_info"], "leftImage takes sensor_msgs/msg/Image or"),
        (["--input", "leftImage=/cam/right/image_raw"], "/cam/right/image_raw feeds both leftImage and rightImage"),
        (["--set", "stereo.Disparities.NumberOfInterval=64"], "did you mean NumberOfIntervals?"),
        (["--implementation", "Plan"], "did you mean Plain?"),
        (["--dem-truth", "true.tif"], "are about the heights of --dem, which is not there"),
        (["--dem", "out.tif", "--dem-truth", "none.tif"], "--dem-truth: none.tif: there is no such file"),
    ],
)
def test_usage_error_is_reported_and_writes_nothing(
    tmp_path: Path, fuse: Fuse, arguments: list[str], message: str
) -> None:
    bag = write_bag(tmp_path / "bag", [pair(0)])
    code, _, result = fuse(bag, *arguments)
    assert code == 2 and message in " ".join(result.split())
    assert not (tmp_path / "out").exists()


def test_images_that_are_no_pair_are_named(tmp_path: Path, fuse: Fuse) -> None:
    code, _, result = fuse(write_bag(tmp_path / "bag", [pair(0)], position="/cam"), "--input", "leftImage=cam/none")
    assert code == 2 and "there is no topic 'cam/none'" in result


def test_steps_are_set_by_arguments_and_files_of_one_step(tmp_path: Path, fuse: Fuse) -> None:
    bag = write_bag(tmp_path / "bag", [pair(row) for row in range(4)])
    stats = tmp_path / "stats.json"
    code, _, _ = fuse(bag, "--set", "stereo=DisparityMapping", "--stats", str(stats))
    content = json.loads(stats.read_text())
    assert (code, content["steps"][0]["implementation"]) == (0, "DisparityMapping")
    assert content["memory_method"] in ("VmHWM", "VmRSS") and content["steps"][0]["memory"]["peak"] >= 0
    file = tmp_path / "HirschmullerDisparityMapping_Mine.yaml"
    file.write_text("- {Name: StereoCamera, LeftPrincipalPointX: 95.5}\n- {Name: Disparities, NumberOfIntervals: 16}\n")
    code, output, error = fuse(bag, "--config", f"stereo={file}", "--json", "--overwrite")
    assert code == 0
    assert json.loads(output)["notes"] == [
        f"{file.name}: takes LeftPrincipalPointX for StereoCamera.LeftPrinciplePointX"
    ]
    assert "takes LeftPrincipalPointX for StereoCamera.LeftPrinciplePointX" in error
    code, _, error = fuse(bag, "--set", "steroe=DisparityMapping", "--overwrite")
    assert code == 2 and "steroe" in error
