"""Event handlers: what to do when something happens."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

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

    def __init__(self, reaction: Reaction, name: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.__reaction = reaction
        self.__entities: list[LaunchDescriptionEntity] | None = None
        if not callable(reaction):
            self.__entities = as_list(reaction) if isinstance(reaction, Iterable) else [reaction]
        for entity in self.__entities or ():
            if not isinstance(entity, LaunchDescriptionEntity):
                raise TypeError(f"expected '{name}' to hold entities of a launch description, but got {type(entity)}")

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        """Return the entities with which to react."""
        super().handle(event, context)
        if self.__entities is not None:
            return self.__entities
        assert callable(self.__reaction)
        return self.__reaction(event, context)

    def describe(self) -> tuple[str, list[LaunchDescriptionEntity]]:
        """Describe the handler and the entities that are known beforehand."""
        return super().describe()[0], list(self.__entities or ())


class _OnProcessEvent(_Reacting):
    def __init__(
        self, target: Target, event_cls: type[RunningProcessEvent], *, reaction: Reaction, name: str, **kwargs: Any
    ) -> None:
        """React to events of process `target`, of those for which it is true, or of any."""
        from .actions import ExecuteProcess  # late: that action registers event handlers itself

        if target is not None and not isinstance(target, ExecuteProcess) and not callable(target):
            raise TypeError(f"target_action must be an action that runs a process or a callable, but got {target!r}")

        def matches(event: Event) -> bool:
            if not isinstance(event, event_cls) or target is None or event.action is target:
                return isinstance(event, event_cls)
            return callable(target) and bool(target(event.action))

        super().__init__(reaction, name, matcher=matches, **kwargs)


class OnProcessStart(_OnProcessEvent):
    """Reacts when a process was started."""

    def __init__(self, *, target_action: Target = None, on_start: Reaction, **kwargs: Any) -> None:
        """React to `target_action`, to those for which it is true, or to any."""
        super().__init__(target_action, ProcessStarted, reaction=on_start, name="on_start", **kwargs)


class OnProcessExit(_OnProcessEvent):
    """Reacts when a process has ended."""

    def __init__(self, *, target_action: Target = None, on_exit: Reaction, **kwargs: Any) -> None:
        """React to `target_action`, to those for which it is true, or to any."""
        super().__init__(target_action, ProcessExited, reaction=on_exit, name="on_exit", **kwargs)


class OnProcessIO(_OnProcessEvent):
    """Reacts when a process has written something."""

    def __init__(
        self,
        *,
        target_action: Target = None,
        on_stdin: OnText | None = None,
        on_stdout: OnText | None = None,
        on_stderr: OnText | None = None,
        **kwargs: Any,
    ) -> None:
        """Call one of the callables with the event; no process ever writes to its standard input."""

        def react(event: ProcessIO, context: LaunchContext) -> SomeEntitiesType | None:
            reaction = on_stdout if event.from_stdout else on_stderr if event.from_stderr else on_stdin
            return None if reaction is None else reaction(event)

        super().__init__(target_action, ProcessIO, reaction=react, name="on_stdout", **kwargs)


class OnShutdown(_Reacting):
    """Reacts when the launched system begins to shut down."""

    def __init__(self, *, on_shutdown: Reaction, **kwargs: Any) -> None:
        """Visit `on_shutdown`, or what it returns for the event and the context."""
        super().__init__(on_shutdown, "on_shutdown", matcher=lambda event: isinstance(event, Shutdown), **kwargs)


class OnIncludeLaunchDescription(BaseEventHandler):
    """Yields the launch description of each IncludeLaunchDescription event."""

    def __init__(self, **kwargs: Any) -> None:
        """Handle the events of that type."""
        super().__init__(matcher=lambda event: isinstance(event, IncludeLaunchDescription), **kwargs)

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        """Return the launch description."""
        super().handle(event, context)
        assert isinstance(event, IncludeLaunchDescription)
        return event.launch_description
