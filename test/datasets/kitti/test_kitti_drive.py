"""Raw drives of KITTI, from files to messages: numbers by pyproj, SciPy and the formulas of the development kit."""

import shutil
import zipfile
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from pyproj import Transformer
from scipy.spatial.transform import Rotation

from fieldplay.datasets.registry import detect_spec, open_dataset
from fieldplay.topics.selection import Selection
from support import tiny_kitti as tiny
from support.archive_messages import Messages, messages_of, notes_of, xyz, xyzw
from support.tiny_kitti import TinyDrive

RAW = Selection(images="raw")
EARTH_M = 6378137.0


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> TinyDrive:
    """A synchronised drive that no test changes."""
    return TinyDrive(tmp_path_factory.mktemp("kitti") / tiny.DATE).write_all()


@pytest.fixture(scope="module")
def messages(written: TinyDrive) -> Messages:
    return messages_of(written.root)


@pytest.fixture(scope="module")
def extract(tmp_path_factory: pytest.TempPathFactory) -> TinyDrive:
    return TinyDrive(tmp_path_factory.mktemp("kitti") / tiny.DATE, "extract").write_all()


def stamp_of(message: Any) -> int:
    return int(message.header.stamp.sec) * 10**9 + int(message.header.stamp.nanosec)


def stamps_of(messages: Messages, topic: str) -> list[int]:
    return [stamp_of(message) for _, message in messages[topic]]


def transform(rotation: Any, translation: Any) -> np.ndarray:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = np.reshape(rotation, (3, 3)), translation
    return matrix


def base_frames(messages: Messages) -> dict[str, np.ndarray]:
    """base_link_T_child of the static frames, which all hang on base_link."""
    frames = {}
    for each in messages["/tf_static"][0][1].transforms:
        assert each.header.frame_id == "base_link"
        turn = Rotation.from_quat(xyzw(each.transform.rotation)).as_matrix()
        frames[each.child_frame_id] = transform(turn, xyz(each.transform.translation))
    return frames


VELO_T_IMU = transform(tiny.IMU_R, tiny.IMU_T)
CAMERA_T_VELO = transform(tiny.VELO_R, tiny.VELO_T)
RECTIFYING = transform(tiny.R_RECT[0], np.zeros(3))


def test_topics_and_counts(messages: Messages) -> None:
    cameras = [f"{camera}/{topic}" for camera in tiny.CAMERAS for topic in ("image_raw/compressed", "camera_info")]
    topics = ["lidar/points", "imu/data", "gnss/fix", "gnss/velocity", "gnss/odom", "/tf"]
    counts = {topic: len(rows) for topic, rows in messages.items()}
    assert counts == {**dict.fromkeys([*cameras, *topics], tiny.FRAMES), "/tf_static": 1}


def test_stamps_are_the_nanoseconds_of_the_texts(messages: Messages) -> None:
    for index, camera in enumerate(tiny.CAMERAS):
        assert stamps_of(messages, f"{camera}/image_raw/compressed") == tiny.stamps_ns(index)
        assert stamps_of(messages, f"{camera}/camera_info") == tiny.stamps_ns(index)
    assert stamps_of(messages, "lidar/points") == tiny.stamps_ns(-1000)
    assert stamps_of(messages, "imu/data") == stamps_of(messages, "gnss/odom") == tiny.stamps_ns(2000)
    assert stamps_of(messages, "gnss/fix")[0] == 1317042145967656321


def test_images_are_mono8_and_bgr8_and_png_is_untouched(written: TinyDrive, messages: Messages) -> None:
    data = (written.root / "image_02" / "data" / "0000000003.png").read_bytes()
    assert bytes(messages["camera_color_left/image_raw/compressed"][3][1].data) == data
    decoded = messages_of(written.root, RAW)
    for camera, encoding in zip(tiny.CAMERAS, ("mono8", "mono8", "bgr8", "bgr8"), strict=True):
        message = decoded[f"{camera}/image_raw"][0][1]
        assert (message.encoding, message.width, message.height, message.header.frame_id) == (
            encoding, *tiny.RECTIFIED, camera,
        )  # fmt: skip


