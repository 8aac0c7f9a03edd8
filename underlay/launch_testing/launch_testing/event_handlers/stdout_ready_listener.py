"""The event handler that reacts to a text on stdout."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from launch import Action, LaunchDescriptionEntity
from launch.actions import ExecuteProcess
from launch.event_handlers import OnProcessIO
from launch.events.process import ProcessIO


class StdoutReadyListener(OnProcessIO):
    """Yields actions whenever a process writes a text to stdout."""

    def __init__(
        self, *, target_action: ExecuteProcess | None = None, ready_txt: str, actions: Iterable[Action]
    ) -> None:
        """Listen to the process of `target_action`, or to all, for `ready_txt`."""
        super().__init__(target_action=target_action, on_stdout=self._on_ready)
        self._ready_txt = ready_txt
        self._actions = list(actions)

    def _on_ready(self, event: ProcessIO) -> list[Action] | None:
        return self._actions if self._ready_txt in event.text.decode(errors="replace") else None

    def describe(self) -> tuple[str, list[LaunchDescriptionEntity]]:
        """Describe the listener and list its actions."""
        entities: Sequence[LaunchDescriptionEntity] = self._actions
        return f"StdoutReadyListener(ready_txt={self._ready_txt!r})", list(entities)
