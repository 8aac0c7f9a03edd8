"""The base of all actions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .condition import Condition
from .launch_description_entity import LaunchDescriptionEntity

if TYPE_CHECKING:
    from .launch_context import LaunchContext


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
        """Execute the action if its condition is met, and announce the completion to who listens."""
        if self.condition is not None and not self.condition.evaluate(context):
            return None
        try:
            return self.execute(context)
        finally:
            self.__announce_completion(context)

    def __announce_completion(self, context: LaunchContext) -> None:
        from .events.execution_complete import ExecutionComplete

        event = ExecutionComplete(action=self)
        if not context.would_handle_event(event):
            return
        future = self.get_asyncio_future()
        if future is None:
            context.emit_event_sync(event)
        else:
            future.add_done_callback(lambda _: context.emit_event_sync(event))

    def execute(self, context: LaunchContext) -> Sequence[LaunchDescriptionEntity] | None:
        """Do what the action is for; return entities to visit next."""
        return None
