"""The node as others see it: in this process with its parameters, and as a program with signals."""

import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from ament_index_python.packages import get_package_prefix
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from fieldplay.geometry.transforms import quaternion_from_rotation
from fieldplay.geometry.urdf_model import model_from_text, transforms_from_positions
from fieldplay_ros.programs import program
from fieldplay_testing.nodes.node_stage import PATIENCE_S, NodeStage, ros_fixture, stage_fixture

PROGRAM = Path(get_package_prefix("fieldplay_ros")) / "lib" / "fieldplay_ros" / "joint_transforms"
LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
TOY = """<robot name="toy">
  <link name="base"/><link name="camera"/><link name="arm"/><link name="hand"/><link name="finger"/><link name="wheel"/>
  <joint name="mount" type="fixed"><parent link="base"/><child link="camera"/><origin xyz="1 2 3"/></joint>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/>
    <origin xyz="0 0 1" rpy="0.1 0.2 0.3"/><axis xyz="0 1 0"/></joint>
  <joint name="slide" type="prismatic"><parent link="arm"/><child link="hand"/><axis xyz="0 0 1"/></joint>
  <joint name="grip" type="continuous"><parent link="hand"/><child link="finger"/><mimic joint="slide"/></joint>
  <joint name="roll" type="floating"><parent link="base"/><child link="wheel"/></joint>
</robot>"""


class Stage(NodeStage):
    """The node under test, one that listens to it, and what both turn on."""

    def __init__(self) -> None:
        super().__init__("toy")
        self.moving: list[TFMessage] = []
        self.static: list[TFMessage] = []
        self.descriptions: list[String] = []
        self.listener.create_subscription(TFMessage, "/tf", self.moving.append, 100)
        self.listener.create_subscription(TFMessage, "/tf_static", self.static.append, LATCHED)
        self.listener.create_subscription(String, "/toy/robot_description", self.descriptions.append, LATCHED)
        self.joints = self.listener.create_publisher(JointState, "/toy/joint_states", 100)

    def start(self, **parameters: Any) -> None:
        """Make the node under test, and wait until it hears."""
        settings = {"robot_description": TOY, **parameters}
        self.add(program("joint_transforms").node, settings)
        self.wait(self.joints.get_subscription_count)

    def move(self, sec: int, names: list[str], position: list[float], **others: list[float]) -> None:
        message = JointState(name=names, position=position, **others)
        message.header.stamp.sec, message.header.stamp.nanosec = sec, 123456789
        self.joints.publish(message)


ros = ros_fixture()
stage = stage_fixture(Stage)


def edges(message: TFMessage) -> dict[str, tuple[str, int]]:
    """Child: parent and second."""
    return {tf.child_frame_id: (tf.header.frame_id, tf.header.stamp.sec) for tf in message.transforms}


def test_each_joint_state_becomes_one_message_with_its_stamp(stage: Stage) -> None:
    stage.start()
    positions = {"shoulder": 0.7, "slide": -0.4}
    stage.move(1656931512, list(positions), list(positions.values()))
    stage.wait(lambda: stage.moving)
    assert len(stage.moving) == 1
    assert {tf.header.stamp.nanosec for tf in stage.moving[0].transforms} == {123456789}
    assert edges(stage.moving[0]) == {
        "arm": ("base", 1656931512), "hand": ("arm", 1656931512), "finger": ("hand", 1656931512),
    }  # fmt: skip
    expected = transforms_from_positions(model_from_text(TOY), list(positions), list(positions.values()))
    for tf in stage.moving[0].transforms:
        translation, turn = tf.transform.translation, tf.transform.rotation
        transform = expected[tf.child_frame_id]
        np.testing.assert_allclose([translation.x, translation.y, translation.z], transform[:3, 3])
        np.testing.assert_allclose([turn.x, turn.y, turn.z, turn.w], quaternion_from_rotation(transform[:3, :3]))


