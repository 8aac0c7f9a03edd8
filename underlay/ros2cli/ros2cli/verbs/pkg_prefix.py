"""ros2 pkg prefix."""

from __future__ import annotations

import argparse
import os
import sys

from ament_index_python.packages import PackageNotFoundError, get_package_prefix


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("package_name", help="The package")
    parser.add_argument("--share", action="store_true", help="Write its share folder")


def main(args: argparse.Namespace) -> str | None:
    """Write the folder, or return that there is no such package."""
    try:
        prefix = get_package_prefix(args.package_name)
    except (PackageNotFoundError, ValueError):
        return "Package not found"
    sys.stdout.write(f"{os.path.join(prefix, 'share', args.package_name) if args.share else prefix}\n")
    return None
