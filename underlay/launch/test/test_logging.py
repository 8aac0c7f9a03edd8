"""Where log records go, and what they look like."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import pytest

import launch.logging
from launch.actions import DeclareLaunchArgument, ExecuteProcess, GroupAction, LogInfo, TimerAction
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


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("launch", "LaunchIntrospector"),
        ("launch", "EventHandler"),
        ("launch.actions", "UnsetEnvironmentVariable"),
        ("launch.conditions", "LaunchConfigurationEquals"),
        ("launch.event_handlers", "OnExecutionComplete"),
        ("launch.events", "ExecutionComplete"),
        ("launch.events.process", "matches_pid"),
        ("launch.substitutions", "EqualsSubstitution"),
        ("launch.utilities", "AsyncSafeSignalManager"),
        ("launch.launch_description_sources", "FrontendLaunchDescriptionSource"),
    ],
)
@pytest.mark.stand_in("upstream has them")
def test_parts_of_upstream_that_are_missing_are_named(module, name):
    with pytest.raises(ImportError, match=rf"{module}\.{name} exists upstream, but this stand-in"):
        getattr(importlib.import_module(module), name)


@pytest.mark.stand_in("upstream has it")
def test_module_of_upstream_that_is_missing_is_named():
    with pytest.raises(ImportError, match=r"launch\.frontend exists upstream, but this stand-in"):
        importlib.import_module("launch.frontend")


def test_names_that_upstream_does_not_have_either_are_no_attributes():
    assert not hasattr(importlib.import_module("launch.substitutions"), "PathJoin")


@pytest.mark.parametrize(
    "make",
    [
        lambda: ExecuteProcess(cmd=["x"], respawn_forever=True),
        lambda: DeclareLaunchArgument("a", default="x"),
        lambda: GroupAction([], scope=True),
        lambda: LogInfo(msg="x", level="debug"),
        lambda: TimerAction(period=1.0, actions=[], once=True),
    ],
)
def test_unknown_keywords_are_refused(make):
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        make()
