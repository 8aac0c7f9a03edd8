"""Sources of launch descriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._coverage import refusal
from ..invalid_launch_file_error import InvalidLaunchFileError
from .any_launch_description_source import AnyLaunchDescriptionSource, get_launch_description_from_any_launch_file
from .python_launch_description_source import PythonLaunchDescriptionSource
from .python_launch_file import (
    InvalidPythonLaunchFileError,
    get_launch_description_from_python_launch_file,
    load_python_launch_file_as_module,
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

if not TYPE_CHECKING:
    __getattr__ = refusal(
        __name__,
        (
            "FrontendLaunchDescriptionSource",
            "InvalidFrontendLaunchFileError",
            "get_launch_description_from_frontend_launch_file",
        ),
    )
