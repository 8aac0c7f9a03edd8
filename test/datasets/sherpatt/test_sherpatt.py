"""CDFF logs of SherpaTT in all their forms, from files to messages: the numbers of the facts."""

import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fieldplay.core.errors import ArchiveError
from fieldplay.datasets.registry import detect_spec, open_dataset
from fieldplay.topics.selection import Selection
from fieldplay.topics.topic_checks import check
from fieldplay_testing import tiny_sherpatt as tiny
from support.sherpatt_messages import (
    Messages,
    defects_of,
    matrix_of,
    messages_of,
    notes_of,
    raw_of,
    stamp_ns,
    static_frames,
)

ROOT_HALF = tiny.ROOT_HALF
STATES = [tiny.state(time) for time in tiny.times()]
OF_ROCK = [tiny.rock_state(time) for time in tiny.times()]
FORMS: dict[str, Any] = {
    "D1 raw": ("x.msg", tiny.log_of({tiny.ODOMETRY: ("/base/samples/RigidBodyState_m", OF_ROCK)})),
    "D1b flattened": ("x.msg", tiny.flatten({tiny.ODOMETRY: ("/base/samples/RigidBodyState_m", OF_ROCK)})),
    "D1b of D2": ("x.msg", tiny.flatten({tiny.ODOMETRY: ("RigidBodyState", STATES)})),
    "D1c zipped": ("x.msg.zz", tiny.log_of({tiny.ODOMETRY: ("/base/samples/RigidBodyState_m", OF_ROCK)})),
    "D2": ("x.msg", tiny.log_of({tiny.ODOMETRY: ("RigidBodyState", STATES)})),
    "D2, meta first": ("x.msg", tiny.log_of({tiny.ODOMETRY: ("RigidBodyState", STATES)}, meta_first=True)),
    "D6": (
        "log_000000000.msg",
        tiny.log_of({tiny.ODOMETRY: ("RigidBodyState", [tiny.snake_case_state(time) for time in tiny.times()])}),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_archive(tmp_path_factory.mktemp("sherpatt") / "20181127")


@pytest.fixture(scope="module")
def messages(archive: Path) -> Messages:
    return messages_of(archive)


@pytest.fixture
def copied(archive: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(archive, tmp_path / "copy"))


def test_every_form_gives_same_messages(tmp_path: Path) -> None:
    results = {}
    for form, (name, data) in FORMS.items():
        tiny.write(tmp_path / form / name, data, zipped=name.endswith("zz"))
        results[form] = raw_of(tmp_path / form)
        assert not defects_of(tmp_path / form)
    assert len(results["D2"]) == 2 * tiny.COUNT + 1
    for form, raw in results.items():
        assert raw == results["D2"], form


def test_single_file_is_archive(archive: Path) -> None:
    messages = messages_of(archive / "dgps_Logger_InFuse.msg")
    assert len(messages["dgps/odom"]) == tiny.COUNT and "wheel_odom" not in messages


def test_every_stream_plays_as_often_as_it_has_samples(messages: Messages, archive: Path) -> None:
    topics = [
        "wheel_odom", "dgps/odom", "body_joint", "joint_states", "velodyne/points", "velodyne_lidar/laser_scans",
        "stereo/left/image_raw", "stereo/right/image_raw", "stereo/left/camera_info", "stereo/right/camera_info",
    ]  # fmt: skip
    assert {topic: len(messages[topic]) for topic in topics} == dict.fromkeys(topics, tiny.COUNT)
    assert not defects_of(archive)


def test_stamps_are_samples_own(messages: Messages) -> None:
    for topic in ("wheel_odom", "joint_states", "velodyne/points", "stereo/left/image_raw", "stereo/left/camera_info"):
        stamps = [(stamp, stamp_ns(message)) for stamp, message in messages[topic]]
        assert stamps == [(time * 1000, time * 1000) for time in tiny.times()], topic


def test_by_log_samples_leave_when_they_were_logged_with_their_own_stamps(archive: Path) -> None:
    messages = messages_of(archive, order="log")
    for topic in ("wheel_odom", "joint_states", "velodyne/points", "stereo/left/image_raw", "stereo/left/camera_info"):
        stamps = [(stamp, stamp_ns(message)) for stamp, message in messages[topic]]
        assert stamps == [((time + tiny.LATE_US) * 1000, time * 1000) for time in tiny.times()], topic


def test_odometry_moves_its_velocity_into_base(messages: Messages) -> None:
    (_, first), *_ = messages["wheel_odom"]
    assert (first.header.frame_id, first.child_frame_id) == ("odom", "base_link")
    linear = first.twist.twist.linear
    np.testing.assert_allclose([linear.x, linear.y, linear.z], [0, -1, 0], atol=1e-12)
    assert not first.pose.covariance.any() and not first.twist.covariance.any()
    moved = [message.transforms[0] for _, message in messages["/tf"]]
    assert {(item.header.frame_id, item.child_frame_id) for item in moved} == {
        ("odom", "base_link"),
        ("velodyne_plane_fixed", "velodyne_plane_moving"),
    }


def test_joints_have_no_effort_where_none_is_known(messages: Messages) -> None:
    _, message = messages["joint_states"][3]
    assert message.name == tiny.JOINT_NAMES and len(message.effort) == 0
    np.testing.assert_allclose(message.position, [0.3, 0.2, math.nan])


def test_images_of_parts_in_nanoseconds_are_whole(messages: Messages, archive: Path) -> None:
    for index, (_, message) in enumerate(messages["stereo/left/image_raw"]):
        assert message.data.tolist() == tiny.pixels(index)
        assert (message.encoding, message.width, message.header.frame_id) == ("mono8", tiny.WIDTH, "camera_left")
    assert any("nanoseconds" in note and "pt_stereo_rect" in note for note in notes_of(archive))


def test_cameras_are_rectified_with_baseline_in_right_one(messages: Messages) -> None:
    (_, left), (_, right) = messages["stereo/left/camera_info"][0], messages["stereo/right/camera_info"][0]
    for info in (left, right):
        assert not info.d.any() and (info.r.reshape(3, 3) == np.eye(3)).all()
        np.testing.assert_array_equal(info.k.reshape(3, 3), tiny.MATRIX)
        np.testing.assert_array_equal(info.p.reshape(3, 4)[:, :3], tiny.MATRIX)
    assert left.p[3] == 0 and right.p[3] == pytest.approx(-78.07288195, abs=1e-8)
    assert right.header.frame_id == "camera_right" and (right.width, right.height) == (tiny.WIDTH, tiny.HEIGHT)


def test_broken_camera_has_no_information(copied: Path) -> None:
    name = "/hcru1/pt_color/left/image"
    tiny.write(copied / "color.msg", tiny.log_of({name: ("Frame", [tiny.frame(time) for time in tiny.times()])}))
    tiny.write(copied / "recording_20181202_camera.msg", tiny.CAMERAS | tiny.BROKEN_CAMERA)
    messages = messages_of(copied)
    assert len(messages["color/image_raw"]) == tiny.COUNT and "color/camera_info" not in messages
    assert any("fy 0" in note for note in notes_of(copied))


def test_missing_settings_of_pair_are_published_sample_or_none(copied: Path) -> None:
    (copied / "recording_20181202_camera.msg").unlink()
    assert "stereo/right/camera_info" not in messages_of(copied)
    assert any("none known for 6 x 4 pixels" in note for note in notes_of(copied))
    large = {"rows": 772, "cols": 1032, "rowSize": 1032, "data": [0] * (772 * 1032)}
    log = tiny.log_of({name: ("Frame", [tiny.frame(tiny.START_US, **large)]) for name in (tiny.LEFT, tiny.RIGHT)})
    root = tiny.write(copied / "large" / "recording_20181202_000000000.msg", log).parent
    assert messages_of(root)["stereo/right/camera_info"][0][1].p[3] == pytest.approx(-78.07288195)
    assert any("missing_cameras" in note for note in notes_of(root))
    assert "stereo/right/camera_info" not in messages_of(root, missing_cameras="none")


def test_points_of_filter_play_and_scans_keep_their_own_name(messages: Messages, archive: Path) -> None:
    (_, cloud), (_, scan) = messages["velodyne/points"][0], messages["velodyne_lidar/laser_scans"][0]
    assert (cloud.width, scan.width) == (2, 3) and cloud.is_dense
    assert cloud.header.frame_id == scan.header.frame_id == "velodyne"
    assert [field.name for field in scan.fields] == ["x", "y", "z", "ring", "time"]
    assert any("/velodyne_lidar.laser_scans plays by its own name" in note for note in notes_of(archive))
    (archive_notes,) = [note for note in notes_of(archive) if "velodyne/points is" in note]
    assert "/slam_filter.output" in archive_notes


def test_scans_play_as_points_where_there_is_no_other_source(copied: Path) -> None:
    (copied / "sherpa_tt_slam_Logger_InFuse.msg").unlink()
    messages = messages_of(copied)
    assert messages["velodyne/points"][0][1].width == 3 and "velodyne_lidar/laser_scans" not in messages


def test_scan_stamped_at_its_end_is_moved_to_its_start(tmp_path: Path) -> None:
    late = [
        tiny.depth_map(time, timestamps=[{"microseconds": time - 2000 + 1000 * k} for k in range(3)])
        for time in tiny.times()
    ]
    root = tiny.write(tmp_path / "velodyne_Logger.msg", tiny.log_of({tiny.SCANS: ("DepthMap", late)}))
    stamp, message = messages_of(root)["velodyne/points"][0]
    assert stamp == stamp_ns(message) == (tiny.START_US - 2000) * 1000
    times = np.frombuffer(
        message.data.tobytes(), np.dtype({"names": ["t"], "formats": ["<f4"], "offsets": [14], "itemsize": 18})
    )["t"]
    np.testing.assert_allclose(times, [0.0, 0.001, 0.002], atol=1e-9)
    assert any("stamps are moved" in note for note in notes_of(root))


def test_static_frames_hang_on_rover_by_one_parent_each(messages: Messages, archive: Path) -> None:
    frames = static_frames(messages)
    children = [child for _, child in frames]
    assert len(children) == len(set(children))
    assert ("imu", "camera_left") not in frames and ("tcp", "camera_left") in frames
    assert ("camera_left", "velodyne") not in frames and ("velodyne_plane_moving", "velodyne") in frames
    unit = matrix_of_numbers([0.3, 0, 0.53], [-0.965427150, 0.260673010, 0, 0])
    np.testing.assert_allclose(frames["base_link", "dgps"] @ unit, np.eye(4), atol=1e-8)
    imu = matrix_of_numbers([-0.47, 0, -0.0021], tiny.QUARTER_BACK)
    np.testing.assert_allclose(frames["sherpa_tt_body", "imu"] @ imu, np.eye(4), atol=1e-12)
    assert frames["camera_left", "camera_right"][0, 3] == pytest.approx(0.0900125)
    (note,) = [note for note in notes_of(archive) if "not sent" in note]
    for edge in (
        "camera_left0 -> imu0",
        "nav -> nav_current_submap",
        "nav_current_submap -> imu",
        "camera_left -> velodyne",
    ):
        assert edge in note
    assert any("look aside" in note for note in notes_of(archive))


def test_units_turn_can_be_left_out(archive: Path) -> None:
    frames = static_frames(messages_of(archive, unit_turn="none"))
    np.testing.assert_allclose(frames["sherpa_tt_body", "imu"][:3, :3], np.eye(3))
    np.testing.assert_allclose(frames["sherpa_tt_body", "imu"][:3, 3], [0.47, 0, 0.0021])
    assert not any("look aside" in note for note in notes_of(archive, unit_turn="none"))


def matrix_of_numbers(position: list[float], turn: list[float]) -> Any:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = Rotation.from_quat(turn).as_matrix(), position
    return matrix


ENU = {"ned": np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1]]), "nwu": np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])}


