"""The raw folder of a Rosario sequence, from its files to messages: the numbers of the dataset's facts."""

import math
import shutil
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fieldplay.topics.selection import Selection
from support import tiny_rosario as tiny
from support.archive_messages import (
    Messages,
    messages_of,
    notes_of,
    xyz,
    xyzw,
)
from support.tiny_rosario import TinyRosario
from support.tiny_rosario_bag import RECTIFIED

START_NS = tiny.START * 10**9
# parent, child, translation, quaternion: Kalibr's T_cam_imu, inverted, and what the calibration file says
TREE = [
    ("base_link", "imu", (1.96, -0.017, 1.02), (0.845406160, -0.017008440, 0.533508388, 0.019181667)),
    ("base_link", "gps", (1.8, -0.03, 1.593), (0, 0, 0, 1)),
    ("imu", "left_camera", (-0.030950056, -0.077136434, 0.026512488),
     (0.058468129, 0.019448917, 0.703481356, 0.708037569)),
    ("imu", "right_camera", (-0.029702272, 0.041641180, 0.033393889),
     (0.064387509, 0.012368496, 0.703280837, 0.707882288)),
]  # fmt: skip
LEFT_IN_BASE = {  # by sequence: where the left camera is, and by how many degrees it looks down
    1: ((1.974382, 0.058951, 0.979559), 19.17),
    2: ((1.976952, 0.059563, 0.981769), 12.44),
    3: ((1.979425, 0.059949, 0.983774), 6.88),
    4: ((1.978525, 0.060181, 0.983796), 6.96),
    5: ((1.983168, 0.058856, 0.983669), 6.62),
    6: ((1.981008, 0.059588, 0.983893), 6.38),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> TinyRosario:
    """A sequence that no test changes."""
    archive = TinyRosario(tmp_path_factory.mktemp("rosario") / "sequence01")
    archive.write_all()
    return archive


@pytest.fixture(scope="module")
def messages(written: TinyRosario) -> Messages:
    return messages_of(written.root)


@pytest.fixture
def copied(written: TinyRosario, tmp_path: Path) -> TinyRosario:
    """A copy without most of its pictures, to be changed."""
    folder = tmp_path / "copy"
    shutil.copytree(written.root.parent, folder)
    for path in sorted((folder / "sequence01" / "zed").iterdir()):
        if f"_{tiny.START}.0" not in path.name:
            path.unlink()
    return TinyRosario(folder / "sequence01")


def transforms_of(messages: Messages) -> dict[tuple[str, str], Any]:
    ((_, message),) = messages["/tf_static"]
    return {(item.header.frame_id, item.child_frame_id): item.transform for item in message.transforms}


def matrix_of(transform: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_quat(xyzw(transform.rotation)).as_matrix()
    matrix[:3, 3] = xyz(transform.translation)
    return matrix


def close(actual: object, expected: object, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(actual, expected, atol=tolerance, rtol=0)


def test_every_log_and_image_plays_as_often_as_it_has_rows(messages: Messages) -> None:
    cameras = [f"stereo/{camera}/{topic}" for camera in ("left", "right")
               for topic in ("camera_info", "image_raw/compressed")]  # fmt: skip
    expected = {"/tf_static": 1, "imu/data_raw": 280, **dict.fromkeys(cameras, 30)}
    gps = [f"gps/{topic}" for topic in ("fix", "velocity", "time", "satellites", "quality", "hdop")]
    expected |= dict.fromkeys((*gps, "ground_truth/odom"), 10)
    expected |= dict.fromkeys(("wheels/joint_states", "wheels/raw"), 20)
    assert {topic: len(actual) for topic, actual in messages.items()} == expected


def test_receiver_s_clock_and_quality_have_topics(messages: Messages) -> None:
    """RMC has 26 December 2017, 15:25:45 and fifths of a second; GGA has quality 4, 12 satellites, HDOP 0.9."""
    for index in (0, 3, 9):
        stamp, clock = messages["gps/time"][index]
        assert stamp == messages["gps/velocity"][index][0] and clock.source == "gps"
        time_ns = clock.time_ref.sec * 10**9 + clock.time_ref.nanosec
        assert time_ns == 1514301945 * 10**9 + index * 200_000_000
    result = [messages[f"gps/{topic}"][4][1].data for topic in ("quality", "satellites", "hdop")]
    assert result == [4, 12, 0.9]


def test_lost_fix_gives_its_quality_and_no_hdop_that_is_none(copied: TinyRosario) -> None:
    copied.no_fix = lambda t: t < 0.5
    copied.write_gps()
    path = copied.root / "gps.log"
    path.write_text(path.read_text().replace(tiny.gga(1.0), tiny.gga(1.0, hdop="")))  # type: ignore[arg-type]
    messages = messages_of(copied.root, Selection(topics="gps"))
    assert [message.data for _, message in messages["gps/quality"]] == [0, 0, 0, *[4] * 7]
    assert [message.data for _, message in messages["gps/satellites"]] == [0, 0, 0, *[12] * 7]
    assert len(messages["gps/hdop"]) == 9


def test_stamps_are_decimals_of_files_exactly(messages: Messages) -> None:
    rates = {"imu/data_raw": 140, "gps/fix": 5, "wheels/joint_states": 10, "stereo/left/image_raw/compressed": 15}
    for topic, rate in rates.items():
        expected = [stamp for _, _, stamp in tiny.times(rate, 2)]
        assert [stamp for stamp, _ in messages[topic]] == expected
        assert [m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for _, m in messages[topic]] == expected


def test_fraction_of_fewer_digits_is_decimal_one(copied: TinyRosario) -> None:
    copied.write(
        copied.root / "imu.log", [f"{tiny.START}.{text} a 1 0 0 0 0 0 1000" for text in ("5", "25", "1250001")]
    )
    messages = messages_of(copied.root, Selection(topics="imu"))["imu/data_raw"]
    assert sorted(stamp - START_NS for stamp, _ in messages) == [125_000_100, 250_000_000, 500_000_000]


@pytest.mark.parametrize("labels", [True, False], ids=["nine tokens", "seven tokens"])
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_imu_is_in_si_units_without_calibration_s_offsets(copied: TinyRosario, labels: bool, end: str) -> None:
    copied.labels, copied.end = labels, end
    copied.write_imu()
    messages = messages_of(copied.root, Selection(topics="imu"))["imu/data_raw"]
    assert len(messages) == 280
    for (t, _, _), (_, message) in zip(tiny.times(140, 2), messages, strict=True):
        rates, force = tiny.imu_units(t)
        close(xyz(message.angular_velocity), rates)
        close(xyz(message.linear_acceleration), force)
    first = messages[0][1]
    assert first.angular_velocity.x == pytest.approx(1.0, abs=1e-9)
    assert first.orientation_covariance[0] == -1
    # densities of Table 2 with the exponents of the authors' later program, at 142 Hz
    close(first.angular_velocity_covariance, np.eye(3).reshape(-1) * 2.8579943e-4**2 * 142, 1e-10)
    close(first.linear_acceleration_covariance, np.eye(3).reshape(-1) * 6.3673671e-4**2 * 142, 1e-10)
    assert first.header.frame_id == "imu"


def test_imu_s_noise_may_be_taken_as_larger(copied: TinyRosario) -> None:
    messages = messages_of(copied.root, Selection(topics="imu"), imu_noise_factor=10.0)["imu/data_raw"][0][1]
    close(messages.angular_velocity_covariance[0], 100 * 2.8579943e-4**2 * 142, 1e-8)


def test_offsets_may_be_kept(copied: TinyRosario) -> None:
    message = messages_of(copied.root, Selection(topics="imu"), imu_offsets="keep")["imu/data_raw"][0][1]
    close(xyz(message.linear_acceleration), [0.92 * 9.80665, -0.02 * 9.80665, -0.38 * 9.80665])
    close(math.degrees(message.angular_velocity.z), 0.125)


def test_repeated_times_of_imu_are_counted_and_can_be_spread_evenly(copied: TinyRosario) -> None:
    rows = (copied.root / "imu.log").read_text().splitlines()
    batched = [" ".join([rows[index - index % 4].split()[0], *row.split()[1:]]) for index, row in enumerate(rows)]
    copied.write(copied.root / "imu.log", batched)
    archived = messages_of(copied.root, Selection(topics="imu"))["imu/data_raw"]
    times = [stamp for _, _, stamp in tiny.times(140, 2)]
    assert [stamp for stamp, _ in archived] == [times[index - index % 4] for index in range(280)]
    assert any("210 of 280 rows have the time of the row before" in note for note in notes_of(copied.root))
    even = [stamp for stamp, _ in messages_of(copied.root, Selection(topics="imu"), imu_stamps="even")["imu/data_raw"]]
    first, last = times[0], times[276]
    assert even == [first + (last - first) * index // 279 for index in range(280)]


def test_imu_may_be_cut_by_time(copied: TinyRosario) -> None:
    messages = messages_of(copied.root, Selection(topics="imu"), imu_until_s=0.5)["imu/data_raw"]
    assert len(messages) == 71  # that at half a second included
    assert messages[-1][0] == START_NS + 500_000_000


def test_fix_is_in_degrees_above_ellipsoid_with_status_of_its_quality(messages: Messages) -> None:
    fix = messages["gps/fix"][0][1]
    close([fix.latitude, fix.longitude, fix.altitude], [-33.03, -60.88, 68.0])
    assert (fix.header.frame_id, fix.status.status, fix.status.service) == ("gps", 2, 1)
    assert fix.position_covariance_type == 1
    close(np.diag(fix.position_covariance.reshape(3, 3)), np.array([1, 1, 4]) * (0.02 * 0.9) ** 2, 1e-15)


def test_authors_covariance_is_choice(copied: TinyRosario) -> None:
    fix = messages_of(copied.root, Selection(topics="gps"), fix_covariance="hdop")["gps/fix"][0][1]
    close(fix.position_covariance, np.diag([0.81, 0.81, 3.24]).reshape(-1))


@pytest.mark.parametrize(
    ("quality", "status", "deviation_m"),
    [(0, -1, 0), (1, 0, 3.0), (2, 1, 0.8), (9, 1, 0.8), (4, 2, 0.02), (5, 2, 0.3), (3, -1, 0), (6, -1, 0), (8, -1, 0)],
)
def test_status_and_covariance_follow_quality(
    copied: TinyRosario, quality: int, status: int, deviation_m: float
) -> None:
    copied.write(copied.root / "gps.log", [f"{tiny.START}.5 gps: {tiny.gga(0, quality=quality, hdop=1.5)}"])
    fix = messages_of(copied.root, Selection(topics="gps"))["gps/fix"][0][1]
    assert fix.status.status == status
    close(fix.position_covariance[[0, 4, 8]], np.array([1, 1, 4]) * (deviation_m * 1.5) ** 2)
    assert fix.position_covariance_type == (1 if deviation_m else 0)


def test_no_fix_is_reported_as_such_and_any_talker_is_received(copied: TinyRosario) -> None:
    copied.no_fix = lambda t: t < 0.5
    copied.write_gps()
    text = (copied.root / "gps.log").read_text().replace("$GP", "$GN")
    lines = [line.split("$")[0] + tiny.sentence(line.split("$")[1].split("*")[0]) for line in text.splitlines()]
    copied.write(copied.root / "gps.log", lines)
    messages = messages_of(copied.root, Selection(topics="gps"))
    fixes = [message for _, message in messages["gps/fix"]]
    assert [fix.status.status for fix in fixes] == [-1] * 3 + [2] * 7
    assert all(math.isnan(fix.latitude) and fix.position_covariance_type == 0 for fix in fixes[:3])
    assert not any(fix.position_covariance.any() for fix in fixes[:3])
    assert len(messages["gps/velocity"]) == 10


def test_velocity_is_east_and_north(messages: Messages) -> None:
    twist = messages["gps/velocity"][0][1]
    assert twist.header.frame_id == "map"
    close(xyz(twist.twist.linear), [1.0, 0.0, 0.0], 1e-6)


def test_velocities_that_are_void_or_empty_are_left_out(copied: TinyRosario) -> None:
    bodies = ["GPRMC,152545.20,V,,,,,1.0,090.0,261217,,,N", "GPRMC,152545.40,A,3301.8,S,06052.8,W,,,261217,,,A",
              "GPRMC,152545.60,A,3301.8,S,06052.8,W,2.0,180.0,261217,,,A"]  # fmt: skip
    copied.write(
        copied.root / "gps.log", [f"{tiny.START}.{k} gps: {tiny.sentence(body)}" for k, body in enumerate(bodies)]
    )
    ((_, message),) = messages_of(copied.root, Selection(topics="gps"))["gps/velocity"]
    close(xyz(message.twist.linear), [0, -2 * 0.514444, 0])


def test_wheels_and_steering_are_joints_with_signs(messages: Messages) -> None:
    assert messages["wheels/joint_states"][0][1].name == ["rear_left_wheel", "rear_right_wheel", "front_steering"]
    for (right, left, steering, digit), (_, message) in zip(
        tiny.ODOMETRY, messages["wheels/joint_states"], strict=False
    ):
        sign = -1 if digit else 1
        close(message.velocity[:2], [sign * left * 2 * math.pi / 60, sign * right * 2 * math.pi / 60])
        close(message.position[2], -math.radians(0.19 * (steering + 5.67)))
        assert np.isnan(message.position[:2]).all() and np.isnan(message.velocity[2])
    assert messages["wheels/joint_states"][4][1].velocity[0] == pytest.approx(-32 * 2 * math.pi / 60)


def test_log_s_own_numbers_of_wheels_are_there_unfiltered(messages: Messages) -> None:
    names = ["rear_left_rpm", "rear_right_rpm", "steering_units", "direction", "rpm_1", "rpm_5"]
    assert messages["wheels/raw"][0][1].name == names
    for (right, left, steering, digit), (_, message) in zip(tiny.ODOMETRY, messages["wheels/raw"], strict=False):
        close(message.position, [left, right, steering, -1 if digit else 1, 31, 33])


def test_authors_odometry_follows_from_wheels_joints(messages: Messages) -> None:
    """Their rule, by the joints alone: limit, sign, offset and factors are all in them."""
    x = y = heading = rpm = 0.0
    for expected, (_, message) in zip(tiny.POSES, messages["wheels/joint_states"], strict=False):
        rates = message.velocity[:2] * 60 / (2 * math.pi)
        sign = -1 if (rates < 0).any() else 1
        believed = sorted(np.abs(rates)[np.abs(rates) < 70 - 1e-9])
        rpm = float(np.mean(believed)) if len(believed) == 2 else believed[0] if believed else rpm
        v = sign * rpm * math.pi * 0.57 / 60
        w = v / 1.6 * math.tan(message.position[2])
        close([x, y, heading, v, w], expected, 1e-8)
        x, y, heading = x + v * math.cos(heading) * 0.1, y + v * math.sin(heading) * 0.1, heading + w * 0.1
    close([x, y, heading], [0.277567889, -0.001093944, 0.036084703], 1e-8)


def test_cleaned_odometry_gives_same(copied: TinyRosario, messages: Messages) -> None:
    copied.clean_odometry()
    actual = messages_of(copied.root, Selection(topics="wheels"))
    for (_, one), (_, other) in zip(actual["wheels/joint_states"], messages["wheels/joint_states"], strict=True):
        close(one.position, other.position)
        close(one.velocity, other.velocity)
    close(actual["wheels/raw"][2][1].position, [31, 80, -50, 1])


def test_cleaned_log_next_to_raw_one_is_ignored(copied: TinyRosario) -> None:
    raw = (copied.root / "odometry_raw.log").read_bytes()
    copied.clean_odometry()
    (copied.root / "odometry_raw.log").write_bytes(raw)
    assert len(messages_of(copied.root, Selection(topics="wheels"))["wheels/raw"]) == 20
    assert "odometry.txt: the numbers of odometry_raw.log again, which is read" in notes_of(copied.root)


def test_which_rear_wheel_is_left_is_parameter(copied: TinyRosario) -> None:
    messages = messages_of(copied.root, Selection(topics="wheels"), left_wheel_field=13)
    close(messages["wheels/raw"][0][1].position[:2], [30, 32])


@pytest.mark.parametrize(("columns", "height"), [(3, 0.0), (4, 0.25), (8, 0.25)])
def test_ground_truth_is_antenna_s_path_without_orientation(copied: TinyRosario, columns: int, height: float) -> None:
    copied.write_truth(columns=columns)
    messages = messages_of(copied.root, Selection(topics="truth"))["ground_truth/odom"]
    message = messages[5][1]
    east, north = tiny.place_at(1.0)
    turned = Rotation.from_euler("z", -tiny.TRUTH_DEG, degrees=True).apply([east, north, height])
    close(xyz(message.pose.pose.position), turned)
    assert (message.header.frame_id, message.child_frame_id) == ("ground_truth", "gps")
    variances = np.diag(message.pose.covariance.reshape(6, 6))
    close(variances, [0.02**2, 0.02**2, 0.04**2 if columns > 3 else 1e6, 1e6, 1e6, 1e6])
    assert (np.diag(message.twist.covariance.reshape(6, 6)) == 1e6).all()
    assert xyzw(message.pose.pose.orientation) == [0, 0, 0, 1]


def test_static_tree_is_that_of_calibration_with_its_matrices_inverted(messages: Messages) -> None:
    transforms = transforms_of(messages)
    assert set(transforms) == {(parent, child) for parent, child, *_ in TREE}
    for parent, child, translation, quaternion in TREE:
        close(xyz(transforms[parent, child].translation), translation, 1e-8)
        error = Rotation.from_quat(xyzw(transforms[parent, child].rotation)) * Rotation.from_quat(quaternion).inv()
        assert error.magnitude() < 1e-8
    pair = np.linalg.inv(matrix_of(transforms["imu", "left_camera"])) @ matrix_of(transforms["imu", "right_camera"])
    close(pair[:3, 3], [0.118982687, -0.000079368, 0.000382153], 1e-8)


@pytest.mark.parametrize("sequence", LEFT_IN_BASE)
def test_without_calibration_sequence_s_number_gives_how_imu_stood(tmp_path: Path, sequence: int) -> None:
    archive = TinyRosario(tmp_path / f"sequence0{sequence}", number=sequence)
    archive.root.mkdir()
    archive.write_imu()
    messages = messages_of(archive.root)
    transforms = transforms_of(messages)
    left = matrix_of(transforms["base_link", "imu"]) @ matrix_of(transforms["imu", "left_camera"])
    position, down_deg = LEFT_IN_BASE[sequence]
    close(left[:3, 3], position, 2e-6)
    close(math.degrees(math.asin(-left[2, 2])), down_deg, 0.01)
    assert any(f"authors' rotation of sequence {sequence}" in note for note in notes_of(archive.root))


def test_nameless_sequence_is_known_by_its_time_and_else_warned_of(tmp_path: Path) -> None:
    archive = TinyRosario(tmp_path / "drive")
    archive.root.mkdir()
    archive.write_imu()
    assert any("taken for sequence 1 of the paper by its time" in note for note in notes_of(archive.root))
    log = archive.root / "imu.log"
    log.write_text(log.read_text().replace("15143019", "15153019"))
    assert any(note.startswith("warning: base_link -> imu") for note in notes_of(archive.root))


def test_table_1_of_paper_is_choice(copied: TinyRosario) -> None:
    transforms = transforms_of(messages_of(copied.root, Selection(topics="imu"), extrinsics_from="paper"))
    pair = np.linalg.inv(matrix_of(transforms["imu", "left_camera"])) @ matrix_of(transforms["imu", "right_camera"])
    close(pair[:3, 3], [0.119208759, 0.000251039, 0.000456788], 1e-8)
    close(math.degrees(Rotation.from_matrix(pair[:3, :3]).magnitude()), 1.0564, 1e-4)
    close(xyz(transforms["base_link", "gps"].translation), [1.8, -0.030, 1.593])


def test_camera_info_is_that_of_rectified_pair_and_goes_before_its_image(messages: Messages) -> None:
    for camera, part in (("left", "cam0"), ("right", "cam1")):
        infos = messages[f"stereo/{camera}/camera_info"]
        assert [stamp for stamp, _ in infos] == [
            stamp for stamp, _ in messages[f"stereo/{camera}/image_raw/compressed"]
        ]
        info = infos[0][1]
        own: Any = tiny.CALIBRATION[part]
        fx, fy, cx, cy = own["intrinsics"]
        close(info.k, [fx, 0, cx, 0, fy, cy, 0, 0, 1])
        close(info.d, [*own["distortion_coeffs"], 0])
        close(info.r, RECTIFIED[camera], 1e-9)
        shift = RECTIFIED["shift"] if camera == "right" else 0
        pair = [RECTIFIED["f"], 0, RECTIFIED["cx"], shift, 0, RECTIFIED["f"], RECTIFIED["cy"], 0, 0, 0, 1, 0]
        close(info.p, pair, 0.01)
        assert (info.header.frame_id, info.width, info.height) == (f"{camera}_camera", 672, 376)
        assert info.distortion_model == "plumb_bob"
    right = messages["stereo/right/camera_info"][0][1]
    assert -right.p[3] / right.p[0] == pytest.approx(0.118718648, abs=1e-8)


def test_images_are_passed_on_as_png_and_decoded_to_bgr(messages: Messages, written: TinyRosario) -> None:
    for camera in ("left", "right"):
        _, packed = messages[f"stereo/{camera}/image_raw/compressed"][7]
        assert (packed.format, packed.header.frame_id) == ("png", f"{camera}_camera")
        assert packed.data.tobytes() == tiny.png_of(camera, 7)
    actual = messages_of(written.root, Selection(topics="stereo", images="raw", duration_s=0.1))
    image = actual["stereo/right/image_raw"][1][1]
    assert (image.encoding, image.step) == ("bgr8", 3 * 672)
    assert (image.data.reshape(376, 672, 3) == tiny.pixels("right", 1)).all()


def test_four_stereo_topics_have_same_times(messages: Messages) -> None:
    stamps = [[stamp for stamp, _ in result] for topic, result in messages.items() if topic.startswith("stereo/")]
    assert len(stamps) == 4
    assert all(other == stamps[0] for other in stamps)


def test_zip_and_folder_above_play_as_folder_does(copied: TinyRosario, tmp_path: Path) -> None:
    expected = {topic: len(actual) for topic, actual in messages_of(copied.root).items()}
    assert {topic: len(actual) for topic, actual in messages_of(copied.root.parent).items()} == expected
    path = tmp_path / "sequence01.zip"
    with zipfile.ZipFile(path, "w") as target:
        for file in copied.root.parent.rglob("*"):
            target.write(file, file.relative_to(copied.root.parent))
    assert {topic: len(actual) for topic, actual in messages_of(path).items()} == expected


def test_tar_as_downloaded_plays_as_folder_does(copied: TinyRosario, tmp_path: Path) -> None:
    """Its calibration and ground truth lie beside it, as on the server."""
    expected = {topic: len(actual) for topic, actual in messages_of(copied.root).items()}
    download = tmp_path / "download"
    download.mkdir()
    for name in ("calibration01.yaml", "sequence01_gt.txt"):
        shutil.copy(copied.root.parent / name, download)
    with tarfile.open(download / "sequence01.tar.gz", "w:gz") as target:
        target.add(copied.root, "sequence01")
    assert {topic: len(actual) for topic, actual in messages_of(download / "sequence01.tar.gz").items()} == expected
    data = (download / "sequence01.tar.gz").read_bytes()
    (download / "sequence01.tar.gz").unlink()
    for number in (0, 1):
        half = data[: len(data) // 2] if number == 0 else data[len(data) // 2 :]
        (download / f"sequence01.tar.gz.0{number}").write_bytes(half)
    assert {topic: len(actual) for topic, actual in messages_of(download / "sequence01.tar.gz.01").items()} == expected


def test_image_of_archive_decodes_as_it_was_written() -> None:
    decoded = cv2.imdecode(np.frombuffer(tiny.png_of("left", 3), np.uint8), cv2.IMREAD_UNCHANGED)
    assert (decoded == tiny.pixels("left", 3)).all()


def test_what_may_lie_next_to_it_may_also_lie_inside_without_number(
    copied: TinyRosario, monkeypatch: pytest.MonkeyPatch
) -> None:
    (copied.root.parent / "calibration01.yaml").rename(copied.root / "calibration.yaml")
    (copied.root.parent / "sequence01_gt.txt").rename(copied.root / "gt.txt")
    monkeypatch.chdir(copied.root)
    notes = notes_of(Path())
    assert "calibration: calibration.yaml" in notes and "ground truth: gt.txt" in notes
    assert not any("files of other names" in note for note in notes)
    messages = messages_of(Path(), Selection(topics="truth"))
    assert len(messages["ground_truth/odom"]) == 10


@pytest.mark.parametrize(("late_s", "sequence"), [(0, 3), (90, 3), (198, 4), (260, 4), (1475, 5), (2227, 6)])
def test_time_gives_sequence_where_no_name_does(tmp_path: Path, late_s: int, sequence: int) -> None:
    archive = TinyRosario(tmp_path / "drive")
    archive.root.mkdir()
    archive.write(archive.root / "imu.log", [f"{1514557380 + late_s}.{k} 0 0 0 0 0 1000" for k in range(9)])
    assert f"taken for sequence {sequence} of the paper by its time, as no file name has its number" in notes_of(
        archive.root
    )
