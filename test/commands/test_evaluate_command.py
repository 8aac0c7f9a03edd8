"""`fieldplay evaluate`: the same of an archive and its bag, right by evo, and clear words where it cannot be."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from evo.core import metrics, sync
from evo.tools import file_interface
from scipy.spatial.transform import Rotation

from fieldplay.cli.main import main
from fieldplay.evaluation.trajectory_pair import TrajectoryPair, chosen_topic, compare
from fieldplay.geometry.frames import Frames
from fieldplay.messages.message_batches import Topic
from fieldplay.trajectories.evaluation import EvaluationSettings
from fieldplay.trajectories.pose_topics import TopicTrajectory
from fieldplay.trajectories.trajectory import Trajectory
from fieldplay_testing.reference_trajectories import drift_trajectory, transforms, wander
from support.sampled import Sampled
from support.tiny_acfr import TinyAcfr
from support.tiny_rosario import TinyRosario


def evaluated(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert main(["evaluate", *map(str, arguments), "--json"]) == 0
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def leaves(result: Any, position: str = "") -> Iterator[tuple[str, Any]]:
    """The numbers and texts of what is told, by their places."""
    if not isinstance(result, dict | list):
        yield position, result
        return
    for key, value in result.items() if isinstance(result, dict) else enumerate(result):
        yield from leaves(value, f"{position}/{key}")


def near(value: Any) -> Any:
    return pytest.approx(value, rel=1e-9, abs=1e-12) if isinstance(value, float) else value


def error(result: dict[str, Any], name: str) -> dict[str, Any]:
    (row,) = [row for row in result["errors"] if row["name"] == name]
    return dict(row)


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    with pytest.raises(SystemExit) as end:
        main(["evaluate", *map(str, arguments)])
    assert end.value.code == 2
    return capsys.readouterr().err


def test_archive_and_its_bag_give_same(sampled_ameds: Sampled, capsys: pytest.CaptureFixture[str]) -> None:
    of_archive = evaluated(capsys, sampled_ameds.archive, "wheels/odom", "gnss/odom")
    of_bag = evaluated(capsys, sampled_ameds.bag, "wheels/odom", "/ameds/gnss/odom")
    # Where numbers lie in memory decides how processors group them in a sum, and so the last of their bits.
    assert dict(leaves(of_archive)) == {position: near(value) for position, value in leaves(of_bag)}
    assert of_archive["pairs"] > 880
    assert (of_archive["estimate"]["topic"], of_archive["truth"]["frame"]) == ("/ameds/wheels/odom", "map")
    assert of_archive["truth"]["travelled_m"] > 5
    assert 0 < error(of_archive, "relative error over 2 m")["median"] < 10


def test_files_for_evo_hold_what_was_compared(
    sampled_ameds: Sampled, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "new" / "tum"
    text = sampled_ameds.bag, "wheels/odom", "gnss/odom", "--align", "se3", "--associate", "nearest", "--within", 0.02
    evaluation = evaluated(capsys, *text, "--tum", folder)
    truth, estimate, aligned = (
        file_interface.read_tum_trajectory_file(folder / f"{name}.tum")
        for name in ("truth", "estimate", "estimate_aligned")
    )
    assert estimate.num_poses == evaluation["estimate"]["poses"]
    pairs = sync.associate_trajectories(truth, estimate, max_diff=0.02)
    pairs[1].align(pairs[0])
    metric = metrics.APE(metrics.PoseRelation.translation_part)
    metric.process_data(pairs)
    assert pairs[0].num_poses == evaluation["pairs"]
    assert error(evaluation, "ATE")["rmse"] == pytest.approx(
        metric.get_statistic(metrics.StatisticsType.rmse), abs=1e-6
    )
    assert error(evaluation, "ATE")["most"] == pytest.approx(metric.get_statistic(metrics.StatisticsType.max), abs=1e-6)
    pairs = sync.associate_trajectories(truth, aligned, max_diff=0.02)
    metric.process_data(pairs)
    assert error(evaluation, "ATE")["rmse"] == pytest.approx(
        metric.get_statistic(metrics.StatisticsType.rmse), abs=1e-6
    )


def test_tf_gives_poses_too(sampled_ameds: Sampled, capsys: pytest.CaptureFixture[str]) -> None:
    by_tf = evaluated(capsys, sampled_ameds.bag, "tf:odom.base_link", "gnss/odom")
    by_topic = evaluated(capsys, sampled_ameds.bag, "wheels/odom", "gnss/odom")
    for name in ("ATE", "relative error over 1 m"):
        assert error(by_tf, name)["rmse"] == pytest.approx(error(by_topic, name)["rmse"], rel=1e-3)


def test_rosario_s_truth_has_no_orientation_and_is_of_antenna(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    TinyRosario(tmp_path / "sequence01", seconds=4).write_all()
    evaluation = evaluated(capsys, tmp_path / "sequence01", "odom", "ground_truth/odom")
    assert (evaluation["estimate"]["topic"], evaluation["truth"]["child_frame"]) == ("/rosario/odom", "gps")
    assert np.array(evaluation["lever"])[:3, 3] == pytest.approx([1.8, -0.03, 1.593])
    assert not evaluation["has_orientation"]


def test_acfr_s_wheels_are_compared_with_its_navigation(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    TinyAcfr(tmp_path / "acfr").write_all()
    evaluation = evaluated(capsys, tmp_path / "acfr", "wheels/odom", "nav/odom")
    assert (evaluation["truth"]["frame"], evaluation["has_orientation"]) == ("map", True)
    assert evaluation["truth"]["travelled_m"] == pytest.approx(1.8)


def test_satellite_fix_gives_where_but_not_how_it_was_turned(
    sampled_ameds: Sampled, capsys: pytest.CaptureFixture[str]
) -> None:
    """The fix is of the device, half a metre above: tf tells the lever arm."""
    evaluation = evaluated(capsys, sampled_ameds.bag, "gnss/odom", "gnss/fix", "--align", "yaw")
    assert not evaluation["has_orientation"]
    assert np.linalg.norm(np.array(evaluation["lever"])[:3, 3]) == pytest.approx(0.081)
    assert error(evaluation, "ATE")["rmse"] < 0.01
    assert not any("rotation" in row["name"] for row in evaluation["errors"])
    lines = run(capsys, sampled_ameds.bag, "gnss/odom", "gnss/fix", "--align", "yaw")
    assert "only translation errors" in lines[-1]


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[str]:
    assert main(["evaluate", *map(str, arguments)]) == 0
    return capsys.readouterr().out.splitlines()


def test_table_reports_what_was_compared_and_how(sampled_ameds: Sampled, capsys: pytest.CaptureFixture[str]) -> None:
    text = sampled_ameds.bag, "wheels/odom", "gnss/odom", "--lengths", "1,3"
    first, second, third, fourth, heads, *rows = run(capsys, *text)
    assert first == "/ameds/wheels/odom against /ameds/gnss/odom"
    assert "893 pairs in 20 s" in second and "path length: truth 8." in second
    whole = evaluated(capsys, *text)
    percent = 100 * error(whole, "ATE")["rmse"] / whole["truth"]["travelled_m"]
    assert whole["ate_percent_of_length"] == pytest.approx(percent, rel=1e-9)
    assert second.endswith(f"; ATE / path length: {percent:.3g} %")
    assert third == "  frames odom -> base_link and map -> base_link; alignment: first"
    assert fourth.startswith("  reported standard deviation of the truth: 0.015 m (median), 0.24 m maximum")
    assert fourth.endswith("; 212 of 2000 poses beyond 0.1 m left out")
    assert heads.split() == ["count", "rmse", "mean", "median", "std", "max"]
    assert len({len(row) for row in rows}) == 1
    names = [row[: row.index(",")].strip() for row in rows]
    assert names[:4] == ["ATE", "ATE along x", "ATE along y", "ATE along z"]
    assert [name for name in names if name.startswith("relative")] == [
        f"relative error over {length} m" for length in (1, 3, 1, 3)
    ]


def test_without_alignment_frames_are_joined_by_tf(sampled_ameds: Sampled, capsys: pytest.CaptureFixture[str]) -> None:
    """The static map -> odom puts the start of the odometry on the first pose of the INS."""
    evaluation = evaluated(capsys, sampled_ameds.bag, "wheels/odom", "gnss/odom", "--align", "none")
    assert evaluation["truth_t_estimate"] == np.eye(4).tolist()
    assert error(evaluation, "ATE")["most"] < 1


@pytest.mark.parametrize("suffix", ["html", "png"])
def test_plots_are_drawn(
    sampled_ameds: Sampled, capsys: pytest.CaptureFixture[str], tmp_path: Path, suffix: str
) -> None:
    out = tmp_path / f"errors.{suffix}"
    text = sampled_ameds.bag, "wheels/odom", "gnss/odom", "--plot", out
    run(capsys, *text)
    if suffix == "html":
        page = out.read_text()
        for title in ("Translation error", "Rotation error", "Distance from the truth", "relative error over 2 m"):
            assert title in page
        assert page.count('class="line s0"') >= 3
        run(capsys, *text)  # a page of its own is replaced
    else:
        image = cv2.imread(str(out))
        assert image.shape[0] > 500 and image.std() > 10
        assert "--overwrite" in refused(capsys, *text)


def test_lever_arm_can_be_given(sampled_ameds: Sampled, capsys: pytest.CaptureFixture[str]) -> None:
    evaluation = evaluated(
        capsys, sampled_ameds.bag, "gnss/odom", "gnss/odom", "--lever", 0.5, 0, 0.2, "--align", "none"
    )
    assert error(evaluation, "ATE")["rmse"] == pytest.approx(np.hypot(0.5, 0.2), rel=1e-6)


def test_frames_that_nothing_joins_are_taken_for_one_and_that_is_reported() -> None:
    poses = wander(50)
    stamps = np.arange(50) * 10**8
    trajectories = TrajectoryPair(
        estimate=TopicTrajectory(
            topic="a",
            parent="odom",
            child="body",
            trajectory=Trajectory(stamp_ns=stamps, poses=drift_trajectory(poses)),
        ),
        truth=TopicTrajectory(
            topic="b", parent="map", child="unit", trajectory=Trajectory(stamp_ns=stamps, poses=poses)
        ),
        frames=Frames(),
    )
    messages: list[str] = []
    result = compare(trajectories, EvaluationSettings(), lever_arm=None, report=messages.append)
    assert result.lever_arm == pytest.approx(np.eye(4))
    assert messages == ["no static transform between body and unit; they are taken as the same frame"]
    parameters = transforms_of([0.1, 0.0, 0.0])
    assert (
        compare(trajectories, EvaluationSettings(), lever_arm=parameters, report=messages.append).lever_arm
        is parameters
    )
    assert len(messages) == 1


def transforms_of(position: list[float]) -> Any:
    return transforms(Rotation.identity(1), np.array([position]))[0]


ODOMETRY = "nav_msgs/msg/Odometry"
TOPICS = [
    Topic("/a/odom", ODOMETRY),
    Topic("/b/odom", ODOMETRY),
    Topic("/b/c/odom", ODOMETRY),
    Topic("/b/path", ODOMETRY),
    Topic("/b/c/path", ODOMETRY),
    Topic("/b/scan", "sensor_msgs/msg/LaserScan"),
]


@pytest.mark.parametrize(
    ("word", "expected"), [("/a/odom", "/a/odom"), ("b/odom", "/b/odom"), ("path", "/b/path"), ("tf:a.b", "tf:a.b")]
)
def test_topic_may_be_named_by_its_end(word: str, expected: str) -> None:
    assert chosen_topic(word, TOPICS) == expected


def test_what_cannot_be_is_refused_with_what_there_is(
    sampled_ameds: Sampled, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    bag = sampled_ameds.bag
    assert "there are: " in (message := refused(capsys, bag, "wheel/odom", "gnss/odom"))
    assert "/ameds/wheels/odom" in message and "lidar/points" not in message
    assert "may be" in refused(capsys, bag, "tcp", "gnss/odom")
    assert "expected tf:PARENT.CHILD" in refused(capsys, bag, "tf:odom", "gnss/odom")
    assert "its frames are" in refused(capsys, bag, "tf:odom.wheel_9", "gnss/odom")
    assert "expected metres such as" in refused(capsys, bag, "wheels/odom", "gnss/odom", "--lengths", "1,x")
    assert "more than 0 s" in refused(capsys, bag, "wheels/odom", "gnss/odom", "--within", 0)
    assert ".html or .png" in refused(capsys, bag, "wheels/odom", "gnss/odom", "--plot", tmp_path / "a.jpg")
    (tmp_path / "truth.tum").write_text("mine")
    assert "--overwrite" in refused(capsys, bag, "wheels/odom", "gnss/odom", "--tum", tmp_path)
    assert (tmp_path / "truth.tum").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--lever", "nan", "0", "0"], "argument --lever: expected a number, got 'nan'"),
        (["--step", "nan"], "argument --step: expected a number, got 'nan'"),
        (["--within", "soon"], "argument --within: expected a number, got 'soon'"),
        (["--offset", "inf"], "argument --offset: expected a number, got 'inf'"),
        (["--frames", "0"], "argument --frames: expected a count from 1, got '0'"),
        (["--tum", "FILE"], "FILE: expected a folder, got a file"),
        (["--plot", "FOLDER.png"], "FOLDER.png is a folder"),
    ],
)
def test_numbers_and_impossible_position_are_refused(
    arguments: list[str], message: str, sampled_ameds: Sampled, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "some.png").mkdir()
    positions = {"FILE": str(tmp_path / "file"), "FOLDER": str(tmp_path / "some")}

    def named(word: str) -> str:
        return word.replace("FILE", positions["FILE"]).replace("FOLDER", positions["FOLDER"])

    err = refused(capsys, sampled_ameds.bag, "wheels/odom", "gnss/odom", *map(named, arguments))
    assert err == f"fieldplay evaluate: error: {named(message)} (see 'fieldplay evaluate --help')\n"


def test_topic_against_itself_and_lengths_that_no_way_holds_are_reported(
    sampled_ameds: Sampled, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(sampled_ameds.bag), "wheels/odom", "wheels/odom", "--lengths", "1,1000"]) == 0
    first, second = capsys.readouterr().err.splitlines()
    assert first == "fieldplay: ESTIMATE and TRUTH are both /ameds/wheels/odom: it is compared with itself"
    assert second.startswith("fieldplay: --lengths: the truth's path length of ") and second.endswith(
        " m holds no 1000 m"
    )


def test_ways_that_never_meet_exit_with_1_and_their_times(
    sampled_ameds: Sampled, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(sampled_ameds.bag), "wheels/odom", "gnss/odom", "--offset", "1000"]) == 1
    assert "expected poses of both at the same times" in capsys.readouterr().err


def test_damaged_bag_is_compared_as_far_as_it_goes(
    sampled_ameds: Sampled, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shutil.copytree(sampled_ameds.bag, tmp_path / "bag")
    (storage,) = (tmp_path / "bag").glob("*.mcap")
    storage.write_bytes(storage.read_bytes()[: storage.stat().st_size // 2])
    assert main(["evaluate", str(tmp_path / "bag"), "wheels/odom", "gnss/odom", "--json"]) == 0
    captured = capsys.readouterr()
    assert 100 < json.loads(captured.out)["pairs"] < 900
    assert storage.name in captured.err