def test_camera_info_of_rectified_images(messages: Messages) -> None:
    for index, camera in enumerate(tiny.CAMERAS):
        info, projection = messages[f"{camera}/camera_info"][0][1], np.reshape(tiny.P_RECT[index], (3, 4))
        assert (info.width, info.height, info.distortion_model) == (*tiny.RECTIFIED, "plumb_bob")
        np.testing.assert_array_equal(info.k, projection[:, :3].ravel())
        np.testing.assert_array_equal(info.d, np.zeros(5))
        np.testing.assert_array_equal(info.r, np.eye(3).ravel())
        left = np.reshape(tiny.P_RECT[index - index % 2], (3, 4))
        baseline = (left[0, 3] - projection[0, 3]) / projection[0, 0]
        assert info.p[3] == pytest.approx(-projection[0, 0] * baseline, abs=1e-9)
        np.testing.assert_array_equal(np.delete(info.p, 3), np.delete(projection.ravel(), 3))
    assert messages["camera_color_left/camera_info"][0][1].p[3] == 0
    assert -messages["camera_color_right/camera_info"][0][1].p[3] / 720 == pytest.approx(0.53, abs=1e-9)


def test_static_frames_follow_the_calibration_files(messages: Messages) -> None:
    frames = base_frames(messages)
    assert set(frames) == {"imu_link", "lidar", *tiny.CAMERAS}
    np.testing.assert_allclose(frames["imu_link"], np.eye(4), atol=1e-12)
    np.testing.assert_allclose(frames["lidar"], np.linalg.inv(VELO_T_IMU), atol=1e-6)
    for index, camera in enumerate(tiny.CAMERAS):
        shift = np.eye(4)
        shift[0, 3] = tiny.P_RECT[index][3] / tiny.P_RECT[index][0]  # as pykitti: along x alone
        camera_t_imu = shift @ RECTIFYING @ CAMERA_T_VELO @ VELO_T_IMU
        # P's last column holds some millimetres along y and z too, which pykitti leaves out.
        np.testing.assert_allclose(frames[camera], np.linalg.inv(camera_t_imu), atol=4e-3 if index > 1 else 2e-6)
    assert frames["lidar"][:3, 3] == pytest.approx([0.81, -0.31, 0.80], abs=0.02)


def test_points_project_as_the_development_kit_does(messages: Messages) -> None:
    frames = base_frames(messages)
    cloud = points_of(messages["lidar/points"][0][1])
    ahead = cloud[cloud[:, 0] > 5][:, :3].astype(float)
    in_camera = RECTIFYING @ CAMERA_T_VELO @ np.column_stack([ahead, np.ones(len(ahead))]).T
    for index, camera in enumerate(tiny.CAMERAS):
        expected = np.reshape(tiny.P_RECT[index], (3, 4)) @ in_camera
        expected = expected[:2] / expected[2]
        seen = np.linalg.inv(frames[camera]) @ frames["lidar"] @ np.column_stack([ahead, np.ones(len(ahead))]).T
        image = np.reshape(messages[f"{camera}/camera_info"][0][1].k, (3, 3)) @ seen[:3]
        np.testing.assert_allclose(image[:2] / image[2], expected, atol=1e-3)


def points_of(message: Any) -> np.ndarray:
    """The points (n, fields) of a cloud whose fields are all float32."""
    assert all(field.datatype == 7 for field in message.fields)
    return np.frombuffer(bytes(message.data), np.float32).reshape(-1, len(message.fields))


def test_clouds_are_the_files_numbers_without_times(messages: Messages) -> None:
    for index, (_, message) in enumerate(messages["lidar/points"]):
        assert [field.name for field in message.fields] == ["x", "y", "z", "intensity"]
        assert message.header.frame_id == "lidar"
        np.testing.assert_array_equal(points_of(message), tiny.points(index))


