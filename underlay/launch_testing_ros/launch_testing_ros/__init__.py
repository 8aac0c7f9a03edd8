"""Helpers for launch tests of ROS nodes: stand-in for upstream's launch_testing_ros."""

from typing import TYPE_CHECKING

from .test_runner import LaunchTestRunner
from .wait_for_topics import WaitForTopics

__all__ = ["LaunchTestRunner", "WaitForTopics"]

_UPSTREAM_ONLY = ("DataRepublisher", "MessagePump", "tools")

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        message = f"{__name__}.{name} is not available: this stand-in for launch_testing_ros does not cover it"
        raise ImportError(message) if name in _UPSTREAM_ONLY else AttributeError(message)
