"""The bases of what a launch description holds: entities, actions, substitutions, conditions, events, handlers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from .launch_context import LaunchContext


class LaunchDescriptionEntity:
    """Something that can be visited; what the visit returns is visited next."""

    def describe(self) -> str:
        """Describe the entity in one line."""
        return repr(self)

    def describe_sub_entities(self) -> list[LaunchDescriptionEntity]:
        """List the entities that a visit will certainly yield."""
        return []

    def describe_conditional_sub_entities(self) -> list[tuple[str, Iterable[LaunchDescriptionEntity]]]:
        """List the entities that a visit may yield, each group with the text of its condition."""
        return []

    def visit(self, context: LaunchContext) -> Sequence[LaunchDescriptionEntity] | None:
        """Act, without blocking, and return the entities to visit next."""
        return None

    def get_asyncio_future(self) -> asyncio.Future[None] | None:
        """Return the future that is done when the work begun by the visit is over, or None."""
        return None


class Substitution:
    """A text that is known only once the launch description is visited."""

    def describe(self) -> str:
        """Describe the substitution without performing it."""
        return repr(self)

    def perform(self, context: LaunchContext) -> str:
        """Return the text that stands for this substitution in the given context."""
        raise NotImplementedError(f"{type(self).__name__} does not override Substitution.perform()")


SomeEntitiesType: TypeAlias = LaunchDescriptionEntity | Iterable[LaunchDescriptionEntity]
SomeSubstitutionsType: TypeAlias = str | Substitution | Iterable[str | Substitution]


class Condition:
    """Decides at visiting time whether an action is executed."""

    def __init__(self, *, predicate: Callable[[LaunchContext], bool] | None = None) -> None:
        """Ask `predicate`; without one the condition is never met."""
        self._predicate = predicate

    def describe(self) -> str:
        """Describe the condition."""
        return repr(self)

    def evaluate(self, context: LaunchContext) -> bool:
        """Report whether the condition is met in the given context."""
        return self._predicate is not None and self._predicate(context)


class Action(LaunchDescriptionEntity):
    """An entity that does something when it is visited, if its condition allows."""

    def __init__(self, *, condition: Condition | None = None) -> None:
        """Execute only where `condition` is met, always if it is None."""
        self.__condition = condition

    @property
    def condition(self) -> Condition | None:
        """The condition, if any."""
        return self.__condition

    def get_sub_entities(self) -> list[LaunchDescriptionEntity]:
        """List the entities that the execution will yield, as far as known beforehand."""
        return []

    def describe_sub_entities(self) -> list[LaunchDescriptionEntity]:
        """List the sub-entities of an unconditional action."""
        return self.get_sub_entities() if self.condition is None else []

    def describe_conditional_sub_entities(self) -> list[tuple[str, Iterable[LaunchDescriptionEntity]]]:
        """List the sub-entities of a conditional action."""
        if self.condition is None:
            return []
        return [(f"Conditionally included by {self.describe()}", self.get_sub_entities())]

    def visit(self, context: LaunchContext) -> Sequence[LaunchDescriptionEntity] | None:
        """Execute the action if its condition is met."""
        if self.condition is not None and not self.condition.evaluate(context):
            return None
        return self.execute(context)

    def execute(self, context: LaunchContext) -> Sequence[LaunchDescriptionEntity] | None:
        """Do what the action is for; return entities to visit next."""
        return None


class Event:
    """Something that happened in the launched system, or that shall happen."""


class BaseEventHandler:
    """Decides which events it handles, and handles those."""

    def __init__(self, *, matcher: Callable[[Any], bool]) -> None:
        """Handle events for which `matcher` is true."""
        self.__matcher = matcher

    def matches(self, event: Event) -> bool:
        """Report whether this handler handles the event."""
        return self.__matcher(event)

    def describe(self) -> tuple[str, list[LaunchDescriptionEntity]]:
        """Describe the handler and list the entities that it is known to yield."""
        return repr(self), []

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        """Make the event known as ``context.locals.event``; subclasses return entities to visit."""
        context.extend_locals({"event": event})
        return None


def as_list(some: Any) -> list[Any]:
    """Return one, several or no things as a list."""
    if some is None:
        return []
    return list(some) if isinstance(some, Iterable) else [some]
