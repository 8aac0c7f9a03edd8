"""Recorded processes, and launch tests built out of functions, for the tests of launch_testing."""

from __future__ import annotations

import sys
import types
import unittest
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from launch import LaunchDescription
from launch.actions import ExecuteProcess
from launch.events.process import ProcessExited, ProcessStarted, ProcessStderr, ProcessStdout
from launch_testing import post_shutdown_test
from launch_testing.io_handler import ActiveIoHandler
from launch_testing.loader import LoadTestsFromPythonModule, TestRun
from launch_testing.proc_info_handler import ActiveProcInfoHandler


class RecordedProcess(ExecuteProcess):
    """An action whose process exists in the records only."""

    def __init__(self, name: str, *arguments: str) -> None:
        super().__init__(cmd=["program", *arguments])
        self.details = {"name": name, "cmd": ["program", *arguments]}

    @property
    def process_details(self) -> dict[str, Any]:
        return self.details

    def event_arguments(self) -> dict[str, Any]:
        return {"action": self, **self.process_details, "cwd": None, "env": None, "pid": 1}


class Records:
    """Both handlers, and a way to fill them."""

    def __init__(self) -> None:
        self.info = ActiveProcInfoHandler()
        self.output = ActiveIoHandler()

    def start(self, name: str, *arguments: str) -> RecordedProcess:
        process = RecordedProcess(name, *arguments)
        self.output.track(name)
        self.info.append(ProcessStarted(**process.event_arguments()))
        return process

    def write(self, process: RecordedProcess, stdout: bytes = b"", stderr: bytes = b"") -> None:
        for event, text in ((ProcessStdout, stdout), (ProcessStderr, stderr)):
            if text:
                self.output.append(event(text=text, **process.event_arguments()))

    def end(self, process: RecordedProcess, code: int = 0) -> None:
        self.info.append(ProcessExited(returncode=code, **process.event_arguments()))


@pytest.fixture
def records() -> Records:
    return Records()


@pytest.fixture
def python_process() -> Callable[..., ExecuteProcess]:
    """Make the action of a Python child that runs a piece of code."""

    def make(code: str, **kwargs: Any) -> ExecuteProcess:
        return ExecuteProcess(cmd=[sys.executable, "-I", "-S", "-u", "-c", code], **kwargs)

    return make


@pytest.fixture
def load() -> Callable[..., list[TestRun]]:
    """Load the runs of a module made of a description and of test functions."""

    def make(
        generate_test_description: Callable[..., LaunchDescription | tuple[LaunchDescription, dict[str, Any]]],
        *,
        active: Iterable[Callable[..., None]] = (),
        after: Iterable[Callable[..., None]] = (),
    ) -> list[TestRun]:
        module: Any = types.ModuleType("made_module")
        module.generate_test_description = generate_test_description
        module.Active = type("Active", (unittest.TestCase,), {test.__name__: test for test in active})
        after_class = type("After", (unittest.TestCase,), {test.__name__: test for test in after})
        module.After = post_shutdown_test()(after_class)
        return LoadTestsFromPythonModule(module)

    return make
