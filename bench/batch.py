"""What `fieldplay batch` gains by a second worker, and what Dask costs for each archive.

Usage: ./ws exec python bench/batch.py [--archives 12] [--rounds 3] [--seconds 120] [--do check,convert]

The same archives by one worker and by two, alternating in one run: wall time, and processor time of all processes. What
the engine costs is what a run takes besides the steps themselves (by their own clocks): that of one archive is the
start of a worker, and what each further one adds is told. On a busy machine look at ratios and at processor time.
"""

import argparse
import json
import os
import shutil
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from archive import write_tables


class Cost(NamedTuple):
    """Of one run, in seconds; `steps` by the clocks of the steps."""

    wall: float
    cpu: float
    steps: float


def batched(archives: list[Path], workers: int, arguments: list[str]) -> Cost:
    """Take them through the steps by the command, into a folder that is taken away again."""
    out = archives[0].parent.parent / "out"
    command = [shutil.which("fieldplay") or "fieldplay", "batch", *map(str, archives), "--out", str(out)]
    command += ["--workers", str(workers), *arguments]
    start = time.perf_counter()
    silent = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    _, status, usage = os.wait4(os.posix_spawn(command[0], command, os.environ, file_actions=silent), 0)
    wall = time.perf_counter() - start
    if status:
        sys.exit(f"{' '.join(command)} failed")
    steps = sum(json.loads(path.read_text())["seconds"] for path in out.glob("*/*.json"))
    shutil.rmtree(out)
    return Cost(wall, usage.ru_utime + usage.ru_stime, steps)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archives", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--do", default="check,convert")
    chosen = parser.parse_args()
    with TemporaryDirectory(prefix="fieldplay-bench-", dir=os.environ.get("TMPDIR", "/var/tmp")) as name:
        archives = [Path(name, "archives", f"day_{number}") for number in range(chosen.archives)]
        for path in archives:
            write_tables(path, chosen.seconds)
        text, ratios, extras = ["--do", chosen.do], [], []
        for _ in range(chosen.rounds):
            alone, one, two = (
                batched(*parameters, text) for parameters in ((archives[:1], 1), (archives, 1), (archives, 2))
            )
            ratios.append(one.wall / two.wall)
            extras.append((one.wall - one.steps - alone.wall + alone.steps) / (chosen.archives - 1))
            for message, cost in (("one archive", alone), ("1 worker", one), ("2 workers", two)):
                print(f"  {message}: {cost.wall:.2f} s, {cost.cpu:.2f} s of processors, steps {cost.steps:.2f} s")
            print(f"  {ratios[-1]:.2f} times as fast; {extras[-1]:.3f} s of engine for each further archive")
        print(
            f"{chosen.archives} archives: {median(ratios):.2f} times as fast in the middle, {max(ratios):.2f} at best; "
        )
        print(f"engine for each archive: {median(extras):.3f} s")


if __name__ == "__main__":
    main()
