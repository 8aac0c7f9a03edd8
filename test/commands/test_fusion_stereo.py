"""The stereo step of Reconstruction 3D on a pair of the sample of SherpaTT, by its true depths."""

import cv2
import numpy as np

from fieldplay.geometry.camera_model import camera_from_numbers as model_of
from fieldplay_cdff.pipeline import Configuration
from fieldplay_cdff.pipeline.chains import source_of
from fieldplay_cdff.pipeline.pipeline_graph import graph_of
from fieldplay_cdff.steps.step import step_of
from fieldplay_cdff.steps.values import Frame
from fieldplay_samples.data import numbers_of
from fieldplay_samples.sensors.camera import camera_from_numbers, depth, render
from fieldplay_samples.writers.sherpatt.scenario import make_scenario, make_world

SHRINK, EVERY = 4, 5  # pixels; of so many each way the middle one is compared


def test_depths_are_as_near_to_truth_and_as_many_as_requested() -> None:
    numbers = numbers_of("sherpatt")
    scenario, own = make_scenario(1, 2.0, dict(numbers["settings"])), numbers["camera"]
    scene, camera_model = make_world(scenario), (own["f"], own["f"], own["cx"], own["cy"])
    camera = camera_from_numbers(own["width"], own["height"], camera_model, (0.0,) * 5)
    matrix = [own["f"], 0, own["cx"], 0, own["f"], own["cy"], 0, 0, 1]
    model = model_of(matrix, [0] * 5, "plumb_bob", width=own["width"], height=own["height"])
    body, sides = scenario.drive.motion.pose_at(np.array([1.0]))[0], scenario.body_T_camera()
    left, right = (
        Frame(
            image=cv2.cvtColor(render(scene, camera, body @ sides[side], shrink=SHRINK), cv2.COLOR_RGB2GRAY),
            camera=model, baseline_m=own["baseline"],
        )
        for side in ("left", "right")
    )  # fmt: skip
    graph = graph_of(source_of("Reconstruction3D"), "ReconstructionFromStereo", Configuration())
    parameters = next(node.parameters for node in graph.nodes if node.id == "reconstructor3D")
    whole = {**parameters, "GeneralParameters": {**parameters["GeneralParameters"], "PointCloudSamplingDensity": 1.0}}
    step = step_of("StereoReconstruction", "HirschmullerDisparityMapping")(whole)
    points = step.process(left=left, right=right)["pointcloud"].points

    u, v = np.round(points[:, :2] / points[:, 2:] * own["f"] + [own["cx"], own["cy"]]).astype(int).T
    values = np.zeros(left.image.shape)
    values[v, u] = points[:, 2]
    true = depth(scene, camera, body @ sides["left"], shrink=EVERY).astype(float)
    values = values[EVERY // 2 :: EVERY, EVERY // 2 :: EVERY][: len(true)]
    true = true[: len(values), : values.shape[1]]
    off = np.abs(values - true)
    near, far, all_far = ((true > least) & (true < most) for least, most in ((1.1, 2.0), (2.0, 4.0), (2.0, 7.9)))
    seen = values > 0
    assert np.median(off[near & seen]) < 0.009
    assert np.median(off[far & seen]) < 0.03
    assert np.median((off / true)[far & seen]) < 0.0115
    assert np.mean(seen[all_far]) > 0.85
    assert np.mean((off / true)[far & seen] > 0.05) < 0.08
