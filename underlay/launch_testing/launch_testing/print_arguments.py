"""The listing of a test's launch arguments."""

from __future__ import annotations

import sys
from typing import Any

from launch import LaunchDescription


def print_arguments_of_launch_description(*, launch_description: LaunchDescription) -> None:
    """Write the names, descriptions and defaults of the declared arguments to stdout."""
    arguments = launch_description.get_launch_arguments()
    lines = ["Arguments (pass arguments as '<name>:=<value>'):", ""]
    for argument in arguments:
        lines += [f"    '{argument.name}':", f"        {argument.description}", f"        ({_default(argument)})", ""]
    if not arguments:
        lines += ["  No arguments.", ""]
    sys.stdout.write("\n".join(lines))


def _default(argument: Any) -> str:
    if argument.default_value is None:
        return "no default value"
    parts = "".join(getattr(part, "text", None) or part.describe() for part in argument.default_value)
    return f"default: '{parts}'"