@pytest.mark.parametrize("axes", ["ned", "nwu"])
def test_satellite_unit_is_turned_to_east_north_up(axes: str, archive: Path) -> None:
    _, message = messages_of(archive, dgps_frame=axes)["dgps/odom"][2]
    matrix = matrix_of(message.pose.pose.position, message.pose.pose.orientation)
    np.testing.assert_allclose(matrix[:3, 3], ENU[axes] @ [0.2, 0.5, -0.25], atol=1e-12)
    np.testing.assert_allclose(matrix[:3, :3], ENU[axes] @ np.diag([1, -1, -1]), atol=1e-12)
    assert (message.header.frame_id, message.child_frame_id) == ("map", "dgps")


def curve(index: int) -> list[float]:
    """A way that bends to the left and climbs."""
    return [math.sin(0.4 * index), 1 - math.cos(0.4 * index), 0.02 * index]


@pytest.mark.parametrize(("axes", "sign"), [("ned", -1), ("nwu", 1)])
def test_axes_of_satellite_unit_follow_from_trajectory(axes: str, sign: int, tmp_path: Path) -> None:
    unknown = tiny.flat(sides=4)
    turned = Rotation.from_euler("z", 1.1 * sign)
    odometry = [tiny.state(time, pos=curve(index)) for index, time in enumerate(tiny.times())]
    unit = [
        tiny.state(time, frames=("dgps", "dgps0"), orient=unknown,
                   pos=turned.apply(np.array(curve(index)) * [1, sign, sign]).tolist())
        for index, time in enumerate(tiny.times())
    ]  # fmt: skip
    streams = {tiny.ODOMETRY: ("RigidBodyState", odometry), tiny.DGPS: ("RigidBodyState", unit)}
    root = tiny.write(tmp_path / "x_Logger.msg", tiny.log_of(streams))
    text = {"ned": "north-east-down", "nwu": "north-west-up"}[axes]
    assert any(text in note and "its path" in note for note in notes_of(root))


