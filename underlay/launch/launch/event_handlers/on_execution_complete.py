"""Reacting to the end of an action."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..action import Action
from ..events import ExecutionComplete
from .on_action_event_base import OnActionEventBase, Reaction


class OnExecutionComplete(OnActionEventBase):
    """Reacts when an action was executed and the work that it began is over."""

    def __init__(
        self, *, target_action: Callable[[Action], bool] | Action | None = None, on_completion: Reaction, **kwargs: Any
    ) -> None:
        """React to `target_action`, to those for which it is true, or to any."""
        super().__init__(
            action_matcher=target_action,
            on_event=on_completion,
            target_event_cls=ExecutionComplete,
            target_action_cls=Action,
            **kwargs,
        )
