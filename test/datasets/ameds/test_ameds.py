"""AMEDS from its files to messages: the numbers of the paper, and of a small archive written by hand."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fieldplay.convert.conversion import BagOptions, convert
from fieldplay.datasets.registry import open_dataset
from fieldplay.topics.selection import Selection
from support.archive_messages import messages_in

START_NS = 1656931512 * 10**9
LEVER = np.array([0, 0, -0.081])
# Table of the facts: parent, child, xyz in m, quaternion
TREE = [
    ("base_link", "origin", (0, 0, 0.081), (1, 0, 0, 0)),
    ("base_link", "imu_link", (0, 0, 0.081), (0, 0, 0, 1)),
    ("base_link", "lidar", (-0.549, 0, 1.470), (0, 0, 1, 0)),
    ("base_link", "main_arm_base", (-0.100, 0, 0.728), (0, 0, 1, 0)),
    ("base_link", "aux_arm_base", (0.598, -0.310, 0.291), (-0.211309131, 0.784885567, -0.453153894, 0.365998151)),
    ("main_arm_end", "main_cam", (0.028, 0, 0.186), (-0.5, -0.5, 0.5, 0.5)),
    ("aux_arm_end", "aux_cam", (-0.057, 0, 0.218), (0.110615871, 0.110615871, 0.698401123, 0.698401123)),
]

EVERYTHING = Selection()
Messages = dict[str, list[tuple[int, Any]]]


def messages_of(root: Path, bag: Path, selection: Selection = EVERYTHING, **parameters: Any) -> Messages:
    """All messages of the bag that an archive becomes, by topic below the namespace, as rosbags reads them."""
    with open_dataset(root, None, parameters) as archive:
        convert(archive, bag, selection, BagOptions())
    return messages_in(bag, "ameds")


@pytest.fixture(scope="module")
def written(write_ameds: Callable[[Path], Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive that no test changes."""
    root: Path = write_ameds(tmp_path_factory.mktemp("ameds") / "Traverse_5").root
    return root


@pytest.fixture(scope="module")
def messages(written: Path, tmp_path_factory: pytest.TempPathFactory) -> Messages:
    return messages_of(written, tmp_path_factory.mktemp("bag") / "bag")


@pytest.fixture
def messages_with(written: Path, tmp_path: Path) -> Callable[..., Messages]:
    """The messages of some topics, with other parameters."""
    return lambda topics, **parameters: messages_of(written, tmp_path / "bag", Selection(topics=topics), **parameters)


def test_wheels_odometry_is_never_certain(written: Path, tmp_path: Path) -> None:
    chosen = Selection(derived=True, topics="wheels/odom")
    messages = messages_of(written, tmp_path / "bag", chosen)["wheels/odom"]
    for _, message in messages:
        assert (message.twist.covariance[[0, 7, 35]] > 2e-5).all()
        assert (message.pose.covariance[[0, 7, 35]] >= 1e-6).all()
    slipping = messages_of(written, tmp_path / "other", chosen, slip_share=1.0)["wheels/odom"]
    speeds = np.array([np.hypot(m.twist.twist.linear.x, m.twist.twist.linear.y) for _, m in slipping])
    variances = np.array([m.twist.covariance[0] + m.twist.covariance[7] for _, m in slipping])
    assert speeds.max() > 0.1 and (variances >= speeds**2).all()


def xyz(vector: Any) -> list[float]:
    return [vector.x, vector.y, vector.z]


def xyzw(quaternion: Any) -> list[float]:
    return [quaternion.x, quaternion.y, quaternion.z, quaternion.w]


