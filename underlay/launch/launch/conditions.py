"""Conditions: they decide at visiting time whether an action is executed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ._coverage import refusal
from ._entities import Condition, SomeSubstitutionsType, Substitution
from .substitutions import described
from .utilities import normalize_to_list_of_substitutions, perform_substitutions

if TYPE_CHECKING:
    from .launch_context import LaunchContext
else:
    __getattr__ = refusal(__name__, "LaunchConfigurationEquals LaunchConfigurationNotEquals")

__all__ = ["IfCondition", "InvalidConditionExpressionError", "UnlessCondition", "evaluate_condition_expression"]

_VALUES = {"true": True, "1": True, "false": False, "0": False}


class InvalidConditionExpressionError(ValueError):
    """The text of a condition that is neither true nor false."""

    def __init__(self, expression: str, unexpanded_expression: Sequence[Substitution]) -> None:
        """Name the text, the substitutions that it comes from, and what would be valid."""
        super().__init__(
            f"invalid condition expression, expected one of [{', '.join(_VALUES)}] "
            f"but got '{expression}', expanded from '{described(unexpanded_expression)}'"
        )


def evaluate_condition_expression(context: LaunchContext, expression: Sequence[Substitution]) -> bool:
    """Evaluate true, 1, false or 0, in any case and with blanks around; anything else is an error."""
    text = perform_substitutions(context, expression).strip().lower()
    if text not in _VALUES:
        raise InvalidConditionExpressionError(text, expression)
    return _VALUES[text]


class IfCondition(Condition):
    """Is met if an expression is true."""

    def __init__(self, predicate_expression: SomeSubstitutionsType) -> None:
        """Evaluate `predicate_expression` at visiting time."""
        self.__expression = normalize_to_list_of_substitutions(predicate_expression)
        super().__init__(predicate=self._predicate_func)

    def _predicate_func(self, context: LaunchContext) -> bool:
        return evaluate_condition_expression(context, self.__expression)


class UnlessCondition(IfCondition):
    """Is met if an expression is false."""

    def _predicate_func(self, context: LaunchContext) -> bool:
        return not super()._predicate_func(context)
