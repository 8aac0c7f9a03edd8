"""view_frames: the tree of frames as a drawing of Graphviz."""

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import rclpy
import yaml
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.utilities import remove_ros_args

from tf2_ros import Buffer, TransformListener

WAIT_S = 5.0
STEP_S = 0.1


def main(arguments: Sequence[str] | None = None) -> int:
    """The program."""
    parser = argparse.ArgumentParser("view_frames", description="Hear transforms for a while, and draw the tree.")
    parser.add_argument("--wait-time", type=float, default=WAIT_S, help="seconds (default: %(default)s)")
    parser.add_argument("-o", "--output", help="name of the files without .gv and .pdf (default: frames_ and the time)")
    words = sys.argv if arguments is None else [parser.prog, *arguments]
    chosen = parser.parse_args(remove_ros_args(words)[1:])
    rclpy.init(args=words)
    try:
        node = Node("view_frames")
        frames = _heard(node, chosen.wait_time)
        node.destroy_node()
    except (KeyboardInterrupt, ExternalShutdownException):
        return 1
    finally:
        rclpy.try_shutdown()
    base = chosen.output or f"frames_{datetime.now():%Y-%m-%d_%H.%M.%S}"
    return _write(Path(f"{base}.gv"), drawing(frames, time.time()))


def _heard(node: Node, wait_s: float) -> Mapping[str, Mapping[str, Any]]:
    """What the buffer tells of each frame that has a parent."""
    buffer = Buffer(node=node)
    listener = TransformListener(buffer, node)
    node.get_logger().info(f"Listening to tf data for {wait_s:g} seconds...")
    end = time.monotonic() + wait_s
    while time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=STEP_S)
    listener.unregister()
    return dict(yaml.safe_load(buffer.all_frames_as_yaml()) or {})


def _write(path: Path, text: str) -> int:
    """Write the drawing, and a PDF of it where Graphviz is installed."""
    path.write_text(text)
    dot = shutil.which("dot")
    if dot is None:
        sys.stdout.write(f"{path}: without Graphviz's `dot` there is no PDF of it\n")
        return 0
    pdf = path.with_name(f"{path.name.removesuffix('.gv')}.pdf")
    subprocess.run([dot, "-Tpdf", str(path), "-o", str(pdf)], check=True)
    sys.stdout.write(f"{path} and {pdf}\n")
    return 0


def drawing(frames: Mapping[str, Mapping[str, Any]], now_s: float) -> str:
    """Return the tree in the language of Graphviz, from what a buffer tells of each frame that has a parent."""
    return "\n".join(["digraph G {", *_lines(frames, now_s), "}"]) + "\n"


def _lines(frames: Mapping[str, Mapping[str, Any]], now_s: float) -> Iterator[str]:
    if not frames:
        yield '"No tf data received"'
        return
    for child, told in frames.items():
        lines = (
            f"Broadcaster: {told['broadcaster']}",
            f"Average rate: {told['rate']}",
            f"Buffer length: {told['buffer_length']}",
            f"Most recent transform: {told['most_recent_transform']}",
            f"Oldest transform: {told['oldest_transform']}",
        )
        label = "".join(f"{line}\\n" for line in lines)
        yield f'"{told["parent"]}" -> "{child}"[label="{label}"];'
    yield "edge [style=invis];"
    yield ' subgraph cluster_legend { style=bold; color=black; label ="view_frames Result";'
    yield f'"Recorded at time: {now_s}"[ shape=plaintext ] ;'
    roots = dict.fromkeys(told["parent"] for told in frames.values() if told["parent"] not in frames)
    yield "}" + "".join(f'->"{root}"' for root in list(roots)[:1]) + ";"


if __name__ == "__main__":
    sys.exit(main())