def close(actual: object, expected: object, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(actual, expected, atol=tolerance, rtol=0)


def test_static_tree_is_that_of_paper(messages: Messages) -> None:
    ((stamp, message),) = messages["/tf_static"]
    assert stamp == START_NS
    by_name = {(item.header.frame_id, item.child_frame_id): item.transform for item in message.transforms}
    assert set(by_name) == {(parent, child) for parent, child, *_ in TREE}
    for parent, child, translation, quaternion in TREE:
        transform = by_name[parent, child]
        close(xyz(transform.translation), translation, 1e-6)
        error = Rotation.from_quat(xyzw(transform.rotation)) * Rotation.from_quat(quaternion).inv()
        assert error.magnitude() < 1e-6


def test_every_table_and_kind_of_file_plays_as_often_as_it_has_rows(messages: Messages) -> None:
    counts = {topic: len(actual) for topic, actual in messages.items()}
    hundred = ["imu/data_raw", "imu/data", "imu/mag", "imu/temperature", "air/pressure", "air/temperature", "gnss/fix",
               "gnss/odom", "gnss/velocity", "gnss/acceleration", "gnss/time", "platform/twist_estimate",
               "platform/pose_estimate", "platform/wheel_estimate", "platform/wheel_attitudes", "gnss/body_velocity",
               "gnss/body_rates", "gnss/fix_type"]  # fmt: skip
    fifty = ["platform/joint_states", "platform/wheel_speeds", "platform/wheel_speeds_cmd", "platform/velocity"]
    once = ["main_arm/joint_states", "aux_arm/joint_states", "main_cam/pose_estimate", "aux_cam/pose_estimate"]
    cameras = [f"{camera}/{topic}" for camera in ("main_cam", "aux_cam")
               for topic in ("camera_info", "image_raw/compressed")]  # fmt: skip
    expected = {"/tf_static": 1, "lidar/points": 10, "projected/image_raw/compressed": 30}
    expected |= dict.fromkeys(hundred, 200) | dict.fromkeys(fifty, 100) | dict.fromkeys(once, 2)
    assert counts == expected | dict.fromkeys(cameras, 60)


def test_stamps_are_those_of_files_exactly_and_bag_s_log_times(messages: Messages) -> None:
    for topic, rate in (("imu/data_raw", 100), ("platform/velocity", 50), ("main_arm/joint_states", 1)):
        stamps = [stamp for stamp, _ in messages[topic]]
        assert stamps == [START_NS + index * 10**9 // rate for index in range(2 * rate)]
        assert stamps == [m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for _, m in messages[topic]]


def test_imu_is_flu_in_si_units_with_gravity_up(messages: Messages) -> None:
    raw, full = messages["imu/data_raw"][7][1], messages["imu/data"][7][1]
    for message in (raw, full):
        assert message.header.frame_id == "imu_link"
        close(xyz(message.angular_velocity), [0.01, -0.02, 0.2])
        close(xyz(message.linear_acceleration), [0.1, -0.2, 9.81])
    assert raw.orientation_covariance[0] == -1
    close(xyzw(full.orientation), [-0.005904645, 0.097133949, 0.494330919, 0.863809628])
    close(np.diag(full.orientation_covariance.reshape(3, 3)), [math.radians(0.05) ** 2] * 3)


def test_other_sensors_of_ins_are_in_ros_units(messages: Messages) -> None:
    close(xyz(messages["imu/mag"][0][1].magnetic_field), [0.3e-4, 0, -0.35e-4], 1e-15)
    assert messages["imu/temperature"][0][1].temperature == 31.5
    assert messages["air/pressure"][0][1].fluid_pressure == 74000
    assert messages["air/temperature"][0][1].temperature == 12.5


@pytest.mark.parametrize(
    ("parameters", "topic", "path", "expected"),
    [
        ({"gyro_unit": "rad/s"}, "imu/data_raw", "angular_velocity.x", math.degrees(0.01)),
        ({"magnetometer_unit": "mG"}, "imu/mag", "magnetic_field.x", 0.3e-7),
        ({"accelerometer_sign": -1}, "imu/data_raw", "linear_acceleration.z", -9.81),
        ({"platform_axes": "frd"}, "platform/velocity", "twist.twist.angular.z", -0.2),
    ],
)
def test_what_paper_leaves_open_is_parameter(
    messages_with: Callable[..., Messages], parameters: Any, topic: str, path: str, expected: float
) -> None:
    value: Any = messages_with(topic, **parameters)[topic][0][1]
    for step in path.split("."):
        value = getattr(value, step)
    assert value == pytest.approx(expected)


def test_fix_is_in_degrees_with_enu_covariance_and_status_of_rtk(messages: Messages) -> None:
    fix = messages["gnss/fix"][0][1]
    assert fix.header.frame_id == "origin"
    close([fix.latitude, fix.longitude, fix.altitude], [37.72351, 15.00668, 2639.838])
    close(fix.position_covariance, np.diag([0.02**2, 0.01**2, 0.03**2]).reshape(-1), 1e-15)
    assert (fix.status.status, fix.position_covariance_type) == (2, 2)


def test_odometry_is_that_of_base_link_with_lever_arm_applied(messages: Messages) -> None:
    odometry = messages["gnss/odom"][0][1]
    assert (odometry.header.frame_id, odometry.child_frame_id) == ("map", "base_link")
    enu_from_ned = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1]])
    attitude = enu_from_ned @ Rotation.from_euler("xyz", [5, -10, 30], degrees=True).as_matrix() @ np.diag([1, -1, -1])
    close(xyz(odometry.pose.pose.position), attitude @ LEVER, 1e-6)
    rates = np.array([0.01, -0.02, 0.2])
    close(xyz(odometry.twist.twist.angular), rates)
    close(xyz(odometry.twist.twist.linear), np.array([0.5, -0.1, 0.2]) + np.cross(rates, LEVER))
    close(np.diag(odometry.pose.covariance.reshape(6, 6))[:3], [0.02**2, 0.01**2, 0.03**2], 1e-15)
    close(np.diag(odometry.twist.covariance.reshape(6, 6))[:3], [0.01**2, 0.02**2, 0.03**2], 1e-15)


