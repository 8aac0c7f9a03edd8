"""Conditions on the value of a launch configuration."""

from __future__ import annotations

import warnings

from ..condition import Condition
from ..launch_context import LaunchContext
from ..some_substitutions_type import SomeSubstitutionsType
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions


class LaunchConfigurationEquals(Condition):
    """Is met if a launch configuration has a given value; None stands for one that is not set."""

    def __init__(self, launch_configuration_name: str, expected_value: SomeSubstitutionsType | None) -> None:
        """Compare the configuration of that name with `expected_value`."""
        warnings.warn(
            f"{type(self).__name__} is deprecated: use IfCondition with EqualsSubstitution or NotEqualsSubstitution",
            UserWarning,
            stacklevel=2,
        )
        self.__name = launch_configuration_name
        self.__expected = None if expected_value is None else normalize_to_list_of_substitutions(expected_value)
        super().__init__(predicate=self._predicate_func)

    def _predicate_func(self, context: LaunchContext) -> bool:
        expected = None if self.__expected is None else perform_substitutions(context, self.__expected)
        value = context.launch_configurations.get(self.__name)
        return bool(value == expected)


class LaunchConfigurationNotEquals(LaunchConfigurationEquals):
    """Is met if a launch configuration has another value than a given one."""

    def _predicate_func(self, context: LaunchContext) -> bool:
        return not super()._predicate_func(context)
