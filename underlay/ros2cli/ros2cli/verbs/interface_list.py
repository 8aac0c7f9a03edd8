"""ros2 interface list."""

from __future__ import annotations

import argparse
import sys

from ros2cli.interfaces import interface_names

_TITLES = {"msg": "Messages", "srv": "Services", "action": "Actions"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("-m", "--only-msgs", dest="kinds", action="append_const", const="msg", help="Messages only")
    parser.add_argument("-s", "--only-srvs", dest="kinds", action="append_const", const="srv", help="Services only")
    parser.add_argument(
        "-a", "--only-actions", dest="kinds", action="append_const", const="action", help="Actions only"
    )


def main(args: argparse.Namespace) -> None:
    """Write the names of all interfaces, by their kinds."""
    names = interface_names()
    for kind, title in _TITLES.items():
        if not args.kinds or kind in args.kinds:
            sys.stdout.write(f"{title}:\n" + "".join(f"    {name}\n" for name in names if f"/{kind}/" in name))
