"""The command `fieldplay play`: the player node without a launch file."""

import argparse
import sys
from dataclasses import replace
from functools import partial

import rclpy
from rclpy.signals import SignalHandlerOptions

from fieldplay.cli.progress import ProgressBar, progress_bar
from fieldplay_archive.outlets.selection import Selection
from fieldplay_messages.progress import watched_opening
from fieldplay_player.dds_profile import use_profile
from fieldplay_player.node import SWITCH_S, ignore_signals, play
from fieldplay_player.nodes.ends import letting_go
from fieldplay_player.options import PlayOptions


def play_archive(chosen: argparse.Namespace, selection: Selection) -> int:
    """Play until the end or Ctrl-C; the exit code."""
    options = PlayOptions(
        selection=replace(selection, images=chosen.images or "raw"),
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
    use_profile()
    sys.setswitchinterval(SWITCH_S)
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    try:
        with progress_bar("opening", "MB", sys.stderr) as bar, watched_opening(partial(_show, bar)):
            return play(chosen.archive, chosen.dataset, options)
    finally:
        with letting_go():
            rclpy.try_shutdown()
        ignore_signals()


def _show(bar: ProgressBar, share: float, megabytes: int) -> None:
    """The bar goes when all is open: what is told while it plays stands by itself."""
    bar(share, megabytes)
    if share >= 1:
        bar.finish()
