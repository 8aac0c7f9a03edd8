"""Launch files in Python."""

from __future__ import annotations

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..launch_description import LaunchDescription


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
