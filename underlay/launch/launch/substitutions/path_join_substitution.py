"""Paths made of parts."""

from __future__ import annotations

import os
from collections.abc import Iterable

from ..launch_context import LaunchContext
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions
from ._describe import described


class PathJoinSubstitution(Substitution):
    """Joins its parts as ``os.path.join`` does."""

    def __init__(self, substitutions: Iterable[str | Substitution]) -> None:
        """Join `substitutions`, each of which is one part."""
        self.__substitutions = normalize_to_list_of_substitutions(substitutions)

    @property
    def substitutions(self) -> list[Substitution]:
        """The parts."""
        return self.__substitutions

    def describe(self) -> str:
        """Describe the substitution."""
        return f"PathJoin('{described(self.substitutions)}')"

    def perform(self, context: LaunchContext) -> str:
        """Join the parts."""
        return os.path.join(*[context.perform_substitution(part) for part in self.substitutions])
