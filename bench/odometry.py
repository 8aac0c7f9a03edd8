"""Visual odometry on a minute of two samples against their exact poses: the table of docs/fusion-measurements.md.

Usage: ./ws exec python bench/odometry.py [--seconds 60] [--sherpatt SAMPLE] [--rosario SAMPLE]

Errors are those of Kuemmerle: over each stretch of a length of the true way, as a share of it. CPU seconds are those of
all steps, of all threads, for each pair. Samples that are there already are taken as they are.
"""

import argparse
import json
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from convert import scratch

import fieldplay
from fieldplay.cli.main import main as main_of_fieldplay
from fieldplay.trajectories.evaluation import EvaluationSettings, evaluate
from fieldplay.trajectories.trajectory import Trajectory, trajectory_from_rows
from fieldplay_cdff.offline.elevation import frame_t_root
from fieldplay_samples.write_sample import SampleOptions, write_sample

LENGTHS_M = (5.0, 10.0, 20.0)
SAMPLES: dict[str, dict[str, Any]] = {
    "sherpatt": {"route": "loop", "lidar_columns": 30, "color_every": 1000},
    "rosario": {"image_rate_hz": 5.0},
}
HEAD = ("sample", "pairs", "accepted", "way", *(f"median over {length:g} m" for length in LENGTHS_M), "CPU a pair")


def truth_of(sample: Path) -> Trajectory:
    """Where base_link truly was."""
    rows = np.genfromtxt(sample.with_name(f"{sample.name}.truth.csv"), delimiter=",", names=True)
    stamp_ns = np.loadtxt(sample.with_name(f"{sample.name}.truth.csv"), np.int64, delimiter=",", skiprows=1, usecols=0)
    columns = {name: np.stack([rows[each] for each in name.split()], axis=1) for name in ("x_m y_m z_m", "qx qy qz qw")}
    return trajectory_from_rows(stamp_ns, *columns.values())


def row_of(name: str, sample: Path, folder: Path) -> tuple[str, ...]:
    """A sample's row in the table."""
    out, stats = folder / f"{name}_out", folder / f"{name}.json"
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        main_of_fieldplay(["fuse", str(sample), "VisualOdometry", str(out), "--stats", str(stats)])
    result = json.loads(stats.read_text())
    with fieldplay.open(out) as data:
        poses = data.records("visual_odometry/pose")
        camera = data.topic("visual_odometry/pose").child_frame
        camera_t_base = frame_t_root(data.tf_static, camera)
    estimate = trajectory_from_rows(poses["stamp_ns"], poses["position_m"], poses["orientation_xyzw"])
    settings = EvaluationSettings(lengths_m=LENGTHS_M, step_m=0.0)
    evaluation = evaluate(settings, estimate.of_frame(camera_t_base), truth_of(sample))
    medians = [f"{100 * np.median(each.errors.translation):.2f} %" for each in evaluation.over_lengths]
    pairs, cpu_s = result["sets"], result["cpu_s"]
    travelled = f"{evaluation.travelled_m[-1]:.0f} m"
    return name, str(pairs), str(result["accepted"]), travelled, *medians, f"{cpu_s / pairs:.3f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    for name in SAMPLES:
        parser.add_argument(f"--{name}", type=Path, help="a sample that is there")
    chosen = parser.parse_args()
    with scratch() as folder:
        print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}", flush=True)
        for name, settings in SAMPLES.items():
            sample = getattr(chosen, name)
            if sample is None:
                sample = folder / name
                write_sample(name, sample, SampleOptions(seconds=chosen.seconds, seed=1, settings=settings))
            print(f"| {' | '.join(row_of(name, sample, folder))} |", flush=True)


if __name__ == "__main__":
    main()
