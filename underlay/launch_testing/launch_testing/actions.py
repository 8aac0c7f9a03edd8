"""The action at which the tests may begin."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from launch import Action, LaunchContext
from launch._coverage import refusal

__all__ = ["ReadyToTest"]

if not TYPE_CHECKING:
    __getattr__ = refusal(__name__, "GTest PyTest Test")


class ReadyToTest(Action):
    """Reports to the test runner that the active tests may begin."""

    def __init__(self) -> None:
        """Wait to be handed the runner's callback."""
        super().__init__()
        self._callbacks: list[Callable[[], object]] = []

    def _add_callback(self, callback: Callable[[], object]) -> None:
        self._callbacks.append(callback)

    def execute(self, context: LaunchContext) -> None:
        """Report to the test runner."""
        for callback in self._callbacks:
            callback()
