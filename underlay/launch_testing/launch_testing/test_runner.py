"""Runs launch tests: launches, runs the active tests, shuts down, runs the remaining tests."""

from __future__ import annotations

import sys
import threading
import unittest
from collections.abc import Iterable
from typing import Any

from launch import LaunchDescription, LaunchDescriptionSource, LaunchService
from launch.actions import IncludeLaunchDescription, RegisterEventHandler
from launch.event_handlers import OnProcessExit, OnProcessIO, OnProcessStart
from launch.events import Shutdown
from launch.events.process import ProcessExited, ProcessStarted, RunningProcessEvent

from .io_handler import ActiveIoHandler, Stream
from .loader import TestRun, suite_of
from .proc_info_handler import ActiveProcInfoHandler

# How long a test that is not waiting on a handler may go on after its launch has ended.
_GRACE_S = 10.0
_READY_TIMEOUT_S = 15.0
_STREAMS: tuple[Stream, ...] = ("stdout", "stderr")


class TestResult(unittest.TextTestResult):
    """A result to which those of further tests can be added."""

    __test__ = False

    def append(self, results: TestResult) -> None:
        """Add the results of further tests of the same run."""
        self.testsRun += results.testsRun
        for name in ("failures", "errors", "skipped", "expectedFailures", "unexpectedSuccesses"):
            getattr(self, name).extend(getattr(results, name))


class FailResult(unittest.TestResult):
    """Every test of the run failed for one reason."""

    def __init__(self, test_run: TestRun, message: str) -> None:
        """Give `message` as the failure of each test."""
        super().__init__()
        self.message = message
        self.failures = [(case, message) for case in test_run.all_cases()]
        self.testsRun = len(self.failures)

    def wasSuccessful(self) -> bool:
        """Return False, for a launch without tests, too."""
        return False


