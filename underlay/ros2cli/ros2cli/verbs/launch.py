"""ros2 launch."""

from __future__ import annotations

import argparse
import os
import sys

from ros2cli import launch_files
from ros2cli.packages import launch_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "-n",
        "--noninteractive",
        action="store_true",
        default=not sys.stdin.isatty(),
        help="Launch without a terminal (default when there is none)",
    )
    parser.add_argument("-d", "--debug", action="store_true", help="Log in more detail")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "-p", "--print", "--print-description", action="store_true", help="Write the description, launch nothing"
    )
    instead.add_argument(
        "-s", "--show-args", "--show-arguments", action="store_true", help="Write the arguments, launch nothing"
    )
    parser.add_argument(
        "-a", "--show-all-subprocesses-output", action="store_true", help="Show the output of every process"
    )
    parser.add_argument("--launch-prefix", help="Command to put before each executable (e.g. 'gdb -ex run --args')")
    parser.add_argument(
        "--launch-prefix-filter", help="Regular expression for the executables to put --launch-prefix before"
    )
    parser.add_argument("package_name", help="Package that has the launch file, or the path of one")
    parser.add_argument("launch_file_name", nargs="?", help="Name of the package's launch file")
    parser.add_argument("launch_arguments", nargs="*", help="Arguments as '<name>:=<value>'; the last one wins")


def main(args: argparse.Namespace) -> int | None:
    """Launch the file, or write what is asked for instead."""
    path, arguments = _file_and_arguments(args)
    if args.launch_prefix_filter is not None and args.launch_prefix is None:
        raise RuntimeError("--launch-prefix must be specified if --launch-prefix-filter is provided")
    if args.show_all_subprocesses_output:
        os.environ["OVERRIDE_LAUNCH_PROCESS_OUTPUT"] = "both"
    if args.print:
        sys.stdout.write(launch_files.description_of(path))
        return None
    if args.show_args:
        sys.stdout.write(launch_files.arguments_of(path))
        return None
    if args.launch_prefix:
        arguments.append(f"launch-prefix:={args.launch_prefix}")
    if args.launch_prefix_filter:
        arguments.append(f"launch-prefix-filter:={args.launch_prefix_filter}")
    return launch_files.launch(path, arguments, noninteractive=args.noninteractive, debug=args.debug)


def _file_and_arguments(args: argparse.Namespace) -> tuple[str, list[str]]:
    """Tell apart PATH [ARGUMENT...] and PACKAGE FILE [ARGUMENT...]."""
    if os.path.isfile(args.package_name):
        first = [] if args.launch_file_name is None else [args.launch_file_name]
        return args.package_name, first + args.launch_arguments
    return str(launch_file(args.package_name, args.launch_file_name)), args.launch_arguments
