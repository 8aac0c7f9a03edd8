"""ros2 param set."""

from __future__ import annotations

import argparse
import sys

from rclpy.parameter import get_parameter_value

from ros2cli.direct_node import direct_node
from ros2cli.parameters import RemoteParameters, add_remote_arguments


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_remote_arguments(parser)
    parser.add_argument("parameter_name", help="The parameter")
    parser.add_argument("value", help="Its value, in YAML")


def main(args: argparse.Namespace) -> str | None:
    """Set the parameter, or return why not."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        remote = RemoteParameters.of(node, args)
        done, reason = remote.set(args.parameter_name, get_parameter_value(args.value))
    told = f": {reason}" if reason else ""
    if not done:
        return f"Setting parameter failed{told}"
    sys.stdout.write(f"Set parameter successful{told}\n")
    return None
