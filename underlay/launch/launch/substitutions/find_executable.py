"""An executable on the PATH."""

from __future__ import annotations

import shutil

from ..launch_context import LaunchContext
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from ._describe import described
from .substitution_failure import SubstitutionFailure


class FindExecutable(Substitution):
    """Stands for the full path of an executable."""

    def __init__(self, *, name: SomeSubstitutionsType) -> None:
        """Look for the executable of that name."""
        self.__name = normalize_to_list_of_substitutions(name)

    @property
    def name(self) -> list[Substitution]:
        """The name of the executable."""
        return self.__name

    def describe(self) -> str:
        """Describe the substitution."""
        return f"FindExec({described(self.name)})"

    def perform(self, context: LaunchContext) -> str:
        """Search the PATH."""
        name = perform_substitutions(context, self.name)
        found = shutil.which(name)
        if found is None:
            raise SubstitutionFailure(f"executable '{name}' not found on the PATH")
        return found
