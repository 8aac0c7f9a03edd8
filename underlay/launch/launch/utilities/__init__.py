"""Helpers for those who write actions and substitutions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._coverage import refusal
from .class_tools import is_a, is_a_subclass, isclassinstance
from .ensure_argument_type import ensure_argument_type
from .normalize import normalize_to_list_of_entities, normalize_to_list_of_substitutions
from .perform_substitutions import perform_substitutions
from .visit import visit_all_entities_and_collect_futures

__all__ = [
    "ensure_argument_type",
    "is_a",
    "is_a_subclass",
    "isclassinstance",
    "normalize_to_list_of_entities",
    "normalize_to_list_of_substitutions",
    "perform_substitutions",
    "visit_all_entities_and_collect_futures",
]

if not TYPE_CHECKING:
    __getattr__ = refusal(__name__, ("AsyncSafeSignalManager",))
