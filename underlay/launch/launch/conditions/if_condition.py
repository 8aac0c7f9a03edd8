"""Conditions on the text of an expression."""

from __future__ import annotations

from ..condition import Condition
from ..launch_context import LaunchContext
from ..some_substitutions_type import SomeSubstitutionsType
from ..utilities import normalize_to_list_of_substitutions
from .evaluate_condition_expression import evaluate_condition_expression


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
