"""Declaring a launch argument."""

from __future__ import annotations

from typing import Any

from ..action import Action
from ..launch_context import LaunchContext
from ..logging import get_logger
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions


class DeclareLaunchArgument(Action):
    """Makes sure that a launch configuration is set: from outside, or from a default."""

    def __init__(
        self,
        name: str,
        *,
        default_value: SomeSubstitutionsType | None = None,
        description: str | None = None,
        choices: list[str] | None = None,
        **kwargs: Any,
    ) -> None:
        """Declare argument `name`: required if there is no `default_value`, one of `choices` if those are given."""
        super().__init__(**kwargs)
        if choices is not None and not choices:
            raise RuntimeError(f'Launch argument "{name}" has an empty list of choices: use None to allow any value.')
        if choices is not None and isinstance(default_value, str) and default_value not in choices:
            raise RuntimeError(f'Provided default_value "{default_value}" is not in provided choices "{choices}".')
        self.__name = name
        self.__default = None if default_value is None else normalize_to_list_of_substitutions(default_value)
        self.__description = _description(description, choices)
        self.__choices = choices
        # Set when a launch description is searched for its arguments: whether a condition is in between.
        self._conditionally_included = False

    @property
    def name(self) -> str:
        """The name of the argument, and of the launch configuration."""
        return self.__name

    @property
    def default_value(self) -> list[Substitution] | None:
        """The default, None for a required argument."""
        return self.__default

    @property
    def description(self) -> str:
        """What the argument is for, and its choices."""
        return self.__description

    @property
    def choices(self) -> list[str] | None:
        """The values that are allowed, None for any."""
        return self.__choices

    def execute(self, context: LaunchContext) -> None:
        """Set the default if nothing is set, and check the value."""
        configurations = context.launch_configurations
        if self.name not in configurations:
            if self.__default is None:
                get_logger("launch").error(
                    f'Required launch argument "{self.name}" (description: "{self.description}") was not provided'
                )
                raise RuntimeError(f'Required launch argument "{self.name}" was not provided.')
            configurations[self.name] = perform_substitutions(context, self.__default)
        value = configurations[self.name]
        if self.__choices is not None and value not in self.__choices:
            raise RuntimeError(
                f'Argument "{self.name}" provided value "{value}" is not valid. Valid options are: {self.__choices}'
            )


def _description(description: str | None, choices: list[str] | None) -> str:
    if choices is None:
        return "no description given" if description is None else description
    if description is None:
        return f"One of: {choices}"
    return f"{description.rstrip('.')}. Valid choices are: {choices}"
