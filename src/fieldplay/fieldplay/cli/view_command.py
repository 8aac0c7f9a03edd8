"""The command `view`: an archive or a bag in Rerun."""

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from fieldplay.cli.arguments import (
    add_archive,
    add_overwrite,
    add_selection,
    count,
    open_archive,
    require_output_file,
    selection_of,
)
from fieldplay.cli.parser import CommandParser
from fieldplay.cli.terminal import Interrupted, deferred_interrupts, print_line, print_message, progress_bar
from fieldplay.core.errors import UsageError
from fieldplay.core.process_exit import exit_deadline

if TYPE_CHECKING:
    import rerun as rr

    from fieldplay.view.viewer import RunningViewer


NEEDS = "view needs the extra 'view' (Rerun, some 170 MB): ./ws setup --with view, or pip install 'fieldplay[view]'"
LOCAL = "127.0.0.1"
LISTENER = "fieldplay_ros.view_listener"  # of a package of ROS, which may not be there
LIVE_BYTES, LIVE_WAIT_S = 64 << 20, 0.1
EPILOG = """\
examples:
  fieldplay view etna.zip
  fieldplay view etna.zip --save etna.rrd --derived
  fieldplay view --live --topics 'odom|points'
"""


def add_arguments(parser: CommandParser) -> None:
    """ARCHIVE, what is taken of it, and where it is shown."""
    add_archive(parser, may_lack=True)
    with parser.section("viewer"):
        parser.add_argument("--live", action="store_true", help="show live topics instead of ARCHIVE (needs ROS 2)")
        parser.add_argument("--every", type=count, default=1, metavar="N", help="take every n-th image and cloud")
        parser.add_argument("--save", type=Path, metavar="OUT.rrd", help="write a file, which `rerun OUT.rrd` shows")
        parser.add_argument("--web", action="store_true", help="serve the viewer and the data for a browser")
        parser.add_argument("--connect", metavar="ADDR", help="send to a running viewer: HOST:PORT, or a port")
        parser.add_argument("--bind", default=LOCAL, metavar="ADDR", help="address that --web listens on")
        parser.add_argument("--port", type=count, default=9090, metavar="N", help="port of the page of --web")
        parser.add_argument("--memory", default="2GB", metavar="SIZE", help="memory limit of the viewer, as 4GB")
        add_overwrite(parser, "replace an existing OUT.rrd")
    add_selection(parser, images="as the archive has them")
    with parser.section("time and topics"):
        parser.add_argument("--derived", action="store_true", help="add the topics of the kinematics nodes, and /tf")


def run(chosen: argparse.Namespace) -> int:
    """Show it; the exit code."""
    os.environ.setdefault("RUST_LOG", "off")  # errors are reported here, once
    try:
        import rerun
    except ModuleNotFoundError:
        raise UsageError(NEEDS) from None
    require_one_output(chosen)
    if chosen.live:
        return run_live(chosen, rerun.RecordingStream("fieldplay"))
    with open_archive(chosen) as data:
        from fieldplay.view.show import ArchiveShow

        stream = rerun.RecordingStream("fieldplay")
        shown = ArchiveShow(data.archive, selection_of(chosen), stream, report=print_message, every=chosen.every)
        try:
            with open_output(chosen, stream) as started:
                with progress_bar("sending", "messages") as bar:
                    shown.send(bar)
                print_line(f"{chosen.save or 'sent'}: {shown.summary()}")
                if started is not None:
                    print_message("Ctrl-C ends it" if started.page else "closing the viewer, or Ctrl-C, ends it")
                    wait(started)
        finally:
            for line in (*data.archive.warnings, *data.archive.defects.summary_lines()):
                print_message(line)
    return 0


def run_live(chosen: argparse.Namespace, stream: "rr.RecordingStream") -> int:
    """Show received messages until a signal comes, or the viewer is closed."""
    try:
        import_module("rclpy")
        listening = import_module(LISTENER).listening
    except ModuleNotFoundError as error:
        raise UsageError(f"--live needs ROS 2: {error}") from None
    from fieldplay.view.show import LiveShow, ReceiveQueue

    namespace = chosen.namespace if chosen.namespace is not None else chosen.dataset or ""
    show = LiveShow(stream, print_message, dataset=chosen.dataset or "", namespace=namespace, every=chosen.every)
    backlog = ReceiveQueue(LIVE_BYTES)
    received = listening(backlog, chosen.topics, exit_deadline)  # ends last: all else is done then
    with received as listener, open_output(chosen, stream) as started, deferred_interrupts() as stop_if_requested:
        try:
            while started is None or started.process.poll() is None:
                stop_if_requested()
                messages = backlog.take(LIVE_WAIT_S)
                show.set_topics(listener.topics)
                if messages:
                    show.take(messages)
        except Interrupted:
            pass
        finally:
            print_line(f"shown: {show.summary()}")
            left = [f"{name} ({msgtype})" for name, msgtype in sorted(listener.left.items())]
            for line in (backlog.drop_summary(), f"not shown: {', '.join(left)}" if left else ""):
                if line:
                    print_message(line)
    return 0


def require_one_output(chosen: argparse.Namespace) -> None:
    """UsageError where two outputs, or two inputs, are requested."""
    if chosen.live and chosen.archive is not None:
        raise UsageError("--live: expected no ARCHIVE with it")
    if not chosen.live and chosen.archive is None:
        raise UsageError("expected ARCHIVE, or --live")
    outputs = [name for name in ("save", "web", "connect") if getattr(chosen, name)]
    if len(outputs) > 1:
        raise UsageError(f"--{outputs[0]} and --{outputs[1]}: expected one of them")
    if chosen.save:
        require_output_file(chosen.archive, chosen.save, (".rrd",), overwrite=chosen.overwrite)


@contextmanager
def open_output(chosen: argparse.Namespace, stream: "rr.RecordingStream") -> Iterator["RunningViewer | None"]:
    """Open the output of the recording."""
    from fieldplay.view import viewer

    if chosen.save:
        with viewer.save_to_file(stream, chosen.save):
            yield None
    elif chosen.connect:
        url = viewer.url_of(chosen.connect)
        viewer.require_listener(url)
        with viewer.connect_to(stream, url):
            yield None
    else:
        context = (
            viewer.browser(chosen.memory, chosen.bind, chosen.port)
            if chosen.web
            else viewer.desktop(chosen.memory, chosen.bind)
        )
        with context as started:
            if started.page:
                print_message(f"open {started.page}")
            with viewer.connect_to(stream, started.url):
                yield started


def wait(started: "RunningViewer") -> None:
    """Until the viewer is closed, or a signal comes."""
    try:
        started.process.wait()
    except Interrupted:
        return
