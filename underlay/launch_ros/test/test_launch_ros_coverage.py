"""What this stand-in refuses, and what it does not load."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from launch_ros.actions import Node, SetParameter


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("launch_ros.actions", "ComposableNodeContainer"),
        ("launch_ros.actions", "LifecycleNode"),
        ("launch_ros.actions", "LoadComposableNodes"),
        ("launch_ros.actions", "SetUseSimTime"),
        ("launch_ros.actions", "RosTimer"),
        ("launch_ros.descriptions", "ComposableNode"),
        ("launch_ros.substitutions", "Parameter"),
        ("launch_ros.utilities", "evaluate_parameters"),
        ("launch_ros", "events"),
    ],
)
@pytest.mark.stand_in("upstream has them")
def test_parts_of_upstream_that_are_missing_are_named(module, name):
    with pytest.raises(ImportError, match=rf"{module}\.{name} exists upstream, but this stand-in"):
        getattr(importlib.import_module(module), name)


@pytest.mark.parametrize(
    "module", ["launch_ros.events.lifecycle", "launch_ros.event_handlers", "launch_ros.ros_adapters"]
)
@pytest.mark.stand_in("upstream has them")
def test_modules_of_upstream_that_are_missing_are_named(module):
    with pytest.raises(ImportError, match="exists upstream, but this stand-in"):
        importlib.import_module(module)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Node(executable="x", node_name="old"),
        lambda: Node(executable="x", node_executable="old"),
        lambda: SetParameter("a", 1, kind="x"),
    ],
)
def test_unknown_keywords_are_refused(make):
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        make()


@pytest.mark.stand_in("upstream loads it")
def test_importing_it_does_not_load_rclpy():
    program = "import sys, launch_ros.actions, launch_ros.descriptions; sys.exit('rclpy' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