def test_map_holds_odometry_where_first_true_pose_is(archive: Path) -> None:
    selection = Selection(map_tf=True)
    messages = messages_of(archive, selection)
    frames = static_frames(messages)
    (_, truth), (_, odometry) = messages["dgps/odom"][0], messages["wheel_odom"][0]
    base = matrix_of(truth.pose.pose.position, truth.pose.pose.orientation) @ np.linalg.inv(frames["base_link", "dgps"])
    odom = matrix_of(odometry.pose.pose.position, odometry.pose.pose.orientation)
    result = frames["map", "odom"] @ odom
    np.testing.assert_allclose(result[:3, 3], base[:3, 3], atol=1e-9)
    assert np.arctan2(result[1, 0], result[0, 0]) == pytest.approx(np.arctan2(base[1, 0], base[0, 0]), abs=1e-6)
    np.testing.assert_allclose(frames["map", "odom"][2, :3], [0, 0, 1], atol=1e-12)
    later = static_frames(messages_of(archive, Selection(map_tf=True, start_s=0.25)))
    np.testing.assert_allclose(later["map", "odom"], frames["map", "odom"], atol=1e-12)


GENERIC: dict[str, tuple[str, Any, str, str]] = {
    "/hokuyo.scans": ("LaserScan", tiny.laser_scan, "hokuyo/scans", "LaserScan"),
    "/xsens_imu.calibrated_sensors": ("IMUSensors", tiny.imu, "xsens_imu/calibrated_sensors", "Imu"),
    "/gps.solution": ("/gps/Solution", tiny.solution, "gps/solution", "NavSatFix"),
    "/pose_robot_pom": ("TransformWithCovariance", tiny.transform, "pose_robot_pom", "Odometry"),
    "/task.state": ("/int32_t", lambda time: 7, "task/state", "Int32"),
    "/task.cycle": ("/double", lambda time: 0.25, "task/cycle", "Float64"),
    "/slam.pose": ("Pose", lambda time: {"pos": [1.0, 2, 3], "orient": [0, 0, 0, 1.0]}, "slam/pose", "PoseStamped"),
    "/tilt_scan.pointcloud": ("/base/samples/Pointcloud_m", tiny.cloud, "tilt_scan/pointcloud", "PointCloud2"),
    "/dynamixel.transforms": ("/base/samples/RigidBodyState_m", tiny.rock_state, "dynamixel/transforms", "Odometry"),
    "/camera.frame": ("/base/samples/frame/Frame", tiny.rock_frame, "camera/frame", "Image"),
    "/old.image": ("Image", tiny.old_frame, "old/image", "Image"),
}


