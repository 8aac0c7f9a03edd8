"""Topics of logs' streams: plain names wherever they do not collide, numbered ones with a note where they do."""

import re
from pathlib import Path
from typing import Any

import pytest

from fieldplay.datasets.registry import open_dataset
from fieldplay_testing import tiny_sherpatt as tiny
from support.sherpatt_messages import messages_of

ROS_NAME = re.compile(r"[a-z][a-z0-9_]*(/[a-z][a-z0-9_]*)*")
STATE = ("int32_t", [7] * tiny.COUNT)


def picture(time: int) -> Any:
    """With a camera of its own."""
    own = {"cameraMatrix": tiny.MATRIX, "distCoeffs": [0.0] * 5, "sensorId": "x", "cameraModel": "cam_PINHOLE"}
    return tiny.frame(time) | {"intrinsic": own}


def opened_topics(root: Path, *names: str, **streams: tuple[str, list[Any]]) -> tuple[list[str], list[str]]:
    """The topics of a log with streams of whole numbers, in their order; and its notes."""
    path = tiny.write(root / "a.msg", tiny.log_of({**dict.fromkeys(names, STATE), **streams}))
    with open_dataset(path, "sherpatt") as archive:
        ids = [spec.id for spec in archive.spec.streams]
        assert len(set(ids)) == len(ids) == len(archive.streams)
        return [spec.topic for spec in archive.spec.streams], archive.notes


@pytest.mark.parametrize(
    ("names", "topics"),
    [
        (["/a_b", "/a/b"], ["a_b", "a/b"]),
        (["/a/b", "/a_b", "/a.b_c", "/a_b.c"], ["a/b", "a_b", "a/b_c", "a_b/c"]),
        (["/wheel.odom", "/stereo.left"], ["wheel/odom", "stereo/left"]),
    ],
)
def test_topics_that_differ_keep_their_plain_names(names: list[str], topics: list[str], tmp_path: Path) -> None:
    assert opened_topics(tmp_path, *names) == (topics, [])


def test_of_two_streams_for_one_topic_second_has_number_and_note(tmp_path: Path) -> None:
    topics, notes = opened_topics(tmp_path, "/task.port", "/task/port", "/task/port_2", "/Task/Port")
    assert topics == ["task/port", "task/port_2", "task/port_2_2", "task/port_3"]
    assert notes == [
        "/task/port plays on task/port_2, as task/port is of /task.port",
        "/task/port_2 plays on task/port_2_2, as task/port_2 is of /task/port",
        "/Task/Port plays on task/port_3, as task/port is of /task.port",
    ]


def test_topics_of_description_and_of_its_nodes_stay_theirs(tmp_path: Path) -> None:
    topics, notes = opened_topics(tmp_path, "/dgps.odom", "/path", "/surface", "/robot_description")
    assert topics == ["dgps/odom_2", "path_2", "surface_2", "robot_description_2"]
    assert notes[:2] == [
        "/dgps.odom plays on dgps/odom_2, as dgps/odom is of /dgps.imu_pose",
        "/path plays on path_2, as path is of the node odometry_path",
    ]


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("/1st/2nd", "n1st/n2nd"),
        ("a-b c", "a_b_c"),
        ("/Tür.größe", "tur/gro_e"),
        ("", "stream"),
        ("/", "stream"),
        ("/日本.out", "out"),
        ("__a__/__b__", "a/b"),
        ("/" + "a" * 400, "a" * 180),
    ],
)
def test_names_that_are_none_of_ros_become_such(name: str, topic: str, tmp_path: Path) -> None:
    (result,), _ = opened_topics(tmp_path, name)
    assert result == topic and ROS_NAME.fullmatch(result)


def test_two_cameras_in_one_folder_have_their_information_apart(tmp_path: Path) -> None:
    images = ("Frame", [picture(time) for time in tiny.times()])
    streams: tiny.Streams = {"/u/left": images, "/u/right": images, "/u/left/compressed": STATE}
    path = tiny.write(tmp_path / "a.msg", tiny.log_of(streams))
    counts = {topic: len(result) for topic, result in messages_of(path).items() if not topic.startswith("/tf")}
    topics = ["u/left", "u/camera_info", "u/right/image_raw", "u/right/camera_info", "u/left/compressed_2"]
    assert counts == dict.fromkeys(topics, tiny.COUNT)
    with open_dataset(path, "sherpatt") as archive:
        assert "/u/right plays on u/right/image_raw, as u/camera_info is of /u/left" in archive.notes
