"""Names of joints in a log as those of a model, where the two differ."""

import re
from collections.abc import Sequence

Renaming = tuple[tuple[re.Pattern[str], str], ...]


def renaming_from_text(text: str) -> Renaming:
    r"""Pairs LOG=MODEL with blanks between them: a regular expression of a whole name, and what becomes of it.

    MODEL may have groups of LOG in it: `(\w+)_fl=\1_front_left`.
    """
    made = []
    for pair in text.split():
        pattern, separator, name = pair.rpartition("=")
        if not (separator and pattern and name):
            raise ValueError(f"joint_names: expected pairs LOG=MODEL with blanks between them, got '{pair}'")
        try:
            expression = re.compile(pattern)
            re.sub(expression, name, "")
        except (re.error, IndexError) as error:
            raise ValueError(f"joint_names: expected a regular expression and a name, got '{pair}': {error}") from None
        made.append((expression, name))
    return tuple(made)


def renamed(names: Sequence[str], renaming: Renaming) -> list[str]:
    """The names as the model has them; the first pair that fits counts, a name that none fits stays."""
    return [_renamed(name, renaming) for name in names]


def _renamed(name: str, renaming: Renaming) -> str:
    matches = ((pattern.fullmatch(name), new) for pattern, new in renaming)
    return next((match.expand(new) for match, new in matches if match), name)
