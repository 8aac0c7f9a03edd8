"""Event handlers: what to do when something happens."""

from __future__ import annotations

from collections.abc import Callable

from ..event import Event
from .on_action_event_base import OnActionEventBase
from .on_execution_complete import OnExecutionComplete
from .on_include_launch_description import OnIncludeLaunchDescription
from .on_process import OnProcessExit, OnProcessIO, OnProcessStart
from .on_shutdown import OnShutdown

__all__ = [
    "OnActionEventBase",
    "OnExecutionComplete",
    "OnIncludeLaunchDescription",
    "OnProcessExit",
    "OnProcessIO",
    "OnProcessStart",
    "OnShutdown",
    "event_named",
]


def event_named(name: str) -> Callable[[Event], bool]:
    """Return a matcher that accepts events of that name."""
    return lambda event: event.name == name
