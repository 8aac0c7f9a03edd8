"""Including other launch descriptions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from ..action import Action
from ..launch_context import LaunchContext
from ..launch_description import LaunchDescription
from ..launch_description_entity import LaunchDescriptionEntity
from ..launch_description_source import LaunchDescriptionSource
from ..launch_description_sources.any_launch_description_source import AnyLaunchDescriptionSource
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitutions import SubstitutionFailure
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from .set_launch_configuration import SetLaunchConfiguration


class IncludeLaunchDescription(Action):
    """Yields the launch description of a source, after setting its arguments.

    Arguments that the description does not declare are set all the same, as launch configurations. All of them stay
    set after the inclusion; a GroupAction around it gives them a scope.
    """

    def __init__(
        self,
        launch_description_source: LaunchDescriptionSource | SomeSubstitutionsType,
        *,
        launch_arguments: Iterable[tuple[SomeSubstitutionsType, SomeSubstitutionsType]] | None = None,
        **kwargs: Any,
    ) -> None:
        """Include a source, or the launch file at a path, with pairs of names and values as `launch_arguments`."""
        super().__init__(**kwargs)
        if not isinstance(launch_description_source, LaunchDescriptionSource):
            launch_description_source = AnyLaunchDescriptionSource(launch_description_source)
        if isinstance(launch_arguments, Mapping):
            raise TypeError("expected 'launch_arguments' to be pairs of names and values: use .items() of a dictionary")
        self.__source = launch_description_source
        self.__arguments = tuple((name, value) for name, value in launch_arguments or ())

    @property
    def launch_description_source(self) -> LaunchDescriptionSource:
        """Where the launch description comes from."""
        return self.__source

    @property
    def launch_arguments(self) -> tuple[tuple[SomeSubstitutionsType, SomeSubstitutionsType], ...]:
        """The arguments that are set."""
        return self.__arguments

    def get_sub_entities(self) -> list[LaunchDescriptionEntity]:
        """Return the launch description, if it can be had before the launch."""
        description = self.__source.try_get_launch_description_without_context()
        return [] if description is None else [description]

    def _argument_names(self, context: LaunchContext) -> list[str]:
        return [
            perform_substitutions(context, normalize_to_list_of_substitutions(name)) for name, _ in self.__arguments
        ]

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        """Load the launch description, check its arguments, and return it after the actions that set them."""
        description = self.__source.get_launch_description(context)
        path = os.path.abspath(self.__source.location)
        # A description from a script has no file: its location is passed along as it is.
        directory = os.path.dirname(path) if os.path.exists(path) else self.__source.location
        context.extend_locals({"current_launch_file_path": path, "current_launch_file_directory": directory})
        self.__check_required(context, description)
        return [*(SetLaunchConfiguration(name, value) for name, value in self.__arguments), description]

    def __check_required(self, context: LaunchContext, description: LaunchDescription) -> None:
        given = self._argument_names(context)
        for argument, includes in description.get_launch_arguments_with_include_launch_description_actions():
            if argument._conditionally_included or argument.default_value is not None:
                continue
            known = [*given, *(name for include in includes or () for name in _names_beforehand(include))]
            if argument.name not in known:
                raise RuntimeError(
                    f"Included launch description missing required argument '{argument.name}' "
                    f"(description: '{argument.description}'), given: [{', '.join(known)}]"
                )


def _names_beforehand(include: IncludeLaunchDescription) -> list[str]:
    try:
        return include._argument_names(LaunchContext())
    except SubstitutionFailure:  # a name that only the launch will know; what is missing then, is reported then
        return []
