"""A tiny sample of AMEDS: every file is there, says the truth, and is the same each time."""

import csv
import hashlib
import zipfile
from pathlib import Path

import cv2
import numpy as np
import pytest

from fieldplay_samples.motion.rotations import Floats
from fieldplay_samples.sensors.gnss import LocalOrigin, enu_from_geodetic
from fieldplay_samples.write_sample import SampleOptions, SampleResult, write_sample
from fieldplay_samples.writers.ameds import settings
from fieldplay_samples.writers.ameds.platform_tables import ins_tables, platform_tables
from fieldplay_samples.writers.ameds.scenario import make_scenario

TINY = {"image_rate_hz": 1.0, "image_shrink": 24, "lidar_rate_hz": 1.0}
OPTIONS = SampleOptions(seconds=2.0, seed=3, settings=TINY, workers=1)
START_S = 1656928800
COLUMNS = {
    "AuxArmJointAngles": 8,
    "AuxCamPoseEstimate": 7,
    "GnssBodyAcceleration": 4,
    "GnssBodyAngularVelocity": 4,
    "GnssBodyVelocity": 7,
    "GnssImu": 13,
    "GnssNedVelocity": 7,
    "GnssPose": 12,
    "MainArmJointAngles": 8,
    "MainCamPoseEstimate": 7,
    "Platform2DPoseEstimate": 7,
    "Platform2DTwistEstimate": 7,
    "Platform2DVelocity": 7,
    "PlatformMotorEncoders": 17,
    "PlatformWheelPoseEstimate": 21,
}


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> SampleResult:
    return write_sample("ameds", tmp_path_factory.mktemp("sample") / "tiny", OPTIONS)


def rows(sample: SampleResult, name: str) -> Floats:
    """A table's numbers (n, m); times since the start."""
    with (sample.path / f"{name}.csv").open(newline="") as stream:
        values = np.array([[float(text) for text in row] for row in list(csv.reader(stream))[1:]])
    values[:, 0] -= START_S
    return values


def truth(sample: SampleResult) -> dict[str, Floats]:
    """The truth's columns, by name; times since the start."""
    with sample.truth.open(newline="") as stream:
        table = list(csv.DictReader(stream))
    columns = {name: np.array([float(row[name]) for row in table]) for name in table[0]}
    columns["time_s"] = np.array([int(row["stamp_ns"]) - START_S * 10**9 for row in table]) / 1e9
    return columns


def names_and_digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_sample_has_exactly_the_published_files(sample: SampleResult) -> None:
    names = sorted(path.name for path in sample.path.iterdir())
    tables = [f"{name}.csv" for name in COLUMNS]
    feeds = ["AuxCamVideoFeed.mp4", "MainCamVideoFeed.mp4"]
    images = [
        f"{cam}_{START_S + second}.{at}0000.jpg"
        for cam, at in (("AuxCam", "07"), ("MainCam", "04"))
        for second in (0, 1)
    ]
    clouds = [f"LidarPointcloud_{START_S + second}.000000.pcd" for second in (0, 1)]
    assert names == sorted([*tables, *feeds, *images, *clouds])


@pytest.mark.parametrize("name", sorted(COLUMNS))
def test_table_has_its_columns_and_its_rate(sample: SampleResult, name: str) -> None:
    values = rows(sample, name)
    rate = {"PlatformMotorEncoders": 50, "Platform2DVelocity": 50}.get(
        name, 1 if "Arm" in name or "Cam" in name else 100
    )
    assert values.shape == (2 * rate, COLUMNS[name])
    np.testing.assert_allclose(np.diff(values[:, 0]), 1.0 / rate, atol=1.1e-3)
    assert np.isfinite(values).all()


def test_second_sample_has_same_bytes_from_two_processes(sample: SampleResult, tmp_path: Path) -> None:
    parallel = SampleOptions(seconds=2.0, seed=3, settings=TINY, workers=2)
    again = write_sample("ameds", tmp_path / "tiny", parallel)
    assert names_and_digests(again.path) == names_and_digests(sample.path)
    assert again.truth.read_bytes() == sample.truth.read_bytes()


