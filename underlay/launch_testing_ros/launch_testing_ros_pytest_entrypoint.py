"""The pytest plugin for launch tests marked by pytest.mark.rostest.

A module of its own, so that a pytest that meets no such test imports neither launch_testing_ros nor rclpy.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.hookimpl(optionalhook=True)
def pytest_launch_collect_makemodule(
    path: Path, parent: pytest.Collector, entrypoint: Callable[..., Any]
) -> pytest.Collector | None:
    """Claim the files whose generate_test_description is marked by pytest.mark.rostest."""
    if not any(mark.name == "rostest" for mark in getattr(entrypoint, "pytestmark", ())):
        return None
    from launch_testing_ros.pytest.hooks import LaunchROSTestModule

    return LaunchROSTestModule.from_parent(parent, path=path)


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line(
        "markers", "rostest: the generate_test_description function of a ROS launch test, run as one test with its file"
    )
