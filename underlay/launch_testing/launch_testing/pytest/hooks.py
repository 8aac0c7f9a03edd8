"""The pytest plugin that runs a launch test file as one test item."""

from __future__ import annotations

import unittest
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from ..loader import TestRun
from ..test_runner import FailResult, LaunchTestRunner

ENTRYPOINT = "generate_test_description"


class LaunchTestFailure(Exception):
    """Some tests of a launch test failed; the text names each of them, with its traceback."""

    def __init__(self, name: str, result: unittest.TestResult) -> None:
        """Gather what failed in the result of a test run."""
        super().__init__(f"{name} failed\n{_report(result)}")


def _report(result: unittest.TestResult) -> str:
    if isinstance(result, FailResult):
        # Every test failed for the same reason, which is shown once.
        return "\n".join([*(f"FAIL: {test}" for test, _ in result.failures), "", result.message])
    parts = [f"FAIL: {test}\n{text}" for test, text in result.failures]
    parts += [f"ERROR: {test}\n{text}" for test, text in result.errors]
    parts += [f"UNEXPECTED SUCCESS: {test}" for test in result.unexpectedSuccesses]
    return "\n".join(parts)


class LaunchTestItem(pytest.Item):
    """The test run of one launch test file."""

    def __init__(self, *, test_run: TestRun, **kwargs: Any) -> None:
        """Run `test_run`; made by from_parent."""
        super().__init__(**kwargs)
        self.test_run = test_run

    def runtest(self) -> None:
        """Run, and fail if any of the tests did; pytest takes unittest.SkipTest for its own."""
        (result,) = LaunchTestRunner([self.test_run]).run().values()
        if not result.wasSuccessful():
            raise LaunchTestFailure(self.name, result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show the failed tests instead of a traceback of the runner."""
        if isinstance(excinfo.value, LaunchTestFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Name the item in reports."""
        return self.path, 0, f"launch tests: {self.name}"


class LaunchTestModule(pytest.Module):
    """A file that may hold a launch test, which only its import shows.

    The import waits for collect(), where pytest reports a failure as one of this file. A failed import must not be
    tried twice: pytest would take the half-imported module for a good one.
    """

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Return the one item of a launch test, whose TestCase classes are not collected; else collect as ever."""
        marks = getattr(getattr(self.obj, ENTRYPOINT, None), "pytestmark", ())
        if not any(mark.name == "launch_test" for mark in marks):
            return super().collect()
        name = self.path.stem
        item = LaunchTestItem.from_parent(self, name=name, test_run=TestRun(name, self.obj))
        for mark in marks:
            item.add_marker(getattr(pytest.mark, mark.name).with_args(*mark.args, **mark.kwargs))
        return [item]


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Look closer at the files that mention generate_test_description."""
    if ENTRYPOINT not in module_path.read_text(encoding="utf-8", errors="replace"):
        return None
    return LaunchTestModule.from_parent(parent, path=module_path)


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line(
        "markers", "launch_test: the generate_test_description function of a launch test, run as one test with its file"
    )
