"""The value of a local of the context."""

from __future__ import annotations

from ..launch_context import LaunchContext
from ..substitution import Substitution
from ..utilities import ensure_argument_type


class LocalSubstitution(Substitution):
    """Stands for an expression on ``context.locals``, such as ``event.returncode``."""

    def __init__(self, expression: str, description: str | None = None) -> None:
        """Evaluate ``context.locals.<expression>``; `description` is for describe() only."""
        ensure_argument_type(expression, str, "expression", "LocalSubstitution")
        self.__expression = expression
        self.__description = description

    @property
    def expression(self) -> str:
        """The expression."""
        return self.__expression

    @property
    def description(self) -> str | None:
        """The expression in words."""
        return self.__description

    def describe(self) -> str:
        """Describe the substitution."""
        return f"LocalVar('{self.expression if self.description is None else self.description}')"

    def perform(self, context: LaunchContext) -> str:
        """Evaluate the expression."""
        value: str = eval(f"context.locals.{self.expression}", {"context": context})
        return value
