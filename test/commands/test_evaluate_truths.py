"""`fieldplay evaluate`: parts of the time, a truth that is bad, times that are apart, files instead of topics."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fieldplay.cli.evaluate_command import TUM_NAMES
from fieldplay.cli.main import main
from fieldplay.core.errors import ArchiveError
from fieldplay.datasets.registry import datasets_deriving, truth_max_std_of
from fieldplay.evaluation.pose_files import OURS, load_pose_file
from fieldplay.evaluation.trajectory_pair import TrajectoryPair, compare
from fieldplay.geometry.frames import Frames
from fieldplay.trajectories.evaluation import EvaluationSettings
from fieldplay.trajectories.pose_topics import TopicTrajectory
from fieldplay.trajectories.time_offset import find_time_offset
from fieldplay.trajectories.trajectory import FusionError, Trajectory, tum_lines
from fieldplay_testing.reference_trajectories import headings, transforms
from support.sampled import Sampled

BEGIN_NS = 1_656_928_800_123_456_789


def evaluated(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[dict[str, Any], str]:
    assert main(["evaluate", *map(str, arguments), "--json"]) == 0
    captured = capsys.readouterr()
    return json.loads(captured.out), captured.err


def ate(result: dict[str, Any]) -> float:
    (row,) = [row for row in result["errors"] if row["name"] == "ATE"]
    return float(row["rmse"])


def drive(seconds: float, rate_hz: float, late_s: float = 0.0) -> Trajectory:
    """A drive in curves at changing speed; its times say that it was so much later than it was."""
    stamp_ns = np.arange(round(seconds * rate_hz)) * round(1e9 / rate_hz)
    t = stamp_ns / 1e9 + late_s
    trajectory, yaw = t + np.sin(0.9 * t), 0.8 * np.sin(0.7 * t) + 0.3 * np.sin(1.9 * t)
    positions = np.stack([trajectory, np.sin(trajectory), 0.1 * np.sin(2 * trajectory)], axis=1)
    poses = transforms(headings(yaw), positions)
    return Trajectory(stamp_ns=BEGIN_NS + stamp_ns, poses=poses)


def two(estimate: Trajectory, truth: Trajectory) -> TrajectoryPair:
    trajectories = (
        TopicTrajectory(topic=name, parent="", child="", trajectory=trajectory)
        for name, trajectory in (("a", estimate), ("b", truth))
    )
    return TrajectoryPair(**dict(zip(("estimate", "truth"), trajectories, strict=True)))


def written(path: Path, trajectory: Trajectory) -> Path:
    path.write_text("".join(tum_lines(trajectory)))
    return path


@pytest.mark.parametrize("rates_hz", [(10, 100), (100, 20), (5, 5)])
@pytest.mark.parametrize("late_s", [0.2, 0.0, -0.137])
def test_offset_of_times_is_found(late_s: float, rates_hz: tuple[float, float]) -> None:
    """As KISS-ICP's, whose poses are of the scan's end and stamped with its begin."""
    actual = find_time_offset(drive(30, rates_hz[0], late_s), drive(30, rates_hz[1]), within_s=0.25)
    assert actual == pytest.approx(late_s, abs=0.005)


def test_without_orientation_speeds_give_offset() -> None:
    truth = replace(drive(30, 50), has_orientation=False)
    assert find_time_offset(drive(30, 10, 0.2), truth, within_s=0.25) == pytest.approx(0.2, abs=0.005)


def test_what_stands_still_gives_no_offset() -> None:
    still = Trajectory(stamp_ns=np.arange(200) * 10**8, poses=np.tile(np.eye(4), (200, 1, 1)))
    with pytest.raises(FusionError, match="no offset within 1 s fits better than the others; give --offset S"):
        find_time_offset(still, still, within_s=0.25)


def test_offset_is_reported_and_too_much_of_it_warned_of(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = written(tmp_path / "kiss.tum", drive(30, 10, 0.2)), written(tmp_path / "truth.tum", drive(30, 100))
    as_stamped, silent = evaluated(capsys, *text)
    assert as_stamped["offset_s"] == 0 and not silent
    actual, evaluation = evaluated(capsys, *text, "--offset", "auto")
    assert actual["offset_s"] == pytest.approx(0.2, abs=0.003)
    assert ate(actual) < ate(as_stamped) / 10
    assert "s later, more than half of its period of 0.1 s" in evaluation
    shutil.move(written(tmp_path / "late.tum", drive(30, 10, 0.03)), text[0])
    assert not evaluated(capsys, *text, "--offset", "auto")[1]
    assert main(["evaluate", *map(str, text), "--offset", "auto"]) == 0
    assert "  times of the estimate: +0.03 s, found where the motions fit" in capsys.readouterr().out.splitlines()


def test_poses_of_truth_that_say_they_are_bad_are_left_out_and_counted() -> None:
    estimate, truth = drive(20, 20), drive(20, 20)
    poses, std_m = truth.poses.copy(), np.full(len(truth), 0.01)
    poses[100:200, 0, 3] += 0.7
    std_m[100:200] = 0.5
    trajectories = two(estimate, replace(truth, poses=poses, std_m=std_m))

    def worst_m(limit_m: float) -> tuple[float, int]:
        believed = trajectories.exclude_uncertain(limit_m)
        assert believed.truth_uncertainty is not None and believed.truth_uncertainty.median_m == pytest.approx(0.01)
        assert believed.truth_uncertainty.most_m == pytest.approx(0.5)
        result = compare(believed, EvaluationSettings(within_s=0.05), lever_arm=None, report=print)
        return float(result.evaluation.absolute.translation.max()), believed.truth_uncertainty.left_out

    assert worst_m(0.0) == (pytest.approx(0.7), 0)
    assert worst_m(1.0) == (pytest.approx(0.7), 0)
    most_m, left_out = worst_m(0.1)
    assert most_m < 1e-9 and left_out == 100
    with pytest.raises(FusionError, match=r"b: 400 of 400 poses have .* more than 0.001 m.*--truth-max-std"):
        trajectories.exclude_uncertain(0.001)


def test_limit_is_dataset_s_unless_another_is_given(sampled_ameds: Sampled, capsys: pytest.CaptureFixture[str]) -> None:
    assert truth_max_std_of("/ameds/gnss/odom") == 0.1
    assert truth_max_std_of("/somebody/gnss/odom") == 0.0
    text = sampled_ameds.bag, "wheels/odom", "gnss/odom"
    actual, _ = evaluated(capsys, *text)
    claims = actual["truth"]["claims"]
    assert claims["median_m"] == pytest.approx(0.015) and claims["most_m"] == pytest.approx(0.24, abs=0.001)
    assert (claims["poses"], claims["max_std_m"], claims["left_out"]) == (2000, 0.1, 212)
    assert evaluated(capsys, *text, "--truth-max-std", 0)[0]["truth"]["claims"]["left_out"] == 0
    assert main(["evaluate", *map(str, text), "--truth-max-std", "0.001"]) == 1
    assert "2000 of 2000 poses have" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["archive", "bag"])
def test_part_of_time_is_counted_from_start_of_data(
    sampled_ameds: Sampled, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    text = getattr(sampled_ameds, form), "wheels/odom", "gnss/odom"
    whole, _ = evaluated(capsys, *text)
    part, _ = evaluated(capsys, *text, "--start", 5, "--duration", 10)
    assert (part["first_ns"] - whole["first_ns"]) / 1e9 == pytest.approx(5, abs=0.05)
    assert (part["last_ns"] - part["first_ns"]) / 1e9 == pytest.approx(10, abs=0.05)
    assert main(["evaluate", *map(str, text), "--start", "500"]) == 1
    assert "there is no pose of the estimate" in capsys.readouterr().err


def test_bag_without_what_is_computed_reports_how_it_is_made(
    sampled_ameds: Sampled, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["convert", str(sampled_ameds.archive), str(tmp_path / "bag"), "--topics", "gnss"]) == 0
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["evaluate", str(tmp_path / "bag"), "wheels/odom", "gnss/odom"])
    output = capsys.readouterr().err
    assert "no topic 'wheels/odom'" in output
    assert "`convert --derived` of ameds would have made it" in output
    assert datasets_deriving("/ameds/wheels/odom") == ["ameds"] and datasets_deriving("lidar/points") == []


def test_files_of_all_forms_hold_same_poses(tmp_path: Path) -> None:
    trajectory = drive(3, 10)
    tum = load_pose_file(written(tmp_path / "a.tum", trajectory)).trajectory
    lines = [line.split() for line in tum_lines(trajectory)]
    rows = [[str(ns), *line[1:]] for ns, line in zip(trajectory.stamp_ns.tolist(), lines, strict=True)]
    ours, euroc, kitti = (tmp_path / name for name in ("b.truth.csv", "euroc.csv", "kitti.txt"))
    ours.write_text("stamp_ns,x_m,y_m,z_m,qx,qy,qz,qw,other\n" + "".join(",".join(row) + ",7\n" for row in rows))
    order = [0, 1, 2, 3, 7, 4, 5, 6]
    head = "#timestamp, p_RS_R_x [m], p_RS_R_y [m], p_RS_R_z [m], q_RS_w [], q_RS_x [], q_RS_y [], q_RS_z [], v_x\n"
    euroc.write_text(head + "".join(", ".join([*(row[position] for position in order), "0.1"]) + "\n" for row in rows))
    np.savetxt(kitti, trajectory.poses[:, :3].reshape(-1, 12), fmt="%.9f")
    assert load_pose_file(kitti).trajectory.stamp_ns.tolist() == [second * 10**9 for second in range(30)]
    (tmp_path / "times.txt").write_text("".join(f"{line[0]}\n" for line in lines))
    for result in (tum, *(load_pose_file(path).trajectory for path in (ours, euroc, kitti))):
        assert result.stamp_ns.tolist() == trajectory.stamp_ns.tolist()
        assert result.poses == pytest.approx(trajectory.poses, abs=1e-8)


def test_archive_s_truth_is_compared_with_sample_s(sampled_ameds: Sampled, capsys: pytest.CaptureFixture[str]) -> None:
    """Files and topics in any place; the INS is as right as it claims, so where it says it is bad it is left out."""
    truth = sampled_ameds.archive.with_name("ameds.truth.csv")
    actual, _ = evaluated(capsys, sampled_ameds.archive, "gnss/odom", truth, "--align", "none")
    text = sampled_ameds.bag, truth, "gnss/odom", "--align", "none"
    everything, believed = (evaluated(capsys, *text, "--truth-max-std", limit)[0] for limit in (0, 0.02))
    assert ate(actual) == pytest.approx(ate(everything), rel=0.01) and ate(actual) > 0.07
    assert ate(believed) < 0.02
    assert actual["truth"]["topic"] == str(truth) and actual["truth"]["claims"]["median_m"] is None
    assert actual["pairs"] >= 1999


def test_file_may_be_of_any_frame_of_robot(
    sampled_ameds: Sampled, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """As a lidar odometry's: tf tells where the lidar sits and how it is turned."""
    base_t_lidar = np.diag([-1.0, -1.0, 1.0, 1.0])
    base_t_lidar[:3, 3] = [-0.549, 0, 1.470]
    truth = sampled_ameds.archive.with_name("ameds.truth.csv")
    lidar = written(tmp_path / "lidar.tum", load_pose_file(truth).trajectory.of_frame(base_t_lidar))
    text = sampled_ameds.bag, lidar, "gnss/odom", "--align", "none", "--truth-max-std", 0.02
    actual, evaluation = evaluated(capsys, *text, "--estimate-frame", "lidar")
    assert ate(actual) < 0.02 and not evaluation
    assert np.linalg.norm(np.array(actual["lever"])[:3, 3]) == pytest.approx(np.hypot(0.549, 1.470))
    assert ate(evaluated(capsys, *text)[0]) > 1
    several = ["evaluate", sampled_ameds.bag, "wheels/odom", *text[1:], "--estimate-frame", "lidar", "--json"]
    main(list(map(str, several)))
    wheels, actual = json.loads(capsys.readouterr().out)
    assert ate(actual) < 0.02 and wheels["estimate"]["child_frame"] == "base_link"


