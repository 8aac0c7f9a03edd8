"""A description of what is to be launched."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from . import logging
from .action import Action
from .actions.declare_launch_argument import DeclareLaunchArgument
from .launch_context import LaunchContext
from .launch_description_entity import LaunchDescriptionEntity

if TYPE_CHECKING:
    from .actions.include_launch_description import IncludeLaunchDescription

    DeclaredArgument = tuple[DeclareLaunchArgument, list[IncludeLaunchDescription] | None]


class LaunchDescription(LaunchDescriptionEntity):
    """An ordered collection of entities, and what can be known of them before the launch."""

    def __init__(
        self,
        initial_entities: Iterable[LaunchDescriptionEntity] | None = None,
        *,
        deprecated_reason: str | None = None,
    ) -> None:
        """Hold the given entities; `deprecated_reason` is logged as a warning when the description is visited."""
        self.__entities = [] if initial_entities is None else list(initial_entities)
        self.__deprecated_reason = deprecated_reason

    def visit(self, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        """Return the entities."""
        if self.__deprecated_reason is not None:
            path = context.get_locals_as_dict().get("current_launch_file_path")
            prefix = "deprecated launch description" if path is None else f"launch file [{path}] is deprecated"
            logging.get_logger("launch").warning(f"{prefix}: {self.__deprecated_reason}")
        return self.__entities

    def describe_sub_entities(self) -> list[LaunchDescriptionEntity]:
        """Return the entities."""
        return self.__entities

    def get_launch_arguments(self, conditional_inclusion: bool = False) -> list[DeclareLaunchArgument]:
        """List the arguments that can be found without launching, the first declaration of each."""
        found = self.get_launch_arguments_with_include_launch_description_actions(conditional_inclusion)
        return [argument for argument, _ in found]

    def get_launch_arguments_with_include_launch_description_actions(
        self, conditional_inclusion: bool = False
    ) -> list[DeclaredArgument]:
        """List the arguments as get_launch_arguments() does, each with the inclusions that lead to it (or None)."""
        found: dict[str, DeclaredArgument] = {}
        _collect(self.entities, found, conditional=conditional_inclusion, includes=None)
        return list(found.values())

    @property
    def entities(self) -> list[LaunchDescriptionEntity]:
        """The entities."""
        return self.__entities

    def add_entity(self, entity: LaunchDescriptionEntity) -> None:
        """Append an entity."""
        self.__entities.append(entity)

    def add_action(self, action: Action) -> None:
        """Append an action."""
        self.add_entity(action)

    @property
    def deprecated(self) -> bool:
        """Whether the description is marked as deprecated."""
        return self.__deprecated_reason is not None

    @property
    def deprecated_reason(self) -> str | None:
        """Why the description is deprecated, None if it is not."""
        return self.__deprecated_reason


def _collect(
    entities: Iterable[LaunchDescriptionEntity],
    found: dict[str, DeclaredArgument],
    *,
    conditional: bool,
    includes: list[IncludeLaunchDescription] | None,
) -> None:
    from .actions.include_launch_description import IncludeLaunchDescription
    from .actions.reset_launch_configurations import ResetLaunchConfigurations

    for entity in entities:
        if isinstance(entity, ResetLaunchConfigurations):
            return  # what is declared after this cannot be set from outside
        if isinstance(entity, DeclareLaunchArgument) and entity.name not in found:
            entity._conditionally_included = conditional or entity.condition is not None
            found[entity.name] = (entity, includes)
        inner = [*(includes or []), entity] if isinstance(entity, IncludeLaunchDescription) else includes
        _collect(entity.describe_sub_entities(), found, conditional=conditional, includes=inner)
        for _, sub_entities in entity.describe_conditional_sub_entities():
            _collect(sub_entities, found, conditional=True, includes=inner)
