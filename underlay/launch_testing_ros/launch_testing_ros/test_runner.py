"""The runner of ROS launch tests."""

from __future__ import annotations

import launch_testing.test_runner


class LaunchTestRunner(launch_testing.test_runner.LaunchTestRunner):
    """Runs as launch_testing's does: the tests need nothing of ROS around them."""
