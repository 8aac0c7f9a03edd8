"""ros2 launch, through the interface of upstream's launch."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable

from launch import LaunchDescription, LaunchService
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import AnyLaunchDescriptionSource, get_launch_description_from_any_launch_file
from ros2cli.options import Argument, Verb
from ros2cli.packages import launch_file


def _launch_file(args: argparse.Namespace) -> int | None:
    """Launch the file, or write what is asked for instead."""
    path, arguments = _file_and_arguments(args)
    if args.show_all_subprocesses_output:
        os.environ["OVERRIDE_LAUNCH_PROCESS_OUTPUT"] = "both"
    if args.show_args:
        sys.stdout.write(_arguments_of(path))
        return None
    if args.launch_prefix:
        arguments.append(f"launch-prefix:={args.launch_prefix}")
    return _launch(path, arguments, noninteractive=args.noninteractive, debug=args.debug)


def _file_and_arguments(args: argparse.Namespace) -> tuple[str, list[str]]:
    """Distinguish PATH [ARGUMENT...] and PACKAGE FILE [ARGUMENT...]."""
    if os.path.isfile(args.package_name):
        first = [] if args.launch_file_name is None else [args.launch_file_name]
        return args.package_name, first + args.launch_arguments
    return str(launch_file(args.package_name, args.launch_file_name)), args.launch_arguments


def _launch(path: str, arguments: list[str], *, noninteractive: bool, debug: bool) -> int:
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


def _arguments_of(path: str) -> str:
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


VERBS = {
    "launch": Verb(
        _launch_file,
        Argument(
            "-n",
            "--noninteractive",
            action="store_true",
            default=not sys.stdin.isatty(),
            help="Launch without a terminal (default when there is none)",
        ),
        Argument("-d", "--debug", action="store_true", help="Log in more detail"),
        Argument(
            "-s", "--show-args", "--show-arguments", action="store_true", help="Write the arguments, launch nothing"
        ),
        Argument("-a", "--show-all-subprocesses-output", action="store_true", help="Show the output of every process"),
        Argument("--launch-prefix", help="Command to put before each executable (e.g. 'gdb -ex run --args')"),
        Argument("package_name", help="Package that has the launch file, or the path of one"),
        Argument("launch_file_name", nargs="?", help="Name of the package's launch file"),
        Argument("launch_arguments", nargs="*", help="Arguments as '<name>:=<value>'; the last one wins"),
    )
}
