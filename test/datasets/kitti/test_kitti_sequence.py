"""Odometry sequences of KITTI, from files to messages: numbers by the formulas of the development kit."""

import shutil
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fieldplay.datasets.registry import detect_spec, open_dataset
from support import tiny_kitti as tiny
from support.archive_messages import Messages, messages_of, notes_of, xyz, xyzw

CAMERA_T_VELO = np.vstack([tiny.TR, [0, 0, 0, 1]])
MAP_T_FIRST = np.array([[0, 0, 1, 0], [-1, 0, 0, 0], [0, -1, 0, 0], [0, 0, 0, 1.0]])  # z forward becomes x forward


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_sequence(tmp_path_factory.mktemp("odometry") / "dataset")


@pytest.fixture(scope="module")
def messages(written: Path) -> Messages:
    return messages_of(written)


def test_topics_counts_and_times(messages: Messages) -> None:
    cameras = [f"{camera}/{topic}" for camera in tiny.CAMERAS for topic in ("image_raw/compressed", "camera_info")]
    counts = {topic: len(rows) for topic, rows in messages.items()}
    assert counts == {
        **dict.fromkeys([*cameras, "lidar/points", "ground_truth/odom", "/tf"], tiny.FRAMES),
        "/tf_static": 1,
    }
    for topic in ("lidar/points", "ground_truth/odom", "camera_color_right/camera_info"):
        stamps = [each.header.stamp.sec * 10**9 + each.header.stamp.nanosec for _, each in messages[topic]]
        assert stamps == [int(Decimal(text) * 10**9) for text in tiny.TIMES_S]


def test_camera_info_has_the_size_of_the_images(messages: Messages) -> None:
    for index, camera in enumerate(tiny.CAMERAS):
        info = messages[f"{camera}/camera_info"][0][1]
        assert (info.width, info.height) == tiny.RECTIFIED
        np.testing.assert_array_equal(info.k, np.reshape(tiny.P_RECT[index], (3, 4))[:, :3].ravel())
        np.testing.assert_array_equal(info.r, np.eye(3).ravel())
    assert messages["camera_gray_right/camera_info"][0][1].p[3] == pytest.approx(-388.8)


def test_static_frames_are_those_of_the_scanner(messages: Messages) -> None:
    frames = {each.child_frame_id: each for each in messages["/tf_static"][0][1].transforms}
    assert set(frames) == {"lidar", *tiny.CAMERAS}
    assert xyz(frames["lidar"].transform.translation) == [0, 0, 0]
    left = np.linalg.inv(CAMERA_T_VELO)
    np.testing.assert_allclose(xyz(frames["camera_gray_left"].transform.translation), left[:3, 3], atol=1e-6)
    right = left @ np.array([388.8 / 720, 0, 0, 1])
    np.testing.assert_allclose(xyz(frames["camera_gray_right"].transform.translation), right[:3], atol=1e-6)


def test_truth_is_the_scanner_in_the_first_camera_turned_upright(messages: Messages) -> None:
    for pose, (_, odometry) in zip(tiny.camera_poses(), messages["ground_truth/odom"], strict=True):
        expected = MAP_T_FIRST @ np.vstack([pose, [0, 0, 0, 1]]) @ CAMERA_T_VELO
        np.testing.assert_allclose(xyz(odometry.pose.pose.position), expected[:3, 3], atol=1e-6)
        turn = Rotation.from_quat(xyzw(odometry.pose.pose.orientation))
        assert (turn.inv() * Rotation.from_matrix(expected[:3, :3])).magnitude() < 1e-6
    assert odometry.pose.pose.position.x == pytest.approx(1.1 * 4 - 0.27, abs=0.1)  # it drove forward
    assert turn.as_euler("ZYX", degrees=True)[0] == pytest.approx(-6, abs=1)  # and turned to the right
    assert (odometry.header.frame_id, odometry.child_frame_id) == ("map", "base_link")


@pytest.mark.parametrize("name", ["poses.txt", "07.txt", "poses/07.txt"])
def test_poses_may_lie_in_the_sequence(written: Path, messages: Messages, tmp_path: Path, name: str) -> None:
    root = Path(shutil.copytree(written, tmp_path / "07"))
    (root / name).parent.mkdir(exist_ok=True)
    shutil.copy(written.parents[1] / "poses" / "00.txt", root / name)
    poses = [xyz(each.pose.pose.position) for _, each in messages_of(root)["ground_truth/odom"]]
    assert poses == [xyz(each.pose.pose.position) for _, each in messages["ground_truth/odom"]]


def test_folder_of_one_sequence_with_its_poses_is_an_archive(written: Path, messages: Messages) -> None:
    with open_dataset(written.parents[1]) as archive:
        assert archive.recording["name"] == "00"
        assert set(archive.streams) == {*tiny.CAMERAS, "lidar", "ground_truth"}


def test_folder_of_several_sequences_is_refused(tmp_path: Path) -> None:
    for number in ("00", "01"):
        tiny.write_sequence(tmp_path / "dataset", number)
    with pytest.raises(Exception, match="expected one recording, got those of sequences/00, sequences/01"):
        open_dataset(tmp_path / "dataset")


def test_sequence_without_poses_has_no_truth(written: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(written, tmp_path / "dataset" / "sequences" / "11"))
    assert "ground_truth/odom" not in messages_of(root)
    assert any("no ground truth: expected poses/11.txt" in note for note in notes_of(root))


def test_images_alone_have_the_left_camera_as_their_base(tmp_path: Path) -> None:
    root = tiny.write_sequence(tmp_path / "dataset", has_lidar=False)
    messages = messages_of(root)
    for pose, (_, odometry) in zip(tiny.camera_poses(), messages["ground_truth/odom"], strict=True):
        x, y, z = pose[:, 3]
        np.testing.assert_allclose(xyz(odometry.pose.pose.position), [z, -x, -y], atol=1e-9)
    frames = {each.child_frame_id: each for each in messages["/tf_static"][0][1].transforms}
    np.testing.assert_allclose(xyz(frames["camera_gray_right"].transform.translation), [0, -0.54, 0], atol=1e-6)


def test_sequence_of_clouds_and_times_alone_is_recognised(written: Path, tmp_path: Path) -> None:
    root = tmp_path / "scans"
    shutil.copytree(written / "velodyne", root / "velodyne")
    shutil.copy(written / "times.txt", root)
    assert detect_spec(root).name == "kitti"
    assert len(messages_of(root)["lidar/points"]) == tiny.FRAMES


def test_poses_with_times_and_calibration_alone_are_a_sequence(
    written: Path, messages: Messages, tmp_path: Path
) -> None:
    root = tmp_path / "dataset" / "sequences" / "00"
    root.mkdir(parents=True)
    shutil.copytree(written.parents[1] / "poses", tmp_path / "dataset" / "poses")
    for name in ("calib.txt", "times.txt"):
        shutil.copy(written / name, root)
    assert detect_spec(root).name == "kitti"
    poses = [xyz(each.pose.pose.position) for _, each in messages_of(root)["ground_truth/odom"]]
    assert poses == [xyz(each.pose.pose.position) for _, each in messages["ground_truth/odom"]]
