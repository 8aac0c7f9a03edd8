"""Bags that fieldplay wrote know of which archive they were made: what works on the archive works on them."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import fieldplay
from fieldplay.cli.main import main
from fieldplay.datasets.registry import open_dataset
from fieldplay.projection.projection import ProjectionRequest, project
from support.foreign_bags import stored, write_ros2
from support.sampled import Sampled
from support.tiny_acfr import TinyAcfr

Output = pytest.CaptureFixture[str]
KEYS = {"fieldplay.dataset", "fieldplay.version", "fieldplay.parameters", "fieldplay.recording"}


def custom_data(bag: Path) -> Any:
    return yaml.safe_load((bag / "metadata.yaml").read_text())["rosbag2_bagfile_information"]["custom_data"]


@pytest.fixture(scope="module")
def plain(few_images: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive as it is, without anything that is computed."""
    bag = tmp_path_factory.mktemp("bags") / "plain"
    assert main(["convert", str(few_images), str(bag), "--set", "attitude_std_deg=0.5"]) == 0
    return bag


def test_bag_gives_its_dataset_parameters_and_recording(plain: Path, tmp_path: Path) -> None:
    actual = custom_data(plain)
    assert set(actual) == KEYS and actual["fieldplay.dataset"] == "ameds"
    assert json.loads(actual["fieldplay.parameters"])["attitude_std_deg"] == 0.5
    assert main(["convert", str(plain), str(tmp_path / "other"), "--storage", "sqlite3", "--topics", "gnss"]) == 0
    assert custom_data(tmp_path / "other") == actual
    assert main(["convert", str(write_ros2(tmp_path / "foreign")), str(tmp_path / "out")]) == 0
    assert custom_data(tmp_path / "out") is None


