"""Beginning and ending scopes of launch configurations and of the environment."""

from __future__ import annotations

from ..action import Action
from ..launch_context import LaunchContext


class PushLaunchConfigurations(Action):
    """Begins a scope of launch configurations, which inherits those of the outer one."""

    def execute(self, context: LaunchContext) -> None:
        """Begin the scope."""
        context._push_launch_configurations()


class PopLaunchConfigurations(Action):
    """Ends the innermost scope of launch configurations."""

    def execute(self, context: LaunchContext) -> None:
        """End the scope."""
        context._pop_launch_configurations()


class PushEnvironment(Action):
    """Begins a scope of the environment, which inherits that of the outer one."""

    def execute(self, context: LaunchContext) -> None:
        """Begin the scope."""
        context._push_environment()


class PopEnvironment(Action):
    """Ends the innermost scope of the environment."""

    def execute(self, context: LaunchContext) -> None:
        """End the scope."""
        context._pop_environment()


class ResetEnvironment(Action):
    """Makes the environment what it was when the launch began."""

    def execute(self, context: LaunchContext) -> None:
        """Restore it."""
        context._reset_environment()