def test_imu_is_that_of_the_level_axes_unless_chosen_otherwise(written: TinyDrive, messages: Messages) -> None:
    row = tiny.oxts(2)
    level, body = messages["imu/data"][2][1], messages_of(written.root, imu_axes="body")["imu/data"][2][1]
    assert xyz(level.linear_acceleration) == [row["af"], row["al"], row["au"]]
    assert xyz(level.angular_velocity) == [row["wf"], row["wl"], row["wu"]]
    assert xyz(body.linear_acceleration) == [row["ax"], row["ay"], row["az"]]
    assert xyz(body.angular_velocity) == [row["wx"], row["wy"], row["wz"]]
    assert level.header.frame_id == "imu_link"
    expected = Rotation.from_euler("ZYX", [row["yaw"], row["pitch"], row["roll"]])
    assert (Rotation.from_quat(xyzw(level.orientation)).inv() * expected).magnitude() < 1e-9


def test_level_axes_are_the_body_turned_by_roll_and_pitch() -> None:
    """What the parameter says of the two: they have the size of those of a real row."""
    row = tiny.oxts(0)
    level = Rotation.from_euler("YX", [row["pitch"], row["roll"]]).apply([row["ax"], row["ay"], row["az"]])
    np.testing.assert_allclose(level, [row["af"], row["al"], row["au"]], atol=0.02)


def test_fix_and_velocity(messages: Messages) -> None:
    for index in range(tiny.FRAMES):
        row, fix, twist = tiny.oxts(index), messages["gnss/fix"][index][1], messages["gnss/velocity"][index][1]
        assert (fix.latitude, fix.longitude, fix.altitude) == (row["lat"], row["lon"], row["alt"])
        assert (fix.status.status, fix.header.frame_id) == (2, "imu_link")
        variance = row["pos_accuracy"] ** 2
        np.testing.assert_allclose(fix.position_covariance, np.diag([variance, variance, 4 * variance]).ravel())
        assert xyz(twist.twist.twist.linear) == [row["ve"], row["vn"], row["vu"]]
        assert twist.header.frame_id == "map"
        assert twist.twist.covariance[0] == pytest.approx(row["vel_accuracy"] ** 2)
        assert twist.twist.covariance[35] == 1e6


def mercator(row: dict[str, float], scale: float) -> np.ndarray:
    """Where the development kit puts a fix."""
    x = scale * EARTH_M * np.radians(row["lon"])
    y = scale * EARTH_M * np.log(np.tan(np.radians(90 + row["lat"]) / 2))
    return np.array([x, y, row["alt"]])


def test_odometry_is_east_north_up_about_the_first_fix(messages: Messages) -> None:
    first = tiny.oxts(0)
    pipeline = (
        f"+proj=pipeline +step +proj=cart +ellps=WGS84 +step +proj=topocentric +ellps=WGS84 +lon_0={first['lon']}"
    )
    enu = Transformer.from_pipeline(f"{pipeline} +lat_0={first['lat']} +h_0={first['alt']}")
    scale = np.cos(np.radians(first["lat"]))
    for index in range(tiny.FRAMES):
        row, odometry = tiny.oxts(index), messages["gnss/odom"][index][1]
        expected = enu.transform(np.radians(row["lon"]), np.radians(row["lat"]), row["alt"], radians=True)
        position = xyz(odometry.pose.pose.position)
        np.testing.assert_allclose(position, expected, atol=1e-6)
        np.testing.assert_allclose(position, mercator(row, scale) - mercator(first, scale), atol=0.02)
        turn = Rotation.from_euler("ZYX", [row["yaw"], row["pitch"], row["roll"]])
        assert (Rotation.from_quat(xyzw(odometry.pose.pose.orientation)).inv() * turn).magnitude() < 1e-9
        in_base = turn.inv().apply([row["ve"], row["vn"], row["vu"]])
        np.testing.assert_allclose(xyz(odometry.twist.twist.linear), in_base, atol=1e-9)
        if index == 0:  # the level ones differ by roll and pitch alone
            np.testing.assert_allclose(in_base, [row["vf"], row["vl"], row["vu"]], atol=0.2)
    assert (odometry.header.frame_id, odometry.child_frame_id) == ("map", "base_link")
    np.testing.assert_allclose(xyz(messages["/tf"][-1][1].transforms[0].transform.translation), position, atol=1e-12)


