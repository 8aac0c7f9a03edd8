"""The chains of SLAM and of localisation, as described, over painted ground."""

from pathlib import Path
from typing import Any

import numpy as np

from fieldplay_cdff.io.outputs import OutTopics
from fieldplay_cdff.pipeline import load_pipeline
from fieldplay_testing.painted_ground import BASELINE_M, CAMERA, PERIOD_NS, SETTINGS, at, pair

CAMERAS = {"left": CAMERA, "right": CAMERA}
TRAJECTORY = [at(0.08 * number, 0, 0) for number in range(10)]


def run(name: str, settings: dict[str, Any]) -> tuple[Any, list[Any]]:
    with load_pipeline(name, None, settings, CAMERAS, BASELINE_M) as pipeline:
        outs = []
        for number, pose in enumerate(TRAJECTORY):
            seen = pair(pose, number)
            outs += pipeline.feed("leftImage", seen.left, number * PERIOD_NS)
            outs += pipeline.feed("rightImage", seen.right, number * PERIOD_NS)
        return pipeline, outs + pipeline.finish()


def test_map_is_built_saved_and_used_for_localisation(tmp_path: Path) -> None:
    file = tmp_path / "map.npz"
    general = {"SaveMap": True, "MapFile": str(file)}
    pipeline, outs = run("VisualSlamStereo", {"slam": {**SETTINGS, "GeneralParameters": general}})
    assert not pipeline.failures and pipeline.statistics.accepted == len(TRAJECTORY)
    assert [each.port for each in outs[-2:]] == ["path", "keyframes"] and outs[-1].stamp_ns == 9 * PERIOD_NS
    (trajectory, keyframe_map), last = (each.value for each in outs[-2:]), outs[-1]
    assert len(trajectory) == len(TRAJECTORY) and 3 <= len(keyframe_map) <= 4
    np.testing.assert_allclose(np.linalg.norm(trajectory.positions_m[-1]), 0.72, atol=0.02)
    topics = OutTopics(ports=pipeline.outputs, prefix="/slam", scene="slam/scene")
    assert topics.topics()["/slam/closures"] == topics.topics()["/slam/keyframes"] == "geometry_msgs/msg/PoseArray"
    sent = [message.topic for port in outs[-2:] for message in topics.messages(port.port, port.value, last.stamp_ns)]
    assert sent == ["/slam/path", "/slam/keyframes", "/slam/closures"]
    settings = {"localisation": {"Views": SETTINGS["Views"], "GeneralParameters": {"MapFile": str(file)}}}
    pipeline, outs = run("MapLocalisation", settings)
    assert pipeline.statistics.accepted == len(TRAJECTORY)
    estimates = [each.value.pose for each in outs if each.port == "estimatedPose"]
    np.testing.assert_allclose(np.linalg.norm(estimates[-1][:3, 3]), 0.72, atol=0.02)
