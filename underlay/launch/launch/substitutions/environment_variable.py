"""The value of an environment variable."""

from __future__ import annotations

from ..launch_context import LaunchContext
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from ._describe import described
from .substitution_failure import SubstitutionFailure


class EnvironmentVariable(Substitution):
    """Stands for an environment variable at the time of the visit."""

    def __init__(self, name: SomeSubstitutionsType, *, default_value: SomeSubstitutionsType | None = None) -> None:
        """Stand for the variable of that name, or for `default_value` if it is not set."""
        self.__name = normalize_to_list_of_substitutions(name)
        self.__default = None if default_value is None else normalize_to_list_of_substitutions(default_value)

    @property
    def name(self) -> list[Substitution]:
        """The name of the variable."""
        return self.__name

    @property
    def default_value(self) -> list[Substitution] | None:
        """What stands for a variable that is not set."""
        return self.__default

    def describe(self) -> str:
        """Describe the substitution."""
        return f"EnvVar({described(self.name)})"

    def perform(self, context: LaunchContext) -> str:
        """Look the variable up."""
        name = perform_substitutions(context, self.name)
        value = context.environment.get(name)
        if value is not None:
            return value
        if self.__default is None:
            raise SubstitutionFailure(f"environment variable '{name}' does not exist")
        return perform_substitutions(context, self.__default)
