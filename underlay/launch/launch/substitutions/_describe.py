"""How lists of substitutions are described."""

from collections.abc import Iterable

from ..substitution import Substitution


def described(substitutions: Iterable[Substitution]) -> str:
    """Describe substitutions that are joined into one text."""
    return " + ".join(substitution.describe() for substitution in substitutions)
