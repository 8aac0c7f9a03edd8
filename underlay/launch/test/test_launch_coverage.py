"""What this stand-in refuses."""

from __future__ import annotations

import importlib

import pytest

from launch.actions import DeclareLaunchArgument, ExecuteProcess, GroupAction, LogInfo, TimerAction


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("launch", "LaunchIntrospector"),
        ("launch", "frontend"),
        ("launch.actions", "OpaqueCoroutine"),
        ("launch.substitutions", "AnonName"),
        ("launch.substitutions", "FileContent"),
        ("launch.utilities", "AsyncSafeSignalManager"),
        ("launch.events.process", "ProcessStdin"),
        ("launch.launch_description_sources", "FrontendLaunchDescriptionSource"),
    ],
)
@pytest.mark.stand_in("upstream has them")
def test_parts_of_upstream_that_are_missing_are_named(module, name):
    with pytest.raises(ImportError, match=rf"{module}\.{name} exists upstream, but this stand-in"):
        getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("module", ["launch.frontend", "launch.launch_introspector"])
@pytest.mark.stand_in("upstream has them")
def test_modules_of_upstream_that_are_missing_are_named(module):
    with pytest.raises(ImportError, match=f"{module} exists upstream, but this stand-in"):
        importlib.import_module(module)


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
