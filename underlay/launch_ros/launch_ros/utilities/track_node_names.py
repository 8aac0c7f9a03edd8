"""Counting the names of the nodes that one launch starts."""

from __future__ import annotations

from collections import Counter

from launch import LaunchContext

_LOCAL = "unique_ros_node_names"


def add_node_name(context: LaunchContext, node_name: str) -> None:
    """Count one more node of that full name."""
    if _LOCAL not in context.get_locals_as_dict():
        context.extend_globals({_LOCAL: Counter()})
    context.get_locals_as_dict()[_LOCAL][node_name] += 1


def get_node_name_count(context: LaunchContext, node_name: str) -> int:
    """Tell how many nodes of that full name were started."""
    count: int = context.get_locals_as_dict().get(_LOCAL, Counter())[node_name]
    return count
