"""Doing things later."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from ..action import Action
from ..event import Event
from ..event_handler import BaseEventHandler
from ..event_handlers import OnShutdown
from ..events import TimerEvent
from ..launch_context import LaunchContext
from ..launch_description_entity import LaunchDescriptionEntity
from ..some_entities_type import SomeEntitiesType
from ..some_substitutions_type import SomeSubstitutionsType, SomeSubstitutionsType_types_tuple
from ..utilities import ensure_argument_type
from ..utilities.type_utils import normalize_typed_substitution, perform_typed_substitution


class _OnTimer(BaseEventHandler):
    def __init__(self) -> None:
        super().__init__(matcher=lambda event: isinstance(event, TimerEvent))

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        super().handle(event, context)
        assert isinstance(event, TimerEvent)
        return event.timer_action.handle(context)


class TimerAction(Action):
    """Yields entities once a period of time is over, unless it is cancelled before."""

    def __init__(
        self,
        *,
        period: float | SomeSubstitutionsType,
        actions: Iterable[LaunchDescriptionEntity],
        cancel_on_shutdown: bool | SomeSubstitutionsType = True,
        **kwargs: Any,
    ) -> None:
        """Yield `actions` after `period` seconds; a shutdown cancels that if `cancel_on_shutdown`."""
        super().__init__(**kwargs)
        ensure_argument_type(period, (*SomeSubstitutionsType_types_tuple, float), "period", "TimerAction")
        ensure_argument_type(actions, Iterable, "actions", "TimerAction")
        self.__period = normalize_typed_substitution(float(period) if isinstance(period, str) else period, float)
        self.__cancel_on_shutdown = normalize_typed_substitution(cancel_on_shutdown, bool)
        self.__actions = list(actions)
        self.__locals: dict[str, Any] = {}
        self.__canceled = False
        self.__completed: asyncio.Future[None] | None = None
        self.__handle: asyncio.TimerHandle | None = None

    @property
    def period(self) -> Any:
        """The period in seconds, or the substitutions that give it."""
        return self.__period

    @property
    def actions(self) -> list[LaunchDescriptionEntity]:
        """What is yielded."""
        return self.__actions

    def describe(self) -> str:
        """Describe the timer."""
        return f"TimerAction(period={self.__period}, actions=<actions>)"

    def describe_conditional_sub_entities(self) -> list[tuple[str, Iterable[LaunchDescriptionEntity]]]:
        """List what the timer yields if it is not cancelled."""
        return [(f"{self.__period} seconds pass without being canceled", self.__actions)]

    def handle(self, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        """Return the actions, with the locals of the timer's own visit."""
        context.extend_locals(self.__locals)
        return self.__actions

    def cancel(self) -> None:
        """Cancel the timer; without effect once it has fired. Not to be called from another thread."""
        self.__canceled = True
        if self.__handle is not None:
            self.__handle.cancel()
        self.__complete()

    def __complete(self) -> None:
        if self.__completed is not None and not self.__completed.done():
            self.__completed.set_result(None)

    def execute(self, context: LaunchContext) -> None:
        """Begin to wait."""
        loop = context._running_loop()
        self.__completed = loop.create_future()
        if self.__canceled:
            self.__complete()
            return
        period = perform_typed_substitution(context, self.__period, float)
        self.__locals = context.get_locals_as_dict()
        self.__register_handlers(context)
        self.__handle = loop.call_later(period, self.__fire, context)

    def __fire(self, context: LaunchContext) -> None:
        context.emit_event_sync(TimerEvent(timer_action=self))
        self.__complete()

    def __register_handlers(self, context: LaunchContext) -> None:
        if not any(isinstance(handler, _OnTimer) for handler in context._event_handlers):
            context.register_event_handler(_OnTimer())
        if perform_typed_substitution(context, self.__cancel_on_shutdown, bool):
            context.register_event_handler(OnShutdown(on_shutdown=lambda event, context: self.cancel()))

    def get_asyncio_future(self) -> asyncio.Future[None] | None:
        """Return the future that is done when the timer has fired or was cancelled."""
        return self.__completed