def test_lidar_that_turns_on_robot_is_followed_by_tf() -> None:
    """Its own way tells where the truth's frame was, as far as tf knows how the lidar stood."""
    body = drive(10, 10)
    turned = Rotation.from_euler("z", np.linspace(0, 90, 101)[:, None], degrees=True)
    frames = Frames()
    stamps = body.stamp_ns[0] + np.arange(101) * 10**8
    rows = np.concatenate([np.tile([0.5, 0.0, 1.0], (101, 1)), turned.as_quat()], axis=1)
    frames.add("base", "lidar", is_static=False, stamp_ns=stamps, values=rows)
    transform = frames.transform("base", "lidar", body.stamp_ns)
    assert transform is not None
    messages: list[str] = []
    lidar = TopicTrajectory(
        topic="lidar", parent="map", child="lidar", trajectory=replace(body, poses=body.poses @ transform[0])
    )
    truth = TopicTrajectory(topic="truth", parent="map", child="base", trajectory=body)
    trajectories = TrajectoryPair(estimate=lidar, truth=truth, frames=frames)
    judged = compare(trajectories, EvaluationSettings(alignment="none"), lever_arm=None, report=messages.append)
    assert judged.evaluation.absolute.translation.max() < 1e-9
    assert messages == ["base moves in lidar: tf has its position for 100 of 100 poses"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.tum", "", "no pose in it; expected a sample's truth.csv, EuRoC"),
        ("a.tum", "# nothing\n", "no pose in it"),
        ("a.tum", "1 2 3\n", "got 3 columns"),
        ("a.tum", "1 0 0 0 0 0 0 1\n2 0 0 0 0 0 0\n", "row 2: expected 8 columns as in most rows, got 7"),
        ("a.tum", "1 0 0\n2 0 0 0 0 0 0 1\n3 0 0 0 0 0 0 1\n", "row 1: expected 8 columns as in most rows, got 3"),
        ("a.tum", "1 0 0 0\x0c0 0 0 1\n2 0 0 0 0 0 0 1\nx 0 0 0 0 0 0 1\n", "row 3: expected seconds, got 'x'"),
        ("a.tum", "1 0 0 0 0 0 0 1\n2 0\0\0 0 0 0 0 0 1\n", "row 2: expected text, got a zero byte"),
        (
            "a.tum",
            f"{10**18} 0 0 0 0 0 0 1\n123 0 0 0 0 0 0 1\n{10**18 + 9} 0 0 0 0 0 0 1\n",
            "row 2: expected nanoseconds as in most rows, got '123'",
        ),
        ("a.tum", "1 0 0 0 0 0 0 1\nx 0 0 0 0 0 0 1\n", "row 2: expected seconds, got 'x'"),
        ("a.tum", "1 0 0 0 0 0 0 1\n2 0 y 0 0 0 0 1\n", "row 2: expected a number, got 'y'"),
        ("a.csv", "15,0,0,0,1,0,0,0\n1.5,0,0,0,1,0,0,0\n", "row 2: expected whole nanoseconds, got '1.5'"),
        ("a.csv", "#t\n\n15,0,0,0,1,0,0,0\n16,0,0,0,1,x,0,0\n", "row 4: expected a number, got 'x'"),
        ("a.csv", ",".join(OURS) + "\n1,0,0,0,0,0,0,1\n2,0,0,z,0,0,0,1\n", "row 3: expected a number, got 'z'"),
        ("a.tum", "1 nan 0 0 0 0 0 1\n2 nan 0 0 0 0 0 1\n", "row 1: expected numbers, got '1 nan 0 0 0 0 0 1'"),
        ("a.csv", "stamp_ns,x_m\n1,2\n", "expected columns stamp_ns, x_m"),
        ("times/a.txt", "1 0 0 0 0 1 0 0 0 0 1 0\n", "expected 1 times, as a.txt has poses, got 2"),
    ],
)
def test_files_that_hold_no_poses_are_reported(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "times").mkdir()
    (tmp_path / "times" / "times.txt").write_text("1\n2\n")
    (tmp_path / name).write_text(text)
    with pytest.raises(ArchiveError) as end:
        load_pose_file(tmp_path / name)
    assert message in str(end.value)


