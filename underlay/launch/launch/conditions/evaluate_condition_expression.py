"""From text to a decision."""

from __future__ import annotations

from collections.abc import Sequence

from ..launch_context import LaunchContext
from ..substitution import Substitution
from ..utilities import perform_substitutions

_TRUE = ("true", "1")
_FALSE = ("false", "0")


class InvalidConditionExpressionError(ValueError):
    """The text of a condition that is neither true nor false."""

    def __init__(
        self, expression: str, unexpanded_expression: Sequence[Substitution], valid_expressions: Sequence[str]
    ) -> None:
        """Name the text, the substitutions that it comes from, and what would be valid."""
        origin = " + ".join(substitution.describe() for substitution in unexpanded_expression)
        super().__init__(
            f"invalid condition expression, expected one of [{', '.join(valid_expressions)}] "
            f"but got '{expression}', expanded from '{origin}'"
        )


def evaluate_condition_expression(context: LaunchContext, expression: Sequence[Substitution]) -> bool:
    """Evaluate true, 1, false or 0, in any case and with blanks around; anything else is an error."""
    text = perform_substitutions(context, expression).strip().lower()
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise InvalidConditionExpressionError(text, expression, _TRUE + _FALSE)