def test_switch_turns_tf_off(written: TinyDrive) -> None:
    assert "/tf" not in messages_of(written.root, Selection(tf={"nav_tf": False}))


def test_camera_info_and_frames_of_images_before_rectification(extract: TinyDrive) -> None:
    messages = messages_of(extract.root)
    frames = base_frames(messages)
    for index, camera in enumerate(tiny.CAMERAS):
        info = messages[f"{camera}/camera_info"][0][1]
        assert (info.width, info.height) == tiny.RAW
        np.testing.assert_array_equal(info.k, tiny.K[index])
        np.testing.assert_array_equal(info.d, tiny.D[index])
        np.testing.assert_array_equal(info.r, tiny.R_RECT[index])
        np.testing.assert_array_equal(np.delete(info.p, 3), np.delete(tiny.P_RECT[index], 3))
        camera_t_imu = transform(tiny.R[index], tiny.T[index]) @ CAMERA_T_VELO @ VELO_T_IMU
        np.testing.assert_allclose(frames[camera], np.linalg.inv(camera_t_imu), atol=2e-6)


def test_rectified_images_of_unrectified_drive_are_those_of_opencv(extract: TinyDrive) -> None:
    messages = messages_of(extract.root, Selection(images="raw", rectify=True))
    image = messages["camera_gray_right/image_rect"][0][1]
    raw = messages["camera_gray_right/image_raw"][0][1]
    pixels = np.frombuffer(bytes(raw.data), np.uint8).reshape(raw.height, raw.width)
    maps = cv2.initUndistortRectifyMap(
        np.reshape(tiny.K[1], (3, 3)), np.array(tiny.D[1]), np.reshape(tiny.R_RECT[1], (3, 3)),
        np.reshape(tiny.P_RECT[1], (3, 4))[:, :3], tiny.RAW, cv2.CV_16SC2,
    )  # fmt: skip
    expected = cv2.remap(pixels, *maps, cv2.INTER_LINEAR)
    np.testing.assert_array_equal(np.frombuffer(bytes(image.data), np.uint8).reshape(expected.shape), expected)


@pytest.mark.parametrize("rotation", ["counter_clockwise", "clockwise"])
def test_points_of_unsynchronised_clouds_have_times_by_azimuth(extract: TinyDrive, rotation: str) -> None:
    messages = messages_of(extract.root, velodyne_rotation=rotation)
    assert stamps_of(messages, "lidar/points") == tiny.stamps_ns(-51_000_000)
    message = messages["lidar/points"][1][1]
    assert [field.name for field in message.fields] == ["x", "y", "z", "intensity", "time"]
    cloud = points_of(message)
    np.testing.assert_allclose(cloud[:, :4], tiny.points(1), atol=1e-5)
    azimuth = np.arctan2(cloud[:, 1], cloud[:, 0])
    turned = azimuth if rotation == "counter_clockwise" else -azimuth
    np.testing.assert_allclose(cloud[:, 4], 0.103 * (turned + np.pi) / (2 * np.pi), atol=1e-6)
    ahead = np.argmin(np.abs(azimuth))
    assert cloud[ahead, 4] == pytest.approx(0.0515, abs=1e-3)  # when the cameras are triggered


def test_clouds_without_starts_of_sweeps_have_the_stamps_of_the_cameras(extract: TinyDrive, tmp_path: Path) -> None:
    root = Path(shutil.copytree(extract.root, tmp_path / extract.root.name))
    (root / "velodyne_points" / "timestamps_start.txt").unlink()
    messages = messages_of(root)
    assert stamps_of(messages, "lidar/points") == tiny.stamps_ns(-1000)
    assert [field.name for field in messages["lidar/points"][0][1].fields] == ["x", "y", "z", "intensity"]


