"""The switches of tf on the command line, and what they do to odometry that is computed."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fieldplay.cli.main import main
from support.bag_messages import messages_of_bag
from support.tiny_rosario import TinyRosario

Call = Callable[..., tuple[int, str]]
JOINTS = {("base_link", joint) for joint in ("rear_left_wheel", "rear_right_wheel", "front_steering")}
PLACED = ("odom", "base_link")


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Runs the command line in this process: the exit code, and what is told beside the output."""

    def run(*arguments: object) -> tuple[int, str]:
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = int(end.code or 0)
        return code, capsys.readouterr().err

    return run


@pytest.fixture(scope="module")
def rosario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    archive = TinyRosario(tmp_path_factory.mktemp("archive") / "sequence01")
    archive.write_all()
    return archive.root


def moving_edges(bag: Path) -> Counter[tuple[str, str]]:
    """The edges on /tf, and how often each was sent."""
    counts: Counter[tuple[str, str]] = Counter()
    for _, message in messages_of_bag(bag, ["/tf"]).get("/tf", ()):
        counts.update((each.header.frame_id, each.child_frame_id) for each in message.transforms)
    return counts


def test_without_odom_tf_steered_base_has_its_joints_alone(rosario: Path, tmp_path: Path, call: Call) -> None:
    assert call("convert", rosario, tmp_path / "with", "--derived")[0] == 0
    assert call("convert", rosario, tmp_path / "without", "--derived", "--no-tf", "odom_tf")[0] == 0
    whole, rest = moving_edges(tmp_path / "with"), moving_edges(tmp_path / "without")
    assert (set(whole), set(rest)) == (JOINTS | {PLACED}, JOINTS)
    assert {edge: count for edge, count in whole.items() if edge != PLACED} == rest


def test_without_odom_tf_base_of_four_steered_wheels_has_its_wheels_alone(
    tiny_ameds: Any, tmp_path: Path, call: Call
) -> None:
    assert call("convert", tiny_ameds.root, tmp_path / "bag", "--derived", "--no-tf", "odom_tf")[0] == 0
    edges = moving_edges(tmp_path / "bag")
    assert PLACED not in edges and ("base_link", "wheel_1") in edges


def test_last_word_about_switch_counts(rosario: Path, tmp_path: Path, call: Call) -> None:
    arguments = ("--no-tf", "odom_tf", "--tf", "odom_tf")
    assert call("convert", rosario, tmp_path / "bag", "--derived", *arguments)[0] == 0
    assert PLACED in moving_edges(tmp_path / "bag")


def test_switch_that_is_not_there_and_one_of_what_is_not_computed_are_usage_error(
    rosario: Path, tmp_path: Path, call: Call
) -> None:
    code, result = call("convert", rosario, tmp_path / "bag", "--no-tf", "nav_tf")
    assert (code, "rosario has no switch 'nav_tf'; there are: archived_tf, odom_tf" in result) == (2, True)
    code, result = call("convert", rosario, tmp_path / "bag", "--tf", "odom_tf")
    assert (code, "computed with --derived alone" in result) == (2, True)
    assert not (tmp_path / "bag").exists()
