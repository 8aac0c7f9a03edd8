"""Event handlers: what to do when something happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from ._coverage import refusal
from ._entities import BaseEventHandler, Event, LaunchDescriptionEntity, SomeEntitiesType, as_list
from .events import IncludeLaunchDescription, Shutdown
from .events.process import ProcessExited, ProcessIO, ProcessStarted, RunningProcessEvent

if TYPE_CHECKING:
    from .actions import ExecuteProcess
    from .launch_context import LaunchContext

    Target: TypeAlias = Callable[[ExecuteProcess], bool] | ExecuteProcess | None
else:
    __getattr__ = refusal(__name__, "OnActionEventBase OnExecutionComplete event_named")

__all__ = ["OnIncludeLaunchDescription", "OnProcessExit", "OnProcessIO", "OnProcessStart", "OnShutdown"]

Reaction: TypeAlias = SomeEntitiesType | Callable[..., SomeEntitiesType | None]
OnText: TypeAlias = Callable[[ProcessIO], SomeEntitiesType | None]


class _Reacting(BaseEventHandler):
    """Visits entities, or what a function returns for the event and the context."""

    def __init__(self, reaction: Reaction, matcher: Callable[[Event], bool]) -> None:
        super().__init__(matcher=matcher)
        self.__function = reaction if callable(reaction) else None
        self.__entities = [] if callable(reaction) else as_list(reaction)
        for entity in self.__entities:
            if not isinstance(entity, LaunchDescriptionEntity):
                raise TypeError(f"expected entities of a launch description to react with, but got {type(entity)}")

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        """Return the entities with which to react."""
        super().handle(event, context)
        return self.__entities if self.__function is None else self.__function(event, context)

    def describe(self) -> tuple[str, list[LaunchDescriptionEntity]]:
        """Describe the handler and the entities that are known beforehand."""
        return super().describe()[0], self.__entities


class _OnProcessEvent(_Reacting):
    def __init__(self, target: Target, event_cls: type[RunningProcessEvent], reaction: Reaction) -> None:
        """React to events of process `target`, of those for which it is true, or of any."""
        from .actions import ExecuteProcess  # late: that action registers event handlers itself

        if target is not None and not isinstance(target, ExecuteProcess) and not callable(target):
            raise TypeError(f"target_action must be an action that runs a process or a callable, but got {target!r}")

        def matches(event: Event) -> bool:
            if not isinstance(event, event_cls) or target is None or event.action is target:
                return isinstance(event, event_cls)
            return callable(target) and bool(target(event.action))

        super().__init__(reaction, matches)


class OnProcessStart(_OnProcessEvent):
    """Reacts when a process was started."""

    def __init__(self, *, target_action: Target = None, on_start: Reaction) -> None:
        """React to `target_action`, to those for which it is true, or to any."""
        super().__init__(target_action, ProcessStarted, on_start)


class OnProcessExit(_OnProcessEvent):
    """Reacts when a process has ended."""

    def __init__(self, *, target_action: Target = None, on_exit: Reaction) -> None:
        """React to `target_action`, to those for which it is true, or to any."""
        super().__init__(target_action, ProcessExited, on_exit)


class OnProcessIO(_OnProcessEvent):
    """Reacts when a process has written something."""

    def __init__(
        self, *, target_action: Target = None, on_stdout: OnText | None = None, on_stderr: OnText | None = None
    ) -> None:
        """Call one of the callables with the event."""

        def react(event: ProcessIO, context: LaunchContext) -> SomeEntitiesType | None:
            reaction = on_stdout if event.from_stdout else on_stderr
            return None if reaction is None else reaction(event)

        super().__init__(target_action, ProcessIO, react)


class OnShutdown(_Reacting):
    """Reacts when the launched system begins to shut down."""

    def __init__(self, *, on_shutdown: Reaction) -> None:
        """Visit `on_shutdown`, or what it returns for the event and the context."""
        super().__init__(on_shutdown, lambda event: isinstance(event, Shutdown))


class OnIncludeLaunchDescription(BaseEventHandler):
    """Yields the launch description of each IncludeLaunchDescription event."""

    def __init__(self) -> None:
        """Handle the events of that type."""
        super().__init__(matcher=lambda event: isinstance(event, IncludeLaunchDescription))

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        """Return the launch description."""
        super().handle(event, context)
        assert isinstance(event, IncludeLaunchDescription)
        return event.launch_description
