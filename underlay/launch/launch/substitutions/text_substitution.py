"""Plain text as a substitution."""

from __future__ import annotations

from ..launch_context import LaunchContext
from ..substitution import Substitution


class TextSubstitution(Substitution):
    """Stands for the text given."""

    def __init__(self, *, text: str) -> None:
        """Stand for `text`."""
        if not isinstance(text, str):
            raise TypeError(f"TextSubstitution expected 'text' to be a str, but got '{text}' of type '{type(text)}'")
        self.__text = text

    @property
    def text(self) -> str:
        """The text."""
        return self.__text

    def describe(self) -> str:
        """Describe the substitution."""
        return f"'{self.text}'"

    def perform(self, context: LaunchContext) -> str:
        """Return the text."""
        return self.text
