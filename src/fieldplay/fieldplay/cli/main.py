"""The command line: its arguments, and how what goes wrong is told. What each command does is in commands.py."""

import argparse
import io
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import argcomplete

from fieldplay.cli import commands
from fieldplay.cli.cdff import add_cdff
from fieldplay.cli.evaluation import add_evaluating, evaluate
from fieldplay.cli.interrupts import Interrupted, interrupts_at_once
from fieldplay.cli.projection import add_projecting, project
from fieldplay.cli.report import report
from fieldplay_archive.datasets import dataset_files
from fieldplay_messages.errors import UsageError, UserError

DONE, NOTHING_USABLE, WRONG_USAGE = 0, 1, 2
LONGEST_S = 1e9  # some thirty years: nanoseconds since 1970 and this fit 64 bits
NAMESPACE = re.compile(r"/?([A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*)?/?")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names of files may hold what the terminal cannot show
    words = sys.argv[1:] if arguments is None else list(arguments)
    parser = make_parser(samples=words[:1] == ["sample"] or " sample " in os.environ.get("COMP_LINE", ""))
    argcomplete.autocomplete(parser)
    chosen = parser.parse_args(arguments)
    path = getattr(chosen, "archive", None)
    if path is not None and (fault := commands.fault_of_place(path)):
        chosen.parser.error(fault)
    try:
        with interrupts_at_once():
            return _run(chosen)
    except UsageError as error:
        chosen.parser.error(str(error))
        return WRONG_USAGE  # error() has ended the program, with this code
    except Interrupted as end:
        commands.tell("\nfieldplay: interrupted; nothing was left behind")
        return 128 + end.number
    except BrokenPipeError:
        return DONE
    finally:
        _forget_lost_output()


def _run(chosen: argparse.Namespace) -> int:
    try:
        code: int = chosen.run(chosen)
        sys.stdout.flush()
        return code
    except UsageError:
        raise
    except UserError as error:
        commands.tell(f"fieldplay: {error}")
    except BrokenPipeError:
        raise
    except OSError as error:
        commands.tell(f"fieldplay: {_words_of(error)}")
    return commands.NOT_PLAYABLE if chosen.run is commands.check else NOTHING_USABLE


def _words_of(error: OSError) -> str:
    """What the system says, without its number."""
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{error.strerror}" if error.strerror else str(error)


