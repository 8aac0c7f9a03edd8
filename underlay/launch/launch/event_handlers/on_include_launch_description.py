"""Visiting the launch descriptions that events bring."""

from __future__ import annotations

from typing import Any

from ..event import Event
from ..event_handler import BaseEventHandler
from ..events import IncludeLaunchDescription
from ..launch_context import LaunchContext
from ..some_entities_type import SomeEntitiesType


class OnIncludeLaunchDescription(BaseEventHandler):
    """Yields the launch description of each IncludeLaunchDescription event."""

    def __init__(self, **kwargs: Any) -> None:
        """Handle the events of that type."""
        super().__init__(matcher=lambda event: isinstance(event, IncludeLaunchDescription), **kwargs)

    def handle(self, event: Event, context: LaunchContext) -> SomeEntitiesType | None:
        """Return the launch description."""
        super().handle(event, context)
        assert isinstance(event, IncludeLaunchDescription)
        return event.launch_description
