"""The command `play`: the player node without a launch file."""

import argparse
import sys
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from fieldplay.cli.arguments import add_archive, add_remap, add_selection, seconds, selection_of
from fieldplay.cli.parser import CommandParser
from fieldplay.cli.terminal import ProgressBar, progress_bar
from fieldplay.core.errors import UsageError
from fieldplay.core.process_exit import exit_deadline
from fieldplay.core.progress import track_opening
from fieldplay.player.options import PlayOptions

STORAGES = ("mcap", "sqlite3")
NODE = "fieldplay_ros.player_node"  # of a package of ROS, which may not be there


def add_arguments(parser: CommandParser) -> None:
    """ARCHIVE, what is taken of it, and how it is played."""
    add_archive(parser)
    add_selection(parser)
    add_remap(parser)
    parser.add_argument("-r", "--rate", type=float, default=1.0, metavar="R", help="how many times faster than it was")
    parser.add_argument("-l", "--loop", action="store_true", help="begin again at the end")
    parser.add_argument("--clock", type=float, default=0.0, metavar="HZ", help="publish /clock so often; 0 is never")
    parser.add_argument(
        "--skip-gaps",
        type=seconds,
        metavar="S",
        help="pass over stretches without a message that are longer; 0 is never (default: as the dataset has it)",
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
    parser.add_argument(
        "-s", "--storage", choices=STORAGES, help="as ros2 bag has it; what a file holds tells its storage by itself"
    )
    parser.add_argument("--qos-overrides", type=Path, metavar="FILE", help="YAML as rosbag2 reads it")
    parser.add_argument("--urdf", type=Path, metavar="FILE", help="a robot model to publish on robot_description")


def run(chosen: argparse.Namespace) -> int:
    """Play until the end or Ctrl-C; the exit code."""
    options = PlayOptions(
        selection=selection_of(chosen),
        rate=chosen.rate,
        loop=chosen.loop,
        paused=chosen.paused,
        clock_hz=chosen.clock,
        skip_gaps_s=chosen.skip_gaps,
        stamps=chosen.stamps,
        on_end=chosen.on_end,
        loop_stamps=chosen.loop_stamps,
        wait_for_subscribers=chosen.wait_for_subscribers,
        qos_overrides=chosen.qos_overrides,
        urdf=chosen.urdf,
    )
    try:
        import rclpy

        node: Any = import_module(NODE)
    except ModuleNotFoundError as error:
        raise UsageError(f"play needs ROS 2: {error}") from None
    sys.setswitchinterval(node.SWITCH_S)
    node.initialise([])
    try:
        with progress_bar("opening", "MB") as bar, track_opening(partial(_show, bar)):
            code: int = node.play(chosen.archive, chosen.dataset, options)
            return code
    finally:
        with exit_deadline():
            rclpy.try_shutdown()
        node.ignore_signals()


def _show(bar: ProgressBar, fraction: float, megabytes: int) -> None:
    """The bar goes when all is open: what is told while it plays stands by itself."""
    bar(fraction, megabytes)
    if fraction >= 1:
        bar.finish()
