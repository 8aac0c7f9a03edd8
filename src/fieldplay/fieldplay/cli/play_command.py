"""The command `play`: the player node without a launch file."""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from fieldplay.cli.arguments import add_archive, add_remap, add_selection, seconds, selection_of
from fieldplay.cli.parser import CommandParser
from fieldplay.cli.terminal import ProgressBar, progress_bar
from fieldplay.core.errors import UsageError
from fieldplay.core.progress import track_opening
from fieldplay.player.options import OPTIONS, options_of_values

STORAGES = ("mcap", "sqlite3")
# The options other than those of the selection, with the short names that ros2 bag has.
FLAGS = {
    "rate": ("-r",), "loop": ("-l",), "loop_stamps": (), "clock": (), "skip_gaps": (), "paused": (), "stamps": (),
    "on_end": (), "wait_for_subscribers": (), "qos_overrides": (), "urdf": (),
}  # fmt: skip
TYPES: dict[str, Callable[[str], Any]] = {
    "skip_gaps": seconds,
    "qos_overrides": Path,
    "urdf": Path,
}  # of options that may be left out
NODE = "fieldplay_ros.player_node"  # of a package of ROS, which may not be there
EPILOG = """\
examples:
  fieldplay play etna.zip
  fieldplay play etna.zip --rate 2 --start 30 --clock 100
  fieldplay play some_bag --topics '/lidar|/tf' --loop
"""


def add_arguments(parser: CommandParser) -> None:
    """ARCHIVE, what is taken of it, and how it is played."""
    add_archive(parser)
    with parser.section("playback"):
        for name, flags in FLAGS.items():
            _add_option(parser, name, *flags)
        parser.add_argument("-s", "--storage", choices=STORAGES, help="ignored, as the file itself determines it")
    add_selection(parser, images="raw")
    add_remap(parser)


def _add_option(parser: CommandParser, name: str, *flags: str) -> None:
    option = OPTIONS[name]
    text = f"{option.help[0].lower()}{option.help[1:].rstrip('.')}"
    names = (*flags, "--" + name.replace("_", "-"))
    if isinstance(option.default, bool):
        parser.add_argument(*names, action="store_true", help=text)
    elif option.choices:
        parser.add_argument(*names, choices=option.choices, default=option.default, help=text)
    else:
        kind: Callable[[str], Any] = TYPES.get(name, type(option.default))
        default = None if name in TYPES else option.default
        parser.add_argument(*names, type=kind, default=default, metavar=option.metavar, help=text)


def run(chosen: argparse.Namespace) -> int:
    """Play until the end or Ctrl-C; the exit code."""
    options = options_of_values({name: getattr(chosen, name) for name in FLAGS}, selection_of(chosen))
    try:
        import_module("rclpy")  # named first where it is missing
        node: Any = import_module(NODE)
    except ModuleNotFoundError as error:
        raise UsageError(f"play needs ROS 2: {error}") from None
    sys.setswitchinterval(node.SWITCH_S)
    try:
        with node.initialised([]), progress_bar("opening", "MB") as bar, track_opening(partial(_show, bar)):
            code: int = node.play(chosen.archive, chosen.dataset, options)
            return code
    finally:
        node.ignore_signals()


def _show(bar: ProgressBar, fraction: float, megabytes: int) -> None:
    """The bar is removed when all is open: messages during playback have their own lines."""
    bar(fraction, megabytes)
    if fraction >= 1:
        bar.finish()