def test_ins_reports_position_81_mm_above_base_link(sample: SampleResult) -> None:
    lander = LocalOrigin(latitude_rad=np.radians(37.72351), longitude_rad=np.radians(15.00668), altitude_m=2639.838)
    pose, true = rows(sample, "GnssPose"), truth(sample)
    position = enu_from_geodetic(lander, pose[:, 2:5])
    base = np.stack([true["x_m"], true["y_m"], true["z_m"]], axis=1)
    distances = np.linalg.norm(position - base, axis=1)
    assert np.abs(position[:, 2] - base[:, 2] - 0.081).max() < 0.05
    assert distances.max() < 0.081 + 0.06
    np.testing.assert_allclose(pose[:, 1] - START_S, true["time_s"], atol=1e-6)
    assert set(pose[:, 11]) == {7.0}


def test_heading_and_north_west_up_follow_truth(sample: SampleResult) -> None:
    true, ins, platform = truth(sample), rows(sample, "GnssPose"), rows(sample, "Platform2DPoseEstimate")
    yaw = 2.0 * np.arctan2(true["qz"], true["qw"])  # up to the tilt
    np.testing.assert_allclose(np.cos(ins[:, 10] + yaw - np.pi / 2), 1.0, atol=1e-3)
    np.testing.assert_allclose(np.cos(platform[:, 3] - yaw + np.pi / 2), 1.0, atol=1e-3)
    assert ((ins[:, 10] >= 0.0) & (ins[:, 10] < 2 * np.pi)).all()
    np.testing.assert_allclose(platform[:, 1], true["y_m"], atol=0.06)
    np.testing.assert_allclose(platform[:, 2], -true["x_m"], atol=0.06)


def test_velocities_are_right_in_each_frame(sample: SampleResult) -> None:
    true, ned, body = truth(sample), rows(sample, "GnssNedVelocity"), rows(sample, "GnssBodyVelocity")
    enu = np.stack([true["vx_m_s"], true["vy_m_s"], true["vz_m_s"]], axis=1)
    np.testing.assert_allclose(ned[:, 1:4], enu[:, [1, 0, 2]] * [1.0, 1.0, -1.0], atol=0.06)
    np.testing.assert_allclose(np.linalg.norm(body[:, 1:4], axis=1), np.linalg.norm(ned[:, 1:4], axis=1), atol=1e-5)
    moving = np.linalg.norm(enu, axis=1) > 0.15
    forward = (enu[:, 0] * np.cos(np.pi / 2 - rows(sample, "GnssPose")[:, 10]) > 0) * 2 - 1
    assert (np.sign(body[moving, 1]) == forward[moving]).all()


def test_gyroscope_is_in_degrees_and_gravity_is_negative_down(sample: SampleResult) -> None:
    imu, rates = rows(sample, "GnssImu"), rows(sample, "GnssBodyAngularVelocity")
    np.testing.assert_allclose(imu[:, 4:7], np.degrees(rates[:, 1:4]), atol=0.25)
    assert np.linalg.norm(imu[:10, 1:4].mean(axis=0)) == pytest.approx(9.7915, abs=0.03)
    assert imu[:10, 3].mean() < -9.2
    np.testing.assert_allclose(np.linalg.norm(imu[:, 7:10], axis=1), 0.453, atol=0.01)
    np.testing.assert_allclose(imu[:, 11], 73380.0, atol=60.0)


def test_ticks_follow_true_steering_and_speeds(sample: SampleResult) -> None:
    encoders, true = rows(sample, "PlatformMotorEncoders"), truth(sample)
    for wheel, sign in enumerate((-1, 1, 1, -1)):
        steer_deg = sign * encoders[:, 13 + wheel] / 907.0875
        np.testing.assert_allclose(steer_deg, np.degrees(true[f"steer_{wheel + 1}_rad"][::2]), atol=1e-3)
        turned = (encoders[:, 9 + wheel] - encoders[0, 9 + wheel]) * 2.0943951e-4
        speed = true[f"rim_speed_{wheel + 1}_m_s"]
        rolled = np.concatenate([[0.0], np.cumsum((speed[1:] + speed[:-1]) / 2 * 0.01)])[::2]
        np.testing.assert_allclose(turned * 0.2, rolled, atol=3e-4)
        np.testing.assert_allclose(encoders[:, 1 + wheel], speed[::2], atol=0.01)


