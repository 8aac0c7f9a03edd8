"""The base of all substitutions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .launch_context import LaunchContext


class Substitution:
    """A text that is known only once the launch description is visited."""

    def describe(self) -> str:
        """Describe the substitution without performing it."""
        return repr(self)

    def perform(self, context: LaunchContext) -> str:
        """Return the text that stands for this substitution in the given context."""
        raise NotImplementedError(f"{type(self).__name__} does not override Substitution.perform()")
