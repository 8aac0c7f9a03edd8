"""Launch arguments as they are written on a command line."""

from __future__ import annotations

from collections.abc import Iterable


def parse_launch_arguments(launch_arguments: Iterable[str]) -> list[tuple[str, str]]:
    """Split arguments of the form name:=value; of a repeated name the last value holds."""
    parsed: dict[str, str] = {}
    for argument in launch_arguments:
        name, separator, value = argument.partition(":=")
        if not separator or not name:
            raise RuntimeError(f"malformed launch argument {argument!r}, expected the form name:=value")
        parsed[name] = value
    return list(parsed.items())
