"""Helpers for those who write actions and substitutions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ._coverage import refusal
from ._entities import SomeSubstitutionsType, Substitution

if TYPE_CHECKING:
    from .launch_context import LaunchContext
else:
    __getattr__ = refusal(
        __name__,
        "AsyncSafeSignalManager ensure_argument_type is_a is_a_subclass isclassinstance normalize_to_list_of_entities "
        "type_utils visit_all_entities_and_collect_futures",
    )

__all__ = ["normalize_to_list_of_substitutions", "perform_substitutions"]


def normalize_to_list_of_substitutions(subs: SomeSubstitutionsType) -> list[Substitution]:
    """Return the substitutions that together make one text."""
    if isinstance(subs, (str, Substitution)):
        return [_substitution(subs)]
    return [_substitution(each) for each in subs]


def _substitution(item: object) -> Substitution:
    from .substitutions import TextSubstitution

    if isinstance(item, Substitution):
        return item
    if isinstance(item, str):
        return TextSubstitution(text=item)
    raise TypeError(f"expected a 'str' or a 'launch.Substitution', but got '{item}' of type '{type(item)}'")


def perform_substitutions(context: LaunchContext, subs: Iterable[Substitution]) -> str:
    """Perform the substitutions and join their texts."""
    return "".join(context.perform_substitution(each) for each in subs)
