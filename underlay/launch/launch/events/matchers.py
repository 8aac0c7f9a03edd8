"""Matchers for the events that are about an action."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..action import Action


def matches_action(target_action: Action) -> Callable[[Action], bool]:
    """Return a matcher that accepts `target_action` only."""
    return lambda action: action == target_action
