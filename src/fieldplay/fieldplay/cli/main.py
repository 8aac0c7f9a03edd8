"""The command line: its commands, each with a module, and how errors are reported."""

import argparse
import io
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import argcomplete

from fieldplay.cli.arguments import unreadable_reason
from fieldplay.cli.parser import CommandParser
from fieldplay.cli.terminal import Interrupted, immediate_interrupts, note, print_line, print_message
from fieldplay.core.errors import UsageError, UserError

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "1")  # set before NumPy loads: on small matrices threads wait for each other
DONE, NOTHING_USABLE = 0, 1  # argparse's own exit code for wrong usage is 2
GROUP = "fieldplay.commands"  # of entry points, each of which is a table as the one below
COMMANDS: Mapping[str, tuple[str, str]] = {  # by name, the module with add_arguments and run, and a line of help
    "list": ("fieldplay.cli.list_command", "list the datasets that fieldplay knows, one line each"),
    "info": ("fieldplay.cli.info_command", "show what is in an archive, topic by topic"),
    "check": ("fieldplay.cli.check_command", "list every defect of an archive: 0 none, 1 defects, 2 not playable"),
    "convert": ("fieldplay.cli.convert_command", "write an archive, or a part of it, into a rosbag2 bag"),
    "export": ("fieldplay.cli.export_command", "write topics to files: CSV, Parquet, TUM, KITTI, images, PCD"),
    "play": ("fieldplay.cli.play_command", "play an archive as live topics (needs ROS 2)"),
    "report": ("fieldplay.cli.report_command", "draw a page (HTML) about an archive or any bag"),
    "view": ("fieldplay.cli.view_command", "show an archive or any bag in Rerun: in space, over time, in the cameras"),
    "project": ("fieldplay.cli.project_command", "draw a laser's points into a camera image, coloured by range"),
    "batch": ("fieldplay.cli.batch_command", "take many archives through these, on all cores or a cluster of Dask"),
    "evaluate": ("fieldplay.cli.evaluate_command", "compare odometry with the truth: ATE, RPE, errors over distance"),
    "slam": ("fieldplay.cli.slam_command", "run odometry and SLAM programs on an archive and evaluate them"),
    "sample": ("fieldplay.cli.sample_command", "write a synthetic archive in a dataset's published layout"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: the words after `fieldplay`; None for those of the process.

    Returns:
        The exit code: 0 done, 1 nothing usable or failed; argparse exits with 2 itself for wrong usage.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names of files may hold what the terminal cannot show
    os.environ.setdefault(*ONE_THREAD)
    tokens = [*(sys.argv[1:] if arguments is None else arguments), *os.environ.get("COMP_LINE", "").split()]
    known = commands(tokens)
    parser = make_parser(next((word for word in tokens if word in known), ""))
    argcomplete.autocomplete(parser)
    if not tokens:
        parser.print_help()
        return DONE
    chosen = parser.parse_args(arguments)
    for path in getattr(chosen, "archives", None) or [getattr(chosen, "archive", None)]:
        if isinstance(path, Path) and (issue := unreadable_reason(path)):
            chosen.parser.error(issue)
    return _run(chosen)


def commands(tokens: Sequence[str] = ()) -> Mapping[str, tuple[str, str]]:
    """List all commands, ours and those that packages register.

    An entry point of the group `fieldplay.commands` is a table as COMMANDS: by name a module and a line of help. The
    module has `add_arguments(parser)`, and `run(chosen)`, which returns the exit code; its `EPILOG`, if any, ends the
    help. It is imported for its own command alone.

    Args:
        tokens: the words of the command line; where the first is one of our commands, entry points are not loaded.

    Returns:
        Module and help by name.
    """
    if tokens and tokens[0] in COMMANDS:
        return COMMANDS
    *most, last = COMMANDS.items()
    others = {name: row for entry in entry_points(group=GROUP) for name, row in entry.load().items()}
    return {**dict(most), **others, **dict([last]), **COMMANDS}


def make_parser(command: str) -> argparse.ArgumentParser:
    """Make the parser of all commands with the arguments of one: modules of the others need not be imported.

    Args:
        command: its name, or empty.

    Returns:
        The parser.
    """
    parser = CommandParser(prog="fieldplay", description="Archives of field robots as ROS 2 topics and bags.")
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, (module_name, text) in commands([command]).items():
        sub = subparsers.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        if name == command:
            module: Any = import_module(module_name)
            sub.epilog = getattr(module, "EPILOG", None)
            finish = getattr(module, "complete", lambda chosen: None)  # what argparse leaves to do
            sub.set_defaults(run=getattr(module, "run", None), parser=sub, failed=NOTHING_USABLE, finish=finish)
            module.add_arguments(sub)
    return parser


class _Version(argparse.Action):
    """Looks the version up when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from fieldplay.core.resources import own_version

        print_line(f"fieldplay {own_version()}")
        parser.exit()


def _run(chosen: argparse.Namespace) -> int:
    try:
        with immediate_interrupts():
            code: int = chosen.run(chosen)
            sys.stdout.flush()
            return code
    except UsageError as error:
        chosen.parser.error(str(error))  # which ends the program
    except UserError as error:
        note(str(error))
    except Interrupted as end:
        print_message("\nfieldplay: interrupted; nothing was left behind")
        return 128 + end.number
    except BrokenPipeError:
        return DONE
    except OSError as error:
        note(_error_text(error))
    finally:
        _forget_lost_output()
    failed: int = chosen.failed
    return failed


def _error_text(error: OSError) -> str:
    """The text of an OSError, without its number."""
    file = f"{error.filename}: " if error.filename else ""
    return f"{file}{error.strerror}" if error.strerror else str(error)


def _forget_lost_output() -> None:
    """Whoever read the output may have gone, or its disk be full: what is left of it must not fail when Python ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
