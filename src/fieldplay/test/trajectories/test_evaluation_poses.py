"""Poses of all types that can be compared, and what counts as a pose."""

from typing import Any

import numpy as np
import pytest

from fieldplay.core.errors import UsageError
from fieldplay.evaluation.trajectory_pair import frames_of_word, records_of_poses
from fieldplay.messages.message_batches import Topic
from fieldplay.trajectories.pose_topics import TYPES, PoseRows, TopicTrajectory
from fieldplay_testing.reference_messages import (
    START_NS,
    batch,
    make,
    stamped_message,
    transform,
)

HALF = float(np.sqrt(0.5))
ODOMETRY, FIX, PATH = "nav_msgs/msg/Odometry", "sensor_msgs/msg/NavSatFix", "nav_msgs/msg/Path"
UNKNOWN, PARTLY = np.zeros(36), np.zeros(36)
UNKNOWN[[21, 28, 35]], PARTLY[[21, 28]] = 1e6, 1e6


def trajectory_of(messages: list[Any], *more: list[Any]) -> TopicTrajectory:
    msgtype = messages[0].__msgtype__
    rows = PoseRows("/topic")
    for count, each in enumerate((messages, *more)):
        start_ns = START_NS + count * 10**9
        batched = batch("/topic", [(start_ns + number, message) for number, message in enumerate(each)])
        for framed in records_of_poses(batched):
            rows.add(*framed)
    assert Topic("/topic", msgtype).msgtype in TYPES
    return rows.trajectory()


def pose_turned_left(path: str, position: tuple[float, ...] = (1.0, 2.0, 3.0)) -> dict[str, float]:
    """A pose at a place, a quarter turned to the left."""
    return {
        **{f"{path}position__{axis}": value for axis, value in zip("xyz", position, strict=True)},
        f"{path}orientation__z": HALF, f"{path}orientation__w": HALF,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("message", "frames"),
    [
        (
            stamped_message(ODOMETRY, START_NS, "/odom", child_frame_id="base", **pose_turned_left("pose__pose__")),
            ("odom", "base"),
        ),
        (stamped_message("geometry_msgs/msg/PoseStamped", START_NS, "map", **pose_turned_left("pose__")), ("map", "")),
        (
            stamped_message(
                "geometry_msgs/msg/PoseWithCovarianceStamped", START_NS, "map", **pose_turned_left("pose__pose__")
            ),
            ("map", ""),
        ),
        (transform(START_NS, "map", "base", (1, 2, 3), (0, 0, HALF, HALF)), ("map", "base")),
    ],
)
def test_each_pose_type_becomes_a_trajectory(message: Any, frames: tuple[str, str]) -> None:
    trajectory = trajectory_of([message])
    assert (trajectory.parent, trajectory.child) == frames
    assert trajectory.trajectory.stamp_ns.tolist() == [START_NS] and trajectory.trajectory.has_orientation
    assert trajectory.trajectory.poses[0] == pytest.approx(
        np.array([[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]), abs=1e-12
    )


def test_newest_path_is_the_complete_trajectory() -> None:
    poses = [
        stamped_message("geometry_msgs/msg/PoseStamped", START_NS + k, "map", **pose_turned_left("pose__", (k, 0, 0)))
        for k in range(3)
    ]
    trajectory = trajectory_of(
        [stamped_message(PATH, START_NS, "map", poses=poses[:1])], [stamped_message(PATH, START_NS, "map", poses=poses)]
    )
    assert trajectory.trajectory.positions_m[:, 0].tolist() == [0, 1, 2]
    assert (trajectory.parent, trajectory.trajectory.stamp_ns[-1]) == ("map", START_NS + 2)


def test_points_and_fixes_have_no_orientation() -> None:
    point = trajectory_of([stamped_message("geometry_msgs/msg/PointStamped", START_NS, "map", point__x=4.0)])
    assert point.trajectory.positions_m.tolist() == [[4, 0, 0]] and not point.trajectory.has_orientation
    fixes = [
        stamped_message(
            FIX, START_NS + number, "antenna", latitude=45.0 + north, longitude=7.0, altitude=100.0, status__status=ok
        )
        for number, (north, ok) in enumerate([(0.0, 0), (0.5, -1), (1e-5, 0)])
    ]
    trajectory = trajectory_of(fixes)
    assert (trajectory.parent, trajectory.child, trajectory.trajectory.has_orientation) == ("", "antenna", False)
    assert trajectory.trajectory.positions_m == pytest.approx(np.array([[0, 0, 0], [0, 1.1113, 0]]), abs=1e-3)


def test_rotation_counts_unless_completely_unknown() -> None:
    def odometry(covariance: np.ndarray) -> Any:
        return stamped_message(
            ODOMETRY, START_NS, "odom", pose__covariance=covariance, **pose_turned_left("pose__pose__")
        )

    assert trajectory_of([odometry(PARTLY)]).trajectory.has_orientation
    assert not trajectory_of([odometry(UNKNOWN)]).trajectory.has_orientation


def test_invalid_position_is_left_out() -> None:
    positions = [(0.0, 0.0, 0.0), (float("nan"), 0.0, 0.0), (1e30, 0.0, 0.0), (5.0, 0.0, 0.0)]
    messages = [
        stamped_message(
            "geometry_msgs/msg/PoseStamped", START_NS + number, "map", **pose_turned_left("pose__", position)
        )
        for number, position in enumerate(positions)
    ]
    assert trajectory_of(messages).trajectory.positions_m[:, 0].tolist() == [0, 5]


def test_path_without_poses_is_no_trajectory() -> None:
    assert len(trajectory_of([make(PATH)]).trajectory) == 0


@pytest.mark.parametrize("word", ["tf:", "tf:map", "tf:map.", "tf:.base_link"])
def test_transform_needs_two_names(word: str) -> None:
    with pytest.raises(UsageError, match=r"tf:PARENT\.CHILD"):
        frames_of_word(word)
