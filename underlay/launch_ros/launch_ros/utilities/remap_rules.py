"""Remapping rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from launch import SomeSubstitutionsType, Substitution
from launch.utilities import normalize_to_list_of_substitutions

SomeRemapRule: TypeAlias = tuple[SomeSubstitutionsType, SomeSubstitutionsType]
SomeRemapRules: TypeAlias = Iterable[SomeRemapRule]
RemapRule: TypeAlias = tuple[tuple[Substitution, ...], tuple[Substitution, ...]]


def normalize_remap_rule(remap_rule: SomeRemapRule) -> RemapRule:
    """Return a rule as two tuples of substitutions: from, to."""
    if not isinstance(remap_rule, (tuple, list)) or len(remap_rule) != 2:
        raise TypeError(f"a remapping rule must be a tuple of two, from and to, but got {remap_rule!r}")
    src, dst = (tuple(normalize_to_list_of_substitutions(side)) for side in remap_rule)
    return src, dst


def normalize_remap_rules(remap_rules: SomeRemapRules) -> list[RemapRule]:
    """Normalize each of the rules."""
    return [normalize_remap_rule(rule) for rule in remap_rules]
