"""Where the launch file is that is being visited."""

from __future__ import annotations

from ..launch_context import LaunchContext
from ..substitution import Substitution
from .substitution_failure import SubstitutionFailure


def _current(context: LaunchContext, local: str, substitution: str) -> str:
    values = context.get_locals_as_dict()
    if local not in values:
        raise SubstitutionFailure(f"{substitution} used outside of a launch file (in a script)")
    return str(values[local])


class ThisLaunchFile(Substitution):
    """Stands for the absolute path of the current launch file."""

    def describe(self) -> str:
        """Describe the substitution."""
        return "ThisLaunchFile()"

    def perform(self, context: LaunchContext) -> str:
        """Return the path that the inclusion has noted."""
        return _current(context, "current_launch_file_path", "ThisLaunchFile")


class ThisLaunchFileDir(Substitution):
    """Stands for the absolute path of the folder of the current launch file."""

    def describe(self) -> str:
        """Describe the substitution."""
        return "ThisLaunchFileDir()"

    def perform(self, context: LaunchContext) -> str:
        """Return the folder that the inclusion has noted."""
        return _current(context, "current_launch_file_directory", "ThisLaunchFileDir")
