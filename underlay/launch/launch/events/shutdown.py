"""The event that ends a launch."""

from __future__ import annotations

from ..event import Event


class Shutdown(Event):
    """The launched system shall shut down, or does so."""

    name = "launch.events.Shutdown"

    def __init__(self, *, reason: str = "reason not given", due_to_sigint: bool = False) -> None:
        """Shut down for `reason`; `due_to_sigint` says that a Ctrl-C has reached the children too."""
        self.__reason = reason
        self.__due_to_sigint = due_to_sigint

    @property
    def reason(self) -> str:
        """Why the system shuts down."""
        return self.__reason

    @property
    def due_to_sigint(self) -> bool:
        """Whether a Ctrl-C began the shutdown."""
        return self.__due_to_sigint
