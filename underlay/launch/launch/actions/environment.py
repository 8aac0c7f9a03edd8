"""Changing environment variables."""

from __future__ import annotations

import os
from typing import Any

from ..action import Action
from ..launch_context import LaunchContext
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from ..utilities.type_utils import normalize_typed_substitution, perform_typed_substitution


class UnsetEnvironmentVariable(Action):
    """Removes an environment variable from the current scope, if it is set."""

    def __init__(self, name: SomeSubstitutionsType, **kwargs: Any) -> None:
        """Remove variable `name`."""
        super().__init__(**kwargs)
        self.__name = normalize_to_list_of_substitutions(name)

    @property
    def name(self) -> list[Substitution]:
        """The name of the variable."""
        return self.__name

    def execute(self, context: LaunchContext) -> None:
        """Remove it."""
        context.environment.pop(perform_substitutions(context, self.name), None)


class SetEnvironmentVariable(Action):
    """Sets an environment variable in the current scope."""

    def __init__(self, name: SomeSubstitutionsType, value: SomeSubstitutionsType, **kwargs: Any) -> None:
        """Set variable `name` to `value`."""
        super().__init__(**kwargs)
        self.__name = normalize_to_list_of_substitutions(name)
        self.__value = normalize_to_list_of_substitutions(value)

    @property
    def name(self) -> list[Substitution]:
        """The name of the variable."""
        return self.__name

    @property
    def value(self) -> list[Substitution]:
        """The value."""
        return self.__value

    def execute(self, context: LaunchContext) -> None:
        """Set it."""
        context.environment[perform_substitutions(context, self.name)] = perform_substitutions(context, self.value)


class AppendEnvironmentVariable(SetEnvironmentVariable):
    """Adds to an environment variable that is a list, such as PATH; sets it if there is none."""

    def __init__(
        self,
        name: SomeSubstitutionsType,
        value: SomeSubstitutionsType,
        prepend: bool | SomeSubstitutionsType = False,
        separator: SomeSubstitutionsType = os.pathsep,
        **kwargs: Any,
    ) -> None:
        """Add `value` at the end of variable `name`, or at its beginning if `prepend`."""
        super().__init__(name, value, **kwargs)
        self.__prepend = normalize_typed_substitution(prepend, bool)
        self.__separator = normalize_to_list_of_substitutions(separator)

    @property
    def prepend(self) -> Any:
        """Whether to add at the beginning."""
        return self.__prepend

    @property
    def separator(self) -> list[Substitution]:
        """What stands between the parts."""
        return self.__separator

    def execute(self, context: LaunchContext) -> None:
        """Add to the variable."""
        name = perform_substitutions(context, self.name)
        parts = [context.environment[name]] if name in context.environment else []
        position = 0 if perform_typed_substitution(context, self.__prepend, bool) else len(parts)
        parts.insert(position, perform_substitutions(context, self.value))
        context.environment[name] = perform_substitutions(context, self.__separator).join(parts)
