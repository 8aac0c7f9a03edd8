"""How fast `view --save` is at AMEDS's full rates, beside `convert`, and when the first picture is away.

Two cameras as JPEG at 30 Hz, the lidar at 5 Hz with 115,200 points, all tables. Seconds of CPU against seconds of the
archive, and the largest memory, alternating with a conversion of the same archive in one run. The first picture is
timed from the start of the process. Then the same is sent to a server that may keep --memory, and its largest memory
told. Usage: ./ws exec python bench/view.py [--seconds 20] [--rounds 3] [--memory 100MB]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import rerun as rr
from archive import write_clouds, write_images, write_tables

from fieldplay.datasets.registry import open_dataset
from fieldplay.topics.selection import Selection
from fieldplay.view import viewer
from fieldplay.view.show import ArchiveShow

CAMERAS = {"MainCam": (1080, 1920), "AuxCam": (720, 1280)}
CHILD = """
import json, resource, sys, time
begin_wall = float(sys.argv[1])
from fieldplay.cli.main import main
first = []
if sys.argv[2] == "view":
    from fieldplay.view import rerun_stream as recording
    send = recording.Recording._send_images
    flush = recording.Recording.flush
    sent = []
    def noted(self, *arguments):
        send(self, *arguments)
        sent.append(1)
    def flushed(self):
        flush(self)
        if sent and not first:
            first.append(time.time() - begin_wall)
    recording.Recording._send_images, recording.Recording.flush = noted, flushed
code = main(sys.argv[2:])
use = resource.getrusage(resource.RUSAGE_SELF)
measured = {"cpu_s": use.ru_utime + use.ru_stime, "memory_mb": use.ru_maxrss / 1024, "wall_s": time.time() - begin_wall}
print(json.dumps({**measured, "code": code, "first_picture_s": first[0] if first else None}))
"""


def measured(*command: str) -> dict[str, Any]:
    """A command in a process of its own."""
    arguments = [sys.executable, "-c", CHILD, str(time.time()), *command]
    result = subprocess.run(arguments, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    actual: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    assert actual["code"] == 0
    return actual


def served_mb(root: Path, memory: str) -> float:
    """The largest memory of a server that is sent an archive and may keep so much of it."""
    stream = rr.RecordingStream("bench")
    with viewer.browser(memory, viewer.LOCAL, viewer.free_port(viewer.LOCAL, 0)) as server:
        with viewer.connect_to(stream, server.url), open_dataset(root) as archive:
            ArchiveShow(archive, Selection(), stream, report=lambda _: None).send(lambda *_: None)
        status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", default="100MB")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fieldplay-bench-", dir=os.environ.get("TMPDIR", "/var/tmp")) as name:
        folder = Path(name)
        root = folder / "Traverse_9"
        write_tables(root, options.seconds)
        for camera, size in CAMERAS.items():
            write_images(root, camera, size, options.seconds)
        write_clouds(root, options.seconds)
        for number in range(options.rounds):
            view = measured("view", str(root), "--save", str(folder / "out.rrd"), "--overwrite")
            bag = measured("convert", str(root), str(folder / "bag"), "--overwrite")
            size = (folder / "out.rrd").stat().st_size / 1e6
            print(
                f"round {number + 1}: view {options.seconds / view['cpu_s']:.1f} times real time by CPU"
                f" ({options.seconds / view['wall_s']:.1f} by the clock), first picture after"
                f" {view['first_picture_s']:.2f} s, {view['memory_mb']:.0f} MB, {size:.0f} MB written;"
                f" convert takes {bag['cpu_s'] / view['cpu_s']:.2f} of its CPU, {bag['memory_mb']:.0f} MB",
                flush=True,
            )
        print(f"--memory {options.memory}: the server of the page has {served_mb(root, options.memory):.0f} MB at most")


if __name__ == "__main__":
    main()
