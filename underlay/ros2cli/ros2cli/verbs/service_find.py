"""ros2 service find."""

from __future__ import annotations

import argparse

from ros2cli.found import add_find_arguments, write_found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_find_arguments(parser, "services")


def main(args: argparse.Namespace) -> None:
    """Write the services of the type."""
    write_found(args, lambda node: node.get_service_names_and_types())
