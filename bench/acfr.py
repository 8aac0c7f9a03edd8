"""ACFR: lines of lasers beside numpy.loadtxt and split(), and a large dataset's time and memory, as ratios of one run.

Usage: ./ws exec python bench/acfr.py [--lines 3000] [--megabytes 300]
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from convert import best, scratch

from fieldplay.datasets.registry import spec_of_dataset
from fieldplay.io.table import BLOCK_SIZE
from fieldplay.io.table_rows import TimedRows
from fieldplay.io.tagged_lines import TaggedLines, rows_from_lines

START_S = 1224050945
LASERS = ("LaserHorizontal", "LaserVertical", "LaserPort", "LaserStarboard")
LASER_HZ = 75
ASK = """
import re, resource, sys
from pathlib import Path
from fieldplay.cli.main import main
main(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_SELF)
peak = re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())
print(used.ru_utime + used.ru_stime, int(peak[1]) / 1024)
"""


def laser_lines(count: int, beams: int, first: int = 0) -> str:
    """Lines in centimetres, of so many beams; those of 180 are the four that make a scan, of 181 and 180."""
    rng = np.random.default_rng(1)
    lines = []
    for index in range(first, first + count):
        quarter = index % 4 if beams == 180 else 0
        own = beams + (beams == 180 and not quarter)
        step = np.pi / 180 if beams == 180 else np.pi / 180 / 4
        start = -np.pi / 2 + quarter * np.pi / 720
        angles = f"{start:.8f} {step:.8f} {start + step * (own - 1):.8f}"
        micro = index * 1_000_000 // LASER_HZ
        stamp = f"{START_S + micro // 1_000_000}.{micro % 1_000_000:06d}"
        ranges = " ".join(map(str, rng.integers(100, 8000, own).tolist()))
        lines.append(f"*{stamp} RANGE_DATA {angles} 2 {own} {ranges}\n")
    return "".join(lines)


def ours(path: Path, marked: TaggedLines) -> list[TimedRows]:
    """All rows: exact times, structure and numbers checked, ranges of any length."""
    return [rows_from_lines(block, marked) for block in blocks(path)]


def blocks(path: Path) -> Iterator[bytes]:
    carried = b""
    with path.open("rb") as file:
        while chunk := file.read(BLOCK_SIZE):
            text = carried + chunk
            end = text.rfind(b"\n") + 1
            carried = text[end:]
            yield text[:end]


def by_loadtxt(path: Path) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """numpy.loadtxt, which reads no line of another length, and the times as floats."""
    return np.loadtxt(path, converters={0: lambda text: float(text.lstrip("*")), 1: lambda text: 0.0}, ndmin=2)


def by_split(path: Path) -> list[tuple[float, list[float]]]:
    """What one writes first: split() of each line, float() of each word, the times as floats."""
    results = []
    for line in path.open():
        fields = line.split()
        results.append((float(fields[0].lstrip("*")), [float(word) for word in fields[2:]]))
    return results


def compare_parsing(count: int) -> None:
    marked = spec_of_dataset("acfr").tables["laser_horizontal"].tagged_lines
    assert marked is not None
    with scratch() as folder:
        for beams in (180, 721):
            path = folder / f"{beams}.txt"
            path.write_text(laser_lines(count * 180 // beams, beams))
            even = folder / f"{beams}_even.txt"
            even.write_text("".join(line for line in path.open() if len(line.split()) == beams + 7))
            megabytes, fraction = path.stat().st_size / 1e6, even.stat().st_size / path.stat().st_size
            mine, split = best(lambda path=path: ours(path, marked)), best(lambda path=path: by_split(path))
            loadtxt = best(lambda path=even: by_loadtxt(path)) / fraction
            message = (
                f"{megabytes / mine:.0f} MB/s; split() {split / mine:.1f}x as long, numpy.loadtxt {loadtxt / mine:.1f}x"
            )
            print(f"lines of {beams} ranges, {megabytes:.1f} MB: {message}")


def measure_dataset(megabytes: int) -> None:
    """Time and peak memory of info, check and convert on lasers of so many megabytes in all."""
    with scratch() as folder:
        root = folder / "02-StaticClear-Video15fps"
        part = laser_lines(30_000, 180)
        times = max(round(megabytes * 1e6 / len(part) / len(LASERS)), 1)
        for laser in LASERS:
            (root / laser).mkdir(parents=True)
            with (root / laser / "RangeBearingQAsciiData.txt").open("w") as file:
                for index in range(times):
                    file.write(later(part, index * 30_000 // LASER_HZ))
        for command in (["info", root], ["check", root], ["convert", root, folder / "bag"]):
            seconds, busy, peak = run([*map(str, command)])
            size = sum(path.stat().st_size for path in root.rglob("*.txt")) / 1e6
            message = f"{seconds:.1f} s ({busy:.1f} s of processors), {size / seconds:.0f} MB/s, peak {peak:.0f} MB"
            print(f"{command[0]} of {size:.0f} MB: {message}")


def later(lines: str, by_s: int) -> str:
    """The same lines so many seconds later."""
    return "".join(f"*{int(line[1:11]) + by_s}{line[11:]}" for line in lines.splitlines(keepends=True))


def run(command: list[str]) -> tuple[float, float, float]:
    """Seconds, those of processors, and the peak of memory in MB of a command, which may end with defects.

    What wait4 tells of memory begins with that of this process, so the command is asked itself at its end.
    """
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", ASK, *command], check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    busy, peak = map(float, done.stdout.splitlines()[-1].split())
    return time.perf_counter() - start, busy, peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=3000)
    parser.add_argument("--megabytes", type=int, default=300)
    chosen = parser.parse_args()
    compare_parsing(chosen.lines)
    if chosen.megabytes:
        measure_dataset(chosen.megabytes)


if __name__ == "__main__":
    main()
