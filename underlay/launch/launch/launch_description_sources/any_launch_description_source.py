"""The source of launch descriptions in files of whatever kind."""

from __future__ import annotations

import os

from ..invalid_launch_file_error import InvalidLaunchFileError
from ..launch_description import LaunchDescription
from ..launch_description_source import LaunchDescriptionSource
from ..some_substitutions_type import SomeSubstitutionsType
from .python_launch_file import get_launch_description_from_python_launch_file

_FRONTENDS = {".xml": "XML", ".yaml": "YAML", ".yml": "YAML"}


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


class AnyLaunchDescriptionSource(LaunchDescriptionSource):
    """Loads a launch file; this stand-in reads Python only."""

    def __init__(self, launch_file_path: SomeSubstitutionsType) -> None:
        """Load the file at `launch_file_path`, once its description is wanted."""
        super().__init__(None, launch_file_path, "interpreted launch file")

    def _get_launch_description(self, location: str) -> LaunchDescription:
        return get_launch_description_from_any_launch_file(location)
