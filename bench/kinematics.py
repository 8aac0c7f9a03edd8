"""Poses of an arm and of wheels a second on one core, beside a library that people would use, as ratios.

Usage: ./ws exec python bench/kinematics.py [--poses 1000000]. The comparison needs `pip install pin` (pinocchio), which
the workspace does not: without it our own figures are printed alone.
"""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from fieldplay.datasets.registry import dataset_files
from fieldplay.datasets.spec import spec_from_file
from fieldplay.kinematics import robots
from fieldplay.kinematics.ackermann_odometry import ackermann_from_settings, ackermann_odometry_from_joints
from fieldplay.kinematics.denavit_hartenberg import end_from_joints
from fieldplay.kinematics.steered_wheels import twist_from_wheels, wheel_poses_from_angles, wheels_from_twist

URDF = Path(__file__).parents[1] / "urdf" / "interact.urdf"


def best(work: Callable[[], object], rounds: int = 3) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def pinocchio_seconds(joints: np.ndarray) -> float | None:
    """One pose after the other, as its Python interface does it, per pose; None where it is not installed."""
    try:
        import pinocchio
    except ModuleNotFoundError:
        return None
    model = pinocchio.buildModelFromUrdf(str(URDF))
    data = model.createData()
    frame = model.getFrameId("main_arm_end")
    start = model.joints[model.getJointId("main_arm_joint_1")].idx_q
    position = pinocchio.neutral(model)

    def run() -> None:
        for row in joints:
            position[start : start + 7] = row
            pinocchio.framesForwardKinematics(model, data, position)
            data.oMf[frame].homogeneous.copy()

    return best(run) / len(joints)


def ackermann_seconds(count: int, draw: np.random.Generator) -> float:
    """Poses with covariances and the joints' frames of a base with steered front wheels, row after row of 10 Hz."""
    spec = spec_from_file(dataset_files()["rosario"])
    settings = ackermann_from_settings(next(d for d in spec.derived if d.kind == "ackermann_odometry").settings)
    stamps = np.arange(count) * 100_000_000
    rates, steering = draw.uniform(2.5, 3.5, (count, 2)), draw.uniform(-0.3, 0.3, count)
    return best(lambda: ackermann_odometry_from_joints(settings, None, stamps, wheel_rates=rates, steering=steering))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--poses", type=int, default=1_000_000)
    count = parser.parse_args().poses
    spec = spec_from_file(dataset_files()["ameds"])
    arm = robots.arm_from_settings(next(d for d in spec.derived if d.kind == "arm_tcp").settings)
    base = robots.base_from_settings(next(d for d in spec.derived if d.kind == "wheel_poses").settings)
    draw = np.random.default_rng(1)
    joints, angles = draw.uniform(-2, 2, (count, 7)), draw.uniform(-0.5, 0.5, (count, 4))
    seconds = best(lambda: end_from_joints(arm, joints))
    print(f"{count} poses of an arm of 7 joints: {seconds:.2f} s")
    print(f"{count} poses of 4 wheels: {best(lambda: wheel_poses_from_angles(base, angles, angles)):.2f} s")
    print(f"{count} body twists from 4 wheels: {best(lambda: twist_from_wheels(base, angles, angles)):.2f} s")
    print(f"{count} sets of 4 wheels from a twist: {best(lambda: wheels_from_twist(base, joints[:, :3])):.2f} s")
    print(f"{count} rows of Ackermann odometry, with path: {ackermann_seconds(count, draw):.2f} s")
    theirs = pinocchio_seconds(joints[:20_000])
    if theirs is None:
        print("pinocchio is not installed: no comparison")
    else:
        print(
            f"pinocchio, pose after pose in Python: {theirs * count:.2f} s, {theirs * count / seconds:.1f} times ours"
        )


if __name__ == "__main__":
    main()