def test_what_file_is_may_be_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nanoseconds and commas in TUM's order are known by themselves; with w first it must be told."""
    trajectory = drive(30, 10)
    tum, late = written(tmp_path / "a.tum", trajectory), tmp_path / "late.txt"
    lines = [line.split() for line in tum_lines(trajectory)]
    rows = [[str(ns), *line[1:]] for ns, line in zip(trajectory.stamp_ns.tolist(), lines, strict=True)]
    late.write_text("".join(f"{row[0]}.000000 {' '.join(row[1:])}\n" for row in rows))
    assert load_pose_file(late).trajectory.stamp_ns.tolist() == trajectory.stamp_ns.tolist()
    late.write_text("t,x,y,z,qx,qy,qz,qw\n" + "".join(",".join(line) + "\n" for line in lines))
    assert load_pose_file(late).trajectory.poses == pytest.approx(trajectory.poses, abs=1e-8)
    late.write_text("".join(" ".join([*row[:4], row[7], *row[4:7]]) + "\n" for row in rows))
    assert ate(evaluated(capsys, late, tum, "--form", f"{late}=euroc")[0]) == pytest.approx(0, abs=1e-6)
    np.savetxt(kitti := tmp_path / "kitti.txt", trajectory.poses[:, :3].reshape(-1, 12), fmt="%.9f")
    (times := tmp_path / "other_times").write_text("".join(f"{line[0]}\n" for line in lines))
    actual, evaluation = evaluated(capsys, tum, kitti, "--times", times)
    assert ate(actual) == pytest.approx(0, abs=1e-6) and not evaluation
    assert main(["evaluate", str(tum), str(kitti)]) == 1
    assert f"{kitti}: no times.txt next to it" in capsys.readouterr().err
    for text, wrong in (("late.txt", "expected truth, euroc"), (f"{times}=tum", "is neither ESTIMATE nor TRUTH")):
        with pytest.raises(SystemExit):
            main(["evaluate", str(late), str(tum), "--form", text])
        assert wrong in capsys.readouterr().err
    assert main(["evaluate", str(late), str(tum), "--form", f"{late}=kitti"]) == 1
    assert f"{late}, row 1: expected KITTI (12 numbers), got 8 columns" in capsys.readouterr().err