class _RunWorker:
    """Carries out one test run."""

    def __init__(self, test_run: TestRun, arguments: Iterable[str], *, debug: bool) -> None:
        """Prepare the launch service and the records of what it does."""
        self._test_run = test_run
        self._arguments = _parsed(arguments)
        self._service = LaunchService(debug=debug)
        self._proc_info = ActiveProcInfoHandler()
        self._proc_output = ActiveIoHandler()
        self._ready = threading.Event()
        self._go_on = threading.Event()  # set when the launch is ready, and when it has ended
        self._launch_ended = threading.Event()
        self._patience_ended = False
        self._launch_code = 0
        self._live_results: list[TestResult] = []
        self._active_result: TestResult | None = None

    def run(self) -> TestResult | FailResult:
        """Launch, test, shut down, test again."""
        description, context = self._test_run.normalized_test_description(self._on_ready)
        values = {
            **context,
            "launch_service": self._service,
            "proc_info": self._proc_info,
            "proc_output": self._proc_output,
            "test_args": dict(self._arguments),
        }
        before = suite_of(self._test_run.pre_shutdown_tests, values)
        after = suite_of(self._test_run.post_shutdown_tests, values)
        self._service.include_launch_description(self._recorded(description))
        self._tests = threading.Thread(target=self._test_then_shut_down, args=(before,), daemon=True)
        self._tests.start()
        try:
            self._launch_code = self._service.run(
                shutdown_when_idle=not self._test_run.markers.get("keep_alive", False)
            )
        finally:
            self._end_of_launch()
        if self._active_result is None:
            failure = FailResult(self._test_run, self._why_without_result())
            sys.stdout.write(f"{failure.message}\n")
            return failure
        self._active_result.append(self._run_suite(after))
        return self._active_result

    def _recorded(self, description: LaunchDescription) -> LaunchDescription:
        """Put the recording of all processes around a description."""

        def on_start(event: ProcessStarted, _: Any) -> None:
            self._proc_output.track(event.process_name)
            self._proc_info.append(event)

        def on_exit(event: ProcessExited, _: Any) -> None:
            self._proc_info.append(event)

        append = self._proc_output.append
        handlers = (
            OnProcessStart(on_start=on_start),
            OnProcessExit(on_exit=on_exit),
            OnProcessIO(on_stdout=append, on_stderr=append),
        )
        included = IncludeLaunchDescription(
            LaunchDescriptionSource(launch_description=description), launch_arguments=self._arguments
        )
        return LaunchDescription([*map(RegisterEventHandler, handlers), included])

    def _on_ready(self) -> None:
        self._ready.set()
        self._go_on.set()

    def _test_then_shut_down(self, suite: unittest.TestSuite) -> None:
        try:
            self._patience_ended = not self._go_on.wait(_READY_TIMEOUT_S)
            if self._ready.is_set():
                result = self._run_suite(suite)
                if not self._launch_ended.is_set():
                    self._active_result = result
        finally:
            # Unlike LaunchService.shutdown(), an event is not lost on a service that is only about to run.
            self._service.emit_event(Shutdown(reason="the tests are done"))

    def _end_of_launch(self) -> None:
        """Let no test wait for a launch that is over."""
        self._launch_ended.set()
        self._proc_info.close()
        self._proc_output.close()
        for result in self._live_results:
            result.stop()
        self._go_on.set()
        self._tests.join(_GRACE_S)

    def _run_suite(self, suite: unittest.TestSuite) -> TestResult:
        made: list[TestResult] = []

        def make_result(*args: Any, **kwargs: Any) -> TestResult:
            made.append(TestResult(*args, **kwargs))
            self._live_results += made
            return made[0]

        unittest.TextTestRunner(verbosity=2, resultclass=make_result).run(suite)
        return made[0]

    def _why_without_result(self) -> str:
        if self._ready.is_set():
            reason = "Launch stopped before the active tests finished."
        elif self._patience_ended:
            reason = f"Timed out after {_READY_TIMEOUT_S} s of waiting for ReadyToTest."
        else:
            reason = "Launch stopped before ReadyToTest, so that the active tests never began."
        lines = [reason, *map(self._last_words, self._proc_info)]
        if not list(self._proc_info):
            lines.append("No process had started.")
        if self._launch_code:
            lines.append(f"The launch itself failed with {self._launch_code}: see what it logged.")
        if self._tests.is_alive():
            lines.append(f"An active test still goes on, {_GRACE_S:g} s after that.")
        return "\n".join(lines)

    def _last_words(self, event: RunningProcessEvent) -> str:
        """Say how a process ended, with the end of its output unless it ended well."""
        code = getattr(event, "returncode", None)
        if code is None:
            return f"Process {event.process_name} had not ended"
        lines = [f"Process {event.process_name} exited with code {code}"]
        for stream in _STREAMS if code else ():
            text = self._proc_output.last_words(event.process_name, stream)
            lines += [f"--- {stream} of {event.process_name} ---", text] if text else []
        return "\n".join(lines)


class LaunchTestRunner:
    """Runs the test runs of a launch test file."""

    def __init__(
        self, test_runs: Iterable[TestRun], launch_file_arguments: Iterable[str] = (), debug: bool = False
    ) -> None:
        """Prepare to run; arguments have the form name:=value, `debug` makes launch log more."""
        arguments = list(launch_file_arguments)
        self._workers = {run: _RunWorker(run, arguments, debug=debug) for run in test_runs}

    def run(self) -> dict[TestRun, unittest.TestResult]:
        """Run all; must be called in the main thread, as launch handles signals.

        Raises:
            unittest.SkipTest: the test description is to be skipped.
        """
        return {run: worker.run() for run, worker in self._workers.items()}


def _parsed(arguments: Iterable[str]) -> list[tuple[str, str]]:
    """Split arguments of the form name:=value; of a repeated name the last value holds."""
    parsed: dict[str, str] = {}
    for argument in arguments:
        name, separator, value = argument.partition(":=")
        if not separator or not name:
            raise RuntimeError(f"malformed launch argument {argument!r}, expected the form name:=value")
        parsed[name] = value
    return list(parsed.items())
