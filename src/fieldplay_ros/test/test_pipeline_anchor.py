"""A live pipeline asks tf where its camera was in the map, for the chain of frames of its products."""

from pathlib import Path

import numpy as np
from geometry_msgs.msg import TransformStamped
from tf2_msgs.msg import TFMessage

from fieldplay_ros.pipeline_node import PipelineNode
from fieldplay_testing.nodes.node_stage import NodeStage, ros_fixture, stage_fixture

CHAIN = """\
name: Watch
doc: A pose handed on
input_ports: [{name: pose, type: asn1SccPose, doc: where it is, policy: each}]
output_ports: [{name: same, type: asn1SccPose, doc: the same, product: pose}]
implementations:
  - name: Plain
    dfns: [{dfn_id: either, name: Either}]
    input_connections: [{dfpc_input: pose, dfn_id: either, port: first}]
    output_connections: [{dfpc_output: same, dfn_id: either, port: value}]
"""
S = 1_000_000_000

ros = ros_fixture()
stage = stage_fixture(lambda: NodeStage("anchored"))


def transform(seconds: int, parent: str, child: str, x: float) -> TransformStamped:
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id, message.header.stamp.sec = parent, seconds
    message.transform.translation.x, message.transform.rotation.w = x, 1.0
    return message


def test_camera_is_placed_in_the_map_at_the_time_of_the_images(stage: NodeStage, tmp_path: Path) -> None:
    (tmp_path / "watch.yaml").write_text(CHAIN)
    sender = stage.listener.create_publisher(TFMessage, "/tf", 10)
    node = stage.add(PipelineNode, {
        "dfpc": str(tmp_path / "watch.yaml"), "inputs": ["pose=pose"], "products": str(tmp_path / "kept"),
        "world": "yard",
    })  # fmt: skip
    anchoring = node._anchoring
    assert anchoring is not None
    assert anchoring(5 * S, "camera") is None, "nothing is known yet"
    stage.wait(sender.get_subscription_count)
    for seconds, x in ((4, 1.0), (6, 3.0)):
        links = [transform(seconds, "map", "base_link", x), transform(seconds, "base_link", "camera", 0.5)]
        sender.publish(TFMessage(transforms=links))
    stage.wait(lambda: anchoring(5 * S, "camera") is not None)
    anchor = anchoring(5 * S, "camera")
    assert anchor is not None and (anchor.root, anchor.world) == ("map", "yard")
    np.testing.assert_allclose(anchor.root_t_camera[:3, 3], [2.5, 0, 0], atol=1e-9)
    assert anchoring(9 * S, "camera") is None, "after all that tf has"


def test_pipeline_without_products_or_map_frame_needs_no_tf(stage: NodeStage, tmp_path: Path) -> None:
    (tmp_path / "watch.yaml").write_text(CHAIN)
    values = {"dfpc": str(tmp_path / "watch.yaml"), "inputs": ["pose=pose"]}
    assert stage.add(PipelineNode, values)._anchoring is None
    kept = {**values, "products": str(tmp_path / "kept"), "map_frame": ""}
    assert stage.add(PipelineNode, kept)._anchoring is None
