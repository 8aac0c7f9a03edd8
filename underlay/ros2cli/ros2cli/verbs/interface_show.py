"""ros2 interface show."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from ros2cli.interfaces import definition, part_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("type", help="The interface (e.g. 'std_msgs/msg/String'), or - to read its name")
    comments = parser.add_mutually_exclusive_group()
    comments.add_argument("--all-comments", action="store_true", help="Write the comments of its parts too")
    comments.add_argument("--no-comments", action="store_true", help="Write no comments and no empty lines")


def main(args: argparse.Namespace) -> None:
    """Write the definition, and below each field that is a message the definition of that."""
    name = sys.stdin.readline().strip() if args.type == "-" else args.type
    lines = _lines(name, own_comments=not args.no_comments, all_comments=args.all_comments)
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def _lines(name: str, *, own_comments: bool, all_comments: bool, depth: int = 0) -> Iterator[str]:
    for line in definition(name).splitlines():
        shown = line.rstrip() if own_comments else _without_comment(line)
        if shown or own_comments:
            yield "\t" * depth + shown
        part = part_of(line, name.split("/")[0])
        if part is not None:
            yield from _lines(part, own_comments=all_comments, all_comments=all_comments, depth=depth + 1)


def _without_comment(line: str) -> str:
    """A # within the quotes of a constant's text begins no comment."""
    quote = ""
    for place, sign in enumerate(line):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign == "#":
            return line[:place].rstrip()
    return line.rstrip()