def test_rows_without_pose_are_reported_and_others_count(tmp_path: Path) -> None:
    messages: list[str] = []
    (path := tmp_path / "a.tum").write_text(
        "# t\n1 0 0 0 0 0 0 1\n2 nan 0 0 0 0 0 1\n3 inf 0 0 0 0 0 1\n3 1 0 0 0 0 0 1\n"
    )
    assert load_pose_file(path, report=messages.append).trajectory.stamp_ns.tolist() == [10**9, 3 * 10**9]
    path.write_text("1 0 0 0 0 0 0 1\n2 1 nan 0 0 0 0 1\n2 1 0 0 0 0 0 1\n2 9 0 0 0 0 0 1\n")
    assert load_pose_file(path, report=messages.append).trajectory.positions_m[:, 0].tolist() == [0, 1]
    path.write_text("1 0 0 0 0 0 0 1\n2 1 0 0 0 0 0 0\n3 2 0 0 1e300 1e300 0 1\n4 3 0 0 0 0 1 1\n")
    assert load_pose_file(path, report=messages.append).trajectory.positions_m[:, 0].tolist() == [0, 3]
    assert messages.pop() == f"{path}, row 2: no pose; 2 of 4 rows are left out"
    assert messages == [
        f"{path}, row 3: no pose; 2 of 4 rows are left out",
        f"{path}, row 2: no pose; 1 of 4 rows is left out",
        f"{path}, row 4: its time is that of another row; of 1 such the first alone counts",
    ]


