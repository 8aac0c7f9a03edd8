"""The node as others see it, in this process: what it makes of joint states, and of time that jumps."""

from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from nav_msgs.msg import Odometry, Path
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from fieldplay.kinematics.ackermann_odometry import ackermann_from_settings, ackermann_odometry_from_joints
from fieldplay.kinematics.pose_records import with_floor
from fieldplay_ros.computation_node import ComputationNode
from fieldplay_ros.programs import program
from fieldplay_testing.nodes.node_stage import NodeStage, overrides_from, ros_fixture, stage_fixture

LATCHED = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
START = 1514301945
NAMES = ["rear_left_wheel", "rear_right_wheel", "front_steering"]
NAN = float("nan")
SETTINGS: dict[str, Any] = {
    "wheelbase_m": 1.6, "track_m": 1.054, "wheel_diameter_m": 0.57, "noise_limit_rpm": 70.0,
    "speed_std_m_s": 0.02, "speed_share": 0.05, "one_wheel_share": 0.15, "slide_share": 0.03,
    "steering_std_deg": 1.0, "turn_rate_std_rad_s": 0.01, "integration": "arcs", "longest_step_s": 1.0,
    "path_step_m": 0.25, "path_poses": 6,
}  # fmt: skip
FRAMES = ["base_link", *NAMES]


class Stage(NodeStage):
    """The node under test, one that listens to it, and what both turn on."""

    def __init__(self) -> None:
        super().__init__("farm")
        self.odometry: list[Odometry] = []
        self.transforms: list[TFMessage] = []
        self.paths: list[Path] = []
        self.listener.create_subscription(Odometry, "odom", self.odometry.append, 500)
        self.listener.create_subscription(TFMessage, "/tf", self.transforms.append, 500)
        self.listener.create_subscription(Path, "path", self.paths.append, LATCHED)
        self.joints = self.listener.create_publisher(JointState, "wheels/joint_states", 500)
        self.clock = self.listener.create_publisher(Clock, "/clock", 10)

    def start(self, **parameters: Any) -> ComputationNode:
        """Make the node under test, and wait until both hear each other."""
        settings = {**SETTINGS, "child_frames": FRAMES, **parameters}
        node: ComputationNode = self.add(program("ackermann_odometry").node, settings)
        self.wait(lambda: self.joints.get_subscription_count() and self.listener.count_publishers("/farm/path"))
        return node

    def drive(self, tenth: int, rate: float = 3.0, steering: float = 0.1) -> None:
        """A joint state so many tenths of a second after the start."""
        message = JointState(name=NAMES, position=[NAN, NAN, steering], velocity=[rate, rate, NAN])
        message.header.stamp.sec, message.header.stamp.nanosec = START + tenth // 10, tenth % 10 * 100_000_000
        self.joints.publish(message)


ros = ros_fixture()
stage = stage_fixture(Stage)


