"""A stand-in for upstream's launch: descriptions of systems of processes, and the service that runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import (
    actions,
    conditions,
    descriptions,
    event_handlers,
    events,
    launch_description_sources,
    logging,
    substitutions,
    utilities,
)
from ._coverage import refusal
from .action import Action
from .condition import Condition
from .event import Event
from .event_handler import EventHandler
from .invalid_launch_file_error import InvalidLaunchFileError
from .launch_context import LaunchContext
from .launch_description import LaunchDescription
from .launch_description_entity import LaunchDescriptionEntity
from .launch_description_source import LaunchDescriptionSource
from .launch_service import LaunchService
from .some_entities_type import SomeEntitiesType, SomeEntitiesType_types_tuple
from .some_substitutions_type import SomeSubstitutionsType, SomeSubstitutionsType_types_tuple
from .substitution import Substitution

__all__ = [
    "Action",
    "Condition",
    "Event",
    "EventHandler",
    "InvalidLaunchFileError",
    "LaunchContext",
    "LaunchDescription",
    "LaunchDescriptionEntity",
    "LaunchDescriptionSource",
    "LaunchService",
    "SomeEntitiesType",
    "SomeEntitiesType_types_tuple",
    "SomeSubstitutionsType",
    "SomeSubstitutionsType_types_tuple",
    "Substitution",
    "actions",
    "conditions",
    "descriptions",
    "event_handlers",
    "events",
    "launch_description_sources",
    "logging",
    "substitutions",
    "utilities",
]

if not TYPE_CHECKING:
    __getattr__ = refusal(__name__, ("LaunchIntrospector", "frontend"))
