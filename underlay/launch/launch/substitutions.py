"""Substitutions: texts that are known only once the launch description is visited."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ._coverage import refusal
from ._entities import SomeSubstitutionsType, Substitution
from .utilities import normalize_to_list_of_substitutions, perform_substitutions

if TYPE_CHECKING:
    from .launch_context import LaunchContext
else:
    __getattr__ = refusal(
        __name__,
        "AllSubstitution AndSubstitution AnonName AnySubstitution Command EqualsSubstitution FileContent "
        "FindExecutable IfElseSubstitution LaunchLogDir LocalSubstitution NotEqualsSubstitution NotSubstitution "
        "OrSubstitution ThisLaunchFile",
    )

__all__ = [
    "EnvironmentVariable",
    "LaunchConfiguration",
    "PathJoinSubstitution",
    "PythonExpression",
    "SubstitutionFailure",
    "TextSubstitution",
    "ThisLaunchFileDir",
]


class SubstitutionFailure(RuntimeError):
    """A substitution that has no text in the present context."""


def described(substitutions: Iterable[Substitution]) -> str:
    """Describe substitutions that are joined into one text."""
    return " + ".join(substitution.describe() for substitution in substitutions)


class TextSubstitution(Substitution):
    """Stands for the text given."""

    def __init__(self, *, text: str) -> None:
        """Stand for `text`."""
        if not isinstance(text, str):
            raise TypeError(f"TextSubstitution expected 'text' to be a str, but got '{text}' of type '{type(text)}'")
        self.text = text

    def describe(self) -> str:
        """Describe the substitution."""
        return f"'{self.text}'"

    def perform(self, context: LaunchContext) -> str:
        """Return the text."""
        return self.text


class LaunchConfiguration(Substitution):
    """Stands for a launch configuration, such as the value of a launch argument."""

    def __init__(self, variable_name: SomeSubstitutionsType, *, default: Any = None) -> None:
        """Stand for the configuration of that name, or for `default` if it is not set."""
        self.variable_name = normalize_to_list_of_substitutions(variable_name)
        items = default if isinstance(default, Iterable) and not isinstance(default, str) else [default]
        texts = [item if isinstance(item, (str, Substitution)) else str(item) for item in items]
        self.__default = None if default is None else normalize_to_list_of_substitutions(texts)

    def describe(self) -> str:
        """Describe the substitution."""
        return f"LaunchConfig({described(self.variable_name)})"

    def perform(self, context: LaunchContext) -> str:
        """Look the configuration up."""
        name = perform_substitutions(context, self.variable_name)
        if name in context.launch_configurations:
            return str(context.launch_configurations[name])
        if self.__default is None:
            raise SubstitutionFailure(f"launch configuration '{name}' does not exist")
        return perform_substitutions(context, self.__default)


class EnvironmentVariable(Substitution):
    """Stands for an environment variable at the time of the visit."""

    def __init__(self, name: SomeSubstitutionsType, *, default_value: SomeSubstitutionsType | None = None) -> None:
        """Stand for the variable of that name, or for `default_value` if it is not set."""
        self.name = normalize_to_list_of_substitutions(name)
        self.default_value = None if default_value is None else normalize_to_list_of_substitutions(default_value)

    def describe(self) -> str:
        """Describe the substitution."""
        return f"EnvVar({described(self.name)})"

    def perform(self, context: LaunchContext) -> str:
        """Look the variable up."""
        name = perform_substitutions(context, self.name)
        value = context.environment.get(name)
        if value is not None:
            return value
        if self.default_value is None:
            raise SubstitutionFailure(f"environment variable '{name}' does not exist")
        return perform_substitutions(context, self.default_value)


class PathJoinSubstitution(Substitution):
    """Joins its parts as ``os.path.join`` does."""

    def __init__(self, substitutions: Iterable[str | Substitution]) -> None:
        """Join `substitutions`, each of which is one part."""
        self.substitutions = normalize_to_list_of_substitutions(substitutions)

    def describe(self) -> str:
        """Describe the substitution."""
        return f"PathJoin('{described(self.substitutions)}')"

    def perform(self, context: LaunchContext) -> str:
        """Join the parts."""
        return os.path.join(*[context.perform_substitution(part) for part in self.substitutions])


class PythonExpression(Substitution):
    """Stands for ``str()`` of an expression's value; the expression may use the names of module math."""

    def __init__(
        self, expression: SomeSubstitutionsType, python_modules: str | Substitution | Iterable[Any] = ("math",)
    ) -> None:
        """Evaluate `expression` with `python_modules` imported."""
        self.expression = normalize_to_list_of_substitutions(expression)
        self.python_modules = normalize_to_list_of_substitutions(python_modules)

    def describe(self) -> str:
        """Describe the substitution."""
        modules = ", ".join(module.describe() for module in self.python_modules)
        return f"PythonExpr({described(self.expression)}, [{modules}])"

    def perform(self, context: LaunchContext) -> str:
        """Evaluate the expression."""
        names: dict[str, Any] = {}
        for module in self.python_modules:
            name = context.perform_substitution(module)
            names[name] = importlib.import_module(name)
            if name == "math":  # its names are also available without the prefix
                names.update(vars(names[name]))
        return str(eval(perform_substitutions(context, self.expression), {}, names))


class ThisLaunchFileDir(Substitution):
    """Stands for the absolute path of the folder of the current launch file."""

    def describe(self) -> str:
        """Describe the substitution."""
        return "ThisLaunchFileDir()"

    def perform(self, context: LaunchContext) -> str:
        """Return the folder that the inclusion has noted."""
        values = context.get_locals_as_dict()
        if "current_launch_file_directory" not in values:
            raise SubstitutionFailure("ThisLaunchFileDir used outside of a launch file (in a script)")
        return str(values["current_launch_file_directory"])