def test_twist_without_velocities_near_in_time_is_unknown(tiny_ameds: Any, tmp_path: Path) -> None:
    rates = tiny_ameds.root / "GnssBodyAngularVelocity.csv"
    rates.write_text("".join(rates.read_text().splitlines(keepends=True)[:100]))
    odometry = messages_of(tiny_ameds.root, tmp_path / "bag", Selection(topics="gnss/odom"))["gnss/odom"]
    known = [message.twist.covariance[0] < 1 for _, message in odometry]
    assert known == [True] * 101 + [False] * 99  # the last rate serves one more row, 10 ms later
    assert xyz(odometry[150][1].twist.twist.linear) == [0, 0, 0]
    assert odometry[150][1].twist.covariance[0] == 1e6


def test_twist_without_rates_is_unknown_as_lever_arm_takes_them_and_reported(tiny_ameds: Any, tmp_path: Path) -> None:
    (tiny_ameds.root / "GnssBodyAngularVelocity.csv").unlink()
    odometry = messages_of(tiny_ameds.root, tmp_path / "bag", Selection(topics="gnss/odom"))["gnss/odom"]
    assert {message.twist.covariance[0] for _, message in odometry} == {1e6}
    with open_dataset(tiny_ameds.root) as archive:
        assert any("gnss/odom has no twist: base_link is 81 mm off the INS" in note for note in archive.notes)


def test_velocity_acceleration_and_clock(messages: Messages) -> None:
    velocity = messages["gnss/velocity"][0][1]
    assert velocity.header.frame_id == "map"
    close(xyz(velocity.twist.twist.linear), [2, 1, -3])
    close(np.diag(velocity.twist.covariance.reshape(6, 6)), [0.04, 0.01, 0.09, 1e6, 1e6, 1e6])
    acceleration = messages["gnss/acceleration"][0][1]
    close(xyz(acceleration.accel.linear), [0.1, -0.2, -0.3])
    clock = messages["gnss/time"][0][1]
    assert (clock.time_ref.sec, clock.time_ref.nanosec) == (1656931511, 750000000)


def test_body_s_velocity_and_rates_have_topics_of_their_own(messages: Messages) -> None:
    velocities, rates = messages["gnss/body_velocity"], messages["gnss/body_rates"]
    assert len(velocities) == len(rates) == 200
    velocity, rate = velocities[3][1], rates[3][1]
    assert {message.header.frame_id for message in (velocity, rate)} == {"imu_link"}
    assert velocities[3][0] == rates[3][0] == START_NS + 30_000_000
    close(xyz(velocity.twist.twist.linear), [0.5, -0.1, 0.2])
    close(np.diag(velocity.twist.covariance.reshape(6, 6)), [1e-4, 4e-4, 9e-4, 1e6, 1e6, 1e6])
    close(xyz(rate.vector), [0.01, -0.02, 0.2])


