"""Events: what happened in the launched system, or shall happen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .._coverage import refusal
from .._entities import Action, Event
from . import process

if TYPE_CHECKING:
    from ..actions import TimerAction
    from ..launch_description import LaunchDescription
else:
    __getattr__ = refusal(__name__, "ExecutionComplete")

__all__ = ["IncludeLaunchDescription", "Shutdown", "TimerEvent", "matches_action", "process"]


class IncludeLaunchDescription(Event):
    """A launch description shall be visited."""

    def __init__(self, launch_description: LaunchDescription) -> None:
        """Ask for a visit of `launch_description`."""
        self.launch_description = launch_description


class Shutdown(Event):
    """The launched system shall shut down, or does so."""

    def __init__(self, *, reason: str = "reason not given", due_to_sigint: bool = False) -> None:
        """Shut down for `reason`; `due_to_sigint` says that a Ctrl-C has reached the children too."""
        self.reason = reason
        self.due_to_sigint = due_to_sigint


class TimerEvent(Event):
    """The period of a timer is over."""

    def __init__(self, *, timer_action: TimerAction) -> None:
        """Announce the end of the period of `timer_action`."""
        self.timer_action = timer_action


def matches_action(target_action: Action) -> Callable[[Action], bool]:
    """Return a matcher that accepts `target_action` only."""
    return lambda action: action == target_action
