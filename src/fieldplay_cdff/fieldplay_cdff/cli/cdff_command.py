"""The commands `fieldplay cdff ...`: tools for logs and descriptions of the framework for common data fusion."""

import argparse
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from fieldplay.cli.arguments import add_json, add_overwrite, count
from fieldplay.cli.parser import CommandParser

EXAMPLES = {
    "info": """\
  fieldplay cdff info recording_20181202_0*.msg
  fieldplay cdff info logs/ --json
""",
    "show": """\
A STREAM is named as in the log (see `info`); the first / may be left out. Of a file of settings alone all is shown.

  fieldplay cdff show dgps_Logger_InFuse.msg
  fieldplay cdff show dgps_Logger_InFuse.msg dgps.imu_pose --index -1
  fieldplay cdff show logs/ dgps.imu_pose --time 2018-11-27T09:30:12.5Z --json
""",
    "index": """\
A log of 4 MB and more is gone through once; the offsets of its samples are then kept in $FIELDPLAY_CACHE, else in
$XDG_CACHE_HOME/fieldplay, else in ~/.cache/fieldplay, never next to the log.

  fieldplay cdff index logs/
  fieldplay cdff index logs/ --forget
""",
    "chunk": """\
A start or end is an index in each stream (120), seconds from the start of the log (2.5 or 2s), a Unix time
(1543311000.25), one as in the log (1543311000250000) or a time in UTC (2018-11-27T09:30:00.25Z). Times are those of
logging; samples at the end itself are not taken.

  fieldplay cdff chunk dgps_Logger_InFuse.msg part.msg --start 30s --end 40s
  fieldplay cdff chunk logs/ dgps.imu_pose part.msg.zz --start 2018-11-27T09:30:30Z
""",
    "join": """\
  fieldplay cdff join recording_20181202_0*.msg whole.msg
""",
    "export": """\
A row is a sample; the first column is its time in nanoseconds since 1970. Fields within others have dotted names.

  fieldplay cdff export dgps_Logger_InFuse.msg dgps.imu_pose dgps.csv --lists pos,orient --time sample
  fieldplay cdff export logs/ tables --format parquet
""",
    "diagram": """\
Errors in the description are reported with their line and drawn in red: names that no step publishes, ports without
connections, connections whose ends have different types.

  fieldplay cdff diagram terrain.yaml terrain.svg
  fieldplay cdff diagram terrain.yaml terrain.png --dfn my_filter.yaml --log logs/ --stream leftImage=/unit/left/image
""",
    "new-dfn": """\
OUT is a Python package: a class for each implementation, the description, a file of parameters, an entry point of the
group fieldplay.steps, and a test. docs/fusion/own-steps.md shows how to go on.

  fieldplay cdff new-dfn MyFilter_desc.yaml my_filter
""",
    "new-dfpc": """\
OUT is a Python package: the description as form 2, a DFN for each step that nobody has published, an entry point of the
group fieldplay.steps, and a test. Once installed, `fieldplay fuse` knows the pipeline by its name.

  fieldplay cdff new-dfpc MyChain.yaml my_chain --dfn MyFilter_desc.yaml
""",
}
EPILOG = """\
fieldplay cdff TOOL -h explains each tool. A LOG is a file .msg or .msg.zz as the framework's programs write it. To play
a log, or to make a bag of it, no tool is needed: see fieldplay info, play and convert.
"""
Add = Callable[[str, str], argparse.ArgumentParser]


def add_arguments(parser: CommandParser) -> None:
    """The commands below `cdff`, each with its arguments."""
    subparsers = parser.add_subparsers(required=True, metavar="TOOL")

    def tool(name: str, text: str) -> argparse.ArgumentParser:
        sub = subparsers.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.",
            epilog=EXAMPLES[name],
        )
        sub.set_defaults(run=partial(_run, name), parser=sub)
        return sub

    _add_looking(tool)
    _add_cutting(tool)
    _add_export(tool("export", "write streams as tables: CSV or Parquet, a row for each sample"))
    _add_diagram(tool("diagram", "draw a DFN or DFPC from its description, and check that"))
    _add_new(tool("new-dfn", "make a Python package from the description of a DFN"), "DFN")
    _add_new(tool("new-dfpc", "make a Python package from the description of a DFPC"), "DFPC")


def _run(tool: str, chosen: argparse.Namespace) -> int:
    """The dependencies of the tools are loaded for them alone."""
    if tool in ("new-dfn", "new-dfpc"):
        from fieldplay_cdff.cli import scaffold_command

        return scaffold_command.new_dfn(chosen) if tool == "new-dfn" else scaffold_command.new_dfpc(chosen)
    from fieldplay_cdff.cli import diagram_command, log_commands

    return {**log_commands.TOOLS, "diagram": diagram_command.diagram}[tool](chosen)


