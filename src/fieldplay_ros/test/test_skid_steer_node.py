"""The node as others see it, in this process: what it makes of wheels, told together or side by side."""

from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from fieldplay.kinematics.pose_records import with_floor
from fieldplay.kinematics.skid_steer_odometry import skid_steer_from_settings, skid_steer_odometry_from_wheels
from fieldplay_ros.programs import program
from fieldplay_testing.nodes.node_stage import NodeStage, overrides_from, ros_fixture, stage_fixture

START = 1224198733
NAN = float("nan")
SETTINGS: dict[str, Any] = {
    "wheel_radius_m": 0.25, "track_m": 2.0, "speed_std_m_s": 0.02, "slip_share": 0.1, "track_share": 0.3,
    "slide_share": 0.2, "longest_hold_s": 0.5, "longest_step_s": 1.0,
}  # fmt: skip


class Stage(NodeStage):
    """The node under test, one that listens to it, and what both turn on."""

    def __init__(self) -> None:
        super().__init__("argo")
        self.odometry: list[Odometry] = []
        self.transforms: list[TFMessage] = []
        self.listener.create_subscription(Odometry, "wheels/odom", self.odometry.append, 500)
        self.listener.create_subscription(TFMessage, "/tf", self.transforms.append, 500)
        self.wheels = self.listener.create_publisher(JointState, "payload/wheels", 500)

    def start(self, **parameters: Any) -> None:
        """Make the node under test, and wait until both hear each other."""
        self.add(program("skid_steer_odometry").node, {**SETTINGS, **parameters})
        self.wait(lambda: self.wheels.get_subscription_count() and self.listener.count_publishers("/argo/wheels/odom"))
        if parameters.get("odom_tf"):
            self.wait(lambda: self.listener.count_publishers("/tf"))

    def drive(self, tenth: int, **rates: float) -> None:
        """A joint state so many tenths of a second after the start, of the sides that are given."""
        message = JointState(name=[f"{side}_wheel" for side in rates], velocity=list(rates.values()))
        message.header.stamp.sec, message.header.stamp.nanosec = START + tenth // 10, tenth % 10 * 100_000_000
        self.wheels.publish(message)


ros = ros_fixture()
stage = stage_fixture(Stage)


def test_each_message_gives_one_odometry_as_in_batch_and_tf_on_request(stage: Stage) -> None:
    stage.start(frame_prefix="robot/", odom_tf=True)
    for tenth in range(40):
        stage.drive(tenth, left=4.0 + 0.1 * tenth, right=5.0)
    stage.wait(lambda: len(stage.odometry) == len(stage.transforms) == 40)
    rates = np.stack([4.0 + 0.1 * np.arange(40), np.full(40, 5.0)], axis=-1)
    batch = skid_steer_odometry_from_wheels(
        skid_steer_from_settings(SETTINGS), None, np.arange(40) * 100_000_000, rates
    )
    assert np.hypot(*batch.poses[-1, :2]) > 4
    for row, (odometry, message) in enumerate(zip(stage.odometry, stage.transforms, strict=True)):
        pose, twist, (sent,) = odometry.pose.pose, odometry.twist.twist, message.transforms
        yaw = 2 * np.arctan2(pose.orientation.z, pose.orientation.w)
        assert [pose.position.x, pose.position.y, yaw] == pytest.approx(batch.poses[row], abs=1e-9)
        assert [twist.linear.x, twist.linear.y, twist.angular.z] == pytest.approx(batch.twists[row])
        assert odometry.pose.covariance == pytest.approx(with_floor(batch.pose_covariances)[row].reshape(-1), abs=1e-12)
        assert odometry.twist.covariance == pytest.approx(batch.twist_covariances[row].reshape(-1))
        frames = (sent.header.frame_id, sent.child_frame_id)
        assert frames == (odometry.header.frame_id, odometry.child_frame_id) == ("robot/odom", "robot/base_link")
        turns = [(turn.x, turn.y, turn.z, turn.w) for turn in (sent.transform.rotation, pose.orientation)]
        assert sent.transform.translation.x == pose.position.x and turns[0] == pytest.approx(turns[1], abs=1e-15)
        assert sent.header.stamp == odometry.header.stamp
        assert (odometry.header.stamp.sec, odometry.header.stamp.nanosec) == (START + row // 10, row % 10 * 10**8)


def test_message_of_one_side_is_paired_with_latest_of_other(stage: Stage) -> None:
    stage.start()
    stage.drive(0, left=8.0)
    stage.drive(1, right=12.0, left=NAN)
    stage.drive(2, left=12.0)
    stage.drive(9, right=12.0)
    stage.drive(10, left=8.0)
    stage.wait(lambda: len(stage.odometry) == 3)
    stamps = [odometry.header.stamp.nanosec for odometry in stage.odometry]
    assert stamps == [100_000_000, 200_000_000, 0]
    assert [odometry.twist.twist.angular.z for odometry in stage.odometry] == pytest.approx([0.5, 0.0, 0.5])


def test_tf_is_not_published_by_default(stage: Stage) -> None:
    stage.start()
    stage.drive(0, left=8.0, right=8.0)
    stage.wait(lambda: stage.odometry)
    assert stage.listener.count_publishers("/tf") == 0


def test_backward_stamp_jump_resets_node(stage: Stage) -> None:
    stage.start()
    for tenth in (*range(30), *range(10, 20)):
        stage.drive(tenth, left=8.0, right=8.0)
    stage.wait(lambda: len(stage.odometry) == 40)
    positions = [odometry.pose.pose.position.x for odometry in stage.odometry]
    assert positions[29] == pytest.approx(5.8)
    assert positions[30] == 0
    assert positions[30:] == pytest.approx(positions[:10])


def test_player_jump_resets_node_forward_too(stage: Stage) -> None:
    stage.start()
    jumps = stage.listener.create_publisher(Time, "player/jump", 10)
    stage.wait(jumps.get_subscription_count)
    for tenth in range(20):
        stage.drive(tenth, left=8.0, right=8.0)
    stage.wait(lambda: len(stage.odometry) == 20)
    jumps.publish(Time(sec=START + 2))
    stage.drive(20, left=8.0)  # the side that is not told of was known before the jump alone
    for tenth in range(21, 31):
        stage.drive(tenth, left=8.0, right=8.0)
    stage.wait(lambda: len(stage.odometry) == 30)
    positions = [odometry.pose.pose.position.x for odometry in stage.odometry]
    assert positions[19] > 3 and positions[20] == 0
    assert positions[20:] == pytest.approx(positions[:10])


def test_invalid_messages_are_skipped(stage: Stage) -> None:
    stage.start()
    stage.wheels.publish(JointState(name=["engine"], velocity=[1.0]))
    stage.wheels.publish(JointState(name=["left_wheel", "right_wheel"], velocity=[1.0]))
    stage.drive(0, left=NAN, right=NAN)
    stage.drive(1, left=8.0, right=8.0)
    stage.wait(lambda: stage.odometry)
    assert stage.odometry[0].header.stamp.nanosec == 100_000_000


def test_invalid_parameters_are_rejected(ros: None) -> None:
    settings = {**SETTINGS, "track_m": -1.0}
    with pytest.raises(ValueError, match="track_m: expected more than 0"):
        program("skid_steer_odometry").node(parameter_overrides=overrides_from(settings))