def test_two_arguments_must_be_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        main(["evaluate", str(written(tmp_path / "a.tum", drive(1, 10))), "gnss/odom"])
    assert "gnss/odom: without ARCHIVE both are files of poses" in capsys.readouterr().err


@pytest.fixture
def three_files(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Two estimates of a drive, the second late, and its truth."""
    files = [written(tmp_path / f"{name}.tum", drive(30, 10, late)) for name, late in (("good", 0), ("late", 0.4))]
    return files[0], files[1], written(tmp_path / "truth.tum", drive(30, 100))


def test_of_several_estimates_each_has_row_and_is_evaluated_as_if_alone(
    three_files: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    good, late, truth = three_files
    arguments = ["--start", "1", "--tum", str(tmp_path / "out")]
    assert main(["evaluate", str(good), str(late), str(truth), *arguments, "--json"]) == 0
    of_both = json.loads(capsys.readouterr().out)
    assert [result["estimate"]["topic"] for result in of_both] == [str(good), str(late)]
    assert sorted(path.name for path in (tmp_path / "out" / "late").iterdir()) == sorted(TUM_NAMES)
    alone, _ = evaluated(capsys, good, truth, "--start", "1")
    assert of_both[0] == alone
    assert ate(of_both[1]) > 10 * ate(of_both[0])
    assert main(["evaluate", str(good), str(late), str(truth)]) == 0
    first, *_, heads, row, other = capsys.readouterr().out.splitlines()
    assert first == f"2 estimates against {truth}"
    assert heads.split()[:5] == ["pairs", "path", "length,", "m", "ATE,"] and "offset" not in heads
    assert [line.split()[0] for line in (row, other)] == [str(good), str(late)]
    assert {len(line) for line in (heads, row, other)} == {len(heads)}


def test_one_that_cannot_be_evaluated_leaves_others_alone(
    three_files: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    good, _, truth = three_files
    never = tmp_path / "never.tum"
    never.write_text("".join(f"{second} 0 0 0 0 0 0 1\n" for second in range(9)))
    assert main(["evaluate", str(never), str(good), str(truth), "--json"]) == 1
    out, err = capsys.readouterr()
    failed, result = json.loads(out)
    assert failed["estimate"] == {"topic": str(never)} and failed["error"] in err
    assert result["pairs"] > 100
    assert main(["evaluate", str(never), str(good), str(truth)]) == 1
    assert set(capsys.readouterr().out.splitlines()[-2].split()[1:]) == {"-"}


def test_topics_and_files_may_stand_together_and_one_plot_is_of_all(
    sampled_ameds: Sampled, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    main(["evaluate", str(sampled_ameds.bag), "wheels/odom", "gnss/odom", "--tum", str(tmp_path)])
    capsys.readouterr()
    arguments = ["evaluate", str(sampled_ameds.bag), "wheels/odom", str(tmp_path / "estimate.tum"), "gnss/odom"]
    assert main([*arguments, "--json"]) == 0
    by_topic, by_file = json.loads(capsys.readouterr().out)
    assert ate(by_file) == pytest.approx(ate(by_topic), rel=1e-3)
    pages = tmp_path / "errors.html", tmp_path / "errors.png"
    for page in pages:
        assert main([*arguments, "--plot", str(page)]) == 0
    text = pages[0].read_text()
    assert "2 estimates" in text and text.count(f"<th>{tmp_path / 'estimate.tum'}</th>") == 1
    assert text.count('class="line s1"') >= 4 and 'class="line s2"' in text
    assert cv2.imread(str(pages[1])).std() > 10