def test_points_of_synchronised_clouds_have_times_on_request(written: TinyDrive, extract: TinyDrive) -> None:
    messages = messages_of(written.root, point_time="always")
    assert stamps_of(messages, "lidar/points") == tiny.stamps_ns(-51_000_000)
    assert len(messages["lidar/points"][0][1].fields) == 5
    assert len(messages_of(extract.root, point_time="always")["lidar/points"][0][1].fields) == 5
    without = messages_of(extract.root, point_time="never")
    assert stamps_of(without, "lidar/points") == tiny.stamps_ns(-1000)
    assert len(without["lidar/points"][0][1].fields) == 4


def test_calibration_may_be_in_the_drive_or_in_the_zip_beside_it(written: TinyDrive, tmp_path: Path) -> None:
    inside = Path(shutil.copytree(written.root, tmp_path / "inside" / written.root.name))
    for path in written.day.glob("calib_*.txt"):
        shutil.copy(path, inside)
    beside = Path(shutil.copytree(written.root, tmp_path / "beside" / written.root.name))
    with zipfile.ZipFile(tmp_path / "beside" / f"{tiny.DATE}_calib.zip", "w") as packed:
        for path in written.day.glob("calib_*.txt"):
            packed.write(path, f"{tiny.DATE}/{path.name}")
    for root in (inside, beside):
        with open_dataset(root) as archive:
            assert set(archive.spec.cameras) == set(tiny.CAMERAS)
            assert not archive.missing


def test_zip_as_downloaded_has_the_same_messages(written: TinyDrive, messages: Messages, tmp_path: Path) -> None:
    path = tmp_path / f"{written.root.name}.zip"
    with zipfile.ZipFile(path, "w") as packed:
        for file in sorted(written.root.rglob("*")):
            if file.is_file():
                packed.write(file, f"{tiny.DATE}/{written.root.name}/{file.relative_to(written.root)}")
    tiny.write_calibration(tmp_path / tiny.DATE)
    with open_dataset(path) as archive:
        assert (archive.spec.name, archive.defects.total) == ("kitti", 0)
        assert archive.recording["name"] == f"{tiny.DRIVE}_sync"
    zipped = messages_of(path)
    for topic, rows in messages.items():
        assert [stamp for stamp, _ in zipped[topic]] == [stamp for stamp, _ in rows]
    assert bytes(zipped["lidar/points"][0][1].data) == bytes(messages["lidar/points"][0][1].data)


def test_day_with_several_drives_is_refused(written: TinyDrive, tmp_path: Path) -> None:
    for number in ("0001", "0002"):
        shutil.copytree(written.root, tmp_path / tiny.DATE / f"{tiny.DATE}_drive_{number}_sync")
    assert detect_spec(tmp_path / tiny.DATE).name == "kitti"
    with pytest.raises(Exception, match="expected one recording, got those of"):
        open_dataset(tmp_path / tiny.DATE)


@pytest.mark.parametrize("missing", ["image_00", "velodyne_points", "oxts"])
def test_partial_download_plays_and_is_noted(written: TinyDrive, tmp_path: Path, missing: str) -> None:
    day = Path(shutil.copytree(written.day, tmp_path / tiny.DATE))
    shutil.rmtree(day / written.root.name / missing)
    with open_dataset(day / written.root.name) as archive:
        assert archive.defects.total == 0
        assert archive.missing
        expected = {"image_00": 1, "velodyne_points": 1, "oxts": 4}[missing]
        assert len(archive.streams) == 9 - expected
        left = archive.spec.fusion["leftImage"]
    assert left.partition("/")[0] == ("camera_color_left" if missing == "image_00" else "camera_gray_left")


def test_drive_without_calibration_plays_without_camera_info(written: TinyDrive, tmp_path: Path) -> None:
    root = Path(shutil.copytree(written.root, tmp_path / "alone" / written.root.name))
    messages = messages_of(root)
    assert "camera_gray_left/camera_info" not in messages
    assert len(messages["camera_gray_left/image_raw/compressed"]) == tiny.FRAMES
    assert sum("calib_" in note for note in notes_of(root)) == 3
