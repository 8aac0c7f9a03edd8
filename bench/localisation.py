"""A model looked for in 20 scenes, half of it hidden, and in 10 without it: a table of errors and CPU time.

Usage: ./ws exec python bench/localisation.py [--noise 0.002] [--implementation OrientedPairs]

Errors are in shares of the model's size, the diagonal of its box; of a turn the chord that it moves a point by which
is half that size away. R is the authors' requirement: 10 % of the size, and 5 % of the distance.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from fieldplay.geometry.transforms import vector_from_rotation
from fieldplay_cdff.pipeline.pipeline_run import load_pipeline
from fieldplay_cdff.steps.values import Cloud

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))
from fieldplay_testing.solid_scenes import any_pose, body, scene

POSES, WITHOUT = 20, 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--noise", type=float, default=0.002, help="deviation of the points, m")
    parser.add_argument("--implementation", default="OrientedPairs")
    chosen = parser.parse_args()
    model = body(np.random.default_rng(7)).points
    size = float(np.linalg.norm(np.ptp(model, axis=0)))
    met, near, false, spent = 0, 0, 0, []
    for number in range(POSES + WITHOUT):
        random = np.random.default_rng(100 + number)
        true = any_pose(random) if number < POSES else None
        points = scene(random, true, noise_m=chosen.noise)
        pipeline = load_pipeline("PointCloudModelLocalisation", chosen.implementation, threads=2)
        pipeline.feed("model", Cloud(points=model), 1)
        start = time.process_time()
        by_name = {each.port: each.value for each in pipeline.feed("scene", Cloud(points=points), 1)}
        spent.append(time.process_time() - start)
        pipeline.close()
        quality = by_name.get("quality", 0.0)
        if true is None:
            false += bool(by_name["success"])
            print(f"without: success {by_name['success']}, quality {quality:.2f}, {spent[-1]:.1f} s")
        elif by_name["success"]:
            pose = by_name["pose"]
            shift = float(np.linalg.norm(pose[:3, 3] - true[:3, 3]))
            turn = float(np.linalg.norm(vector_from_rotation(pose[:3, :3].T @ true[:3, :3])))
            errors = np.array([shift, size * np.sin(turn / 2)]) / size
            met += bool((errors < 0.1).all() and shift < 0.05 * np.linalg.norm(true[:3, 3]))
            near += bool((errors < 0.02).all())
            print(f"{errors[0]:7.2%} {errors[1]:7.2%}, quality {quality:.2f}, {spent[-1]:.1f} s")
        else:
            print(f"not found, quality {quality:.2f}, {spent[-1]:.1f} s")
    print(f"R in {met} of {POSES}, 2 % in {near}; found where it is not: {false} of {WITHOUT}")
    print(f"CPU, mean and largest: {np.mean(spent):.1f} s, {max(spent):.1f} s")


if __name__ == "__main__":
    main()