def test_any_log_plays_by_names_and_types_of_its_streams(tmp_path: Path) -> None:
    streams: tiny.Streams = {
        name: (kind, [make(time) for time in tiny.times()]) for name, (kind, make, *_) in GENERIC.items()
    }
    root = tiny.write(tmp_path / "open_day_1.msg", tiny.log_of(streams))
    with open_dataset(root) as opened:
        by_name = {spec.topic: spec.type.rpartition("/")[2] for spec in opened.spec.streams}
    assert by_name == {topic: kind for _, _, topic, kind in GENERIC.values()}
    messages = messages_of(root)
    for topic in by_name:
        assert len(messages[topic]) == tiny.COUNT
    assert messages["task/state"][0] == ((tiny.START_US + tiny.LATE_US) * 1000, messages["task/state"][0][1])
    assert messages["task/state"][0][1].data == 7 and messages["task/cycle"][0][1].data == 0.25
    (_, pose) = messages["slam/pose"][0]
    assert stamp_ns(pose) == (tiny.START_US + tiny.LATE_US) * 1000
    (_, transform) = messages["pose_robot_pom"][0]
    assert (transform.header.frame_id, transform.child_frame_id) == ("local_terrain_frame", "rover_body")


def test_remission_of_scan_leaves_with_it(tmp_path: Path) -> None:
    own = {"ranges": [1500] * 360, "remission": [0.5 * beam for beam in range(360)]}
    samples = [tiny.laser_scan(time) | own for time in tiny.times()]
    root = tiny.write(tmp_path / "x.msg", tiny.log_of({"/hokuyo.scans": ("LaserScan", samples)}))
    (_, scan) = messages_of(root)["hokuyo/scans"][0]
    assert scan.intensities.tolist() == own["remission"] and len(scan.ranges) == 360


