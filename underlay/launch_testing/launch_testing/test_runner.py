"""Runs launch tests: launches, runs the active tests, shuts down, runs the remaining tests."""

from __future__ import annotations

import functools
import inspect
import sys
import unittest
from collections.abc import Iterable, Sequence

from launch import Action

from .loader import TestRun, skip_reason
from .run_worker import RunWorker
from .test_result import FailResult, SkipResult


class LaunchTestRunner:
    """Runs the test runs of one launch test file, one after the other."""

    def __init__(
        self, test_runs: Sequence[TestRun], launch_file_arguments: Iterable[str] = (), debug: bool = False
    ) -> None:
        """Prepare to run; arguments have the form name:=value, `debug` makes launch talk more."""
        self._test_runs = list(test_runs)
        self._arguments = list(launch_file_arguments)
        self._debug = debug

    def generate_preamble(self) -> list[Action]:
        """List actions to run before each test description; for subclasses."""
        return []

    def validate(self) -> None:
        """Raise for a generate_test_description whose parameters are not those of its parametrize decorator."""
        for run in self._test_runs:
            names = _parameter_names(run)
            for name in run.param_args:
                if name not in names:
                    raise ValueError(
                        f"Could not find an argument in generate_test_description matching the parametrized {name!r}"
                    )
            for name in names:
                if name not in run.param_args:
                    raise ValueError(f"generate_test_description has unexpected extra argument {name!r}")

    def run(self) -> dict[TestRun, unittest.TestResult]:
        """Run all, and return one result per run; must be called in the main thread, as launch handles signals."""
        results = {}
        for run in self._test_runs:
            if len(self._test_runs) > 1:
                sys.stderr.write(f"Starting test run {run}\n")
            results[run] = self._run_one(run)
        return results

    def _run_one(self, run: TestRun) -> unittest.TestResult:
        reason = skip_reason(run.test_description_function)
        if reason is not None:
            return SkipResult(run, reason)
        try:
            worker = RunWorker(run, self.generate_preamble(), self._arguments, debug=self._debug)
            result = worker.run()
        except unittest.SkipTest as skip:
            return SkipResult(run, str(skip))
        if isinstance(result, FailResult):
            sys.stdout.write(f"{result.message}\n")
        return result


def _parameter_names(run: TestRun) -> list[str]:
    function = run.test_description_function
    if isinstance(function, functools.partial):
        function = function.func
    return list(inspect.signature(function).parameters)
