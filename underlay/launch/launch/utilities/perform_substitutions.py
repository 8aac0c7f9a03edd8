"""From substitutions to text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..substitution import Substitution

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


def perform_substitutions(context: LaunchContext, subs: Iterable[Substitution]) -> str:
    """Perform the substitutions and join their texts."""
    return "".join(context.perform_substitution(each) for each in subs)
