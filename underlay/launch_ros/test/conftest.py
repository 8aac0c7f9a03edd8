"""Launching nodes of a made-up package, within bounded time."""

from __future__ import annotations

import json
import logging
import os
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import launch.logging
from launch import LaunchDescription, LaunchDescriptionEntity, LaunchService

WATCHDOG_S = 30.0


@dataclass(frozen=True)
class Outcome:
    code: int
    screen: str


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


class Package:
    """A package ``robot`` with an executable ``node`` that writes down what it was started with."""

    def __init__(self, prefix: Path) -> None:
        self.prefix = prefix
        self.notes = prefix / "notes"
        marker = prefix / "share" / "ament_index" / "resource_index" / "packages" / "robot"
        marker.parent.mkdir(parents=True)
        marker.touch()
        (prefix / "share" / "robot").mkdir()
        (prefix / "lib" / "robot").mkdir(parents=True)
        self.notes.mkdir()
        self.executable = prefix / "lib" / "robot" / "node"
        self.executable.write_text("#!/usr/bin/env -S python3 -S\n" + textwrap.dedent(_NODE))
        self.executable.chmod(0o755)
        os.environ["AMENT_PREFIX_PATH"] = f"{prefix}:{os.environ['AMENT_PREFIX_PATH']}"
        os.environ["NOTES"] = str(self.notes)

    @property
    def starts(self) -> list[dict[str, Any]]:
        """What the executable was started with: its arguments, and the texts of its parameter files."""
        return [json.loads(path.read_text()) for path in sorted(self.notes.iterdir())]


_NODE = """
    import json, os, sys
    files = [text for option, text in zip(sys.argv, sys.argv[1:]) if option == "--params-file"]
    texts = {path: open(path, encoding="utf-8").read() for path in files}
    notes = os.environ["NOTES"]
    with open(os.path.join(notes, f"{len(os.listdir(notes)):03}"), "w") as note:
        json.dump({"arguments": sys.argv[1:], "files": texts}, note)
"""


@pytest.fixture
def package(tmp_path: Path) -> Package:
    """Install a made-up package in a prefix of its own."""
    return Package(tmp_path / "prefix")


@pytest.fixture
def started(run: Callable[..., Outcome], package: Package) -> Callable[..., dict[str, Any]]:
    """Return a function that launches entities with one node, and returns what that was started with."""

    def start(*entities: LaunchDescriptionEntity) -> dict[str, Any]:
        outcome = run(*entities)
        assert outcome.code == 0, outcome.screen
        (start,) = package.starts
        return start

    return start
