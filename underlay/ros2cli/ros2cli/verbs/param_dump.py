"""ros2 param dump."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import yaml

from ros2cli.direct_node import direct_node
from ros2cli.parameters import RemoteParameters, add_remote_arguments, plain


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_remote_arguments(parser)


def main(args: argparse.Namespace) -> None:
    """Write all parameters, as a file that a node takes."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        remote = RemoteParameters.of(node, args)
        names = remote.names()
        values = remote.values(names)
    tree: dict[str, Any] = {}
    for name, value in zip(names, values, strict=True):
        *folders, last = name.split(".")
        place = tree
        for folder in folders:
            place = place.setdefault(folder, {})
        place[last] = plain(value)
    sys.stdout.write(yaml.safe_dump({remote.name: {"ros__parameters": tree}}, default_flow_style=False))
