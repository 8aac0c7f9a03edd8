"""What can be done with a launch file, through the interface of upstream's launch."""

from __future__ import annotations

import importlib
from collections.abc import Iterable

from launch import LaunchDescription, LaunchService
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import (
    AnyLaunchDescriptionSource,
    get_launch_description_from_any_launch_file,
)


def launch(path: str, arguments: list[str], *, noninteractive: bool, debug: bool) -> int:
    """Launch the file with '<name>:=<value>' arguments, and return the launch service's exit code."""
    parsed = parse_arguments(arguments)
    service = LaunchService(argv=arguments, noninteractive=noninteractive, debug=debug)
    # Through an include, for the file to know its own place.
    include = IncludeLaunchDescription(AnyLaunchDescriptionSource(path), launch_arguments=parsed.items())
    service.include_launch_description(LaunchDescription([include]))
    return int(service.run())


def parse_arguments(arguments: Iterable[str]) -> dict[str, str]:
    """Return the values by name, the last one of each; RuntimeError for what is not '<name>:=<value>'."""
    parsed = {}
    for argument in arguments:
        name, assigned, value = argument.partition(":=")
        if not (name and assigned and value):
            raise RuntimeError(f"malformed launch argument '{argument}', expected format '<name>:=<value>'")
        parsed[name] = value
    return parsed


def description_of(path: str) -> str:
    """Return what the launch file holds, in writing."""
    try:
        introspector = importlib.import_module("launch").LaunchIntrospector()
    except ImportError as error:
        # Not every launch has one.
        raise RuntimeError(str(error)) from None
    return f"{introspector.format_launch_description(get_launch_description_from_any_launch_file(path))}\n"


def arguments_of(path: str) -> str:
    """Return the arguments that the launch file and its includes declare, in writing."""
    declared = get_launch_description_from_any_launch_file(path).get_launch_arguments()
    lines = ["Arguments (pass arguments as '<name>:=<value>'):"]
    for argument in declared:
        lines += ["", *_described(argument)]
    if not declared:
        lines += ["", "  No arguments."]
    elif any(map(_is_conditional, declared)):
        lines += ["", "* argument(s) which are only used if specific conditions occur"]
    return "\n".join(lines) + "\n"


def _described(argument: DeclareLaunchArgument) -> list[str]:
    lines = [f"    '{argument.name}':{'*' if _is_conditional(argument) else ''}", f"        {argument.description}"]
    if argument.default_value is not None:
        default = " + ".join(part.describe() for part in argument.default_value)
        lines.append(f"        (default: {default})")
    return lines


def _is_conditional(argument: DeclareLaunchArgument) -> bool:
    # The mark that launch leaves for exactly this purpose; it has no public name.
    return bool(getattr(argument, "_conditionally_included", False))
