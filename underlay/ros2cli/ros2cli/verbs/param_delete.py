"""ros2 param delete."""

from __future__ import annotations

import argparse
import sys

from ros2cli.direct_node import direct_node
from ros2cli.parameters import RemoteParameters, add_remote_arguments


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_remote_arguments(parser)
    parser.add_argument("parameter_name", help="The parameter")


def main(args: argparse.Namespace) -> str | None:
    """Delete the parameter, or return why not."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        done, reason = RemoteParameters.of(node, args).delete(args.parameter_name)
    told = f": {reason}" if reason else ""
    if not done:
        return f"Deleting parameter failed{told}"
    sys.stdout.write(f"Deleted parameter successfully{told}\n")
    return None
