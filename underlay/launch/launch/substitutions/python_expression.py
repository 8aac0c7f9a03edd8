"""The value of a Python expression."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

from ..launch_context import LaunchContext
from ..some_substitutions_type import SomeSubstitutionsType, SomeSubstitutionsType_types_tuple
from ..substitution import Substitution
from ..utilities import ensure_argument_type, normalize_to_list_of_substitutions, perform_substitutions
from ._describe import described


class PythonExpression(Substitution):
    """Stands for ``str()`` of an expression's value; the expression may use the names of module math."""

    def __init__(
        self, expression: SomeSubstitutionsType, python_modules: str | Substitution | Iterable[Any] = ("math",)
    ) -> None:
        """Evaluate `expression` with `python_modules` imported."""
        ensure_argument_type(expression, SomeSubstitutionsType_types_tuple, "expression", "PythonExpression")
        ensure_argument_type(python_modules, SomeSubstitutionsType_types_tuple, "python_modules", "PythonExpression")
        self.__expression = normalize_to_list_of_substitutions(expression)
        self.__python_modules = normalize_to_list_of_substitutions(python_modules)

    @property
    def expression(self) -> list[Substitution]:
        """The expression."""
        return self.__expression

    @property
    def python_modules(self) -> list[Substitution]:
        """The names of the modules that the expression may use."""
        return self.__python_modules

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
