"""The value of a launch configuration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..launch_context import LaunchContext
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from ._describe import described
from .substitution_failure import SubstitutionFailure


def default_substitutions(default: Any) -> list[Substitution] | None:
    """Normalize a default value: what is neither text nor a substitution goes through str()."""
    if default is None:
        return None
    items = default if isinstance(default, Iterable) and not isinstance(default, str) else [default]
    return normalize_to_list_of_substitutions(
        [item if isinstance(item, (str, Substitution)) else str(item) for item in items]
    )


class LaunchConfiguration(Substitution):
    """Stands for a launch configuration, such as the value of a launch argument."""

    def __init__(self, variable_name: SomeSubstitutionsType, *, default: Any = None) -> None:
        """Stand for the configuration of that name, or for `default` if it is not set."""
        self.__variable_name = normalize_to_list_of_substitutions(variable_name)
        self.__default = default_substitutions(default)

    @property
    def variable_name(self) -> list[Substitution]:
        """The name of the configuration."""
        return self.__variable_name

    def describe(self) -> str:
        """Describe the substitution."""
        return f"LaunchConfig({described(self.variable_name)})"

    def perform(self, context: LaunchContext) -> str:
        """Look the configuration up."""
        name = perform_substitutions(context, self.__variable_name)
        if name in context.launch_configurations:
            value: str = context.launch_configurations[name]
            return value
        if self.__default is None:
            raise SubstitutionFailure(f"launch configuration '{name}' does not exist")
        return perform_substitutions(context, self.__default)
