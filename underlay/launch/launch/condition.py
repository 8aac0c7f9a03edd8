"""The base of all conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .launch_context import LaunchContext


class Condition:
    """Decides at visiting time whether an action is executed."""

    def __init__(self, *, predicate: Callable[[LaunchContext], bool] | None = None) -> None:
        """Ask `predicate`; without one the condition is never met."""
        self._predicate = predicate

    def describe(self) -> str:
        """Describe the condition."""
        return repr(self)

    def evaluate(self, context: LaunchContext) -> bool:
        """Tell whether the condition is met in the given context."""
        return self._predicate is not None and self._predicate(context)
