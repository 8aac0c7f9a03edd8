"""Commands on KITTI: its own errors, its form written and read again, the lidar in a camera."""

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fieldplay.cli.main import main
from fieldplay.datasets.registry import spec_of_dataset
from fieldplay.evaluation.trajectory_pair import own_truth
from support import tiny_kitti as tiny
from support.archive_messages import messages_of
from support.tiny_kitti import TinyDrive

POSES, STEP_M = 400, 1.003


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    code = main(list(words))
    out = capsys.readouterr().out
    assert code == 0, out
    return json.loads(out)


def drive_of_circles() -> tuple[np.ndarray, np.ndarray]:
    """True poses of a camera (n, 4, 4) over 400 m, and an estimate that drifts."""
    truth, estimate = np.tile(np.eye(4), (POSES, 1, 1)), np.tile(np.eye(4), (POSES, 1, 1))
    step, wrong = np.eye(4), np.eye(4)
    step[:3, :3] = Rotation.from_rotvec([0, 0.01, 0]).as_matrix()
    step[:3, 3] = [0, 0, STEP_M]
    wrong[:3, :3] = Rotation.from_rotvec([0.0001, 0.0101, 0]).as_matrix()
    wrong[:3, 3] = [0.002, 0, 1.01 * STEP_M]
    for index in range(1, POSES):
        truth[index], estimate[index] = truth[index - 1] @ step, estimate[index - 1] @ wrong
    return truth, estimate


def write_poses(path: Path, poses: np.ndarray) -> str:
    path.write_text("".join(" ".join(f"{value:.12e}" for value in pose[:3].ravel()) + "\n" for pose in poses))
    return str(path)


def test_errors_of_kitti_are_those_of_its_development_kit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth, estimate = drive_of_circles()
    files = write_poses(tmp_path / "estimate.txt", estimate), write_poses(tmp_path / "07.txt", truth)
    (tmp_path / "times.txt").write_text("".join(f"{index / 10:.6e}\n" for index in range(POSES)))
    result = answer(capsys, "evaluate", *files, "--form", "kitti", "--json")
    errors = {row["name"]: row for row in result["errors"] if row["name"].startswith("KITTI segments")}
    expected = []
    for first in range(0, POSES, 10):
        for length in (100, 200, 300, 400):
            last = first + int(length / STEP_M) + 1  # the first pose beyond the length
            if last < POSES:
                motions = [np.linalg.inv(poses[first]) @ poses[last] for poses in (estimate, truth)]
                error = np.linalg.inv(motions[0]) @ motions[1]
                angle = np.degrees(Rotation.from_matrix(error[:3, :3]).magnitude())
                expected.append((100 * np.linalg.norm(error[:3, 3]) / length, angle / length))
    translation, rotation = np.mean(expected, axis=0)
    assert errors["KITTI segments of all lengths"]["count"] == len(expected)
    assert errors["KITTI segments of all lengths"]["mean"] == pytest.approx(translation, rel=1e-6)
    assert errors["KITTI segments of all lengths, rotation"]["mean"] == pytest.approx(rotation, rel=1e-4)
    assert {"KITTI segments of 100 m", "KITTI segments of 400 m"} <= set(errors)


def test_errors_of_kitti_are_drawn(tmp_path: Path) -> None:
    truth, estimate = drive_of_circles()
    files = write_poses(tmp_path / "estimate.txt", estimate), write_poses(tmp_path / "07.txt", truth)
    for name in ("errors.html", "errors.png"):
        assert main(["evaluate", *files, "--form", "kitti", "--plot", str(tmp_path / name)]) == 0
    assert "KITTI segments, translation" in (tmp_path / "errors.html").read_text()
    assert cv2.imread(str(tmp_path / "errors.png")) is not None


def test_short_path_without_segments_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth, estimate = (poses[:50] for poses in drive_of_circles())
    files = write_poses(tmp_path / "estimate.txt", estimate), write_poses(tmp_path / "07.txt", truth)
    assert main(["evaluate", *files, "--form", "kitti"]) == 0
    assert "too short for KITTI's segments" in capsys.readouterr().err


