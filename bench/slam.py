"""Odometry, SLAM and localisation in a map on laps of SherpaTT: the tables of docs/fusion-measurements.md.

Usage: ./ws exec python bench/slam.py [--seeds 1 2 3] [--again-seconds 20] [--out FOLDER]

For each seed a lap that closes and the same way on another day are made. Errors are those of places against the truth
(m), once by the first pose, once laid upon it as well as can be (ATE); a closure is false where its keyframes truly lie
further apart, by 0.1 m, than it says. NEES is the mean of squared errors by their covariance, for each degree of
freedom: 1 where the covariance says what the errors are. With --out the maps and poses stay there; samples never do.
"""

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
import yaml
from convert import scratch

import fieldplay
from fieldplay.cli.main import main as main_of_fieldplay
from fieldplay.geometry.transforms import inverse_from_transform, transform_points, vector_from_rotation
from fieldplay.trajectories.trajectory import Trajectory, trajectory_from_rows
from fieldplay_cdff.steps.rigid import rigid_fit
from fieldplay_cdff.stereo.keyframe_map import KeyframeMap
from fieldplay_cdff.stereo.map_files import load_map
from fieldplay_samples.data import numbers_of
from fieldplay_samples.write_sample import SampleOptions, write_sample
from fieldplay_samples.writers.sherpatt import make_scenario
from fieldplay_samples.writers.text_tables import NS_PER_S

FALSE_M = 0.1
FEW = {"color_every": 1000, "lidar_columns": 90}
DESCRIPTION = Path(__file__).parents[1] / "config" / "dfpc" / "VisualSlamStereo.yaml"
HEAD = "| seed, what | end | rms | largest | ATE | of the way | NEES: whole, shift, turn | CPU s per s |"


def written(folder: Path, seed: int, route: str, seconds: float) -> tuple[Path, Trajectory]:
    """A sample, and where its left camera truly was."""
    path = folder / f"{route}{seed}"
    settings = {"route": route, **FEW}
    if not path.exists():
        write_sample("sherpatt", path, SampleOptions(seconds=seconds, seed=seed, settings=settings))
    rows = np.genfromtxt(f"{path}.truth.csv", delimiter=",", skip_header=1)
    stamp_ns = np.genfromtxt(f"{path}.truth.csv", delimiter=",", skip_header=1, usecols=0, dtype=np.int64)
    scenario = make_scenario(seed, seconds, {**numbers_of("sherpatt")["settings"], **settings})
    return path, trajectory_from_rows(stamp_ns, rows[:, 1:4], rows[:, 4:8]).of_frame(scenario.body_T_camera()["left"])


def with_its_odometry(folder: Path) -> Path:
    """The description of SLAM that gives the pose of its odometry, too: one run tells both."""
    whole = yaml.safe_load(DESCRIPTION.read_text("utf-8"))
    whole["output_ports"].append({"name": "odometryPose", "type": "asn1SccTransformWithCovariance", "doc": ""})
    whole["implementations"][0]["output_connections"].append(
        {"dfpc_output": "odometryPose", "dfn_id": "odometry", "port": "pose"}
    )
    file = folder / DESCRIPTION.name
    file.write_text(yaml.safe_dump(whole, sort_keys=False), "utf-8")
    return file


def fused(sample: Path, name: str | Path, out: Path, *arguments: str | Path) -> dict[str, Any]:
    """What it took to run a pipeline on a sample."""
    stats = out.with_suffix(".json")
    command = ["fuse", sample, name, out, "--stats", stats, "--json", "--overwrite", *arguments]
    complaint = StringIO()
    with redirect_stdout(StringIO()), redirect_stderr(complaint):
        failed = main_of_fieldplay(list(map(str, command)))
    if failed:
        raise SystemExit(complaint.getvalue())
    result: dict[str, Any] = json.loads(stats.read_text())
    return result


def poses_of(out: Path, topic: str) -> tuple[Trajectory, np.ndarray]:
    """The poses on a topic, and their covariances (n, 6, 6)."""
    with fieldplay.open(out) as data:
        rows = data.records(topic)
    return trajectory_from_rows(rows["stamp_ns"], rows["position_m"], rows["orientation_xyzw"]), rows["pose_covariance"]


def path_of(tum: Path) -> Trajectory:
    """Poses as TUM has them."""
    rows = np.loadtxt(tum, ndmin=2)
    return trajectory_from_rows(np.round(rows[:, 0] * 1e3).astype(np.int64) * 1_000_000, rows[:, 1:4], rows[:, 4:8])


def true_at(true: Trajectory, stamp_ns: np.ndarray) -> np.ndarray:
    """True poses (n, 4, 4) at times, of which the truth has one each."""
    after = np.clip(np.searchsorted(true.stamp_ns, stamp_ns), 1, len(true) - 1)
    nearer = stamp_ns - true.stamp_ns[after - 1] < true.stamp_ns[after] - stamp_ns
    return true.poses[after - nearer]


def errors(result: Trajectory, true: Trajectory) -> str:
    """End, root mean square and largest error by the first pose, and the ATE."""
    truth = true_at(true, result.stamp_ns)
    truth = inverse_from_transform(truth[0]) @ truth
    off = np.linalg.norm(result.positions_m - truth[:, :3, 3], axis=1)
    laid = transform_points(rigid_fit(result.positions_m, truth[:, :3, 3]), result.positions_m)
    ate = np.sqrt(np.mean(np.sum((laid - truth[:, :3, 3]) ** 2, axis=1)))
    trajectory = np.linalg.norm(np.diff(truth[:, :3, 3], axis=0), axis=1).sum()
    return (
        f"{off[-1]:.3f} | {np.sqrt(np.mean(off**2)):.3f} | {off.max():.3f} | {ate:.3f} | {100 * ate / trajectory:.2f} %"
    )


