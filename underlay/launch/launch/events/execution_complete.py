"""The event that follows an action."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..event import Event

if TYPE_CHECKING:
    from ..action import Action


class ExecutionComplete(Event):
    """An action was executed, and the work that it began is over."""

    name = "launch.events.ExecutionComplete"

    def __init__(self, *, action: Action) -> None:
        """Announce the end of `action`."""
        self.__action = action

    @property
    def action(self) -> Action:
        """The action."""
        return self.__action
