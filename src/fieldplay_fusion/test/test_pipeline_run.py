"""Chains of steps as they run: what comes out, in which order, and what becomes of failures."""

from pathlib import Path
from typing import Any

import numpy as np

from fieldplay_fusion.dfn.values import Cloud
from fieldplay_fusion.pipeline import Pipeline, load_pipeline

HEAD = """\
name: Two
doc: two clouds to one
topic: two
input_ports:
  - {name: cloud, type: asn1SccPointcloud, doc: a cloud}
  - {name: pose, type: asn1SccPose, doc: where it is}
output_ports:
  - {name: moved, type: asn1SccPointcloud, doc: moved}
"""
CHAIN = """\
implementations:
  - name: Plain
    dfns:
      - {dfn_id: move, name: PointCloudTransformation, implementation: CartesianSystemTransform}
      - {dfn_id: last, name: Previous}
      - {dfn_id: map, name: PointCloudAssembly, implementation: CloudMap, parameters: {VoxelResolution: 0.5}}
    input_connections:
      - {dfpc_input: cloud, dfn_id: move, port: pointCloud}
      - {dfpc_input: pose, dfn_id: move, port: pose}
    internal_connections:
      - {from: {dfn_id: move, port: transformedPointCloud}, to: {dfn_id: last, port: value}}
      - {from: {dfn_id: last, port: value}, to: {dfn_id: map, port: secondPointCloud}}
      - {from: {dfn_id: move, port: transformedPointCloud}, to: {dfn_id: map, port: firstPointCloud}}
    output_connections:
      - {dfpc_output: moved, dfn_id: map, port: assembledCloud}
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "Two.yaml"
    file.write_text(text)
    return file


def cloud(*points: tuple[float, float, float]) -> Cloud:
    return Cloud(points=np.array(points, float).reshape(-1, 3))


def fed(pipeline: Pipeline, stamp_ns: int, x: float) -> list[tuple[str, list[Any], int]]:
    """What comes out of a cloud of one point, in words."""
    found = pipeline.feed("cloud", cloud((x, 0, 0)), stamp_ns) + pipeline.feed("pose", np.eye(4), stamp_ns)
    return [(each.port, each.value.points.tolist(), each.stamp_ns) for each in found]


def test_a_chain_gives_what_its_steps_make_with_the_stamp_of_the_inputs(tmp_path: Path) -> None:
    pipeline = load_pipeline(written(tmp_path, HEAD + CHAIN))
    assert (pipeline.name, pipeline.topic, pipeline.implementation) == ("Two", "two", "Plain")
    assert pipeline.inputs == {"cloud": "Pointcloud", "pose": "Pose"}
    assert fed(pipeline, 1, 0.1) == [("moved", [[0.1, 0, 0]], 1)]
    assert fed(pipeline, 2, 0.9) == [("moved", [[0.1, 0, 0], [0.9, 0, 0]], 2)]
    found = fed(pipeline, 3, 0.7)
    assert found[0][1][0] == [0.1, 0, 0]
    pipeline.reset()
    assert fed(pipeline, 1, 0.3) == [("moved", [[0.3, 0, 0]], 1)]
    assert pipeline.statistics.steps["map"].calls == 4
