"""ros2 bag info."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ros2cli import bags
from ros2cli.refusals import add_refused

_REFUSED = {"-v --verbose": "sizes of single topics and services"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("bag_path", type=Path, help="The bag")
    parser.add_argument("-s", "--storage", choices=("mcap", "sqlite3"), help="Its storage (default: what it is)")
    parser.add_argument("-t", "--topic-name", action="store_true", help="Write the names of the topics only")
    add_refused(parser, _REFUSED)


def main(args: argparse.Namespace) -> None:
    """Write what is in the bag."""
    description = bags.part("description")
    write = description.topic_names if args.topic_name else description.description
    sys.stdout.write(write(args.bag_path, args.storage))
