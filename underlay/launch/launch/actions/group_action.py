"""Grouping actions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..action import Action
from ..launch_context import LaunchContext
from ..launch_description_entity import LaunchDescriptionEntity
from .reset_launch_configurations import ResetLaunchConfigurations
from .scopes import PopEnvironment, PopLaunchConfigurations, PushEnvironment, PushLaunchConfigurations, ResetEnvironment
from .set_launch_configuration import SetLaunchConfiguration


class GroupAction(Action):
    """Yields actions, in a scope of their own unless told otherwise.

    What actions in a scope do to launch configurations and to the environment ends with the group.
    """

    def __init__(
        self,
        actions: Iterable[LaunchDescriptionEntity],
        *,
        scoped: bool = True,
        forwarding: bool = True,
        launch_configurations: Mapping[Any, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Yield `actions` with `launch_configurations` set; if not `forwarding`, a scope inherits nothing."""
        super().__init__(**kwargs)
        self.__actions = list(actions)
        self.__scoped = scoped
        self.__forwarding = forwarding
        self.__configurations = dict(launch_configurations or {})
        self.__sub_entities: list[LaunchDescriptionEntity] | None = None

    def get_sub_entities(self) -> list[LaunchDescriptionEntity]:
        """List the actions together with those that begin and end the scope."""
        if self.__sub_entities is None:
            self.__sub_entities = self.__wrapped([*self.__preparation(), *self.__actions])
        return self.__sub_entities

    def __preparation(self) -> list[LaunchDescriptionEntity]:
        if self.__scoped and not self.__forwarding:
            return [ResetEnvironment(), ResetLaunchConfigurations(self.__configurations)]
        return [SetLaunchConfiguration(name, value) for name, value in self.__configurations.items()]

    def __wrapped(self, entities: list[LaunchDescriptionEntity]) -> list[LaunchDescriptionEntity]:
        if not self.__scoped:
            return entities
        begin: list[LaunchDescriptionEntity] = [PushLaunchConfigurations(), PushEnvironment()]
        return [*begin, *entities, PopEnvironment(), PopLaunchConfigurations()]

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        """Return the sub-entities."""
        return self.get_sub_entities()
