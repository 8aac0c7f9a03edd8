"""The odometry of four steered wheels as others see it, in this process, over a gap."""

from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState

from fieldplay.kinematics import robots
from fieldplay.kinematics.pose_records import with_floor
from fieldplay_ros.programs import program
from fieldplay_testing.nodes.node_stage import NodeStage, ros_fixture, stage_fixture

START_S = 1656931512
SETTINGS: dict[str, Any] = {
    "length_m": 0.402, "width_m": 0.396, "swivel_m": 0.143, "wheel_drop_m": 0.135, "longest_step_s": 0.5,
}  # fmt: skip
SPEEDS, ANGLES = [0.411941, 0.393297, 0.608597, 0.622298], np.radians([17.217473, -4.132060, -3.004480, 12.687916])


class Stage(NodeStage):
    """The node under test, and one that listens to it and sends it wheels."""

    def __init__(self) -> None:
        super().__init__("rover")
        self.odometry: list[Odometry] = []
        self.listener.create_subscription(Odometry, "wheels/odom", self.odometry.append, 500)
        self.joints = self.listener.create_publisher(JointState, "platform/joint_states", 500)
        self.speeds = self.listener.create_publisher(JointState, "platform/wheel_speeds", 500)

    def start(self) -> None:
        """Make the node under test, and wait until both hear each other."""
        self.add(program("wheel_odometry").node, SETTINGS)
        self.wait(self._is_connected)

    def _is_connected(self) -> bool:
        received = all(sender.get_subscription_count() for sender in (self.joints, self.speeds))
        return received and self.listener.count_publishers("/rover/wheels/odom") > 0

    def drive(self, after_s: int) -> None:
        """The wheels so many seconds after the start."""
        drives = list(robots.DRIVES)
        joints = JointState(name=[*drives, *robots.STEERS], position=[0.0] * 4 + ANGLES.tolist())
        speeds = JointState(name=drives, velocity=SPEEDS)
        for message, sender in ((joints, self.joints), (speeds, self.speeds)):
            message.header.stamp.sec = START_S + after_s
            sender.publish(message)


ros = ros_fixture()
stage = stage_fixture(Stage)


def test_gap_is_integrated_for_longest_step_as_in_batch(stage: Stage) -> None:
    stage.start()
    seconds = [0, 3600, 3601]
    for second in seconds:
        stage.drive(second)
    stage.wait(lambda: len(stage.odometry) == len(seconds))
    batch = robots.wheel_odometry_from_wheels(
        robots.base_from_settings(SETTINGS), None, (START_S + np.array(seconds)) * 10**9,
        steering=np.tile(ANGLES, (3, 1)), rim_speeds=np.tile(SPEEDS, (3, 1)),
        stepping=robots.stepping_from_settings(SETTINGS), errors=robots.errors_from_settings(SETTINGS),
    )  # fmt: skip
    for row, odometry in enumerate(stage.odometry):
        position = odometry.pose.pose.position
        assert [position.x, position.y] == pytest.approx(batch.poses[row, :2], abs=1e-9)
        assert odometry.pose.covariance == pytest.approx(with_floor(batch.pose_covariances)[row].reshape(-1), abs=1e-9)
    assert np.hypot(position.x, position.y) == pytest.approx(2 * 0.5 * np.hypot(0.5, 0.05), rel=0.01)
    assert stage.odometry[1].pose.covariance[0] > 1700**2


def test_player_jump_resets_node_forward_too(stage: Stage) -> None:
    stage.start()
    jumps = stage.listener.create_publisher(Time, "player/jump", 10)
    stage.wait(jumps.get_subscription_count)
    for second in (0, 1):
        stage.drive(second)
    stage.wait(lambda: len(stage.odometry) == 2)
    jumps.publish(Time(sec=START_S + 2))
    for second in (2, 3):
        stage.drive(second)
    stage.wait(lambda: len(stage.odometry) == 4)
    distances = [np.hypot(odometry.pose.pose.position.x, odometry.pose.pose.position.y) for odometry in stage.odometry]
    assert distances[0] == distances[2] == 0 and distances[1] == pytest.approx(distances[3]) and distances[1] > 0.2


def test_messages_before_jump_count_though_one_topic_lags(stage: Stage) -> None:
    stage.start()
    jumps = stage.listener.create_publisher(Time, "player/jump", 10)
    stage.wait(jumps.get_subscription_count)
    for second in range(50):  # the speeds lag: an executor takes one message of a topic in each round
        stage.speeds.publish(JointState())
        stage.drive(second)
    jumps.publish(Time(sec=START_S + 100))
    stage.drive(100)
    stage.wait(lambda: len(stage.odometry) == 51)
    distances = [np.hypot(odometry.pose.pose.position.x, odometry.pose.pose.position.y) for odometry in stage.odometry]
    assert distances[49] > 1 and distances[50] == 0
