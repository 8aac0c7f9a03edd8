"""ros2 pkg list."""

from __future__ import annotations

import argparse
import sys

from ament_index_python.packages import get_packages_with_prefixes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take no arguments."""


def main(_: argparse.Namespace) -> None:
    """Write the names of all packages."""
    sys.stdout.write("".join(f"{name}\n" for name in sorted(get_packages_with_prefixes())))
