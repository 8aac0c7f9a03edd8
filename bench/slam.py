"""Odometry, SLAM and localisation in a map on laps of SherpaTT: a table for docs/fusion.md.

Usage: ./ws exec python bench/slam.py [--seeds 1 2 3] [--seconds 74]

For each seed a lap that closes and the same way on another day are made. Errors are those of places against the truth
(m), once by the first pose, once laid upon it as well as can be (ATE); a closure is false where its keyframes truly lie
further apart, by 0.1 m, than it says.
"""

import argparse
import json
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
from convert import scratch

from fieldplay.cli.main import main as main_of_fieldplay
from fieldplay_fusion.dfn.map_files import load_map
from fieldplay_fusion.dfn.rigid import moved, rigid_fit
from fieldplay_fusion.evaluation.trajectories import Trajectory, trajectory_from_rows
from fieldplay_kinematics.transforms import inverse_from_transform, vector_from_rotation
from fieldplay_samples.sample import SampleOptions, write_sample
from fieldplay_samples.writers.sherpatt import make_scenario
from fieldplay_samples.writers.tables import NS_PER_S

FALSE_M = 0.1
FEW = {"color_every": 1000, "lidar_columns": 90}


def written(folder: Path, seed: int, route: str, seconds: float) -> tuple[Path, Trajectory]:
    """A sample, and where its left camera truly was."""
    path = folder / f"{route}{seed}"
    write_sample("sherpatt", path, SampleOptions(seconds=seconds, seed=seed, settings={"route": route, **FEW}))
    rows = np.genfromtxt(f"{path}.truth.csv", delimiter=",", skip_header=1)
    stamp_ns = np.genfromtxt(f"{path}.truth.csv", delimiter=",", skip_header=1, usecols=0, dtype=np.int64)
    left = make_scenario(seed, seconds, settings_of(route)).body_T_camera()["left"]
    return path, trajectory_from_rows(stamp_ns, rows[:, 1:4], rows[:, 4:8]).of_frame(left)


def settings_of(route: str) -> dict[str, object]:
    """All settings of the sample, as the writer takes them."""
    from fieldplay_samples.writers.scenarios import numbers_of

    return {**numbers_of("sherpatt")["settings"], "route": route, **FEW}


def fused(sample: Path, name: str, *words: str | Path) -> tuple[Trajectory, dict[str, float]]:
    """The way that a pipeline tells, and what it took."""
    tum = sample.with_suffix(f".{name}.tum")
    told = StringIO()
    command = ["fuse", sample, name, sample.with_suffix(f".{name}"), "--tum", tum, "--json", "--overwrite", *words]
    with redirect_stdout(told), redirect_stderr(StringIO()):
        main_of_fieldplay(list(map(str, command)))
    rows = np.loadtxt(tum, ndmin=2)
    stamps = np.array([round(float(line.split()[0]) * 1000) for line in tum.read_text().splitlines()]) * 1_000_000
    return trajectory_from_rows(stamps.astype(np.int64), rows[:, 1:4], rows[:, 4:8]), json.loads(told.getvalue())


def true_at(true: Trajectory, stamp_ns: np.ndarray) -> np.ndarray:
    """True poses (n, 4, 4) at times, of which the truth has one each."""
    return true.poses[np.clip(np.searchsorted(true.stamp_ns, stamp_ns), 0, len(true) - 1)]


def errors(found: Trajectory, true: Trajectory) -> str:
    """End, root mean square and largest error by the first pose, and the ATE."""
    truth = true_at(true, found.stamp_ns)
    truth = inverse_from_transform(truth[0]) @ truth
    off = np.linalg.norm(found.positions_m - truth[:, :3, 3], axis=1)
    laid = moved(rigid_fit(found.positions_m, truth[:, :3, 3]), found.positions_m)
    ate = np.sqrt(np.mean(np.sum((laid - truth[:, :3, 3]) ** 2, axis=1)))
    way = np.linalg.norm(np.diff(truth[:, :3, 3], axis=0), axis=1).sum()
    return f"{off[-1]:.3f} | {np.sqrt(np.mean(off**2)):.3f} | {off.max():.3f} | {ate:.3f} | {100 * ate / way:.2f} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--seconds", type=float, default=74.0)
    chosen = parser.parse_args()
    print(
        "| seed, what | end | rms | largest | ATE | of the way | CPU s per s |\n|---|---|---|---|---|---|---|",
        flush=True,
    )
    for seed in chosen.seeds:
        with scratch() as folder:
            sample, true = written(folder, seed, "loop", chosen.seconds)
            kept = folder / "map.npz"
            for name, words in (("VisualOdometry", ()), ("VisualSlamStereo", ("--map", kept))):
                found, told = fused(sample, name, *words)
                cpu = told["cpu_s"] / chosen.seconds
                print(f"| {seed} {name} | {errors(found, true)} | {cpu:.2f} |", flush=True)
            own = load_map(kept, print)[0]
            poses = {number: true_at(true, np.array([each.stamp_ns]))[0] for number, each in own.keyframes.items()}
            apart = [inverse_from_transform(poses[e.first]) @ poses[e.second] for e in own.closures]
            off = [np.linalg.norm(a[:3, 3] - e.measured[:3, 3]) for a, e in zip(apart, own.closures, strict=True)]
            false = sum(each > FALSE_M for each in off)
            print(f"  {len(own)} keyframes, {len(off)} closures, {false} of them false", flush=True)
            again, true_again = written(folder, seed, "again", chosen.seconds)
            words = ("--set", f"localisation.GeneralParameters.MapFile={kept}")
            found, told = fused(again, "MapLocalisation", *words)
            expected = inverse_from_transform(true_at(true, own.way()[0][:1])) @ true_at(true_again, found.stamp_ns)
            apart_again = inverse_from_transform(expected) @ found.poses
            shift = np.linalg.norm(apart_again[:, :3, 3], axis=1)
            turn = np.degrees(np.linalg.norm(vector_from_rotation(apart_again[:, :3, :3]), axis=1))
            late = (found.stamp_ns[0] - true_again.stamp_ns[0]) / NS_PER_S
            print(
                f"  MapLocalisation: found after {late:.2f} s, {told['accepted']} of {told['given']} pairs, median "
                f"{100 * np.median(shift):.1f} cm, {np.median(turn):.2f} degrees, largest {100 * shift.max():.1f} cm",
                flush=True,
            )


if __name__ == "__main__":
    main()
