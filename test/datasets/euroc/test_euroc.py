"""EuRoC and the ASL layout, from files to messages: numbers by SciPy and OpenCV from the same calibration."""

import shutil
import zipfile
from pathlib import Path

import cv2
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fieldplay.datasets.registry import detect_spec, open_dataset
from fieldplay.topics.selection import Selection
from support import tiny_euroc as tiny
from support.archive_messages import Messages, messages_of, notes_of, xyz, xyzw
from support.tiny_euroc import TinyEuroc


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> TinyEuroc:
    """A sequence that no test changes."""
    return TinyEuroc(tmp_path_factory.mktemp("euroc") / "V1_01_easy").write_all()


@pytest.fixture(scope="module")
def messages(written: TinyEuroc) -> Messages:
    return messages_of(written.root)


@pytest.fixture
def copied(written: TinyEuroc, tmp_path: Path) -> TinyEuroc:
    return TinyEuroc(Path(shutil.copytree(written.root, tmp_path / written.root.name)))


def stamp_of(message: object) -> int:
    stamp = message.header.stamp  # type: ignore[attr-defined]
    return int(stamp.sec) * 10**9 + int(stamp.nanosec)


def test_topics_and_counts(messages: Messages) -> None:
    counts = {topic: len(rows) for topic, rows in messages.items()}
    cameras = {f"cam{n}/{topic}": tiny.PAIRS for n in (0, 1) for topic in ("image_raw/compressed", "camera_info")}
    rows = dict.fromkeys(("imu/data_raw", "ground_truth/odom", "leica/position", "vicon/pose", "/tf"), tiny.ROWS)
    assert counts == {**cameras, **rows, "/tf_static": 1}


def test_imu_has_exact_stamps_numbers_and_noise(messages: Messages) -> None:
    for index, (logged_ns, imu) in enumerate(messages["imu/data_raw"]):
        assert stamp_of(imu) == logged_ns == tiny.START_NS + index * tiny.IMU_STEP_NS
        assert xyz(imu.angular_velocity) + xyz(imu.linear_acceleration) == tiny.imu_row(index)
    imu = messages["imu/data_raw"][0][1]
    assert imu.header.frame_id == "imu0"
    assert imu.orientation_covariance[0] == -1
    gyro, force = tiny.NOISE["gyroscope_noise_density"] ** 2 * 200, tiny.NOISE["accelerometer_noise_density"] ** 2 * 200
    np.testing.assert_allclose(imu.angular_velocity_covariance, np.diag([gyro] * 3).ravel(), rtol=1e-12)
    np.testing.assert_allclose(imu.linear_acceleration_covariance, np.diag([force] * 3).ravel(), rtol=1e-12)


def test_images_are_the_files_themselves_at_the_listed_times(written: TinyEuroc, messages: Messages) -> None:
    for camera in ("cam0", "cam1"):
        for stamp_ns, (_, message) in zip(
            tiny.camera_stamps(), messages[f"{camera}/image_raw/compressed"], strict=True
        ):
            assert stamp_of(message) == stamp_ns
            assert (message.header.frame_id, message.format) == (camera, "png")
            assert bytes(message.data) == (written.mav0 / camera / "data" / f"{stamp_ns}.png").read_bytes()


def test_decoded_images_are_mono8(written: TinyEuroc) -> None:
    message = messages_of(written.root, Selection(images="raw"))["cam0/image_raw"][0][1]
    assert (message.encoding, message.width, message.height) == ("mono8", *tiny.SIZE)


def matrices() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """K and D of both cameras."""
    return {
        camera: (np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1]]), np.array(tiny.DISTORTION[camera]))
        for camera, (fx, fy, cx, cy) in tiny.INTRINSICS.items()
    }


