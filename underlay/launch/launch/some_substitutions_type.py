"""What a parameter accepts that takes text or substitutions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from .substitution import Substitution

SomeSubstitutionsType: TypeAlias = str | Substitution | Iterable[str | Substitution]
SomeSubstitutionsType_types_tuple = (str, Substitution, Iterable)
