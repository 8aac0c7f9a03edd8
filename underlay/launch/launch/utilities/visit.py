"""Visiting entities, depth first."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..launch_description_entity import LaunchDescriptionEntity

if TYPE_CHECKING:
    from ..launch_context import LaunchContext

EntityFuture = tuple[LaunchDescriptionEntity, "asyncio.Future[Any]"]


def visit_all_entities(entity: LaunchDescriptionEntity, context: LaunchContext) -> Iterator[EntityFuture]:
    """Visit `entity` and what it yields; report each future at once, so that none is lost if a later visit raises."""
    sub_entities = entity.visit(context)
    future = entity.get_asyncio_future()
    if future is not None:
        yield entity, future
    for sub_entity in sub_entities or ():
        yield from visit_all_entities(sub_entity, context)


def visit_all_entities_and_collect_futures(
    entity: LaunchDescriptionEntity, context: LaunchContext
) -> list[EntityFuture]:
    """Visit `entity` and all that it yields, and list the futures of the work that this began."""
    return list(visit_all_entities(entity, context))
