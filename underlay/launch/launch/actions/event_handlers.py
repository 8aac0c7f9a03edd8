"""Registering and unregistering event handlers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..action import Action
from ..event_handler import BaseEventHandler
from ..launch_context import LaunchContext
from ..launch_description_entity import LaunchDescriptionEntity


class _EventHandlerAction(Action):
    def __init__(self, event_handler: BaseEventHandler, **kwargs: Any) -> None:
        """Be about `event_handler`."""
        super().__init__(**kwargs)
        self.__event_handler = event_handler

    @property
    def event_handler(self) -> BaseEventHandler:
        """The event handler."""
        return self.__event_handler


class RegisterEventHandler(_EventHandlerAction):
    """Registers an event handler."""

    def execute(self, context: LaunchContext) -> None:
        """Register it."""
        context.register_event_handler(self.event_handler)

    def describe_conditional_sub_entities(self) -> list[tuple[str, Iterable[LaunchDescriptionEntity]]]:
        """List the entities that the handler may yield."""
        text, entities = self.event_handler.describe()
        return [(text, entities)] if entities else []


class UnregisterEventHandler(_EventHandlerAction):
    """Unregisters an event handler."""

    def execute(self, context: LaunchContext) -> None:
        """Unregister it."""
        context.unregister_event_handler(self.event_handler)
