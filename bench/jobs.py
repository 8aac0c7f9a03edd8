"""What `convert --jobs N` gains: the same archive by one process and by several, alternating in one run.

Usage: ./ws exec python bench/jobs.py [--jobs 2] [--rounds 3] [--seconds 120] [--only tables|jpegs|raw]

Of each run the wall time and the processor time of all its processes. On a machine that is busy with other things wall
times tell little; the processor time of a run then tells what the division itself costs.
"""

import argparse
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from archive import write_images, write_tables

KINDS = {"tables": [], "jpegs": [], "raw": ["--images", "raw"]}


class Cost(NamedTuple):
    """Of one run, in seconds."""

    wall: float
    cpu: float


@contextmanager
def archive_of(kind: str, seconds: int) -> Iterator[Path]:
    """An archive of AMEDS with one kind of data; pictures are many, so there are fewer seconds of them."""
    with TemporaryDirectory(prefix="fieldplay-bench-", dir=os.environ.get("TMPDIR", "/var/tmp")) as name:
        root = Path(name) / "archive"
        if kind == "tables":
            write_tables(root, seconds * 10)
        else:
            write_images(root, "MainCam", (1080, 1920), seconds / (4 if kind == "raw" else 1))
        yield root


def converted(archive: Path, jobs: int, arguments: list[str]) -> Cost:
    """Convert it by the command, into a bag that is taken away again."""
    out = archive.parent / "bag"
    command = [
        shutil.which("fieldplay") or "fieldplay",
        "convert",
        str(archive),
        str(out),
        "--jobs",
        str(jobs),
        *arguments,
    ]
    start = time.perf_counter()
    silent = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    process = os.posix_spawn(command[0], command, os.environ, file_actions=silent)
    _, status, usage = os.wait4(process, 0)
    wall = time.perf_counter() - start
    if status:
        sys.exit(f"{' '.join(command)} failed")
    shutil.rmtree(out)
    return Cost(wall, usage.ru_utime + usage.ru_stime)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--only", choices=tuple(KINDS))
    chosen = parser.parse_args()
    for kind in [chosen.only] if chosen.only else list(KINDS):
        with archive_of(kind, chosen.seconds) as archive:
            size = sum(path.stat().st_size for path in archive.iterdir()) / 1e6
            print(f"{kind}: {size:.0f} MB")
            ratios = []
            for _ in range(chosen.rounds):
                one, many = (converted(archive, jobs, KINDS[kind]) for jobs in (1, chosen.jobs))
                ratios.append(one.wall / many.wall)
                print(f"  1: {one.wall:.2f} s, {one.cpu:.2f} s of processors; ", end="")
                print(f"{chosen.jobs}: {many.wall:.2f} s, {many.cpu:.2f} s; {ratios[-1]:.2f} times as fast")
            print(f"  {kind}: {median(ratios):.2f} times as fast in the middle, {max(ratios):.2f} at best")


if __name__ == "__main__":
    main()