@pytest.mark.parametrize("missing", ["GnssPose", "GnssBodyVelocity", "GnssBodyAngularVelocity"])
def test_what_one_table_of_ins_holds_needs_no_other(tiny_ameds: Any, tmp_path: Path, missing: str) -> None:
    (tiny_ameds.root / f"{missing}.csv").unlink()
    messages = messages_of(tiny_ameds.root, tmp_path / "bag", Selection(topics="gnss/body_"))
    topics = {"GnssBodyVelocity": "gnss/body_velocity", "GnssBodyAngularVelocity": "gnss/body_rates"}
    assert {topic for topic in messages if topic.startswith("gnss/body_")} == set(topics.values()) - {
        topics.get(missing)
    }


def test_fix_type_gives_rtk_float_from_fixed(tiny_ameds: Any, tmp_path: Path) -> None:
    path = tiny_ameds.root / "GnssPose.csv"
    lines = path.read_text().splitlines()
    for row, kind in enumerate(("4.0", "6.0", "7.0", "0.0", "9.0")):
        lines[row] = lines[row].rpartition(",")[0] + f",{kind}"
    path.write_text("\n".join(lines) + "\n")
    messages = messages_of(tiny_ameds.root, tmp_path / "bag", Selection(topics="gnss/fix"))
    assert [message.data for _, message in messages["gnss/fix_type"][:6]] == [4, 6, 7, 0, 0, 7]
    assert [message.status.status for _, message in messages["gnss/fix"][:6]] == [2, 2, 2, -1, -1, 2]


def test_wheels_attitudes_are_as_archived(messages: Messages) -> None:
    result = messages["platform/wheel_attitudes"][0][1]
    assert result.name == [f"wheel_{wheel}_{angle}" for wheel in (1, 2, 3, 4) for angle in ("roll", "pitch", "yaw")]
    steered = 0.1924102418
    close(result.position[:6], [1.0, 0.0, np.pi / 2 - steered, 2.0, 0.0, np.pi / 2 + steered])
    close(result.position[6:], [-3.0, 0.0, -np.pi / 2 - steered, -4.0, 0.0, -np.pi / 2 + steered])


def test_ticks_become_angles_and_speeds_stay_as_archived(messages: Messages) -> None:
    joints = messages["platform/joint_states"][0][1]
    assert joints.name == [f"{kind}_{wheel}" for kind in ("drive", "steer") for wheel in (1, 2, 3, 4)]
    close(joints.position[:4], [2 * np.pi, np.pi, 0, -2 * np.pi])
    close(joints.position[4:], np.array([-1, 1, -1, 1]) * 10000 * 1.924102418e-5)
    assert len(joints.velocity) == len(joints.effort) == 0
    close(messages["platform/wheel_speeds"][0][1].velocity, [0.4, 0.4, 0.6, 0.6])
    close(messages["platform/wheel_speeds_cmd"][0][1].velocity, [0.41, 0.41, 0.61, 0.61])
    close(messages["platform/wheel_estimate"][0][1].position, [1, 2, 3, 4, *np.array([-1, 1, -1, 1]) * 0.1924102418])


def test_platform_s_own_estimates(messages: Messages) -> None:
    of_the_turn_alone = [1e6, 1e6, 0.01]  # as the paper prints the columns
    for topic, variances in (("platform/velocity", [0.01, 0.04, 0.09]), ("platform/twist_estimate", of_the_turn_alone)):
        twist = messages[topic][0][1]
        assert twist.header.frame_id == "base_link"
        close([*xyz(twist.twist.twist.linear), twist.twist.twist.angular.z], [0.5, 0.05, 0, 0.2])
        close(np.diag(twist.twist.covariance.reshape(6, 6))[[0, 1, 5]], variances)
    pose = messages["platform/pose_estimate"][0][1]
    close(xyz(pose.pose.pose.position), [-4, 3, 0])
    close(xyzw(pose.pose.pose.orientation), Rotation.from_euler("z", 0.5 + np.pi / 2).as_quat())
    close(np.diag(pose.pose.covariance.reshape(6, 6)), [0.04, 0.01, 1e6, 1e6, 1e6, 0.09])


