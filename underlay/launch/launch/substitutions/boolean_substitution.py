"""Logic on texts that are booleans; the results are 'true' and 'false'."""

from __future__ import annotations

from ..launch_context import LaunchContext
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions
from ..utilities.type_utils import perform_typed_substitution
from ._describe import described
from .substitution_failure import SubstitutionFailure


def truth(context: LaunchContext, value: list[Substitution]) -> bool:
    """Perform `value` as a boolean; SubstitutionFailure if it is none."""
    try:
        return bool(perform_typed_substitution(context, value, bool))
    except (TypeError, ValueError) as exc:
        raise SubstitutionFailure(str(exc)) from exc


def _text(value: bool) -> str:
    return str(value).lower()


class NotSubstitution(Substitution):
    """Negates a boolean."""

    def __init__(self, value: SomeSubstitutionsType) -> None:
        """Negate `value`."""
        self.__value = normalize_to_list_of_substitutions(value)

    @property
    def value(self) -> list[Substitution]:
        """What is negated."""
        return self.__value

    def describe(self) -> str:
        """Describe the substitution."""
        return f"NotSubstitution({described(self.value)})"

    def perform(self, context: LaunchContext) -> str:
        """Evaluate the negation."""
        return _text(not truth(context, self.value))


class _Operands(Substitution):
    def __init__(self, *args: SomeSubstitutionsType) -> None:
        """Combine the given booleans."""
        self.__args = [normalize_to_list_of_substitutions(arg) for arg in args]

    @property
    def args(self) -> list[list[Substitution]]:
        """What is combined."""
        return self.__args

    def describe(self) -> str:
        """Describe the substitution."""
        return f"{type(self).__name__}({' '.join(described(arg) for arg in self.args)})"

    def _values(self, context: LaunchContext) -> list[bool]:
        # All operands are looked at, so that one that is no boolean is always reported.
        return [truth(context, arg) for arg in self.args]


class AllSubstitution(_Operands):
    """Is true if all its arguments are."""

    def perform(self, context: LaunchContext) -> str:
        """Evaluate the conjunction."""
        return _text(all(self._values(context)))


class AnySubstitution(_Operands):
    """Is true if any of its arguments is."""

    def perform(self, context: LaunchContext) -> str:
        """Evaluate the disjunction."""
        return _text(any(self._values(context)))


class _Pair(_Operands):
    def __init__(self, left: SomeSubstitutionsType, right: SomeSubstitutionsType) -> None:
        """Combine two booleans."""
        super().__init__(left, right)

    @property
    def left(self) -> list[Substitution]:
        """The left operand."""
        return self.args[0]

    @property
    def right(self) -> list[Substitution]:
        """The right operand."""
        return self.args[1]


class AndSubstitution(_Pair, AllSubstitution):
    """Is true if both operands are."""


class OrSubstitution(_Pair, AnySubstitution):
    """Is true if one of the operands is."""
