"""One tree by default: frames that follow from joint states alone are on /tf in a plain `convert`, which reports it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fieldplay.cli.main import main
from fieldplay.datasets.registry import open_dataset
from fieldplay.messages import records
from fieldplay.topics.archive_topics import archive_topic_streams
from fieldplay.topics.selection import Selection
from fieldplay.topics.topic_checks import roots_of_feeds
from fieldplay_samples.write_sample import SampleOptions, write_sample
from fieldplay_testing.tiny_ameds import START, TinyAmeds
from support.tiny_rosario import TinyRosario

TreeMessage = Callable[..., str]


@pytest.fixture
def tree_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> TreeMessage:
    """What `convert` says of trees."""

    def convert(archive: Path, *options: str) -> str:
        assert main(["convert", str(archive), str(tmp_path / "bag"), "--overwrite", *options]) == 0
        lines = capsys.readouterr().err.splitlines()
        return "".join(line for line in lines if line.startswith("frames: "))

    return convert


def times_on_tf(archive: Path, child: str, **chosen: Any) -> list[int]:
    """When a frame has its place, in ms since the archive's begin."""
    with open_dataset(archive) as opened:
        feeds = [feed for feed in archive_topic_streams(opened, Selection(**chosen)) if feed.topic == "/tf"]
        loaded = [feed.records(index) for feed in feeds for index in range(len(feed.spans))]
    matches = [part for part in loaded if isinstance(part, records.Transforms) and child in part.children]
    return [(int(stamp) - START * 10**9) // 10**6 for part in matches for stamp in part.stamp_ns]


def test_wheels_arms_and_cameras_hang_below_base(tiny_ameds: TinyAmeds, tree_message: TreeMessage) -> None:
    assert tree_message(tiny_ameds.root) == "frames: one tree, root base_link; --derived puts map above"
    assert tree_message(tiny_ameds.root, "--derived") == "frames: one tree, root map"
    assert times_on_tf(tiny_ameds.root, "wheel_1", joints_tf=True)
    assert not times_on_tf(tiny_ameds.root, "wheel_1")


def test_what_no_joint_states_place_is_tree_of_its_own_and_reported(
    tiny_ameds: TinyAmeds, tree_message: TreeMessage
) -> None:
    (tiny_ameds.root / "MainArmJointAngles.csv").unlink()
    assert "2 trees, roots base_link, main_arm_end" in tree_message(tiny_ameds.root)
    assert tree_message(tiny_ameds.root, "--derived").endswith(
        "roots main_arm_end, map; nothing in the archive joins them"
    )


def test_arm_that_stands_has_its_position_until_its_next_measurement(tiny_ameds: TinyAmeds) -> None:
    moving = tiny_ameds.seconds * 1000
    assert times_on_tf(tiny_ameds.root, "main_arm_end", joints_tf=True) == [0, 1000, 1990]
    assert moving - 1990 < 34  # a picture's time
    tiny_ameds.write("MainArmJointAngles.csv", 1, lambda t: [0.3 + 0.1 * t, -0.5, 0.7, 1.1, -0.4, 0.9, -1.2])
    assert times_on_tf(tiny_ameds.root, "main_arm_end", joints_tf=True) == [0, 1000]


def test_without_wheels_ins_positions_base(tiny_ameds: TinyAmeds, tree_message: TreeMessage) -> None:
    assert not times_on_tf(tiny_ameds.root, "base_link", joints_tf=True)
    for path in tiny_ameds.root.glob("Platform*"):
        path.unlink()
    assert tree_message(tiny_ameds.root) == "frames: one tree, root map"
    assert len(times_on_tf(tiny_ameds.root, "base_link", joints_tf=True)) > 100
    assert tree_message(tiny_ameds.root, "--no-tf", "nav_tf") == "frames: one tree, root base_link"


def test_steered_base_has_its_wheels_and_no_odometry(tmp_path: Path) -> None:
    archive = TinyRosario(tmp_path / "sequence01")
    archive.write_all()
    with open_dataset(archive.root) as opened:
        assert roots_of_feeds(archive_topic_streams(opened, Selection(joints_tf=True))) == ["base_link"]
        assert roots_of_feeds(archive_topic_streams(opened, Selection(derived=True))) == ["map"]


@pytest.mark.parametrize("dataset", ["ida"])
def test_lander_s_arm_and_its_tools_are_one_tree(dataset: str, tmp_path: Path) -> None:
    write_sample(dataset, tmp_path / "archive", SampleOptions(seconds=2, workers=1))
    with open_dataset(tmp_path / "archive") as opened:
        plain = roots_of_feeds(archive_topic_streams(opened, Selection(joints_tf=True)))
        assert plain == roots_of_feeds(archive_topic_streams(opened, Selection(derived=True)))
        assert len(plain) == 1
