"""ros2 pkg executables."""

from __future__ import annotations

import argparse
import sys

from ament_index_python.packages import get_packages_with_prefixes

from ros2cli.packages import all_executables


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("package_name", nargs="?", help="The package (default: all packages)")
    parser.add_argument("--full-path", action="store_true", help="Write the paths")


def main(args: argparse.Namespace) -> None:
    """Write what `ros2 run` can run."""
    for package in [args.package_name] if args.package_name else sorted(get_packages_with_prefixes()):
        for path in all_executables(package):
            sys.stdout.write(f"{path}\n" if args.full_path else f"{package} {path.name}\n")