def test_camera_info_has_the_calibration_and_the_rectified_pair_of_opencv(messages: Messages) -> None:
    cameras = matrices()
    right_t_left = np.linalg.inv(tiny.T_BS["cam1"]) @ np.array(tiny.T_BS["cam0"])
    rectified = cv2.stereoRectify(
        *cameras["cam0"], *cameras["cam1"], tiny.SIZE, right_t_left[:3, :3].copy(), right_t_left[:3, 3:].copy(),
        flags=cv2.CALIB_ZERO_DISPARITY, alpha=0,
    )  # fmt: skip
    for number, camera in enumerate(("cam0", "cam1")):
        info = messages[f"{camera}/camera_info"][0][1]
        assert (info.width, info.height, info.distortion_model) == (*tiny.SIZE, "plumb_bob")
        np.testing.assert_array_equal(info.k, cameras[camera][0].ravel())
        np.testing.assert_array_equal(info.d, [*tiny.DISTORTION[camera], 0.0])
        np.testing.assert_allclose(info.r, rectified[number].ravel(), atol=1e-12)
        np.testing.assert_allclose(info.p, rectified[2 + number].ravel(), atol=1e-9)
    baseline = np.linalg.norm(right_t_left[:3, 3])
    assert info.p[3] == pytest.approx(-info.p[0] * baseline)
    assert baseline == pytest.approx(0.110, abs=1e-3)


def test_static_tf_is_t_bs_of_each_sensor(messages: Messages) -> None:
    ((_, message),) = messages["/tf_static"]
    transforms = {each.child_frame_id: each for each in message.transforms}
    assert set(transforms) == {"imu0", "cam0", "cam1"}
    for name, transform in transforms.items():
        matrix = np.array(tiny.T_BS[name])
        assert transform.header.frame_id == "base_link"
        np.testing.assert_allclose(xyz(transform.transform.translation), matrix[:3, 3], atol=1e-12)
        turn = Rotation.from_quat(xyzw(transform.transform.rotation)).inv() * Rotation.from_matrix(matrix[:3, :3])
        assert turn.magnitude() < 1e-6


def test_truth_is_pose_in_map_and_velocity_in_base_link(messages: Messages) -> None:
    turn = Rotation.from_quat(np.roll(tiny.QUATERNION_WXYZ, -1))
    for index, (_, odometry) in enumerate(messages["ground_truth/odom"]):
        assert stamp_of(odometry) == tiny.START_NS + index * tiny.IMU_STEP_NS
        np.testing.assert_allclose(xyz(odometry.pose.pose.position), tiny.position(index), atol=1e-12)
        assert (Rotation.from_quat(xyzw(odometry.pose.pose.orientation)).inv() * turn).magnitude() < 1e-9
        np.testing.assert_allclose(xyz(odometry.twist.twist.linear), turn.inv().apply(tiny.VELOCITY), atol=1e-12)
    assert (odometry.header.frame_id, odometry.child_frame_id) == ("map", "base_link")
    assert odometry.twist.covariance[35] == 1e6
    transform = messages["/tf"][-1][1].transforms[0]
    assert (transform.header.frame_id, transform.child_frame_id) == ("map", "base_link")
    np.testing.assert_allclose(xyz(transform.transform.translation), tiny.position(tiny.ROWS - 1), atol=1e-12)


def test_leica_and_vicon_are_as_archived(messages: Messages) -> None:
    for index in (0, 7):
        point, pose = messages["leica/position"][index][1], messages["vicon/pose"][index][1]
        np.testing.assert_allclose(xyz(point.point), tiny.position(index), atol=1e-12)
        np.testing.assert_allclose(xyzw(pose.pose.orientation), np.roll(tiny.QUATERNION_WXYZ, -1), atol=1e-12)
    assert point.header.frame_id == pose.header.frame_id == "map"


def test_switch_turns_tf_of_the_truth_off(written: TinyEuroc) -> None:
    assert "/tf" not in messages_of(written.root, Selection(tf={"truth_tf": False}))


def test_noise_factor_scales_the_deviations(written: TinyEuroc) -> None:
    imu = messages_of(written.root, imu_noise_factor=10.0)["imu/data_raw"][0][1]
    assert imu.angular_velocity_covariance[0] == pytest.approx(100 * tiny.NOISE["gyroscope_noise_density"] ** 2 * 200)


def test_rectified_images_have_their_camera_info(written: TinyEuroc) -> None:
    messages = messages_of(written.root, Selection(rectify=True))
    info = messages["cam1/camera_info_rect"][0][1]
    assert info.header.frame_id == "cam1_rectified"
    assert info.p[3] < 0
    assert len(messages["cam0/image_rect/compressed"]) == tiny.PAIRS


