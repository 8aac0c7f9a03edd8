"""Starting over with the launch configurations of a scope."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..action import Action
from ..launch_context import LaunchContext
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions


class ResetLaunchConfigurations(Action):
    """Removes all launch configurations of the current scope but those that are given."""

    def __init__(self, launch_configurations: Mapping[Any, Any] | None = None, **kwargs: Any) -> None:
        """Keep only `launch_configurations`, whose values are performed before the others are removed."""
        super().__init__(**kwargs)
        self.__kept = [
            (normalize_to_list_of_substitutions(name), normalize_to_list_of_substitutions(value))
            for name, value in (launch_configurations or {}).items()
        ]

    def execute(self, context: LaunchContext) -> None:
        """Remove and set."""
        kept = {perform_substitutions(context, n): perform_substitutions(context, v) for n, v in self.__kept}
        context.launch_configurations.clear()
        context.launch_configurations.update(kept)
