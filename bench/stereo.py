"""Stereo alone, on pairs of the sample of SherpaTT among rocks: a table of depths beside the true ones.

Usage: ./ws exec python bench/stereo.py [--pairs 6] [--shrink 4]

The settings are those of ReconstructionFromStereo and the authors' for SherpaTT's stereo unit. Medians are over the
pixels (every third one each way) that have a depth; CPU time is that of the step, of all threads.
"""

import argparse
import time
from collections.abc import Iterator, Mapping
from typing import Any

import cv2
import numpy as np

from fieldplay.geometry.camera_model import camera_from_numbers as model_of
from fieldplay_cdff.pipeline import Configuration
from fieldplay_cdff.pipeline.chains import source_of
from fieldplay_cdff.pipeline.pipeline_graph import graph_of
from fieldplay_cdff.steps.step import Step, step_of
from fieldplay_cdff.steps.values import Frame
from fieldplay_samples.data import numbers_of
from fieldplay_samples.sensors.camera import camera_from_numbers, depth, render
from fieldplay_samples.writers.sherpatt.scenario import make_scenario, make_world

BETWEEN_M = ((1.1, 2.0), (2.0, 4.0), (2.0, 8.0))
FAR_OFF = 0.05
EVERY = 3  # pixels, of which the middle one is compared
AUTHORS = {
    "Disparities": {"NumberOfIntervals": 256, "SmoothnessParameter1": 600, "SmoothnessParameter2": 2000},
    "BlocksMatching": {"BlockSize": 15},
}
SPARSE = {"PointCloudSamplingDensity": 0.1, "VoxelGridLeafSize": 0.0}
Given = Mapping[str, Mapping[str, Any]]


def pairs_of_sample(count: int, shrink: int) -> Iterator[tuple[Frame, Frame, np.ndarray]]:
    """Pairs one second apart, and the true depths of every third pixel."""
    numbers = numbers_of("sherpatt")
    scenario, own = make_scenario(1, float(max(count, 2)), dict(numbers["settings"])), numbers["camera"]
    scene, camera_model = make_world(scenario), (own["f"], own["f"], own["cx"], own["cy"])
    camera = camera_from_numbers(own["width"], own["height"], camera_model, (0.0,) * 5)
    matrix = [own["f"], 0, own["cx"], 0, own["f"], own["cy"], 0, 0, 1]
    model = model_of(matrix, [0] * 5, "plumb_bob", width=own["width"], height=own["height"])
    sides = scenario.body_T_camera()
    for body in scenario.drive.motion.pose_at(np.arange(count, dtype=float)):
        images = [render(scene, camera, body @ sides[side], shrink=shrink) for side in ("left", "right")]
        left, right = (Frame(image=cv2.cvtColor(each, cv2.COLOR_RGB2GRAY), camera=model) for each in images)
        true = depth(scene, camera, body @ sides["left"], shrink=EVERY)
        yield left, Frame(image=right.image, camera=model, baseline_m=own["baseline"]), true


def settings_of_chain() -> Given:
    """How ReconstructionFromStereo sets its stereo step."""
    graph = graph_of(source_of("Reconstruction3D"), "ReconstructionFromStereo", Configuration())
    return next(node.parameters for node in graph.nodes if node.id == "reconstructor3D")


def made_by(parameters: Given) -> Step:
    """The step with its settings."""
    return step_of("StereoReconstruction", "HirschmullerDisparityMapping")(parameters)


def depths(left: Frame, right: Frame, parameters: Given) -> tuple[np.ndarray, float]:
    """The depth (h, w) of every third pixel, 0 where there is none, and the CPU time that the step took."""
    general = {**parameters.get("GeneralParameters", {}), "PointCloudSamplingDensity": 1.0, "VoxelGridLeafSize": 0.0}
    space = {"LimitX": 100.0, "LimitY": 100.0, "LimitZ": 100.0}
    whole = {**parameters, "GeneralParameters": general, "ReconstructionSpace": space}
    points = made_by(whole).process(left=left, right=right)["pointcloud"].points
    own = made_by(parameters if "GeneralParameters" in parameters else {**parameters, "GeneralParameters": SPARSE})
    start = time.process_time()
    own.process(left=left, right=right)
    took_s = time.process_time() - start
    pixels = points[:, :2] / points[:, 2:] @ left.camera.matrix[:2, :2].T + left.camera.matrix[:2, 2]
    u, v = np.round(pixels).astype(int).T
    values = np.zeros(left.image.shape)
    values[v, u] = points[:, 2]
    return values[EVERY // 2 :: EVERY, EVERY // 2 :: EVERY], took_s


def row_of(name: str, result: np.ndarray, true: np.ndarray, cpu_s: float) -> str:
    """A row of the table, of depths (n,) beside true ones."""
    cells = [name]
    for least, most in BETWEEN_M:
        there = (true > least) & (true < most) & (result > 0)
        off = np.abs(result[there] - true[there])
        cells.append(f"{100 * np.median(off):.2f} cm, {100 * np.median(off / true[there]):.2f} %")
    far = (true > BETWEEN_M[-1][0]) & (true < BETWEEN_M[-1][1])
    known = far & (result > 0)
    beyond = np.abs(result[known] / true[known] - 1) > FAR_OFF
    return (
        f"| {' | '.join([*cells, f'{known.sum() / far.sum():.2f}', f'{100 * beyond.mean():.1f} %', f'{cpu_s:.3f}'])} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--shrink", type=int, default=4)
    chosen = parser.parse_args()
    cv2.setNumThreads(2)
    pairs = list(pairs_of_sample(chosen.pairs, chosen.shrink))
    print("| settings | 1.1 to 2 m | 2 to 4 m | 2 to 8 m | filled | more than 5 % off | CPU s a pair |")
    print(f"|{'---|' * 7}")
    for name, parameters in (("ours", settings_of_chain()), ("the authors'", AUTHORS)):
        result = [depths(left, right, parameters) for left, right, _ in pairs]
        values = np.concatenate([each.ravel() for each, _ in result])
        rows, columns = result[0][0].shape  # squares at the rim may overhang
        true = np.concatenate([each[:rows, :columns].ravel() for *_, each in pairs]).astype(float)
        print(row_of(name, values, true, float(np.mean([took_s for _, took_s in result]))), flush=True)


if __name__ == "__main__":
    main()
