"""The node of InSight's arm as others see it, in this process: which tool a row has, and what is left out."""

from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped, Vector3Stamped
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, UInt8
from tf2_msgs.msg import TFMessage

from fieldplay.kinematics.insight_arm import JOINTS, pose_of_tool
from fieldplay.kinematics.insight_arm_computation import FRAMES, lander_model_from_settings
from fieldplay_ros.programs import program
from fieldplay_testing.insight_arm_settings import arm_settings
from fieldplay_testing.nodes.node_stage import NodeStage, ros_fixture, stage_fixture

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
START = 1548775190
MODEL = lander_model_from_settings(arm_settings())
REACHING = [-0.12, -0.5, 1.51, 0.1]
BLADE, GRAPPLE, IDC = 0, 5, 3


class Stage(NodeStage):
    """The node under test, one that plays and listens, and what both turn on."""

    def __init__(self) -> None:
        super().__init__("mars")
        self.received: dict[str, list[Any]] = {}
        kinds = {"tcp": PoseStamped, "tcp_pot": PoseStamped, "tcp_deflected": PoseStamped, "tcp_error": Vector3Stamped}
        for topic, kind in {**kinds, "/tf": TFMessage}.items():
            self.received[topic] = []
            self.listener.create_subscription(kind, topic, self.received[topic].append, 500)
        self.tool = self.listener.create_publisher(UInt8, "tool", LATCHED)
        self.phase = self.listener.create_publisher(UInt8, "grapple/phase", LATCHED)
        self.geometry = self.listener.create_publisher(Float64MultiArray, "arm/geometry", LATCHED)
        self.joints = self.listener.create_publisher(JointState, "joint_states", 500)
        self.pots = self.listener.create_publisher(JointState, "joint_states_pot", 500)
        self.archived = self.listener.create_publisher(PoseStamped, "archived/tool_enc", 500)

    def start(self, **parameters: Any) -> None:
        """Make the node under test, and wait until both hear each other."""
        settings = {name: _floats(value) for name, value in arm_settings(**parameters).items()}
        self.add(program("lander_arm_tcp").node, settings)
        sent = (self.tool, self.phase, self.geometry, self.joints, self.pots, self.archived)
        self.wait(lambda: all(publisher.get_subscription_count() for publisher in sent))
        self.wait(lambda: all(self.listener.count_publishers(self.resolve(topic)) for topic in self.received))

    def resolve(self, topic: str) -> str:
        return topic if topic.startswith("/") else f"/mars/{topic}"

    def describe(self) -> object:
        return {topic: len(received) for topic, received in self.received.items()}

    def move(self, tenth: int, angles: list[float], publisher: Any = None) -> None:
        """A joint state so many tenths of a second after the start."""
        message = JointState(name=list(JOINTS), position=angles)
        message.header.stamp.sec, message.header.stamp.nanosec = START + tenth // 10, tenth % 10 * 100_000_000
        (publisher or self.joints).publish(message)

    def positions(self, topic: str) -> list[list[float]]:
        poses = [message.pose.position for message in self.received[topic]]
        return [[position.x, position.y, position.z] for position in poses]


def _floats(value: Any) -> Any:
    return [float(item) for item in value] if isinstance(value, list) else value


ros = ros_fixture()
stage = stage_fixture(Stage)


def test_row_has_tool_active_at_its_stamp_even_if_read_late(stage: Stage) -> None:
    stage.start()
    tools = [GRAPPLE, BLADE, BLADE, IDC, GRAPPLE, BLADE]
    for tenth, tool in enumerate(tools):
        stage.tool.publish(UInt8(data=tool))
        stage.move(tenth, [*REACHING[:3], 0.1 * tenth])
        stage.executor.spin_once(timeout_sec=0.0)  # some are read meanwhile, most are not
    stage.wait(lambda: len(stage.received["tcp"]) == len(tools))
    names = [MODEL.arm.numbering[tool] for tool in tools]
    expected = [pose_of_tool(MODEL.arm, name, [*REACHING[:3], 0.1 * tenth])[:3, 3] for tenth, name in enumerate(names)]
    np.testing.assert_allclose(stage.positions("tcp"), expected, atol=1e-12)


