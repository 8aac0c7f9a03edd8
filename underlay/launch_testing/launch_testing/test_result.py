"""Results of test runs, as far as unittest's own do not suffice."""

from __future__ import annotations

import time
import unittest
from collections.abc import Mapping, Sequence
from typing import Any

from .loader import TestRun


class TestResult(unittest.TextTestResult):
    """A result that keeps the tests it saw and how long they took."""

    __test__ = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take what unittest.TextTestResult takes."""
        super().__init__(*args, **kwargs)
        self._began: dict[unittest.TestCase, float] = {}
        self.testCases: list[unittest.TestCase] = []
        self.testTimes: dict[unittest.TestCase, float] = {}

    def startTest(self, test: unittest.TestCase) -> None:
        """Note the test and the time."""
        self.testCases.append(test)
        self._began[test] = time.monotonic()
        super().startTest(test)

    def stopTest(self, test: unittest.TestCase) -> None:
        """Note how long the test took."""
        self.testTimes[test] = time.monotonic() - self._began[test]
        super().stopTest(test)

    def append(self, results: TestResult) -> None:
        """Add the results of further tests of the same run."""
        self.testCases += results.testCases
        self.testTimes.update(results.testTimes)
        self.testsRun += results.testsRun
        for name in ("failures", "errors", "skipped", "expectedFailures", "unexpectedSuccesses"):
            getattr(self, name).extend(getattr(results, name))


class _WithoutRunning(unittest.TestResult):
    """A result for all tests of a run, none of which ran or counts as having run."""

    def __init__(self, test_run: TestRun) -> None:
        super().__init__()
        self.testCases: Sequence[unittest.TestCase] = list(test_run.all_cases()) or [_WholeLaunch(str(test_run))]
        self.testTimes: Mapping[unittest.TestCase, float] = dict.fromkeys(self.testCases, 0.0)
        self.testsRun = len(self.testCases)


class FailResult(_WithoutRunning):
    """Every test of the run failed for one reason."""

    def __init__(self, test_run: TestRun, message: str) -> None:
        """Give `message` as the failure of each test."""
        super().__init__(test_run)
        self.message = message
        self.failures = [(case, message) for case in self.testCases]


class SkipResult(_WithoutRunning):
    """Every test of the run was skipped for one reason."""

    def __init__(self, test_run: TestRun, skip_reason: str = "") -> None:
        """Give the reason for each test."""
        super().__init__(test_run)
        self.skipped = [(case, skip_reason) for case in self.testCases]


class _WholeLaunch(unittest.TestCase):
    """Stands for a launch without tests, so that its failure is not lost."""

    def __init__(self, name: str) -> None:
        super().__init__("launch")
        self._name = name

    def launch(self) -> None:
        """Never called."""

    def __str__(self) -> str:
        return self._name