def test_velocity_without_orientation_that_would_turn_it_is_unknown_and_reported(tmp_path: Path) -> None:
    samples = [tiny.state(time, cov_velocity=(0.05 * np.eye(3)).tolist()) for time in tiny.times()]
    for sample in samples:
        del sample["orient"]
    root = tiny.write(tmp_path / "x.msg", tiny.log_of({"/slam.pose": ("RigidBodyState", samples)}))
    with open_dataset(root) as opened:
        assert not check(opened, Selection())
        (message,) = opened.warnings
    assert message.startswith("warning: /slam.pose: its velocities are in the target's frame")
    for _, odometry in messages_of(root)["slam/pose"]:
        own = odometry.twist.twist
        np.testing.assert_array_equal(np.diag(odometry.twist.covariance.reshape(6, 6))[:3], [1e6] * 3)
        assert (own.linear.x, own.linear.y, own.angular.z) == (0, 0, samples[0]["angular_velocity"][2])


def test_pair_of_images_is_two_cameras_with_one_baseline(tmp_path: Path) -> None:
    def pair(time: int) -> Any:
        own = {"cameraMatrix": tiny.MATRIX, "distCoeffs": [0.0] * 5, "sensorId": "bb2", "cameraModel": "cam_PINHOLE"}
        frame = tiny.frame(time) | {"intrinsic": own}
        return {"metadata": {"timeStamp": {"microseconds": time}}, "left": frame, "right": frame, "baseline": 0.0900125}

    root = tiny.write(tmp_path / "x.msg", tiny.log_of({"/bb2.pair": ("FramePair", [pair(t) for t in tiny.times()])}))
    messages = messages_of(root)
    (_, left), (_, right) = messages["bb2/pair/left/camera_info"][0], messages["bb2/pair/right/camera_info"][0]
    assert (left.p[3], right.p[3]) == (0.0, pytest.approx(-78.07288195))
    assert stamp_ns(left) == stamp_ns(right) == stamp_ns(messages["bb2/pair/right/image_raw"][0][1])


