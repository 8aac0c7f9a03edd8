"""One of two texts."""

from __future__ import annotations

from ..launch_context import LaunchContext
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from ._describe import described
from .boolean_substitution import truth


class IfElseSubstitution(Substitution):
    """Stands for one text if a condition is true, for another if it is not."""

    def __init__(
        self,
        condition: SomeSubstitutionsType,
        if_value: SomeSubstitutionsType = "",
        else_value: SomeSubstitutionsType = "",
    ) -> None:
        """Choose by `condition`; at least one of the values must be given."""
        if if_value == "" and else_value == "":
            raise RuntimeError("IfElseSubstitution needs an if_value or an else_value")
        self.__condition = normalize_to_list_of_substitutions(condition)
        self.__if_value = normalize_to_list_of_substitutions(if_value)
        self.__else_value = normalize_to_list_of_substitutions(else_value)

    @property
    def condition(self) -> list[Substitution]:
        """What decides."""
        return self.__condition

    @property
    def if_value(self) -> list[Substitution]:
        """What is chosen if the condition is true."""
        return self.__if_value

    @property
    def else_value(self) -> list[Substitution]:
        """What is chosen if the condition is false."""
        return self.__else_value

    def describe(self) -> str:
        """Describe the substitution."""
        parts = (self.condition, self.if_value, self.else_value)
        return f"IfElseSubstitution({', '.join(described(part) for part in parts)})"

    def perform(self, context: LaunchContext) -> str:
        """Choose, and perform only what was chosen."""
        chosen = self.if_value if truth(context, self.condition) else self.else_value
        return perform_substitutions(context, chosen)
