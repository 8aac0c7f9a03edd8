"""Collection of launch tests that are run by the runner of this package."""

from __future__ import annotations

from typing import Any

from launch_testing.pytest.hooks import LaunchTestItem, LaunchTestModule

from ..test_runner import LaunchTestRunner


class LaunchROSTestItem(LaunchTestItem):
    """All test runs of one ROS launch test file."""

    def __init__(self, **kwargs: Any) -> None:
        """Run them by the runner of this package; made by from_parent."""
        super().__init__(runner_cls=LaunchTestRunner, **kwargs)


class LaunchROSTestModule(LaunchTestModule):
    """A file with a ROS launch test."""

    def makeitem(self, **kwargs: Any) -> LaunchROSTestItem:
        """Make the item of the file."""
        return LaunchROSTestItem.from_parent(self, **kwargs)
