"""ros2 pkg."""

from __future__ import annotations

import argparse
import os
import sys

from ament_index_python.packages import PackageNotFoundError, get_package_prefix, get_packages_with_prefixes

from ros2cli.options import Argument, Verb
from ros2cli.packages import all_executables


def _write_executables(args: argparse.Namespace) -> None:
    """Write what `ros2 run` can run."""
    for package in [args.package_name] if args.package_name else sorted(get_packages_with_prefixes()):
        for path in all_executables(package):
            sys.stdout.write(f"{path}\n" if args.full_path else f"{package} {path.name}\n")


def _write_packages(_: argparse.Namespace) -> None:
    """Write the names of all packages."""
    sys.stdout.write("".join(f"{name}\n" for name in sorted(get_packages_with_prefixes())))


def _write_prefix(args: argparse.Namespace) -> str | None:
    """Write the folder, or return that there is no such package."""
    try:
        prefix = get_package_prefix(args.package_name)
    except (PackageNotFoundError, ValueError):
        return "Package not found"
    sys.stdout.write(f"{os.path.join(prefix, 'share', args.package_name) if args.share else prefix}\n")
    return None


VERBS = {
    "executables": Verb(
        _write_executables,
        Argument("package_name", nargs="?", help="The package (default: all packages)"),
        Argument("--full-path", action="store_true", help="Write the paths"),
    ),
    "list": Verb(_write_packages),
    "prefix": Verb(
        _write_prefix,
        Argument("package_name", help="The package"),
        Argument("--share", action="store_true", help="Write its share folder"),
    ),
}
