"""Reacting to the start, the output and the end of processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from ..events.process import ProcessExited, ProcessIO, ProcessStarted
from ..launch_context import LaunchContext
from ..some_entities_type import SomeEntitiesType
from .on_action_event_base import OnActionEventBase, Reaction

if TYPE_CHECKING:
    from ..actions.execute_local import ExecuteLocal

    Target: TypeAlias = Callable[[ExecuteLocal], bool] | ExecuteLocal | None
    OnText: TypeAlias = Callable[[ProcessIO], SomeEntitiesType | None]


def _execute_local() -> type[ExecuteLocal]:
    # Imported late: that action registers event handlers itself.
    from ..actions.execute_local import ExecuteLocal

    return ExecuteLocal


class OnProcessStart(OnActionEventBase):
    """Reacts when a process was started."""

    def __init__(self, *, target_action: Target = None, on_start: Reaction, **kwargs: Any) -> None:
        """React to `target_action`, to those for which it is true, or to any."""
        super().__init__(
            action_matcher=target_action,
            on_event=on_start,
            target_event_cls=ProcessStarted,
            target_action_cls=_execute_local(),
            **kwargs,
        )


class OnProcessExit(OnActionEventBase):
    """Reacts when a process has ended."""

    def __init__(self, *, target_action: Target = None, on_exit: Reaction, **kwargs: Any) -> None:
        """React to `target_action`, to those for which it is true, or to any."""
        super().__init__(
            action_matcher=target_action,
            on_event=on_exit,
            target_event_cls=ProcessExited,
            target_action_cls=_execute_local(),
            **kwargs,
        )


class OnProcessIO(OnActionEventBase):
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

        super().__init__(
            action_matcher=target_action,
            on_event=react,
            target_event_cls=ProcessIO,
            target_action_cls=_execute_local(),
            **kwargs,
        )
