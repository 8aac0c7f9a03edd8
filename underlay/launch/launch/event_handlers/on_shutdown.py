"""Reacting to the shutdown of the launched system."""

from __future__ import annotations

from typing import Any

from ..event import Event
from ..event_handler import BaseEventHandler
from ..events import Shutdown
from ..launch_context import LaunchContext
from ..some_entities_type import SomeEntitiesType
from .on_action_event_base import Reaction, fixed_entities


class OnShutdown(BaseEventHandler):
    """Reacts when the launched system begins to shut down."""

    def __init__(self, *, on_shutdown: Reaction, **kwargs: Any) -> None:
        """Visit `on_shutdown`, or what it returns for the event and the context."""
        self.__on_shutdown = on_shutdown
        self.__entities = fixed_entities(on_shutdown, "on_shutdown")
        super().__init__(matcher=lambda event: isinstance(event, Shutdown), **kwargs)

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        """Return the entities with which to react."""
        super().handle(event, context)
        if self.__entities is not None:
            return self.__entities
        assert callable(self.__on_shutdown)
        return self.__on_shutdown(event, context)

    @property
    def handler_description(self) -> str:
        """What the handler does, in words."""
        return f"{self.__on_shutdown}"

    @property
    def matcher_description(self) -> str:
        """Which events the handler wants, in words."""
        return "event is a Shutdown"
