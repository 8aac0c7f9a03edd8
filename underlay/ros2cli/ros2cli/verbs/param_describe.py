"""ros2 param describe."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from rcl_interfaces.msg import ParameterDescriptor

from ros2cli.direct_node import direct_node
from ros2cli.parameters import RemoteParameters, add_remote_arguments, kind_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_remote_arguments(parser)
    parser.add_argument("parameter_names", nargs="+", help="The parameters")


def main(args: argparse.Namespace) -> None:
    """Write what the node says of the parameters."""
    with direct_node(use_sim_time=args.use_sim_time) as node:
        found = RemoteParameters.of(node, args).descriptions(args.parameter_names)
    sys.stdout.write("".join(f"{line}\n" for descriptor in found for line in _lines(descriptor)))


def _lines(descriptor: ParameterDescriptor) -> Iterator[str]:
    yield f"Parameter name: {descriptor.name}"
    yield f"  Type: {kind_of(descriptor.type)}"
    if descriptor.description:
        yield f"  Description: {descriptor.description}"
    yield "  Constraints:"
    if descriptor.read_only:
        yield "    Read only: true"
    for limits in [*descriptor.floating_point_range, *descriptor.integer_range][:1]:
        yield f"    Min value: {limits.from_value}"
        yield f"    Max value: {limits.to_value}"
        if limits.step:
            yield f"    Step: {limits.step}"
    if descriptor.additional_constraints:
        yield f"    Additional constraints: {descriptor.additional_constraints}"
