"""The path of odometry: all rows at once, row by row, and the node as others see it."""

from typing import Any

import numpy as np
import pytest
from nav_msgs.msg import Odometry, Path
from rclpy.qos import DurabilityPolicy, QoSProfile

from fieldplay.kinematics.odometry_path import path_from_poses
from fieldplay.kinematics.pose_records import PathLimits
from fieldplay_ros.programs import program
from fieldplay_testing.nodes.node_stage import NodeStage, ros_fixture, stage_fixture

LIMITS = PathLimits(step_m=0.5, poses=20)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
START = 1543311000


def climb(count: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Times (n,) and poses (n, 7) of a way that rises by 6 cm each 8 cm."""
    steps = np.arange(count)
    poses = np.column_stack([0.08 * steps, 0 * steps, 0.06 * steps, np.tile([0.1, -0.7, 0.1, 0.7], (count, 1))])
    return START * 1_000_000_000 + steps * 100_000_000, poses


def test_path_length_is_measured_along_slope_and_poses_are_unchanged() -> None:
    stamps, poses = climb(51)  # 5 m in steps of 0.1 m
    growths, _ = path_from_poses(PathLimits(step_m=0.99, poses=20), None, stamps, poses)
    rows = growths[-1].points
    assert rows.poses[:, 0] == pytest.approx([0.0, 0.8, 1.6, 2.4, 3.2, 4.0])
    np.testing.assert_array_equal(rows.poses, poses[::10])
    np.testing.assert_array_equal(rows.stamp_ns, stamps[::10])


def test_row_by_row_gives_same_path() -> None:
    stamps, poses = climb()
    whole, _ = path_from_poses(LIMITS, None, stamps, poses)
    state, single = None, []
    for row in range(len(stamps)):
        growths, state = path_from_poses(LIMITS, state, stamps[row : row + 1], poses[row : row + 1])
        single += [growth.points.stamp_ns.tolist() for growth in growths]
    batch = [growth.points.stamp_ns[:count].tolist() for growth in whole
             for count in range(growth.first, len(growth.points.stamp_ns) + 1)]  # fmt: skip
    assert single == batch
    assert len(single[-1]) <= 20 < len(single)


def test_non_finite_position_is_rejected() -> None:
    stamps, poses = climb(3)
    poses[1, 2] = np.nan
    with pytest.raises(ValueError, match="expected finite poses, got"):
        path_from_poses(LIMITS, None, stamps, poses)


class Stage(NodeStage):
    """The node under test, one that listens to it, and what both turn on."""

    def __init__(self) -> None:
        super().__init__("rover")
        self.paths: list[Path] = []
        self.listener.create_subscription(Path, "path", self.paths.append, LATCHED)
        self.odometry = self.listener.create_publisher(Odometry, "wheel_odom", 500)

    def start(self) -> None:
        settings: dict[str, Any] = {
            "odometry": "wheel_odom",
            "path_step_m": 0.5,
            "path_poses": 20,
            "frame_prefix": "a/",
        }
        self.add(program("odometry_path").node, settings)
        self.wait(lambda: self.odometry.get_subscription_count() and self.listener.count_publishers("/rover/path"))

    def send(self, stamp_ns: int, pose: list[float]) -> None:
        message = Odometry()
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 1_000_000_000)
        position, turn = message.pose.pose.position, message.pose.pose.orientation
        position.x, position.y, position.z, turn.x, turn.y, turn.z, turn.w = pose
        self.odometry.publish(message)


ros = ros_fixture()
stage = stage_fixture(Stage)


def test_node_publishes_poses_unchanged_and_resets_on_backward_jump(stage: Stage) -> None:
    stamps, poses = climb(20)
    stage.start()
    for stamp, pose in zip(stamps.tolist(), poses.tolist(), strict=True):
        stage.send(stamp, pose)
    stage.wait(lambda: stage.paths and len(stage.paths[-1].poses) == 4)
    last = stage.paths[-1]
    assert {part.header.frame_id for part in (last, *last.poses)} == {"a/odom"}
    seen = [[p.pose.position.x, p.pose.position.z, p.pose.orientation.x, p.pose.orientation.y] for p in last.poses]
    np.testing.assert_array_equal(seen, poses[[0, 5, 10, 15]][:, [0, 2, 3, 4]])
    stage.send(int(stamps[0]), [9.0, 0, 0, 0, 0, 0, 1])
    stage.wait(lambda: len(stage.paths[-1].poses) == 1)
    assert stage.paths[-1].poses[0].pose.position.x == 9.0
