"""ros2 topic find."""

from __future__ import annotations

import argparse

from ros2cli.found import add_find_arguments, write_found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_find_arguments(parser, "topics")


def main(args: argparse.Namespace) -> None:
    """Write the topics of the type."""
    write_found(args, lambda node: node.get_topic_names_and_types())
