"""Where log records go, and what they look like."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

import launch.logging
from launch.logging import launch_config


@pytest.mark.stand_in("upstream creates it with the first logger")
def test_directory_is_created_only_when_something_is_logged(tmp_path):
    logger = launch.logging.get_logger("test")
    assert not (tmp_path / "log").exists()

    logger.warning("now")

    assert launch_config.log_dir.startswith(str(tmp_path / "log"))
    assert (tmp_path / "log" / "latest").resolve() == Path(launch_config.log_dir)
    assert Path(launch_config.get_log_file_path()).read_text().endswith(" [WARNING] [test]: now\n")


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"ROS_LOG_DIR": "{}/a", "ROS_HOME": "{}/b"}, "a"),
        ({"ROS_LOG_DIR": "", "ROS_HOME": "{}/b"}, "b/log"),
        ({"ROS_LOG_DIR": "~/c", "HOME": "{}"}, "c"),
        ({"ROS_LOG_DIR": "", "ROS_HOME": "", "HOME": "{}"}, ".ros/log"),
    ],
)
def test_directory_is_where_the_environment_says(tmp_path, variables, expected):
    os.environ.update({name: value.format(tmp_path) for name, value in variables.items()})

    assert Path(launch_config.log_dir).parent == tmp_path / expected


def test_directory_may_be_set_but_must_exist(tmp_path):
    launch_config.log_dir = tmp_path

    assert launch_config.get_log_file_path("x.log") == str(tmp_path / "x.log")
    with pytest.raises(ValueError, match="nowhere is not a directory"):
        launch_config.log_dir = tmp_path / "nowhere"


def test_screen_format_may_be_chosen(capsys):
    logger = launch.logging.get_logger("test")

    logger.error("as always")
    launch_config.set_screen_format("{msg}!")
    logger.error("own")
    launch_config.set_screen_format("default_with_timestamp")
    logger.error("stamped")

    first, second, third = capsys.readouterr().out.splitlines()
    assert (first, second) == ("[ERROR] [test]: as always", "own!")
    assert third.endswith(" [ERROR] [test]: stamped")
    assert float(third.split()[0]) > 1e9


def test_environment_overrides_the_formats(capsys):
    os.environ["OVERRIDE_LAUNCH_SCREEN_FORMAT"] = r"{name}\t{msg}"
    os.environ["OVERRIDE_LAUNCH_LOG_FORMAT"] = "file {msg}"
    launch.logging.reset()

    launch.logging.get_logger("test").error("x")

    assert capsys.readouterr().out == "test\tx\n"
    assert Path(launch_config.get_log_file_path()).read_text() == "file x\n"


def test_style_of_a_named_format_cannot_be_set():
    with pytest.raises(ValueError, match="default"):
        launch_config.set_screen_format("default", screen_style="%")


@pytest.mark.stand_in("upstream has them")
def test_settings_that_are_not_covered_are_refused():
    with pytest.raises(AttributeError, match="log_handler_factory"):
        launch_config.log_handler_factory = None


def test_level_applies_to_all_loggers(capsys):
    before = launch_config.level
    try:
        launch_config.level = logging.ERROR
        launch.logging.get_logger("test").warning("hidden")
        launch.logging.get_logger("test").error("shown")
    finally:
        launch_config.level = before

    assert capsys.readouterr().out == "[ERROR] [test]: shown\n"


def test_logging_after_a_reset_starts_over(capsys, tmp_path):
    launch.logging.get_logger("test").error("one")
    first = launch_config.log_dir
    launch.logging.reset()
    launch.logging.get_logger("test").error("two")

    assert launch_config.log_dir != first
    assert capsys.readouterr().out.splitlines() == ["[ERROR] [test]: one", "[ERROR] [test]: two"]
    assert "two" not in Path(first, "launch.log").read_text()
