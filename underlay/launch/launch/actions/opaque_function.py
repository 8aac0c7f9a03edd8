"""Calling a Python function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..action import Action
from ..launch_context import LaunchContext
from ..launch_description_entity import LaunchDescriptionEntity
from ..utilities import ensure_argument_type


class OpaqueFunction(Action):
    """Calls a function with the context, and yields the entities that it returns."""

    def __init__(
        self,
        *,
        function: Callable[..., Any],
        args: Iterable[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
        **left_over_kwargs: Any,
    ) -> None:
        """Call ``function(context, *args, **kwargs)``, which returns a list of entities or None."""
        super().__init__(**left_over_kwargs)
        if not callable(function):
            raise TypeError(f"OpaqueFunction expected a callable for 'function', got '{type(function)}'")
        ensure_argument_type(args, (Iterable, type(None)), "args", "OpaqueFunction")
        ensure_argument_type(kwargs, (dict, type(None)), "kwargs", "OpaqueFunction")
        self.__function = function
        self.__args = tuple(args or ())
        self.__kwargs = dict(kwargs or {})

    def execute(self, context: LaunchContext) -> Sequence[LaunchDescriptionEntity] | None:
        """Call the function."""
        entities: Sequence[LaunchDescriptionEntity] | None = self.__function(context, *self.__args, **self.__kwargs)
        return entities
