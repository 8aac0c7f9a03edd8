"""A step that hangs is named, its pipeline is stopped, and its node goes on."""

import threading
from pathlib import Path
from typing import Any

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from rclpy.lifecycle import TransitionCallbackReturn

from fieldplay_cdff.steps.adapters import Either
from fieldplay_ros.pipeline_node import PipelineNode
from fieldplay_testing.nodes.node_stage import NodeStage, ros_fixture, stage_fixture

CHAIN = """\
name: Watch
doc: A pose handed on
input_ports: [{name: pose, type: asn1SccPose, doc: where it is, policy: each}]
output_ports: [{name: same, type: asn1SccPose, doc: the same}]
implementations:
  - name: Plain
    dfns: [{dfn_id: sleeper, name: Either}]
    input_connections: [{dfpc_input: pose, dfn_id: sleeper, port: first}]
    output_connections: [{dfpc_output: same, dfn_id: sleeper, port: value}]
"""
DONE = TransitionCallbackReturn.SUCCESS

ros = ros_fixture()
stage = stage_fixture(lambda: NodeStage("watch"))


def test_hanging_step_is_reported_and_its_pipeline_stopped(
    stage: NodeStage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "watch.yaml").write_text(CHAIN)
    gate, process = threading.Event(), Either.process

    def waiting(self: Either, **inputs: Any) -> Any:
        gate.wait()
        return process(self, **inputs)

    monkeypatch.setattr(Either, "process", waiting)
    diagnostics: list[DiagnosticArray] = []
    received: list[Odometry] = []
    stage.listener.create_subscription(DiagnosticArray, "/diagnostics", diagnostics.append, 10)
    stage.listener.create_subscription(Odometry, "watch/same", received.append, 10)
    sender = stage.listener.create_publisher(PoseStamped, "pose", 10)
    node = stage.add(PipelineNode, {
        "dfpc": str(tmp_path / "watch.yaml"), "inputs": ["pose=pose"], "step_timeout": 0.2, "stats_hz": 50.0,
    })  # fmt: skip
    stage.wait(lambda: sender.get_subscription_count() and node.count_subscribers("watch/same"))
    stage.wait(lambda: diagnostics)
    sender.publish(stamped_pose(1))
    stage.wait(lambda: any(message.status[0].level == b"\2" for message in diagnostics))
    last = next(message.status[0] for message in diagnostics if message.status[0].level == b"\2")
    assert last.message.startswith("hangs: sleeper for 0.") and last.name == "pipeline: Watch"
    stage.wait(lambda: not sender.get_subscription_count())
    assert node.trigger_activate() != DONE, "while it hangs still"
    gate.set()
    stage.wait(lambda: node.trigger_activate() == DONE)
    stage.wait(sender.get_subscription_count)
    sender.publish(stamped_pose(2))
    stage.wait(lambda: received)
    assert [message.header.stamp.sec for message in received] == [2], "what came of the first is not sent any more"


def stamped_pose(seconds: int) -> PoseStamped:
    message = PoseStamped()
    message.header.stamp.sec, message.pose.orientation.w = seconds, 1.0
    return message


def test_invalid_configuration_is_rejected_and_can_be_corrected(stage: NodeStage, tmp_path: Path) -> None:
    (tmp_path / "watch.yaml").write_text(CHAIN.replace("Either", "Neither"))
    parameters = {"dfpc": str(tmp_path / "watch.yaml"), "inputs": ["pose=pose"], "autostart": False}
    node = stage.add(PipelineNode, parameters)
    assert node.trigger_configure() != DONE
    (tmp_path / "watch.yaml").write_text(CHAIN)
    assert [node.trigger_configure(), node.trigger_activate()] == [DONE, DONE]
