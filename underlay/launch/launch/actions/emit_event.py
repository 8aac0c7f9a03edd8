"""Emitting events, among them the one that ends the launch."""

from __future__ import annotations

from typing import Any

from ..action import Action
from ..event import Event
from ..events import Shutdown as ShutdownEvent
from ..events.process import ProcessExited
from ..launch_context import LaunchContext
from ..logging import get_logger


class EmitEvent(Action):
    """Emits an event."""

    def __init__(self, *, event: Event, **kwargs: Any) -> None:
        """Emit `event`."""
        super().__init__(**kwargs)
        if not isinstance(event, Event):
            raise RuntimeError(f"EmitEvent takes an event, but it got {event!r}")
        self.__event = event

    @property
    def event(self) -> Event:
        """The event."""
        return self.__event

    def execute(self, context: LaunchContext) -> None:
        """Emit it; shutting down because a process has failed makes the launch fail."""
        cause = context.get_locals_as_dict().get("event")
        ends_launch = isinstance(self.__event, ShutdownEvent) and not context.is_shutdown
        if ends_launch and isinstance(cause, ProcessExited) and cause.returncode != 0:
            context._required_process_failed = True
        context.emit_event_sync(self.__event)


class Shutdown(EmitEvent):
    """Shuts the launched system down."""

    def __init__(self, *, reason: str = "reason not given", **kwargs: Any) -> None:
        """Shut down for `reason`."""
        super().__init__(event=ShutdownEvent(reason=reason), **kwargs)

    def execute(self, context: LaunchContext) -> None:
        """Emit the event, and tell so if the end of a process is the cause."""
        cause = context.get_locals_as_dict().get("event")
        if isinstance(cause, ProcessExited):
            get_logger("launch").info(f"process[{cause.process_name}] was required: shutting down launched system")
        super().execute(context)
