"""A description of what is to be launched."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ._entities import Action, LaunchDescriptionEntity
from .actions import DeclareLaunchArgument

if TYPE_CHECKING:
    from .launch_context import LaunchContext


class LaunchDescription(LaunchDescriptionEntity):
    """An ordered collection of entities, and what can be known of them before the launch."""

    def __init__(self, initial_entities: Iterable[LaunchDescriptionEntity] | None = None) -> None:
        """Hold the given entities."""
        self.entities = [] if initial_entities is None else list(initial_entities)

    def visit(self, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        """Return the entities."""
        return self.entities

    def describe_sub_entities(self) -> list[LaunchDescriptionEntity]:
        """Return the entities."""
        return self.entities

    def get_launch_arguments(self, conditional_inclusion: bool = False) -> list[DeclareLaunchArgument]:
        """List the arguments that can be found without launching, the first declaration of each."""
        arguments: dict[str, DeclareLaunchArgument] = {}
        _collect(self.entities, arguments, conditional=conditional_inclusion)
        return list(arguments.values())

    def add_entity(self, entity: LaunchDescriptionEntity) -> None:
        """Append an entity."""
        self.entities.append(entity)

    def add_action(self, action: Action) -> None:
        """Append an action."""
        self.add_entity(action)


def _collect(
    entities: Iterable[LaunchDescriptionEntity], arguments: dict[str, DeclareLaunchArgument], *, conditional: bool
) -> None:
    for entity in entities:
        if isinstance(entity, DeclareLaunchArgument) and entity.name not in arguments:
            entity._conditionally_included = conditional or entity.condition is not None
            arguments[entity.name] = entity
        _collect(entity.describe_sub_entities(), arguments, conditional=conditional)
        for _, sub_entities in entity.describe_conditional_sub_entities():
            _collect(sub_entities, arguments, conditional=True)
