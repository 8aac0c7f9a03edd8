"""Sources of launch descriptions."""

from __future__ import annotations

import os
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from types import ModuleType
from typing import TYPE_CHECKING

from ._coverage import refusal
from ._entities import SomeSubstitutionsType
from .launch_context import LaunchContext
from .logging import get_logger
from .substitutions import described
from .utilities import normalize_to_list_of_substitutions, perform_substitutions

if TYPE_CHECKING:
    from .launch_description import LaunchDescription
else:
    __getattr__ = refusal(
        __name__,
        "FrontendLaunchDescriptionSource InvalidFrontendLaunchFileError "
        "get_launch_description_from_frontend_launch_file",
    )

__all__ = [
    "AnyLaunchDescriptionSource",
    "InvalidLaunchFileError",
    "InvalidPythonLaunchFileError",
    "PythonLaunchDescriptionSource",
    "get_launch_description_from_any_launch_file",
    "get_launch_description_from_python_launch_file",
    "load_python_launch_file_as_module",
]

_FRONTENDS = {".xml": "XML", ".yaml": "YAML", ".yml": "YAML"}


class InvalidLaunchFileError(Exception):
    """A launch file that cannot be read as a launch description."""


class InvalidPythonLaunchFileError(Exception):
    """A Python launch file without the function that every one must have."""


def load_python_launch_file_as_module(python_launch_file_path: str) -> ModuleType:
    """Execute a launch file as a fresh module."""
    loader = SourceFileLoader("python_launch_file", python_launch_file_path)
    spec = spec_from_loader(loader.name, loader)
    if spec is None:
        raise RuntimeError(f"cannot load '{python_launch_file_path}' as a Python module")
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def get_launch_description_from_python_launch_file(python_launch_file_path: str) -> LaunchDescription:
    """Return what the launch file's ``generate_launch_description()`` returns."""
    module = load_python_launch_file_as_module(python_launch_file_path)
    generate = getattr(module, "generate_launch_description", None)
    if generate is None:
        raise InvalidPythonLaunchFileError(
            f"launch file at '{python_launch_file_path}' does not contain the required function "
            "'generate_launch_description()'"
        )
    description: LaunchDescription = generate()
    return description


def get_launch_description_from_any_launch_file(launch_file_path: str) -> LaunchDescription:
    """Load a launch file; it must be written in Python."""
    frontend = _FRONTENDS.get(os.path.splitext(launch_file_path)[1])
    if frontend is not None:
        raise InvalidLaunchFileError(
            f"'{launch_file_path}' is a launch file in {frontend}: this stand-in for launch does not cover "
            f"launch_{frontend.lower()}, only launch files in Python"
        )
    try:
        return get_launch_description_from_python_launch_file(launch_file_path)
    except Exception as exc:  # a launch file may raise anything: the message must say which file it was
        raise InvalidLaunchFileError(
            f"Caught exception when trying to load file of format [py]: '{launch_file_path}'\n"
            f" - {type(exc).__name__}: {exc}"
        ) from exc


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
        self.method = method

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
        return described(self.__location) if self.__expanded_location is None else self.__expanded_location


class AnyLaunchDescriptionSource(LaunchDescriptionSource):
    """Loads a launch file; this stand-in reads Python only."""

    def __init__(self, launch_file_path: SomeSubstitutionsType) -> None:
        """Load the file at `launch_file_path`, once its description is needed."""
        super().__init__(None, launch_file_path, "interpreted launch file")

    def _get_launch_description(self, location: str) -> LaunchDescription:
        return get_launch_description_from_any_launch_file(location)


class PythonLaunchDescriptionSource(LaunchDescriptionSource):
    """Loads a launch file written in Python."""

    def __init__(self, launch_file_path: SomeSubstitutionsType) -> None:
        """Load the file at `launch_file_path`, once its description is needed."""
        super().__init__(None, launch_file_path, "interpreted python launch file")

    def _get_launch_description(self, location: str) -> LaunchDescription:
        return get_launch_description_from_python_launch_file(location)