@pytest.mark.parametrize("depth", ["", "a/b/V1_01_easy/"])
def test_zip_has_the_same_messages_at_any_depth(
    written: TinyEuroc, messages: Messages, tmp_path: Path, depth: str
) -> None:
    path = tmp_path / "V1_01_easy.zip"
    with zipfile.ZipFile(path, "w") as packed:
        for file in sorted(written.root.rglob("*")):
            if file.is_file():
                packed.write(file, depth + str(file.relative_to(written.root)))
        packed.writestr(f"__MACOSX/{depth}mav0/cam0/data/._{tiny.START_NS}.png", b"resource fork")
    unpacked = messages_of(path)
    assert {topic: len(rows) for topic, rows in unpacked.items()} == {t: len(rows) for t, rows in messages.items()}
    with open_dataset(path) as archive:
        assert not archive.defects.total
        assert archive.recording["name"] == "V1_01_easy"


def test_mav0_itself_is_an_archive(written: TinyEuroc) -> None:
    with open_dataset(written.mav0) as archive:
        assert set(archive.streams) == {"imu", "cam0", "cam1", "ground_truth", "leica", "vicon"}
        assert archive.recording == {"name": "V1_01_easy", "notes": "a hexacopter"}


def test_folder_of_several_sequences_is_refused(written: TinyEuroc, tmp_path: Path) -> None:
    for name in ("V1_01_easy", "V1_02_medium"):
        shutil.copytree(written.root, tmp_path / "all" / name)
    assert detect_spec(tmp_path / "all").name == "euroc"
    with pytest.raises(Exception, match="expected one recording, got those of V1_01_easy/mav0, V1_02_medium/mav0"):
        open_dataset(tmp_path / "all")


def test_single_camera_is_projected_by_its_own_matrix(copied: TinyEuroc) -> None:
    shutil.rmtree(copied.mav0 / "cam1")
    info = messages_of(copied.root)["cam0/camera_info"][0][1]
    np.testing.assert_array_equal(info.r, np.eye(3).ravel())
    np.testing.assert_array_equal(info.p, np.hstack([np.reshape(info.k, (3, 3)), np.zeros((3, 1))]).ravel())
    assert any("cam1/data/*.png: expected files for 'cam1'" in note for note in notes_of(copied.root))


def test_tum_vi_plays_with_fisheyes_and_the_poses_of_motion_capture(tmp_path: Path) -> None:
    tiny.write_tum_vi(tmp_path / "dataset-room1_512_16")
    with open_dataset(tmp_path / "dataset-room1_512_16") as archive:
        assert archive.spec.name == "euroc"
        assert not archive.defects.total
    messages = messages_of(tmp_path / "dataset-room1_512_16", Selection(images="raw"))
    assert {topic: len(rows) for topic, rows in messages.items()} == {
        "cam0/image_raw": 3, "cam0/camera_info": 3, "cam1/image_raw": 3, "cam1/camera_info": 3,
        "imu/data_raw": tiny.ROWS, "ground_truth/odom": tiny.ROWS, "/tf": tiny.ROWS, "/tf_static": 1,
    }  # fmt: skip
    assert messages["cam0/image_raw"][0][1].encoding == "mono16"
    info = messages["cam1/camera_info"][0][1]
    assert (info.distortion_model, list(info.d)) == ("equidistant", tiny.TUM_DISTORTION)
    assert info.p[3] == pytest.approx(-info.p[0] * 0.1)
    transforms = {each.child_frame_id: each.transform for each in messages["/tf_static"][0][1].transforms}
    turn, shift = Rotation.from_matrix(tiny.TUM_TURN), [0.05, 0.02, -0.03]
    np.testing.assert_allclose(xyz(transforms["cam0"].translation), -turn.inv().apply(shift), atol=1e-12)
    truth, imu = messages["ground_truth/odom"][0][1], messages["imu/data_raw"][0][1]
    assert truth.twist.covariance[0] == 1e6
    assert imu.angular_velocity_covariance[0] == pytest.approx(tiny.NOISE["gyroscope_noise_density"] ** 2 * 200)


def test_clock_that_starts_at_zero_is_in_nanoseconds(copied: TinyEuroc) -> None:
    for path in copied.mav0.rglob("data.csv"):
        path.write_text(path.read_text().replace(str(tiny.START_NS)[:10], "251")) if "cam" not in str(path) else None
    shutil.rmtree(copied.mav0 / "cam0")
    shutil.rmtree(copied.mav0 / "cam1")
    messages = messages_of(copied.root)
    assert stamp_of(messages["ground_truth/odom"][0][1]) == 251_123456789
    assert stamp_of(messages["imu/data_raw"][0][1]) == 251_123456789