def test_bag_gives_what_dataset_knows_of_recording(tmp_path: Path, capsys: Output) -> None:
    archive = tmp_path / "29-DynamicDayTriangleClear"
    TinyAcfr(archive).write_all()
    assert main(["convert", str(archive), str(tmp_path / "bag")]) == 0
    recording = json.loads(custom_data(tmp_path / "bag")["fieldplay.recording"])
    assert recording["name"] == "29-DynamicDayTriangleClear" and recording["area"] and recording["condition"]
    capsys.readouterr()
    assert main(["info", str(tmp_path / "bag")]) == 0
    assert f"  condition: {recording['condition']}" in capsys.readouterr().out


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_storage_file_alone_gives_it_too(storage: str, plain: Path, tmp_path: Path, capsys: Output) -> None:
    bag = tmp_path / "bag"
    assert main(["convert", str(plain), str(bag), "--storage", storage, "--topics", "gnss/fix"]) == 0
    (file,) = (path for path in bag.iterdir() if path.name != "metadata.yaml")
    capsys.readouterr()
    for path in (bag, file.rename(tmp_path / file.name)):
        if path.is_dir():
            continue
        assert main(["info", str(path), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["dataset"] == "ameds"


def test_what_is_computed_of_bag_is_what_is_computed_of_its_archive(
    few_images: Path, plain: Path, tmp_path: Path
) -> None:
    assert main(["convert", str(few_images), str(tmp_path / "one"), "--derived"]) == 0
    assert main(["convert", str(plain), str(tmp_path / "two"), "--derived"]) == 0
    with fieldplay.open(tmp_path / "one") as one, fieldplay.open(tmp_path / "two") as two:
        assert {name: topic.count for name, topic in one.topics.items() if name != "/tf_static"} == {
            name: topic.count for name, topic in two.topics.items() if name != "/tf_static"
        }
        for topic in ("wheels/odom", "main_arm/tcp", "platform/joint_states"):
            columns, others = one.records(topic), two.records(topic)
            assert (columns["stamp_ns"] == others["stamp_ns"]).all()
            for name in columns:
                if columns[name].dtype.kind == "f":
                    np.testing.assert_allclose(others[name], columns[name], rtol=0, atol=1e-12)
        assert {(edge.parent, edge.child) for edge in one.tf_static} == {(e.parent, e.child) for e in two.tf_static}
    assert main(["convert", str(tmp_path / "one"), str(tmp_path / "again"), "--derived"]) == 0
    assert stored(tmp_path / "again") == stored(tmp_path / "one")


def test_python_computes_of_bag_too(plain: Path) -> None:
    with fieldplay.open(plain) as data:
        assert "/ameds/wheels/odom" not in data.topics
    with fieldplay.open(plain, derived=True) as data:
        assert len(data.records("wheels/odom")["stamp_ns"]) > 10 and data.topics["/ameds/gnss/odom"].count


def test_foreign_bag_has_nothing_computed(tmp_path: Path, capsys: Output) -> None:
    with pytest.raises(SystemExit):
        main(["convert", str(write_ros2(tmp_path / "bag")), str(tmp_path / "out"), "--derived"])
    assert "--derived is computed of an archive of a dataset" in capsys.readouterr().err


def test_evaluation_needs_no_topics(sampled_ameds: Sampled, tmp_path: Path, capsys: Output) -> None:
    bag = tmp_path / "bag"
    arguments = ["--topics", "gnss/odom|platform|imu/data$", "--namespace", "rover"]
    assert main(["convert", str(sampled_ameds.archive), str(bag), *arguments]) == 0
    results = {}
    for path in (sampled_ameds.archive, bag):
        capsys.readouterr()
        assert main(["evaluate", str(path), "--json"]) == 0
        results[path] = json.loads(capsys.readouterr().out)
    archive, own = results[sampled_ameds.archive], results[bag]
    assert own["truth"]["topic"] == "/rover/gnss/odom" and own["estimate"]["topic"] == "/rover/wheels/odom"
    assert own["truth"]["claims"] == archive["truth"]["claims"]  # the dataset's own tolerance in both
    assert own["pairs"] == archive["pairs"]
    assert own["errors"][0]["rmse"] == pytest.approx(archive["errors"][0]["rmse"], abs=1e-9)


def test_without_odometry_and_truth_nothing_is_compared(tmp_path: Path, capsys: Output) -> None:
    with pytest.raises(SystemExit):
        main(["evaluate", str(write_ros2(tmp_path / "bag"))])
    assert "expected odometry and ground truth, found none; name ESTIMATE and TRUTH" in capsys.readouterr().err


def test_true_poses_of_kitti_are_those_of_dataset(few_images: Path, plain: Path, tmp_path: Path) -> None:
    for path, out in ((few_images, "one"), (plain, "two")):
        assert main(["export", str(path), str(tmp_path / out), "--format", "kitti"]) == 0
    one, two = (np.loadtxt(tmp_path / out / "poses" / "00.txt") for out in ("one", "two"))
    assert one.shape == two.shape and np.abs(one - two).max() < 1e-6
    shutil.rmtree(tmp_path / "one")


def test_report_gives_dataset(plain: Path, tmp_path: Path) -> None:
    assert main(["report", str(plain), str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    assert "made of an archive of" in page and "(ameds)" in page


def test_points_are_moved_by_truth_as_in_archive(sampled_ameds: Sampled) -> None:
    """Of a bag of ours the dataset's truth is known too, which has pitch and roll; odometry of wheels is flat."""
    requested = ProjectionRequest(laser="lidar", camera="main_cam", time="5")
    results = {}
    for path in (sampled_ameds.archive, sampled_ameds.bag):
        with open_dataset(path) as archive:
            results[path] = project(archive, requested, step=lambda fraction, count: None, report=print)
    one, two = results[sampled_ameds.archive], results[sampled_ameds.bag]
    assert one.motion.frame == two.motion.frame == "map"
    difference = np.abs(one.projection.pixels - two.projection.pixels)[one.projection.is_visible]
    assert difference.max() < 0.01