def test_each_joint_state_becomes_one_odometry_as_in_batch(stage: Stage) -> None:
    stage.start(frame_prefix="robot/")
    tenths = np.arange(40)
    for tenth in tenths.tolist():
        stage.drive(tenth, rate=3.0 + 0.1 * tenth, steering=0.01 * tenth)
    stage.wait(lambda: len(stage.odometry) == len(stage.transforms) == 40)
    rates = np.repeat(3.0 + 0.1 * tenths[:, None], 2, axis=1)
    batch = ackermann_odometry_from_joints(
        ackermann_from_settings(SETTINGS), None, tenths * 100_000_000, wheel_rates=rates, steering=0.01 * tenths
    )
    for row, (odometry, message) in enumerate(zip(stage.odometry, stage.transforms, strict=True)):
        pose, twist = odometry.pose.pose, odometry.twist.twist
        yaw = 2 * np.arctan2(pose.orientation.z, pose.orientation.w)
        assert [pose.position.x, pose.position.y, yaw] == pytest.approx(batch.poses[row], abs=1e-9)
        assert [twist.linear.x, twist.linear.y, twist.angular.z] == pytest.approx(batch.twists[row])
        assert odometry.pose.covariance == pytest.approx(with_floor(batch.pose_covariances)[row].reshape(-1), abs=1e-12)
        assert odometry.twist.covariance == pytest.approx(batch.twist_covariances[row].reshape(-1))
        edges = [(tf.header.frame_id, tf.child_frame_id) for tf in message.transforms]
        assert edges == [("robot/odom", "robot/base_link"), *(("robot/base_link", f"robot/{name}") for name in NAMES)]
        stamps = {(each.header.stamp.sec, each.header.stamp.nanosec) for each in (odometry, *message.transforms)}
        assert stamps == {(START + row // 10, row % 10 * 100_000_000)}


def test_path_is_short_reaches_start_and_is_latched(stage: Stage) -> None:
    stage.start()
    for tenth in range(100):
        stage.drive(tenth)
    stage.wait(lambda: len(stage.odometry) == 100)
    late: list[Path] = []
    stage.listener.create_subscription(Path, "path", late.append, LATCHED)
    stage.wait(lambda: late)
    (path,) = late
    assert 3 < len(path.poses) <= 6
    assert (path.header.frame_id, {pose.header.frame_id for pose in path.poses}) == ("odom", {"odom"})
    assert path.poses[0].header.stamp.sec == START and path.poses[0].header.stamp.nanosec == 0
    assert path.header.stamp == path.poses[-1].header.stamp
    integrate_odometry = {(one.header.stamp.sec, one.header.stamp.nanosec): one.pose.pose for one in stage.odometry}
    for pose in path.poses:
        assert pose.pose == integrate_odometry[pose.header.stamp.sec, pose.header.stamp.nanosec]


def test_backward_stamp_jump_resets_node(stage: Stage) -> None:
    stage.start()
    for tenth in (*range(30), *range(10, 20)):
        stage.drive(tenth)
    stage.wait(lambda: len(stage.odometry) == 40)
    positions = [odometry.pose.pose.position.x for odometry in stage.odometry]
    assert positions[29] > 2
    assert positions[30] == 0
    assert positions[30:] == pytest.approx(positions[:10])
    stage.wait(lambda: [len(path.poses) for path in stage.paths].count(1) == 2)


def test_backward_clock_jump_resets_node_though_next_stamp_is_later(stage: Stage) -> None:
    node = stage.start(use_sim_time=True)
    for tenth in range(30):
        stage.drive(tenth)
    stage.wait(lambda: len(stage.odometry) == 30)
    for seconds in (START + 3, START - 100):
        tick = Clock()
        tick.clock.sec = seconds
        stage.clock.publish(tick)
        stage.wait(lambda seconds=seconds: node.get_clock().now().nanoseconds == seconds * 10**9)
    stage.drive(31)
    stage.wait(lambda: len(stage.odometry) == 31)
    assert stage.odometry[-1].pose.pose.position.x == 0


def test_player_jump_resets_node_forward_too(stage: Stage) -> None:
    stage.start()
    jumps = stage.listener.create_publisher(Time, "player/jump", 10)
    stage.wait(jumps.get_subscription_count)
    for tenth in range(20):
        stage.drive(tenth)
    stage.wait(lambda: len(stage.odometry) == 20)
    jumps.publish(Time(sec=START + 2))
    for tenth in range(20, 40):  # without a gap: nothing but the player's word tells of the jump
        stage.drive(tenth)
    stage.wait(lambda: len(stage.odometry) == 40)
    positions = [odometry.pose.pose.position.x for odometry in stage.odometry]
    assert positions[19] > 1 and positions[20] == 0
    assert positions[20:] == pytest.approx(positions[:20])
    stage.wait(lambda: [len(path.poses) for path in stage.paths].count(1) == 2)
    assert stage.paths[-1].poses[0].header.stamp.sec == START + 2


def test_only_joints_are_on_tf_if_odometry_frame_has_other_owner(stage: Stage) -> None:
    stage.start(odom_tf=False)
    stage.drive(0)
    stage.wait(lambda: stage.transforms and stage.odometry)
    assert [tf.child_frame_id for tf in stage.transforms[0].transforms] == NAMES


def test_base_only_frame_tree_works(stage: Stage) -> None:
    stage.start(child_frames=["base_link"])
    stage.drive(0)
    stage.wait(lambda: stage.transforms)
    assert [tf.child_frame_id for tf in stage.transforms[0].transforms] == ["base_link"]


def test_invalid_message_is_skipped(stage: Stage) -> None:
    stage.start()
    stage.drive(0, rate=NAN)
    stage.joints.publish(JointState(name=["drive_1"], position=[1.0], velocity=[1.0]))
    stage.joints.publish(JointState(name=NAMES, velocity=[1.0]))
    stage.drive(1)
    stage.wait(lambda: stage.odometry)
    assert stage.odometry[0].header.stamp.nanosec == 100_000_000


@pytest.mark.parametrize(
    ("name", "value"), [("child_frames", ["base_link", "wheel"]), ("wheelbase_m", 0.0), ("integration", "best")]
)
def test_invalid_parameters_are_rejected(ros: None, name: str, value: Any) -> None:
    settings = {**SETTINGS, "child_frames": FRAMES, name: value}
    with pytest.raises(ValueError, match=f"{name}: expected"):
        program("ackermann_odometry").node(parameter_overrides=overrides_from(settings))
