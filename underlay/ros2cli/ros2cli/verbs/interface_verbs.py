"""ros2 interface."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from ros2cli.interfaces import definition, interface_names, part_of
from ros2cli.options import Argument, Verb

_TITLES = {"msg": "Messages", "srv": "Services", "action": "Actions"}


def _write_list(args: argparse.Namespace) -> None:
    """Write the names of all interfaces, by their kinds."""
    names = interface_names()
    for kind, title in _TITLES.items():
        if not args.kinds or kind in args.kinds:
            sys.stdout.write(f"{title}:\n" + "".join(f"    {name}\n" for name in names if f"/{kind}/" in name))


def _write_package(args: argparse.Namespace) -> None:
    """Write the names of its interfaces."""
    sys.stdout.write("".join(f"{name}\n" for name in interface_names(args.package_name)))


def _write_definition(args: argparse.Namespace) -> None:
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


VERBS = {
    "list": Verb(
        _write_list,
        Argument("-m", "--only-msgs", dest="kinds", action="append_const", const="msg", help="Messages only"),
        Argument("-s", "--only-srvs", dest="kinds", action="append_const", const="srv", help="Services only"),
        Argument("-a", "--only-actions", dest="kinds", action="append_const", const="action", help="Actions only"),
    ),
    "package": Verb(_write_package, Argument("package_name", help="The package")),
    "show": Verb(
        _write_definition,
        Argument("type", help="The interface (e.g. 'std_msgs/msg/String'), or - to read its name"),
        Argument("--all-comments", action="store_true", help="Write the comments of its parts too", group="comments"),
        Argument("--no-comments", action="store_true", help="Write no comments and no empty lines", group="comments"),
    ),
}