def test_unknown_tool_gives_frames_but_no_pose(stage: Stage) -> None:
    stage.start()
    stage.move(0, REACHING)
    stage.wait(lambda: len(stage.received["/tf"]) == 1)
    stage.tool.publish(UInt8(data=77))
    stage.move(1, REACHING)
    stage.wait(lambda: len(stage.received["/tf"]) == 2)
    stage.tool.publish(UInt8(data=BLADE))
    stage.move(2, REACHING)
    stage.wait(lambda: len(stage.received["/tf"]) == 3 and stage.received["tcp"])
    assert [message.header.stamp.nanosec for message in stage.received["tcp"]] == [200_000_000]
    assert [edge.child_frame_id for edge in stage.received["/tf"][0].transforms] == list(FRAMES)


def test_deflection_includes_payload_and_pots_have_own_pose(stage: Stage) -> None:
    stage.start(dh_set="naif")
    stage.tool.publish(UInt8(data=GRAPPLE))
    stage.phase.publish(UInt8(data=3))
    straight = [*REACHING[:3], 0.0]
    stage.move(0, straight)
    stage.move(0, REACHING, stage.pots)
    stage.wait(lambda: stage.received["tcp_deflected"] and stage.received["tcp_pot"])
    (straight_position,), (bent_position,) = stage.positions("tcp"), stage.positions("tcp_deflected")
    moved = (np.array(bent_position) - straight_position) * 1e3
    np.testing.assert_allclose(moved, (-11.015274, -9.387336, 21.164884), atol=2e-5)
    np.testing.assert_allclose(
        stage.positions("tcp_pot")[0], pose_of_tool(MODEL.arm, "grapple", REACHING)[:3, 3], atol=1e-12
    )


def test_error_is_own_minus_archive_pose_at_same_time(stage: Stage) -> None:
    stage.start()
    stage.tool.publish(UInt8(data=BLADE))
    archived = PoseStamped()
    archived.header.stamp.sec, archived.header.stamp.nanosec = START, 100_000_000
    position = pose_of_tool(MODEL.arm, "blade_1", REACHING)[:3, 3]
    archived.pose.position.x, archived.pose.position.y, archived.pose.position.z = (
        position - [0.001, 0, 0.002]
    ).tolist()
    stage.archived.publish(archived)
    stage.move(0, REACHING)
    stage.move(1, REACHING)
    stage.wait(lambda: len(stage.received["tcp"]) == 2 and stage.received["tcp_error"])
    (error,) = stage.received["tcp_error"]
    assert [error.vector.x, error.vector.y, error.vector.z] == pytest.approx([0.001, 0, 0.002], abs=1e-12)
    assert error.header.frame_id == "payload"


def test_reported_values_apply_from_their_stamp(stage: Stage) -> None:
    stage.start()
    stage.tool.publish(UInt8(data=GRAPPLE))
    stage.move(0, REACHING)
    own = np.full(40, np.nan)
    own[36] = 0.35
    stage.geometry.publish(Float64MultiArray(data=own.tolist()))
    stage.move(1, REACHING)
    stage.wait(lambda: len(stage.received["tcp"]) == 2)
    first, second = np.array(stage.positions("tcp"))
    np.testing.assert_allclose(second - first, (0.35 - 0.2993) * MODEL.arm.down, atol=1e-12)


def test_invalid_settings_are_rejected_at_once(stage: Stage) -> None:
    with pytest.raises(ValueError, match="dh_set: expected one of auto, naif, sis, got 'moon'"):
        stage.start(dh_set="moon")


def test_play_head_position_does_not_matter(stage: Stage) -> None:
    """It remembers no row: what a jump is told for, the frames and poses at the new place, it has at once."""
    stage.start()
    stage.tool.publish(UInt8(data=BLADE))
    for tenth in (0, 1, 600, 0):  # on, a jump forward, and one back
        stage.archived.publish(archived_pose(tenth))
        stage.move(tenth, [*REACHING[:3], 0.001 * tenth])
    stage.wait(lambda: len(stage.received["tcp_error"]) == len(stage.received["/tf"]) == 4)
    angles = [[*REACHING[:3], 0.001 * tenth] for tenth in (0, 1, 600, 0)]
    expected = [pose_of_tool(MODEL.arm, MODEL.arm.numbering[BLADE], row)[:3, 3] for row in angles]
    np.testing.assert_allclose(stage.positions("tcp"), expected, atol=1e-12)
    assert stage.listener.count_subscribers("/mars/player/jump") == 0


def archived_pose(tenth: int) -> PoseStamped:
    message = PoseStamped()
    message.header.stamp.sec, message.header.stamp.nanosec = START + tenth // 10, tenth % 10 * 100_000_000
    return message