def _forget_lost_output() -> None:
    """Whoever read the output may have gone, or its disk be full: what is left of it must not fail when Python ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def make_parser(*, samples: bool = False) -> argparse.ArgumentParser:
    """All commands and their arguments; those of `sample`, which cost time to load, only where it is asked for."""
    parser = argparse.ArgumentParser(
        prog="fieldplay", description="Archives of field robots as ROS 2 topics and bags.", allow_abbrev=False
    )
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: commands.Command, text: str) -> argparse.ArgumentParser:
        sub = subparsers.add_parser(name, help=text, description=text, allow_abbrev=False)
        sub.set_defaults(run=run, parser=sub)
        return sub

    command("list", commands.list_datasets, "list the datasets that fieldplay knows, one line each")
    info = command("info", commands.info, "show what is in an archive, topic by topic")
    check = command("check", commands.check, "list every defect of an archive: 0 none, 1 defects, 2 not playable")
    convert = command("convert", commands.convert, "write an archive, or a part of it, into a rosbag2 bag")
    play = command("play", commands.play, "play an archive as live topics (needs ROS 2)")
    page = command("report", report, "draw a page (HTML) about an archive or a rosbag2 bag")
    drawing = command("project", project, "draw a laser's points into a camera's picture, coloured by range")
    comparing = command("evaluate", evaluate, "compare odometry with the truth: ATE, RPE, errors over the way")
    add_cdff(command("cdff", commands.list_datasets, "tools for logs and descriptions of CDFF (InFuse)"))
    sampling = command("sample", commands.list_datasets, "write a synthetic archive in a dataset's published layout")
    if samples:
        _add_samples(sampling)
    for sub in (info, check, convert, play, page, drawing, comparing):
        _add_archive(sub)
    for sub in (info, check):
        sub.add_argument("--json", action="store_true", help="print JSON")
    convert.add_argument("out", metavar="OUT", type=Path, help="the bag's folder, which must not exist")
    page.add_argument("out", metavar="OUT", type=Path, help="the page, a file that ends in .html")
    add_projecting(drawing)
    add_evaluating(comparing)
    for sub in (convert, play):
        _add_selection(sub)
    convert.add_argument("--derived", action="store_true", help="also what the kinematics nodes would publish, and /tf")
    _add_storage(convert)
    _add_playing(play)
    return parser


def _add_samples(parser: argparse.ArgumentParser) -> None:
    from fieldplay.cli.sample import add_datasets

    add_datasets(parser)


def _add_archive(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("archive", metavar="ARCHIVE", type=Path, help="a folder, or the file as downloaded")
    parser.add_argument("--dataset", choices=sorted(dataset_files()), help="the dataset, where its files do not tell")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the dataset; docs/datasets/ explains them",
    )


def _add_selection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--images", choices=("compressed", "raw", "both"), help="how pictures are sent")
    parser.add_argument("--start", type=_seconds, default=0.0, metavar="S", help="seconds to leave out at the begin")
    parser.add_argument("--duration", type=_seconds, metavar="S", help="seconds to take; all by default")
    parser.add_argument(
        "--topics", type=_expression, default="", metavar="REGEX", help="only topics in which this is found"
    )
    for option, is_on, text in (("--tf", True, "on"), ("--no-tf", False, "off")):
        parser.add_argument(
            option,
            dest="tf",
            action="append",
            default=[],
            metavar="NAME",
            type=partial(_switch, is_on=is_on),
            help=f"switch a part of the dataset's tf {text}, such as nav_tf; docs/datasets/ names them",
        )
    parser.add_argument("--namespace", type=_namespace, help="before all topics; the dataset's name by default")
    parser.add_argument("--frame-prefix", default="", help="before all frames")


def _add_storage(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--storage", choices=("mcap", "sqlite3"), default="mcap", help="the bag's storage")
    parser.add_argument("--compression", choices=("none", "zstd"), default="none", help="of MCAP's chunks")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing bag once the new one is complete")
    parser.add_argument("--strict", action="store_true", help="write nothing if there is any defect at all")


def _add_playing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rate", type=float, default=1.0, metavar="R", help="how many times faster than it was")
    parser.add_argument("--loop", action="store_true", help="begin again at the end")
    parser.add_argument("--clock", type=float, default=0.0, metavar="HZ", help="publish /clock so often; 0 is never")
    parser.add_argument(
        "--skip-gaps",
        type=_seconds,
        default=0.0,
        metavar="S",
        help="pass over stretches without a message that are longer; 0 is never",
    )
    parser.add_argument("--paused", action="store_true", help="wait for the service ~/resume")
    parser.add_argument("--stamps", choices=("archive", "now"), default="archive", help="the time in the headers")
    parser.add_argument("--on-end", choices=("exit", "pause"), default="exit", help="what to do at the end")
    parser.add_argument(
        "--loop-stamps", choices=("restart", "continue"), default="restart", help="the times of a further round"
    )
    parser.add_argument(
        "--wait-for-subscribers", type=int, default=0, metavar="N", help="begin once the topics have so many in all"
    )
    parser.add_argument("--qos-overrides", type=Path, metavar="FILE", help="YAML as rosbag2 reads it")
    parser.add_argument("--urdf", type=Path, metavar="FILE", help="a robot model to publish on robot_description")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= LONGEST_S:
        raise argparse.ArgumentTypeError(f"expected seconds, from 0 to {LONGEST_S:g}, got '{text}'")
    return seconds


def _switch(name: str, *, is_on: bool) -> tuple[str, bool]:
    return name, is_on


def _expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"expected a regular expression, got '{text}': {error}") from None
    return text


def _namespace(text: str) -> str:
    if not NAMESPACE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"expected names of letters, digits and _ with / between them, got '{text}'")
    return text
