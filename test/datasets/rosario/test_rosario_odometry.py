"""From the raw log of Rosario to odometry in a bag: the numbers of the published bags, and ours beside them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldplay.topics.selection import Selection
from support.archive_messages import messages_of
from support.tiny_rosario import POSES, TinyRosario
from support.written import derived_messages


@pytest.fixture
def archive(tmp_path: Path) -> TinyRosario:
    archive = TinyRosario(tmp_path / "sequence01")
    archive.root.mkdir()
    archive.write_odometry()
    return archive


def odometry(archive: TinyRosario, bag: Path) -> list[Any]:
    return derived_messages(archive.root, bag, ["/rosario/odom"])["/rosario/odom"]


def rows(messages: list[Any]) -> np.ndarray:
    """x, y, yaw, speed, turn rate."""
    results = []
    for message in messages:
        pose, twist = message.pose.pose, message.twist.twist
        yaw = 2 * np.arctan2(pose.orientation.z, pose.orientation.w)
        results.append([pose.position.x, pose.position.y, yaw, twist.linear.x, twist.angular.z])
    return np.array(results)


def test_authors_integration_is_parameter_that_gives_numbers_of_published_bags(
    archive: TinyRosario,
) -> None:
    messages = messages_of(archive.root, Selection(derived=True), integration="authors")["odom"]
    np.testing.assert_allclose(rows([message for _, message in messages])[: len(POSES)], POSES, atol=1e-9)


def test_slip_and_steering_are_parameters(archive: TinyRosario) -> None:
    deviations = [
        np.sqrt(
            messages_of(archive.root, Selection(derived=True), **parameters)["odom"][1][1].twist.covariance[[0, 7, 35]]
        )
        for parameters in ({}, {"speed_share": 0.5}, {"slide_share": 0.5}, {"steering_std_deg": 10.0})
    ]
    usual = deviations[0]
    assert usual.min() > 0.005
    for column, result in enumerate(deviations[1:]):
        assert result[column] > 3 * usual[column]


def test_no_pose_is_certain_not_first_either(archive: TinyRosario) -> None:
    first = messages_of(archive.root, Selection(derived=True))["odom"][0][1]
    assert first.pose.covariance[[0, 7, 35]].tolist() == [1e-6] * 3


def test_ours_has_their_twists_in_base_and_goes_on_true_trajectory(archive: TinyRosario, tmp_path: Path) -> None:
    messages = odometry(archive, tmp_path / "bag")
    actual = rows(messages)
    np.testing.assert_allclose(actual[: len(POSES), 3:], np.array(POSES)[:, 3:], atol=1e-9)
    assert {message.twist.twist.linear.y for message in messages} == {0.0}
    mean = (actual[:4, 3] + actual[1:5, 3]) / 2  # the fifth row goes back: halfway there it stands
    np.testing.assert_allclose(np.diff(actual[:5, 0]), mean * 0.1, atol=1e-5)
    assert all(np.linalg.eigvalsh(message.pose.covariance.reshape(6, 6)).min() >= -1e-12 for message in messages)
    assert all(np.linalg.eigvalsh(message.twist.covariance.reshape(6, 6)).min() > 0 for message in messages)
