"""ros2 param load."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ros2cli.direct_node import direct_node
from ros2cli.parameters import RemoteParameters, add_remote_arguments, parameters_in


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_remote_arguments(parser)
    parser.add_argument("parameter_file", type=Path, help="A file of parameters, as `ros2 param dump` writes it")
    parser.add_argument(
        "--no-use-wildcard", action="store_true", help="Leave those out that the file has for all nodes ('/**')"
    )


def main(args: argparse.Namespace) -> int:
    """Set all parameters of the file, and say of each whether it was done; the exit code is 1 where one was not."""
    parameters = parameters_in(args.parameter_file, use_wildcard=not args.no_use_wildcard)
    with direct_node(use_sim_time=args.use_sim_time) as node:
        results = RemoteParameters.of(node, args).set_all(list(parameters.values()))
    for name, (done, reason) in zip(parameters, results, strict=True):
        out, word = (sys.stdout, "successful") if done else (sys.stderr, "failed")
        out.write(f"Set parameter {name} {word}{f': {reason}' if reason else ''}\n")
    return 0 if all(done for done, _ in results) else 1
