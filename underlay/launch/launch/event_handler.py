"""Event handlers: from a matching event to the entities to visit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from .event import Event
from .launch_description_entity import LaunchDescriptionEntity
from .some_entities_type import SomeEntitiesType

if TYPE_CHECKING:
    from .launch_context import LaunchContext


class BaseEventHandler:
    """Decides which events it wants, and handles those."""

    def __init__(self, *, matcher: Callable[[Any], bool], handle_once: bool = False) -> None:
        """Handle events for which `matcher` is true, only the first of them if `handle_once`."""
        self.__matcher = matcher
        self.__handle_once = handle_once

    @property
    def handle_once(self) -> bool:
        """Whether the handler unregisters itself on its first event."""
        return self.__handle_once

    @property
    def handler_description(self) -> str:
        """What the handler does, in words."""
        return ""

    @property
    def matcher_description(self) -> str:
        """Which events the handler wants, in words."""
        return ""

    def matches(self, event: Event) -> bool:
        """Tell whether this handler wants the event."""
        return self.__matcher(event)

    def describe(self) -> tuple[str, list[LaunchDescriptionEntity]]:
        """Describe the handler and list the entities that it is known to yield."""
        text = (
            f"{type(self).__name__}(matcher='{self.matcher_description}', handler='{self.handler_description}', "
            f"handle_once={self.handle_once})"
        )
        return text, []

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        """Make the event known as ``context.locals.event``; subclasses return entities to visit."""
        context.extend_locals({"event": event})
        if self.handle_once:
            context.unregister_event_handler(self)
        return None


class EventHandler(BaseEventHandler):
    """Yields fixed entities on each matching event."""

    def __init__(
        self, *, matcher: Callable[[Any], bool], entities: SomeEntitiesType | None = None, handle_once: bool = False
    ) -> None:
        """Visit `entities` when an event matches."""
        super().__init__(matcher=matcher, handle_once=handle_once)
        self.__entities = entities

    @property
    def entities(self) -> SomeEntitiesType | None:
        """The entities to visit."""
        return self.__entities

    def describe(self) -> tuple[str, list[LaunchDescriptionEntity]]:
        """Describe the handler and its entities."""
        text, entities = super().describe()
        if isinstance(self.__entities, Iterable):
            entities.extend(self.__entities)
        elif self.__entities is not None:
            entities.append(self.__entities)
        return text, entities

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        """Return the entities."""
        super().handle(event, context)
        return self.__entities
