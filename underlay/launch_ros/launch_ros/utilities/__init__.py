"""Helpers for the actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from launch._coverage import refusal

from .namespaces import is_namespace_absolute, is_root_namespace, make_namespace_absolute, prefix_namespace
from .remap_rules import normalize_remap_rule, normalize_remap_rules
from .track_node_names import add_node_name, get_node_name_count

__all__ = [
    "add_node_name",
    "get_node_name_count",
    "is_namespace_absolute",
    "is_root_namespace",
    "make_namespace_absolute",
    "normalize_remap_rule",
    "normalize_remap_rules",
    "prefix_namespace",
]

if not TYPE_CHECKING:
    __getattr__ = refusal(
        __name__,
        (
            "evaluate_parameters",
            "evaluate_parameters_dict",
            "normalize_parameters",
            "normalize_parameters_dict",
            "to_parameters_list",
        ),
    )
