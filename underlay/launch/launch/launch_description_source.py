"""Where a launch description comes from."""

from __future__ import annotations

from .launch_context import LaunchContext
from .launch_description import LaunchDescription
from .logging import get_logger
from .some_substitutions_type import SomeSubstitutionsType
from .utilities import normalize_to_list_of_substitutions, perform_substitutions


class LaunchDescriptionSource:
    """A launch description at hand; subclasses load theirs from a location."""

    def __init__(
        self,
        launch_description: LaunchDescription | None = None,
        location: SomeSubstitutionsType = "<string>",
        method: str = "unspecified mechanism from a script",
    ) -> None:
        """Hold a description, or only the `location` from which the subclass loads it by some `method`."""
        self.__launch_description = launch_description
        self.__location = normalize_to_list_of_substitutions(location)
        self.__expanded_location: str | None = None
        self.__method = method

    def try_get_launch_description_without_context(self) -> LaunchDescription | None:
        """Return the description if it can be had before the launch, else None."""
        if self.__launch_description is not None:
            return self.__launch_description
        try:
            return self._get_launch_description(perform_substitutions(LaunchContext(), self.__location))
        except Exception:  # a launch file may raise anything; it will again, visibly, when it is launched
            logger = get_logger("launch")
            logger.debug("cannot load the launch file without a context:", exc_info=True)
            return None

    def get_launch_description(self, context: LaunchContext) -> LaunchDescription:
        """Return the description, loading it on the first call."""
        if self.__expanded_location is None:
            self.__expanded_location = perform_substitutions(context, self.__location)
        if self.__launch_description is None:
            self.__launch_description = self._get_launch_description(self.__expanded_location)
        return self.__launch_description

    def _get_launch_description(self, location: str) -> LaunchDescription:
        raise RuntimeError(f"LaunchDescriptionSource at '{location}' has no launch description")

    @property
    def location(self) -> str:
        """The location: expanded once the description was loaded, described before."""
        if self.__expanded_location is None:
            return " + ".join(substitution.describe() for substitution in self.__location)
        return self.__expanded_location

    @property
    def method(self) -> str:
        """How the description is obtained, in words."""
        return self.__method
