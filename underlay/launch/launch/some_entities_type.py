"""What a parameter accepts that takes one or several entities."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from .launch_description_entity import LaunchDescriptionEntity

SomeEntitiesType: TypeAlias = LaunchDescriptionEntity | Iterable[LaunchDescriptionEntity]
SomeEntitiesType_types_tuple = (LaunchDescriptionEntity, Iterable)
