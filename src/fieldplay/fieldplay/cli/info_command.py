"""The command `info`: what is in an archive, topic by topic."""

import argparse

from fieldplay.cli.arguments import add_archive, add_json, require_bags
from fieldplay.cli.parser import CommandParser

EPILOG = """\
examples:
  fieldplay info etna.zip
  fieldplay info bags/run1 bags/run2 --json
"""


def add_arguments(parser: CommandParser) -> None:
    """ARCHIVE, and how much is printed."""
    add_archive(parser, several=True)
    with parser.section("output"):
        parser.add_argument("-v", "--verbose", action="store_true", help="print all notes, and what was measured")
        parser.add_argument(
            "--parameters",
            action="store_true",
            help="print the robot's own parameter files instead: all sets of the first, then the changes of each later",
        )
        add_json(parser)


def complete(chosen: argparse.Namespace) -> None:
    """The first of several bags stands for all where one is asked for."""
    chosen.archive = chosen.archives[0]


def run(chosen: argparse.Namespace) -> int:
    """What is in an archive, or in a bag."""
    require_bags(chosen)
    from fieldplay.cli.summaries import show_info  # the readers are not needed to print the help

    return show_info(chosen)
