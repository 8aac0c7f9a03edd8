"""The event that brings a launch description into a running launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..event import Event

if TYPE_CHECKING:
    from ..launch_description import LaunchDescription


class IncludeLaunchDescription(Event):
    """A launch description shall be visited."""

    name = "launch.events.IncludeLaunchDescription"

    def __init__(self, launch_description: LaunchDescription) -> None:
        """Ask for a visit of `launch_description`."""
        self.__launch_description = launch_description

    @property
    def launch_description(self) -> LaunchDescription:
        """The description."""
        return self.__launch_description
