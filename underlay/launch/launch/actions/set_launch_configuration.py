"""Setting and unsetting launch configurations."""

from __future__ import annotations

from typing import Any

from ..action import Action
from ..launch_context import LaunchContext
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions


class SetLaunchConfiguration(Action):
    """Sets a launch configuration in the current scope."""

    def __init__(self, name: SomeSubstitutionsType, value: SomeSubstitutionsType, **kwargs: Any) -> None:
        """Set configuration `name` to `value`."""
        super().__init__(**kwargs)
        self.__name = normalize_to_list_of_substitutions(name)
        self.__value = normalize_to_list_of_substitutions(value)

    @property
    def name(self) -> list[Substitution]:
        """The name of the configuration."""
        return self.__name

    @property
    def value(self) -> list[Substitution]:
        """The value."""
        return self.__value

    def execute(self, context: LaunchContext) -> None:
        """Set it."""
        name = perform_substitutions(context, self.name)
        context.launch_configurations[name] = perform_substitutions(context, self.value)


class UnsetLaunchConfiguration(Action):
    """Removes a launch configuration from the current scope, if it is set."""

    def __init__(self, name: SomeSubstitutionsType, **kwargs: Any) -> None:
        """Remove configuration `name`."""
        super().__init__(**kwargs)
        self.__name = normalize_to_list_of_substitutions(name)

    @property
    def name(self) -> list[Substitution]:
        """The name of the configuration."""
        return self.__name

    def execute(self, context: LaunchContext) -> None:
        """Remove it."""
        context.launch_configurations.pop(perform_substitutions(context, self.name), None)
