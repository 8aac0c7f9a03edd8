"""How pytest tells that a launch test failed."""

from __future__ import annotations

import unittest
from collections.abc import Mapping

from ..loader import TestRun
from ..test_result import FailResult


class LaunchTestFailure(Exception):
    """Some tests of a launch test failed; the text names each of them, with its traceback."""

    def __init__(self, results: Mapping[TestRun, unittest.TestResult]) -> None:
        """Gather what failed in the results of the test runs."""
        failed = {str(run): result for run, result in results.items() if not result.wasSuccessful()}
        super().__init__("\n".join(f"{name} failed\n{_report(result)}" for name, result in failed.items()))


def _report(result: unittest.TestResult) -> str:
    if isinstance(result, FailResult):
        # Every test failed for the same reason, which is told once.
        return "\n".join([*(f"FAIL: {test}" for test, _ in result.failures), "", result.message])
    parts = [f"FAIL: {test}\n{text}" for test, text in result.failures]
    parts += [f"ERROR: {test}\n{text}" for test, text in result.errors]
    parts += [f"UNEXPECTED SUCCESS: {test}" for test in result.unexpectedSuccesses]
    return "\n".join(parts)