def nees(result: Trajectory, covariance: np.ndarray, truth: np.ndarray) -> str:
    """Mean squared errors by covariances (n, 6, 6) of poses, each degree of freedom: all six, of shift, of turn."""
    known = np.trace(covariance, axis1=1, axis2=2) > 0  # the first pose is what all are meant by
    difference = result.poses[known] @ inverse_from_transform(truth[known])
    off = np.hstack([(result.poses - truth)[known][:, :3, 3], vector_from_rotation(difference[:, :3, :3])])
    means = []
    for part in (slice(6), slice(3), slice(3, 6)):
        own = off[:, part]
        information = np.linalg.inv(covariance[known][:, part, part])
        means.append(f"{np.einsum('ni,nij,nj->n', own, information, own).mean() / own.shape[1]:.2f}")
    return ", ".join(means)


def false_closures(own: KeyframeMap, true: Trajectory) -> str:
    """How many places were known again, and how many of them are none."""
    poses = {number: true_at(true, np.array([each.stamp_ns]))[0] for number, each in own.keyframes.items()}
    difference = [inverse_from_transform(poses[each.first]) @ poses[each.second] for each in own.closures]
    off = [np.linalg.norm(a[:3, 3] - e.measured[:3, 3]) for a, e in zip(difference, own.closures, strict=True)]
    false = sum(each > FALSE_M for each in off)
    return f"{len(own)} keyframes, {len(off)} closures, {false} of them false, {max(off, default=0):.3f} m off at most"


def lap(folder: Path, seed: int, seconds: float) -> tuple[KeyframeMap, Trajectory]:
    """Print what becomes of a lap; its map, and where the left camera truly was."""
    out, remaining, tum = folder / f"slam{seed}", folder / f"map{seed}.npz", folder / f"slam{seed}.tum"
    sample, true = written(folder, seed, "loop", seconds)
    result = fused(sample, with_its_odometry(folder), out, "--map", remaining, "--tum", tum)
    cpu_s = sum(each["cpu_s"]["total"] for each in result["steps"] if each["name"].startswith("odometry."))
    for name, topic, took_s in (
        ("VisualOdometry", "stereo_slam/odometryPose", cpu_s),
        ("VisualSlamStereo, live", "stereo_slam/pose", result["cpu_s"]),
    ):
        actual, covariance = poses_of(out, topic)
        truth = true_at(true, actual.stamp_ns)
        consistent = nees(actual, covariance, inverse_from_transform(truth[0]) @ truth)
        print(f"| {seed} {name} | {errors(actual, true)} | {consistent} | {took_s / seconds:.2f} |")
    print(f"| {seed} VisualSlamStereo, path | {errors(path_of(tum), true)} | - | - |")
    own = load_map(remaining, print)[0]
    print(f"  {result['accepted']} of {result['sets']} pairs, {false_closures(own, true)}", flush=True)
    return own, true


def located(folder: Path, seed: int, seconds: float, own: KeyframeMap, true: Trajectory) -> None:
    """Print how well the way of another day is found in the map of a lap."""
    sample, true_again = written(folder, seed, "again", seconds)
    out, text = folder / f"again{seed}_out", f"localisation.GeneralParameters.MapFile={folder / f'map{seed}.npz'}"
    result = fused(sample, "MapLocalisation", out, "--set", text)
    actual, covariance = poses_of(out, "map_localisation/pose")
    expected = inverse_from_transform(true_at(true, own.trajectory()[0][:1])) @ true_at(true_again, actual.stamp_ns)
    difference = inverse_from_transform(expected) @ actual.poses
    shift, turn = (
        np.linalg.norm(each, axis=1) for each in (difference[:, :3, 3], vector_from_rotation(difference[:, :3, :3]))
    )
    late = (actual.stamp_ns[0] - true_again.stamp_ns[0]) / NS_PER_S
    print(
        f"  MapLocalisation: found after {late:.2f} s, {result['accepted']} of {result['sets']} pairs, median "
        f"{100 * np.median(shift):.1f} cm, {np.degrees(np.median(turn)):.2f} degrees, largest "
        f"{100 * shift.max():.1f} cm, NEES {nees(actual, covariance, expected)}",
        flush=True,
    )


@contextmanager
def place(out: Path | None) -> Iterator[Path]:
    """Where things are written."""
    if out is None:
        with scratch() as folder:
            yield folder
    else:
        out.mkdir(parents=True, exist_ok=True)
        yield out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--seconds", type=float, default=74.0, help="of the lap, which is whole after 74")
    parser.add_argument("--again-seconds", type=float, default=62.0, help="of the other day; 0 leaves that out")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where maps, poses and figures stay")
    chosen = parser.parse_args()
    with place(chosen.out) as folder:
        print(f"{HEAD}\n|{'---|' * 8}", flush=True)
        for seed in chosen.seeds:
            own, true = lap(folder, seed, chosen.seconds)
            if chosen.again_seconds:
                located(folder, seed, chosen.again_seconds, own, true)
            for route in ("loop", "again"):
                rmtree(folder / f"{route}{seed}", ignore_errors=True)


if __name__ == "__main__":
    main()
