"""The ``ros2`` command: find the verb, import only that, run it, turn its end into an exit code."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    """A command that only holds verbs, with a summary of each."""

    summary: str
    verbs: Mapping[str, str]


# Without importing any of them: what a command does is in the module of its name in ros2cli.verbs.
COMMANDS: Mapping[str, str | Group] = {
    "bag": Group(
        "Record, play and look into bags",
        {"info": "Show what is in a bag", "play": "Play a bag", "record": "Record topics into a bag"},
    ),
    "interface": Group(
        "Look up interfaces",
        {
            "list": "List the interfaces there are",
            "package": "List the interfaces of a package",
            "show": "Write the definition of an interface",
        },
    ),
    "launch": "Start what a launch file describes",
    "node": Group(
        "Look up nodes",
        {"info": "Show what a node publishes, subscribes to and serves", "list": "List the nodes there are"},
    ),
    "param": Group(
        "Read and set parameters",
        {
            "dump": "Write the parameters of a node as YAML",
            "get": "Write the value of a parameter",
            "list": "List the parameters there are",
            "set": "Set a parameter",
        },
    ),
    "pkg": Group(
        "Look up packages",
        {
            "executables": "List what `ros2 run` can run",
            "list": "List the packages there are",
            "prefix": "Write where a package is installed",
        },
    ),
    "run": "Run an executable of a package",
    "service": Group(
        "Look up and call services",
        {
            "call": "Call a service",
            "info": "Show the type and the endpoints of a service",
            "list": "List the services there are",
            "type": "Write the type of a service",
        },
    ),
    "topic": Group(
        "Look up, read and publish topics",
        {
            "bw": "Write out the bandwidth of a topic",
            "echo": "Write out the messages of a topic",
            "hz": "Write out how often a topic's messages come",
            "info": "Show the type and the endpoints of a topic",
            "list": "List the topics there are",
            "pub": "Publish messages on a topic",
            "type": "Write the type of a topic",
        },
    ),
}


def main(*, argv: Sequence[str] | None = None) -> int | str | None:
    """Run ``ros2 <argv>``; the result is what ``sys.exit`` takes (a text goes to stderr with exit code 1)."""
    words = list(sys.argv[1:] if argv is None else argv)
    args, unknown = build_parser(words).parse_known_args(words)
    if unknown:
        args.parser.error(f"{' '.join(unknown)} is not covered by this stand-in for ROS 2's command")
    if not args.use_python_default_buffering and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    try:
        result: int | str | None = args.main(args)
        return result
    except KeyboardInterrupt:
        return signal.SIGINT
    except BrokenPipeError:
        # Whoever read the output has left; without this the interpreter's own flush at exit fails loudly.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except RuntimeError as error:
        return str(error)


def build_parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """Build the parser, complete for the one verb that ``words`` name and in outline for all others."""
    parser = argparse.ArgumentParser(
        prog="ros2",
        description="ros2 starts, runs and looks into ROS 2 systems.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--use-python-default-buffering",
        action="store_true",
        help="Leave the buffering of stdout to Python, instead of flushing it at every line",
    )
    _add_entries(parser, COMMANDS, words)
    return parser


def _add_entries(
    parser: argparse.ArgumentParser,
    entries: Mapping[str, str] | Mapping[str, str | Group],
    words: Sequence[str],
    command: str | None = None,
) -> None:
    """Add commands, or the verbs of one; only what is chosen is imported."""
    chosen, rest = _split_at_first_word(words)
    name = parser.prog
    parser.set_defaults(main=lambda _: parser.print_help(), parser=parser)
    width = max(map(len, entries))
    summaries = {key: entry if isinstance(entry, str) else entry.summary for key, entry in entries.items()}
    subparsers = parser.add_subparsers(
        title="Commands",
        description="\n".join(f"{key.ljust(width)}  {summary}" for key, summary in summaries.items()),
        metavar=f"Call `{name} <command> -h` for more detailed usage.",
        prog=name,
    )
    for key, entry in entries.items():
        sub = subparsers.add_parser(
            key, description=summaries[key], formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if key != chosen:
            continue
        if isinstance(entry, Group):
            _add_entries(sub, entry.verbs, rest, key)
        else:
            importlib.import_module(f"ros2cli.verbs.{command or key}_verbs").VERBS[key].fill(sub)
    if chosen is not None and chosen not in entries:
        parser.error(
            f"'{name} {chosen}' is not covered by this stand-in for ROS 2's command; it has: {', '.join(entries)}"
        )


def _split_at_first_word(words: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """Return the first word that is no option, and what follows; every option before a verb is a plain flag."""
    for index, word in enumerate(words):
        if word in ("-h", "--help"):
            break
        if not word.startswith("-"):
            return word, words[index + 1 :]
    return None, ()