def _add_looking(tool: Add) -> None:
    info = tool("info", "list the streams of logs: types, counts, times, gaps, faults")
    show = tool("show", "print one sample, long lists by their length and range")
    index = tool("index", "show where the indexes of large logs are and whether they are valid; make them")
    for sub in (info, index):
        _add_logs(sub)
    _add_log(show)
    show.add_argument("stream", metavar="STREAM", nargs="?", help="by default all, one below the other")
    which = show.add_mutually_exclusive_group()
    which.add_argument("--index", type=_integer, metavar="N", help="which sample, from 0; -1 is the last; 0 by default")
    which.add_argument("--time", metavar="T", help="the sample nearest to a time: seconds from the start, Unix or UTC")
    show.add_argument("--depth", type=count, default=8, metavar="D", help="so many levels of maps; 8")
    show.add_argument(
        "--max-list", type=count, default=16, metavar="N", help="print lists up to this length completely; 16"
    )
    index.add_argument("--forget", action="store_true", help="take the indexes of these logs away")
    for sub, what in ((info, "JSON"), (show, "the complete sample as JSON"), (index, "JSON")):
        add_json(sub, what)


def _add_cutting(tool: Add) -> None:
    chunk = tool("chunk", "write some streams and a time range of a log into a smaller one")
    join = tool("join", "write the parts of a recording, in the order of their names, into one log")
    _add_log(chunk)
    _add_streams(chunk)
    chunk.add_argument("--start", default="", metavar="N|TIME", help="the first sample or time to take")
    chunk.add_argument("--end", default="", metavar="N|TIME", help="the first one to leave out again")
    _add_logs(join)
    for sub in (chunk, join):
        sub.add_argument("out", metavar="OUT", type=Path, help="the log, .msg, or .msg.zz to pack it")
        _add_writing(sub)


def _add_export(parser: argparse.ArgumentParser) -> None:
    _add_log(parser)
    _add_streams(parser)
    parser.add_argument(
        "out", metavar="OUT", type=Path, help="one stream: a file .csv or .parquet; several: a folder, which is made"
    )
    parser.add_argument(
        "--lists",
        default="none",
        metavar="NAMES",
        help="lists to give a column for each item, as pos,orient; all or none (the default): one cell of JSON each",
    )
    parser.add_argument(
        "--time", choices=("log", "sample"), default="log", help="the first column: when logged, or the sample's own"
    )
    parser.add_argument("--format", choices=("csv", "parquet"), default="csv", help="of the files in a folder; csv")
    _add_writing(parser)


def _add_diagram(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("archive", metavar="DESCRIPTION", type=Path, help="the description, YAML")
    parser.add_argument("out", metavar="OUT", type=Path, help="the output image, .svg or .png")
    parser.add_argument("--implementation", metavar="NAME", help="the one to draw; the first by default")
    parser.add_argument(
        "--dfn",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="a description of a further DFN; NAME.yaml and NAME_desc.yaml next to DESCRIPTION are read",
    )
    parser.add_argument("--stats", type=Path, metavar="FILE", help="write on it what `fuse --stats` measured")
    parser.add_argument("--log", type=Path, metavar="LOG", help="compare the inputs' types with streams of a log")
    parser.add_argument(
        "--stream",
        action="append",
        default=[],
        metavar="PORT=STREAM",
        help="which stream of the log feeds an input; by default the one that is called so",
    )
    _add_writing(parser)


def _add_new(parser: argparse.ArgumentParser, kind: str) -> None:
    parser.add_argument("archive", metavar="DESCRIPTION", type=Path, help="the description, YAML")
    parser.add_argument("out", metavar="OUT", type=Path, help="the package's folder, which must not exist")
    parser.add_argument("--package", default="", metavar="NAME", help=f"the package's name; the {kind}'s by default")
    if kind == "DFPC":
        parser.add_argument(
            "--dfn", action="append", default=[], type=Path, metavar="FILE", help="a description of a DFN of its own"
        )
    add_overwrite(parser, "replace what is there")


def _add_log(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("archive", metavar="LOG", type=Path, help="a .msg or .msg.zz, a folder of them, or a zip")


def _add_logs(parser: argparse.ArgumentParser) -> None:
    text = "a .msg or .msg.zz, or a folder; several are taken as parts of one recording; one may be a zip"
    parser.add_argument("logs", metavar="LOG", type=Path, nargs="+", help=text)


def _add_streams(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("streams", metavar="STREAM", nargs="*", help="names as in the log; all if none is given")


def _add_writing(parser: argparse.ArgumentParser) -> None:
    add_overwrite(parser, "replace an existing file once the new one is complete")
    parser.add_argument("--strict", action="store_true", help="write nothing if there is any fault at all")


def _integer(text: str) -> int:
    if not re.fullmatch(r"-?\d{1,18}", text):
        raise argparse.ArgumentTypeError(f"expected a whole number, got '{text}'")
    return int(text)
