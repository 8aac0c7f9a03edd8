"""ros2 interface package."""

from __future__ import annotations

import argparse
import sys

from ros2cli.interfaces import interface_names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("package_name", help="The package")


def main(args: argparse.Namespace) -> None:
    """Write the names of its interfaces."""
    sys.stdout.write("".join(f"{name}\n" for name in interface_names(args.package_name)))