def test_estimate_of_the_camera_is_compared_with_the_archive(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tiny.write_sequence(tmp_path / "dataset")
    estimate = write_poses(
        tmp_path / "estimate.txt", np.array([np.vstack([p, [0, 0, 0, 1]]) for p in tiny.camera_poses()])
    )
    words = ["evaluate", str(root), estimate, "ground_truth/odom", "--form", "kitti", "--json"]
    words += ["--times", str(root / "times.txt"), "--estimate-frame", "camera_gray_left"]
    result = answer(capsys, *words)
    (ate,) = (row for row in result["errors"] if row["name"] == "ATE")
    assert ate["most"] < 1e-6  # the lever arm to the scanner is taken from tf
    assert result["pairs"] == tiny.FRAMES


def test_export_of_a_sequence_is_a_sequence_with_the_same_scans(tmp_path: Path) -> None:
    root = tiny.write_sequence(tmp_path / "dataset")
    assert main(["export", str(root), str(tmp_path / "again"), "--format", "kitti"]) == 0
    before, after = messages_of(root), messages_of(tmp_path / "again" / "sequences" / "00")
    for (stamp, one), (other_stamp, other) in zip(before["lidar/points"], after["lidar/points"], strict=True):
        assert stamp == other_stamp
        assert bytes(one.data) == bytes(other.data)
    paths = [
        np.array([[p.pose.pose.position.x, p.pose.pose.position.y, p.pose.pose.position.z] for _, p in rows])
        for rows in (before["ground_truth/odom"], after["ground_truth/odom"])
    ]
    steps = [np.linalg.norm(np.diff(path, axis=0), axis=1) for path in paths]
    np.testing.assert_allclose(steps[0], steps[1], atol=1e-6)


@pytest.mark.parametrize(
    ("dataset", "names", "expected"),
    [
        ("kitti", ["/kitti/ground_truth/odom", "/kitti/gnss/odom"], "/kitti/gnss/odom"),
        ("kitti", ["/car/ground_truth/odom"], "/car/ground_truth/odom"),
        ("kitti", ["/kitti/lidar/odom"], None),
        ("euroc", ["/euroc/ground_truth/odom"], "/euroc/ground_truth/odom"),
        ("ameds", ["/ameds/wheels/odom"], None),
        ("rosario", ["/rosario/ground_truth/odom"], None),
    ],
)
def test_truth_of_a_dataset_is_what_has_its_frames(dataset: str, names: list[str], expected: str | None) -> None:
    assert own_truth(names, spec_of_dataset(dataset)) == expected


def test_bag_of_a_sequence_has_its_truth(tmp_path: Path) -> None:
    root = tiny.write_sequence(tmp_path / "dataset")
    assert main(["convert", str(root), str(tmp_path / "bag")]) == 0
    for source, out in ((root, tmp_path / "archive_as_kitti"), (tmp_path / "bag", tmp_path / "bag_as_kitti")):
        assert main(["export", str(source), str(out), "--format", "kitti"]) == 0
    poses = [(tmp_path / name / "poses" / "00.txt").read_text() for name in ("archive_as_kitti", "bag_as_kitti")]
    assert poses[0] == poses[1]


def test_lidar_is_drawn_where_the_calibration_puts_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drive, out = TinyDrive(tmp_path / tiny.DATE).write_all(), tmp_path / "overlay.png"
    words = ["project", str(drive.root), "lidar", "camera_color_left", "0", str(out), "--fixed-frame", "none"]
    assert main(words) == 0
    points = np.column_stack([tiny.points(0)[:, :3].astype(float), np.ones(len(tiny.points(0)))])
    camera = np.vstack([np.column_stack([np.reshape(tiny.VELO_R, (3, 3)), tiny.VELO_T]), [0, 0, 0, 1]])
    rectifying = np.eye(4)
    rectifying[:3, :3] = np.reshape(tiny.R_RECT[0], (3, 3))
    seen = np.reshape(tiny.P_RECT[2], (3, 4)) @ rectifying @ camera @ points.T
    u, v = seen[:2] / seen[2]
    is_inside = (seen[2] > 0) & (u > -0.5) & (u < 1241.5) & (v > -0.5) & (v < 374.5)
    assert f"{is_inside.sum()} of {len(points)} points of lidar/points" in capsys.readouterr().out
    before = cv2.imread(str(drive.root / "image_02" / "data" / "0000000000.png"))
    changed = (cv2.imread(str(out)) != before).any(axis=2)
    for x, y in zip(u[is_inside].round().astype(int), v[is_inside].round().astype(int), strict=True):
        assert changed[max(y - 1, 0) : y + 2, max(x - 1, 0) : x + 2].any()


@pytest.mark.parametrize(
    ("name", "hint"), [("imu_axis", "did you mean 'imu_axes'"), ("gyro", "kitti has no parameter")]
)
def test_unknown_parameter_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, hint: str) -> None:
    root = tiny.write_sequence(tmp_path / "dataset")
    with pytest.raises(SystemExit, match="2"):
        main(["info", str(root), "--set", f"{name}=body"])
    assert hint in capsys.readouterr().err


def test_list_has_euroc_and_kitti(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    assert {"euroc", "kitti"} <= {line.split()[0] for line in capsys.readouterr().out.splitlines()}
