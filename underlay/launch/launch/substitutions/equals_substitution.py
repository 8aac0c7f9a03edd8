"""Comparison of texts, numbers and booleans; the results are 'true' and 'false'."""

from __future__ import annotations

import math
from typing import Any

from ..launch_context import LaunchContext
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from ..utilities.type_utils import is_substitution
from ._describe import described

_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def _operand(value: Any) -> list[Substitution]:
    if is_substitution(value):
        return normalize_to_list_of_substitutions(value)
    if value is None:
        return normalize_to_list_of_substitutions("")
    return normalize_to_list_of_substitutions(str(value).lower() if isinstance(value, bool) else str(value))


def _equal(left: str, right: str) -> bool:
    if left.lower() in _BOOLEANS and right.lower() in _BOOLEANS:
        return _BOOLEANS[left.lower()] == _BOOLEANS[right.lower()]
    try:
        return math.isclose(float(left), float(right))
    except ValueError:
        return left == right


class EqualsSubstitution(Substitution):
    """Is true if both sides are equal: as booleans or numbers if both are such, else as texts."""

    def __init__(self, left: Any, right: Any) -> None:
        """Compare the two sides, which may be substitutions, texts, numbers, booleans or None."""
        self.__left = _operand(left)
        self.__right = _operand(right)

    @property
    def left(self) -> list[Substitution]:
        """The left side."""
        return self.__left

    @property
    def right(self) -> list[Substitution]:
        """The right side."""
        return self.__right

    def describe(self) -> str:
        """Describe the substitution."""
        return f"{type(self).__name__}({described(self.left)} {described(self.right)})"

    def _compare(self, context: LaunchContext) -> bool:
        return _equal(perform_substitutions(context, self.left), perform_substitutions(context, self.right))

    def perform(self, context: LaunchContext) -> str:
        """Compare the sides."""
        return str(self._compare(context)).lower()


class NotEqualsSubstitution(EqualsSubstitution):
    """Is true if the sides differ."""

    def perform(self, context: LaunchContext) -> str:
        """Compare the sides."""
        return str(not self._compare(context)).lower()