def test_wheel_poses_agree_with_their_angles(sample: SampleResult) -> None:
    values = rows(sample, "PlatformWheelPoseEstimate")
    for wheel, side in enumerate((1, 1, -1, -1)):
        roll, pitch, yaw = values[:, 1 + 3 * wheel : 4 + 3 * wheel].T
        np.testing.assert_allclose(np.cos(roll - side * values[:, 13 + wheel]), 1.0, atol=1e-12)
        np.testing.assert_allclose(np.cos(yaw - values[:, 17 + wheel] - side * np.pi / 2), 1.0, atol=1e-12)
        assert np.abs(pitch).max() < 1e-9


def test_images_have_their_size_and_clouds_their_points(sample: SampleResult) -> None:
    for camera, size in (("MainCam", (1080, 1920, 3)), ("AuxCam", (720, 1280, 3))):
        for path in sample.path.glob(f"{camera}_*.jpg"):
            assert cv2.imread(str(path)).shape == size
    for path in sample.path.glob("*.pcd"):
        head, data = path.read_bytes().split(b"DATA binary\n")
        points = np.frombuffer(data, "<f4").reshape(-1, 4)
        assert f"POINTS {len(points)}\n".encode() in head
        assert len(points) > 40_000
        assert ((points[:, 3] >= 0) & (points[:, 3] <= 255)).all()


def test_zip_holds_one_folder_and_does_not_deflate_images(tmp_path: Path) -> None:
    chosen = {**TINY, "header": False, "rock_picking": True, "cloud_stamp_at_end": True}
    options = SampleOptions(seconds=2.0, zip=True, settings=chosen, workers=1)
    result = write_sample("ameds", tmp_path / "picking", options)
    assert result.path == tmp_path / "picking.zip"
    assert result.truth == tmp_path / "picking.truth.csv"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "picking.sample.json",
        "picking.truth.csv",
        "picking.zip",
    ]
    with zipfile.ZipFile(result.path) as archive:
        entries = {Path(entry.filename): entry for entry in archive.infolist()}
        first = archive.read("picking/GnssPose.csv").decode().splitlines()[0]
    assert {name.parts[0] for name in entries} == {"picking"}
    assert {entry.compress_type for name, entry in entries.items() if name.suffix == ".jpg"} == {zipfile.ZIP_STORED}
    assert len([name for name in entries if name.name.startswith("MainAuxCamProjected_")]) == 2
    assert Path(f"picking/LidarPointcloud_{START_S}.200000.pcd") in entries
    assert first.startswith(f"{START_S}.00")


def test_rtk_is_lost_temporarily_in_longer_sample() -> None:
    table = {column.name: column.values for column in ins_tables(make_scenario(1, 20.0, settings()))["GnssPose.csv"]}
    fix, std = table["fix_type"], table["std_north_m"]
    assert [int(fix[0]), int(fix[1100]), int(fix[1280]), int(fix[-1])] == [7, 3, 6, 7]
    assert std[fix == 3].max() > 10 * std[fix == 7].max()


def test_later_sample_is_same_drive_some_time_after() -> None:
    first, second = (make_scenario(3, 2.0, settings() | {"late_s": late_s}) for late_s in (0.0, 3600.0))
    assert second.start_ns - first.start_ns == 3600 * 10**9
    np.testing.assert_array_equal(second.times("arms"), first.times("arms"))


def test_twists_may_have_printed_columns() -> None:
    usual, printed = (
        platform_tables(make_scenario(3, 2.0, settings() | TINY | {"twist_columns": count}))["Platform2DVelocity.csv"]
        for count in (7, 5)
    )
    assert [column.name for column in printed] == ["time_s", "x_m_s", "y_m_s", "z_rad_s", "std_z_rad_s"]
    for mine, other in zip(printed, [*usual[:4], usual[6]], strict=True):
        np.testing.assert_array_equal(mine.values, other.values)