def test_unknown_types_and_packed_bits_are_listed_and_left_out(copied: Path) -> None:
    bits = {"serialization_method": 0, "type": "asn1SccFrame", "data": [1] * 1360}
    streams: tiny.Streams = {
        "/a.status": ("/aggregator/TimestampEstimatorStatus", [{"stamp": 1}] * 3),
        "/b.bits": ("asn1_bitstream", [bits] * 2),
        "/c.map": ("Map", [{"metadata": {"scale": 0.1}, "data": {}}]),
    }
    tiny.write(copied / "others.msg", tiny.log_of(streams))
    text = "\n".join(notes_of(copied))
    assert "/a.status: 3 samples of /aggregator/TimestampEstimatorStatus are not played" in text
    assert "/b.bits: 2 samples of asn1_bitstream are not played: packed bits of asn1SccFrame, 1360 bytes" in text
    assert "/c.map: 1 samples of Map are not played" in text
    assert not defects_of(copied)


@pytest.mark.parametrize(("day_us", "first"), [(1_500_000_000_000_000, True), (tiny.START_US, False)])
def test_quaternions_of_older_logs_have_w_first(day_us: int, first: bool, tmp_path: Path) -> None:
    turned = [ROOT_HALF, 0, 0, ROOT_HALF] if first else [0, 0, ROOT_HALF, ROOT_HALF]
    samples = [tiny.state(time, orient=turned) for time in tiny.times()]
    for sample in samples:
        sample["timestamp"]["microseconds"] += day_us - tiny.START_US
    root = tiny.write(tmp_path / "x_Logger.msg", tiny.log_of({tiny.ODOMETRY: ("RigidBodyState", samples)}))
    turn = messages_of(root)["wheel_odom"][0][1].pose.pose.orientation
    assert [turn.x, turn.y, turn.z, turn.w] == pytest.approx([0, 0, ROOT_HALF, ROOT_HALF])
    assert any("w x y z" in note for note in notes_of(root)) == first
    forced = messages_of(root, orientation_order="xyzw")["wheel_odom"][0][1].pose.pose.orientation
    assert [forced.x, forced.y, forced.z, forced.w] == pytest.approx(turned)


def test_younger_log_that_stands_upright_only_with_w_first_is_reported(tmp_path: Path) -> None:
    samples = [tiny.state(time, orient=[ROOT_HALF, 0, 0, ROOT_HALF]) for time in tiny.times()]
    root = tiny.write(tmp_path / "x_Logger.msg", tiny.log_of({tiny.ODOMETRY: ("RigidBodyState", samples)}))
    assert [defect.kind for defect in defects_of(root)] == ["orientation_order"]


def test_other_folders_are_not_taken_for_logs(tmp_path: Path) -> None:
    (tmp_path / "msg").mkdir()
    (tmp_path / "msg" / "Pose.msg").write_text("float64 x\nfloat64 y\n")
    with pytest.raises(ArchiveError, match="no dataset"):
        detect_spec(tmp_path)


def test_logs_are_recognised_by_what_they_hold(archive: Path, tmp_path: Path) -> None:
    assert detect_spec(archive).name == "sherpatt"
    for form, (name, data) in FORMS.items():
        path = tiny.write(tmp_path / form / name, data, zipped=name.endswith("zz"))
        assert detect_spec(path).name == "sherpatt"


def test_pickles_of_others_are_left_alone(copied: Path) -> None:
    (copied / "dgps_Logger_InFuse.msg.cdff_idx").write_bytes(b"\x80\x04cos\nsystem\n(S'false'\ntR.")
    assert any("never read" in note for note in notes_of(copied))
