"""Reconstruction 3D around a box of known position and size: all variants, a table of docs/fusion-measurements.md.

Usage: ./ws exec python bench/fusion.py [--pairs 5 10] [--shrink 2] [--only NAME] [--set STEP.GROUP.NAME=VALUE]

Pairs are one second apart, 18 degrees on the circle; the settings are those of the descriptor. CPU seconds are those of
all steps, of all threads, for so many pairs. Errors of clouds are those of the points that come out (means of voxels),
from the nearer of ground and box, where the scene's frame is put to where the left camera truly was at first: an error
of the pose is in them.
"""

import argparse
import json
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from convert import scratch

from fieldplay.cli.main import main as main_of_fieldplay
from fieldplay_cdff.pipeline import Configuration, pipelines
from fieldplay_cdff.pipeline.chains import source_of
from fieldplay_cdff.pipeline.pipeline_graph import graph_of
from fieldplay_samples.world.terrain import GroundWithBox
from fieldplay_samples.write_sample import SampleOptions, write_sample
from fieldplay_samples.writers.sherpatt.scenario import truth_of

NAME = "Reconstruction3D"
LARGEST_M = 8.0  # the space of the published parameters, by which the mean error of distance is a share
FAR_OFF_M, FAR_OFF_SHARE = 0.05, 0.05
MOST_OUTLIERS, MOST_MEAN, MOST_EDGE = 0.1, 0.01, 0.1  # what the authors required
UPRIGHT_M = 0.15  # above the ground, where there is nothing but the box
SLANTED = np.sin(np.radians(20))  # under a flatter angle a side is not seen
SETTINGS = {"scene": "box", "image_rate_hz": 1.0, "lidar_columns": 90, "color_every": 1000}
HEAD = (
    "variant", "pairs", "accepted", "CPU s", "end of the way", "% of it", "cloud: median", "beyond 5 cm", "outliers",
    "of the box", "mean error of distance", "box's edges", "R",
)  # fmt: skip


def told(edge: float) -> str:
    """By how much a length is wrong."""
    return "lacking" if np.isnan(edge) else f"{100 * edge:.0f} %"


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What is told of a run; lengths in m, shares 0 to 1."""

    accepted: int
    cpu_s: float
    end_m: float
    end_share: float
    median_m: float
    beyond: float
    outliers: float
    upright: float
    mean_share: float
    edges: tuple[float, ...]
    in_view: tuple[bool, ...]

    @property
    def meets(self) -> bool:
        """Whether it meets all that the authors required."""
        shape = all(edge <= MOST_EDGE for edge, in_view in zip(self.edges, self.in_view, strict=True) if in_view)
        return max(self.outliers, self.upright) <= MOST_OUTLIERS and self.mean_share < MOST_MEAN and shape

    def row(self, name: str, pairs: int) -> tuple[str, ...]:
        """Its row in the table."""
        known = zip(self.edges, self.in_view, strict=True)
        edges = ", ".join(told(edge) if in_view else "unseen" for edge, in_view in known)
        return (
            name, str(pairs), str(self.accepted), f"{self.cpu_s:.1f}", f"{100 * self.end_m:.1f} cm",
            f"{100 * self.end_share:.1f} %", f"{100 * self.median_m:.1f} cm", f"{100 * self.beyond:.0f} %",
            f"{100 * self.outliers:.1f} %", f"{100 * self.upright:.0f} %", f"{100 * self.mean_share:.2f} %",
            edges, "yes" if self.meets else "no",
        )  # fmt: skip


def run_of(sample: Path, implementation: str, pairs: int, arguments: Sequence[str], folder: Path) -> Figures:
    """A variant on the first pairs of a sample, as the command runs it, by what is true."""
    stats, tum, ply = (folder / f"run{suffix}" for suffix in (".json", ".tum", ".ply"))
    command = ["fuse", sample, NAME, folder / "run", "--implementation", implementation, "--duration", pairs - 0.5]
    command += ["--stats", stats, "--tum", tum, "--ply", ply, "--overwrite"]
    steps = {node.id: node.parameters for node in graph_of(source_of(NAME), implementation, Configuration()).nodes}
    own = [word for word in arguments if word.partition(".")[0] in steps]
    largest_m = LARGEST_M
    command += [word for each in own for word in ("--set", each)]
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        main_of_fieldplay(list(map(str, command)))
    stats_told, poses = json.loads(stats.read_text()), np.loadtxt(tum, ndmin=2)
    world, true = truth_of(sample)
    map_T_left = true["map_T_left"][:pairs]
    distance_m = float(np.linalg.norm(np.diff(map_T_left[:, :3, 3], axis=0), axis=1).sum())
    last = int(np.abs(true["stamp_ns"] / 1e9 - poses[-1, 0]).argmin())
    positions = poses[:, 1:4] @ map_T_left[0, :3, :3].T + map_T_left[0, :3, 3]
    end_m = float(np.linalg.norm(positions[-1] - map_T_left[last, :3, 3]))
    points = points_of_ply(ply.read_bytes()) @ map_T_left[0, :3, :3].T + map_T_left[0, :3, 3]
    return cloud_figures(
        world, points, positions, largest_m=largest_m, accepted=stats_told["accepted"],
        in_view=sides_in_view(world, map_T_left[:, :3, 3]), cpu_s=stats_told["cpu_s"], end_m=end_m,
        end_share=end_m / distance_m,
    )  # fmt: skip


def sides_in_view(world: GroundWithBox, positions: np.ndarray) -> tuple[bool, ...]:
    """Whether both sides across each of the box's axes were seen from places (n, 3); of the height the upper one."""
    pose, halves = world.box.world_T_box, world.box.sizes_m / 2
    own = (positions - pose[:3, 3]) @ pose[:3, :3]
    steep = SLANTED * np.linalg.norm(own, axis=1)
    ahead = [[(sign * own[:, axis] - halves[axis] > steep).any() for sign in (1, -1)] for axis in (0, 1)]
    return (*map(all, ahead), True)


