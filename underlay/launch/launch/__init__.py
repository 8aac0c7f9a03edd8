"""A stand-in for upstream's launch: descriptions of systems of processes, and the service that runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import actions, conditions, event_handlers, events, launch_description_sources, logging, substitutions, utilities
from ._coverage import refusal
from ._entities import (
    Action,
    Condition,
    Event,
    LaunchDescriptionEntity,
    SomeEntitiesType,
    SomeSubstitutionsType,
    Substitution,
)
from .launch_context import LaunchContext
from .launch_description import LaunchDescription
from .launch_description_sources import InvalidLaunchFileError, LaunchDescriptionSource
from .launch_service import LaunchService

__all__ = [
    "Action",
    "Condition",
    "Event",
    "InvalidLaunchFileError",
    "LaunchContext",
    "LaunchDescription",
    "LaunchDescriptionEntity",
    "LaunchDescriptionSource",
    "LaunchService",
    "SomeEntitiesType",
    "SomeSubstitutionsType",
    "Substitution",
    "actions",
    "conditions",
    "event_handlers",
    "events",
    "launch_description_sources",
    "logging",
    "substitutions",
    "utilities",
]

if not TYPE_CHECKING:
    __getattr__ = refusal(
        __name__,
        "EventHandler LaunchIntrospector SomeEntitiesType_types_tuple SomeSubstitutionsType_types_tuple descriptions "
        "frontend",
    )
