"""Running launch descriptions within bounded time, and launches of their own in child processes."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import launch.logging
from launch import Event, LaunchDescription, LaunchDescriptionEntity, LaunchService
from launch.actions import ExecuteProcess, RegisterEventHandler
from launch.event_handlers import OnProcessIO

WATCHDOG_S = 20.0


@dataclass(frozen=True)
class Outcome:
    code: int
    screen: str

    def lines_of(self, process: str) -> list[str]:
        """Return what the process of that name wrote to the screen."""
        return re.findall(rf"^\[{process}-\d+\] (.*)$", self.screen, flags=re.MULTILINE)


@pytest.fixture(autouse=True)
def clean_slate(tmp_path: Path) -> Iterator[None]:
    """Give each test its own log directory, and restore what a launch may change."""
    environment = dict(os.environ)
    os.environ["ROS_LOG_DIR"] = str(tmp_path / "log")
    launch.logging.reset()
    yield
    launch.logging.reset()
    os.environ.clear()
    os.environ.update(environment)


@pytest.fixture
def service() -> LaunchService:
    """Return a launch service to which no terminal belongs."""
    return LaunchService(noninteractive=True)


@pytest.fixture
def run(service: LaunchService, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Return a function that launches entities and returns what came of it."""

    def run_entities(*entities: LaunchDescriptionEntity) -> Outcome:
        screen = launch.logging.launch_config.get_screen_handler()
        if isinstance(screen, logging.StreamHandler):  # which keeps the stdout that a fixture had
            screen.setStream(sys.stdout)
        service.include_launch_description(LaunchDescription(entities))
        watchdog = threading.Timer(WATCHDOG_S, service.shutdown)
        watchdog.start()
        try:
            code = service.run()
            assert watchdog.is_alive(), "the launch did not end by itself"
        finally:
            watchdog.cancel()
            watchdog.join()
        return Outcome(code, capsys.readouterr().out)

    return run_entities


@pytest.fixture
def python() -> Callable[..., list[str]]:
    """Return a function that makes the command line of a small Python program."""

    def command(program: str, *arguments: str) -> list[str]:
        return [sys.executable, "-S", "-c", textwrap.dedent(program), *arguments]

    return command


@pytest.fixture
def once_up() -> Callable[..., RegisterEventHandler]:
    """Return a function that has entities visited once a process has written something for the first time."""

    def handler(action: ExecuteProcess, *entities: LaunchDescriptionEntity) -> RegisterEventHandler:
        seen: list[Event] = []

        def on_stdout(event: Event) -> list[LaunchDescriptionEntity]:
            seen.append(event)
            return list(entities) if len(seen) == 1 else []

        return RegisterEventHandler(OnProcessIO(target_action=action, on_stdout=on_stdout))

    return handler


@pytest.fixture
def no_child_is_left() -> Iterator[None]:
    """Check after the test that it has left no process, not even one that only waits to be reaped."""
    before = _children()
    yield
    assert _children() - before == set()


def _children() -> set[str]:
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if stat.read_text().rpartition(")")[2].split()[1] == str(os.getpid()):
                found.add(stat.parent.name)
    return found


class LaunchProcess:
    """A Python program that launches something, in a process group of its own."""

    def __init__(self, program: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-c", textwrap.dedent(program)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.output: list[str] = []
        self._ended = False
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._news:
                self.output.append(line)
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    @property
    def text(self) -> str:
        return "".join(self.output)

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Wait until the output has a match."""
        with self._news:
            self._news.wait_for(lambda: self._ended or re.search(pattern, self.text), WATCHDOG_S)
        match = re.search(pattern, self.text)
        assert match is not None, f"no '{pattern}' in: {self.text}"
        return match

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the launch only, as ``kill`` does."""
        self.process.send_signal(number)

    def signal_group(self, number: signal.Signals) -> None:
        """Send a signal to the launch and its children, as a terminal does."""
        os.killpg(self.process.pid, number)

    def wait(self) -> int:
        """Wait for the end of the launch and of everything that holds its output; return the exit code."""
        code = self.process.wait(WATCHDOG_S)
        self._reader.join(WATCHDOG_S)
        assert not self._reader.is_alive(), "a process that was left behind holds the output"
        return code

    def close(self) -> None:
        """End whatever is left of the group, also what the launch itself has left behind."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(WATCHDOG_S)
        self._reader.join(WATCHDOG_S)
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def launch_process() -> Iterator[Callable[[str], LaunchProcess]]:
    """Return a function that starts a program that launches something."""
    started: list[LaunchProcess] = []

    def start(program: str) -> LaunchProcess:
        started.append(LaunchProcess(program))
        return started[-1]

    yield start
    for process in started:
        process.close()
