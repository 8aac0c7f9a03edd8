"""The base of everything that a launch description can hold."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .launch_context import LaunchContext


class LaunchDescriptionEntity:
    """Something that can be visited; what the visit returns is visited next."""

    def describe(self) -> str:
        """Describe the entity in one line."""
        return repr(self)

    def describe_sub_entities(self) -> list[LaunchDescriptionEntity]:
        """List the entities that a visit will certainly yield."""
        return []

    def describe_conditional_sub_entities(self) -> list[tuple[str, Iterable[LaunchDescriptionEntity]]]:
        """List the entities that a visit may yield, each group with the text of its condition."""
        return []

    def visit(self, context: LaunchContext) -> Sequence[LaunchDescriptionEntity] | None:
        """Act, without blocking, and return the entities to visit next."""
        return None

    def get_asyncio_future(self) -> asyncio.Future[None] | None:
        """Return the future that is done when the work begun by the visit is over, or None."""
        return None
