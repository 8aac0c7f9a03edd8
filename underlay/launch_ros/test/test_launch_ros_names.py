"""What this stand-in refuses, and what it does not load."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("launch_ros.actions", "LifecycleNode"),
        ("launch_ros.actions", "SetParametersFromFile"),
        ("launch_ros.descriptions", "ComposableNode"),
        ("launch_ros.parameter_descriptions", "ParameterFile"),
        ("launch_ros.substitutions", "Parameter"),
        ("launch_ros", "events"),
    ],
)
@pytest.mark.stand_in("upstream has them")
def test_parts_of_upstream_that_are_missing_are_named(module, name):
    with pytest.raises(ImportError, match=rf"{module}\.{name} exists upstream, but this stand-in"):
        getattr(importlib.import_module(module), name)


@pytest.mark.stand_in("upstream loads it")
def test_importing_it_does_not_load_rclpy():
    program = "import sys, launch_ros.actions, launch_ros.descriptions; sys.exit('rclpy' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
