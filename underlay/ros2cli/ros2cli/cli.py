"""The ``ros2`` command: find the verb, import only that, run it, turn its end into an exit code."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import signal
import sys
from collections.abc import Mapping, Sequence

from ros2cli.catalogue import COMMANDS, Group, Verb


def main(*, argv: Sequence[str] | None = None) -> int | str | None:
    """Run ``ros2 <argv>``; the result is what ``sys.exit`` takes (a text goes to stderr with exit code 1)."""
    words = list(sys.argv[1:] if argv is None else argv)
    args = build_parser(words).parse_args(words)
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


def _add_entries(parser: argparse.ArgumentParser, entries: Mapping[str, Verb | Group], words: Sequence[str]) -> None:
    chosen, rest = _split_at_first_word(words)
    name = parser.prog
    parser.set_defaults(main=lambda _: parser.print_help())
    width = max(map(len, entries))
    subparsers = parser.add_subparsers(
        title="Commands",
        description="\n".join(f"{key.ljust(width)}  {entry.summary}" for key, entry in entries.items()),
        metavar=f"Call `{name} <command> -h` for more detailed usage.",
        prog=name,
    )
    for key, entry in entries.items():
        sub = subparsers.add_parser(
            key, description=entry.summary, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if key == chosen:
            _fill(sub, entry, rest)
    if chosen is not None and chosen not in entries:
        parser.error(
            f"'{name} {chosen}' is not covered by this stand-in for ROS 2's command; it has: {', '.join(entries)}"
        )


def _fill(parser: argparse.ArgumentParser, entry: Verb | Group, words: Sequence[str]) -> None:
    if isinstance(entry, Group):
        if entry.flag:
            parser.add_argument(entry.flag, dest="hidden_too", action="store_true", help=entry.flag_help)
        _add_entries(parser, entry.verbs, words)
        return
    module = importlib.import_module(f"ros2cli.verbs.{entry.module}")
    module.add_arguments(parser)
    parser.set_defaults(main=module.main)


def _split_at_first_word(words: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """Return the first word that is no option, and what follows; every option before a verb is a plain flag."""
    for index, word in enumerate(words):
        if word in ("-h", "--help"):
            break
        if not word.startswith("-"):
            return word, words[index + 1 :]
    return None, ()
