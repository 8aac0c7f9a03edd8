"""The action at which the tests may begin."""

from __future__ import annotations

from collections.abc import Callable

from launch import Action, LaunchContext


class ReadyToTest(Action):
    """Tells the test runner that the active tests may begin."""

    def __init__(self) -> None:
        """Wait to be handed the runner's callback."""
        super().__init__()
        self._callbacks: list[Callable[[], object]] = []

    def _add_callback(self, callback: Callable[[], object]) -> None:
        self._callbacks.append(callback)

    def execute(self, context: LaunchContext) -> None:
        """Tell the test runner."""
        for callback in self._callbacks:
            callback()