def points_of_ply(data: bytes) -> np.ndarray:
    """Points (n, 3) of a file that the command wrote."""
    head, _, rows = data.partition(b"end_header\n")
    names = [line.split()[1:] for line in head.decode().splitlines() if line.startswith("property")]
    kinds = {"float": "<f4", "uchar": "|u1"}
    table = np.frombuffer(rows, np.dtype([(name, kinds[kind]) for kind, name in names]))
    return np.stack([table[axis] for axis in "xyz"], axis=-1).astype(float)


def cloud_figures(
    world: GroundWithBox, points: np.ndarray, positions: np.ndarray, *, largest_m: float, **others: Any
) -> Figures:
    """Errors of points (n, 3) in the map that were seen from places (m, 3).

    An outlier is off by more than 5 % of its distance from the nearest place; the mean error is that of the others.
    Ground put on ground is no error, wherever the camera was thought to be: so those of the box, which are off the
    ground, count for themselves.
    """
    off_m = world.distance_m(points)
    away_m = np.min([np.linalg.norm(points - position, axis=1) for position in positions], axis=0)
    outlier = off_m > FAR_OFF_SHARE * away_m
    upright = world.ground_distance_m(points) > UPRIGHT_M
    lengths, true = world.box_lengths_m(points)
    return Figures(
        median_m=float(np.median(off_m)), beyond=float((off_m > FAR_OFF_M).mean()), outliers=float(outlier.mean()),
        upright=float(outlier[upright].mean()),
        mean_share=float(off_m[~outlier].mean() / largest_m), edges=tuple((np.abs(lengths - true) / true).tolist()),
        **others,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, nargs="+", default=[5, 10])
    parser.add_argument("--shrink", type=int, default=2)
    parser.add_argument("--sample", type=Path, help="a sample around a box that is there, with a pair a second")
    parser.add_argument("--only", action="append", help="a variant; all by default")
    parser.add_argument("--set", action="append", default=[])
    chosen = parser.parse_args()
    names = next(each.implementations for each in pipelines() if each.name == NAME)
    with scratch() as folder:
        sample = chosen.sample or folder / "box"
        if not chosen.sample:
            options = SampleOptions(seconds=max(chosen.pairs), settings=SETTINGS | {"image_shrink": chosen.shrink})
            write_sample("sherpatt", sample, options)
        print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}", flush=True)
        for name in chosen.only or names:
            for pairs in chosen.pairs:
                row = run_of(sample, name, pairs, chosen.set, folder).row(name, pairs)
                print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
