"""The base of the handlers for events that are about an action."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..action import Action
from ..event import Event
from ..event_handler import BaseEventHandler
from ..launch_context import LaunchContext
from ..launch_description_entity import LaunchDescriptionEntity
from ..some_entities_type import SomeEntitiesType

Reaction = SomeEntitiesType | Callable[..., SomeEntitiesType | None]


def fixed_entities(reaction: Any, name: str) -> list[LaunchDescriptionEntity] | None:
    """Return the entities that a reaction consists of, None if it is a callable."""
    if callable(reaction):
        return None
    entities = list(reaction) if isinstance(reaction, Iterable) else [reaction]
    for entity in entities:
        if not isinstance(entity, LaunchDescriptionEntity):
            raise TypeError(f"expected '{name}' to hold entities of a launch description, but got {type(entity)}")
    return entities


class OnActionEventBase(BaseEventHandler):
    """Reacts to one type of event, of any action or of those that a target or a matcher selects."""

    def __init__(
        self,
        *,
        action_matcher: Callable[[Any], bool] | Action | None,
        on_event: Reaction,
        target_event_cls: type[Event],
        target_action_cls: type[Action],
        **kwargs: Any,
    ) -> None:
        """Visit `on_event`, or what it returns for the event and the context."""
        if not issubclass(target_event_cls, Event):
            raise TypeError("'target_event_cls' must be a subclass of 'Event'")
        if action_matcher is not None and not isinstance(action_matcher, target_action_cls):
            if not callable(action_matcher):
                raise TypeError(f"action_matcher must be an '{target_action_cls.__name__}' instance or a callable")
            self.__selects: Callable[[Any], bool] = action_matcher
        else:
            self.__selects = lambda action: action_matcher is None or action is action_matcher
        self.__event_cls = target_event_cls
        self.__on_event = on_event
        self.__entities = fixed_entities(on_event, "on_event")
        super().__init__(matcher=self.__wants, **kwargs)

    def __wants(self, event: Any) -> bool:
        return issubclass(type(event), self.__event_cls) and bool(self.__selects(event.action))

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        """Return the entities with which to react."""
        super().handle(event, context)
        if self.__entities is not None:
            return self.__entities
        assert callable(self.__on_event)
        return self.__on_event(event, context)

    def describe(self) -> tuple[str, list[LaunchDescriptionEntity]]:
        """Describe the handler and the entities that are known beforehand."""
        text, entities = super().describe()
        return text, [*entities, *(self.__entities or [])]

    @property
    def handler_description(self) -> str:
        """What the handler does, in words."""
        return f"{self.__on_event}" if self.__entities is None else "<actions>"

    @property
    def matcher_description(self) -> str:
        """Which events the handler wants, in words."""
        return f"event is a {self.__event_cls.__name__} of a selected action"