def test_description_and_static_joints_are_latched(stage: Stage) -> None:
    stage.start()
    late: list[TFMessage] = []
    stage.wait(lambda: stage.static and stage.descriptions)
    stage.listener.create_subscription(TFMessage, "/tf_static", late.append, LATCHED)
    stage.wait(lambda: late)
    assert [list(edges(message)) for message in (*stage.static, *late)] == [["camera"], ["camera"]]
    translation = late[0].transforms[0].transform.translation
    assert (translation.x, translation.y, translation.z) == (1, 2, 3)
    assert [message.data for message in stage.descriptions] == [TOY]


def test_messages_of_several_devices_each_move_their_own_joints(stage: Stage) -> None:
    stage.start()
    stage.move(1, ["drive_1"], [5.0])
    stage.move(2, ["shoulder"], [0.1])
    stage.move(3, ["slide"], [], velocity=[1.0])
    stage.move(4, ["slide", "drive_1"], [0.2, 5.0])
    stage.wait(lambda: len(stage.moving) == 2)
    assert [edges(message) for message in stage.moving] == [
        {"arm": ("base", 2)},
        {"hand": ("arm", 4), "finger": ("hand", 4)},
    ]


def test_invalid_position_is_not_published_and_node_survives(stage: Stage) -> None:
    stage.start()
    stage.move(1, ["shoulder", "slide"], [0.1])
    stage.move(2, ["shoulder", "shoulder"], [0.1, 0.2])
    stage.move(3, ["shoulder", "slide"], [float("nan"), 0.2])
    stage.move(4, ["shoulder"], [float("inf")])
    stage.move(5, ["shoulder"], [0.1])
    stage.wait(lambda: len(stage.moving) == 2)
    assert [list(edges(message)) for message in stage.moving] == [["hand", "finger"], ["arm"]]


def test_frames_get_prefix_and_foreign_frames_are_skipped(stage: Stage) -> None:
    stage.start(frame_prefix="toy/", ignore_links=["camera", "hand"])
    stage.move(1, ["shoulder", "slide"], [0.1, 0.2])
    stage.wait(lambda: stage.moving)
    assert edges(stage.moving[0]) == {"toy/arm": ("toy/base", 1), "toy/finger": ("toy/hand", 1)}
    assert stage.static == []


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({}, "robot_description: this is no XML"),
        ({"robot_description": TOY.replace("<link name=", "<link title=", 1)}, "robot_description: a link has no name"),
        ({"robot_description": TOY, "ignore_links": ["tail"]}, "ignore_links: the model 'toy' has no link 'tail'"),
    ],
)
def test_invalid_parameters_are_reported_and_node_does_not_start(
    parameters: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    ended = subprocess.run(
        command(tmp_path, parameters), capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert ended.returncode == 1
    assert complaint in ended.stderr
    assert "Traceback" not in ended.stderr


def command(folder: Path, parameters: dict[str, Any]) -> list[str]:
    file = folder / "parameters.yaml"
    file.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters}}))
    return [str(PROGRAM), "--ros-args", "-r", "__ns:=/toy", *(["--params-file", str(file)] if parameters else [])]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["while it starts", "while it waits", "while it works"])
def test_signal_exits_program_cleanly(stage: Stage, tmp_path: Path, number: signal.Signals, moment: str) -> None:
    program = subprocess.Popen(
        command(tmp_path, {"robot_description": TOY}), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        if moment == "while it starts":
            stage.wait(lambda: "joint_transforms" in stage.listener.get_node_names())
        else:
            stage.wait(lambda: stage.static and stage.joints.get_subscription_count())
        if moment == "while it works":
            for second in range(3000):
                stage.move(second, ["shoulder", "slide"], [0.1, 0.2])
            stage.wait(lambda: stage.moving)
        program.send_signal(number)
        output, _ = program.communicate(timeout=PATIENCE_S)
    finally:
        program.kill()
        program.wait()
    assert (program.returncode, "Traceback" in output) == (0, False), output