def test_arms_and_camera_poses(messages: Messages) -> None:
    for arm in ("main", "aux"):
        joints = messages[f"{arm}_arm/joint_states"][0][1]
        assert joints.name == [f"{arm}_arm_joint_{joint}" for joint in range(1, 8)]
        close(joints.position, [0.3, -0.5, 0.7, 1.1, -0.4, 0.9, -1.2])
        pose = messages[f"{arm}_cam/pose_estimate"][0][1]
        assert pose.header.frame_id == "origin"
        position = {"main": (-0.601302160, 0.445545404, -1.485385909), "aux": (0.991068735, 0.838290666, 0.661544085)}
        turn = {"main": (0.588907941, 0.464168374, 0.630019848, 0.202015218),
                "aux": (-0.237674305, -0.247766972, -0.850432604, 0.398606118)}  # fmt: skip
        close(xyz(pose.pose.position), position[arm])
        close(xyzw(pose.pose.orientation), turn[arm], 1e-8)


def test_images_keep_their_bytes_and_have_their_camera_info_before_them(messages: Messages, written: Path) -> None:
    stamp, info = messages["main_cam/camera_info"][1]
    assert stamp == START_NS + 33_333_000
    assert (info.header.frame_id, info.width, info.height, info.distortion_model) == (
        "main_cam",
        1920,
        1080,
        "plumb_bob",
    )
    close(info.k, [885.015, 0, 955.893, 0, 887.440, 533.638, 0, 0, 1])
    close(info.d, [-0.2418, 0.0974, 0.00048, 0.00019, -0.0226])
    close(info.p, [885.015, 0, 955.893, 0, 0, 887.440, 533.638, 0, 0, 0, 1, 0])
    image = messages["main_cam/image_raw/compressed"][1][1]
    assert image.header == info.header
    assert image.format == "jpeg"
    assert image.data.tobytes() == (written / "MainCam_1656931512.033333.jpg").read_bytes()


def test_raw_images_are_decoded_ones(written: Path, tmp_path: Path) -> None:
    selection = Selection(images="raw", topics="aux_cam/image_raw", duration_s=0.1)
    actual = messages_of(written, tmp_path / "bag", selection)["aux_cam/image_raw"]
    assert len(actual) == 4
    raw = actual[0][1]
    assert (raw.height, raw.width, raw.encoding, raw.step) == (720, 1280, "bgr8", 3840)
    expected = cv2.imread(str(written / "AuxCam_1656931512.000000.jpg"))
    np.testing.assert_array_equal(raw.data.reshape(720, 1280, 3), expected)


def test_clouds_are_dense_with_ring_and_time_in_order(messages: Messages) -> None:
    cloud = messages["lidar/points"][1][1]
    assert messages["lidar/points"][1][0] == START_NS + 200_000_000
    assert [field.name for field in cloud.fields] == ["x", "y", "z", "intensity", "ring", "time"]
    assert cloud.is_dense
    assert (cloud.width, cloud.height) == (719, 1)  # one of the 720 points was not a number
    kind = np.dtype([("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("i", "<f4"), ("ring", "<u2"), ("time", "<f4")])
    points = np.frombuffer(cloud.data.tobytes(), kind)
    assert set(points["ring"]) == {0, 31}
    assert (points["ring"] == 31).sum() in (359, 360)
    assert (np.diff(points["time"]) >= 0).all()
    assert points["time"][0] >= 0
    assert points["time"][-1] == pytest.approx(0.2, abs=0.005)


def test_stamp_at_end_of_sweep_is_moved_to_its_start(messages_with: Callable[..., Messages]) -> None:
    assert messages_with("lidar", cloud_stamp="end")["lidar/points"][0][0] == START_NS - 200_000_000


def test_times_of_points_can_be_left_out(messages_with: Callable[..., Messages]) -> None:
    cloud = messages_with("lidar", point_time="none")["lidar/points"][0][1]
    assert [field.name for field in cloud.fields] == ["x", "y", "z", "intensity", "ring"]
