"""A sample of Rosario read back: what the messages say against what is true, and stereo by CameraInfo alone."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from evo.core import metrics, sync
from evo.core.trajectory import PoseTrajectory3D
from evo.tools import file_interface
from numpy.typing import NDArray
from pyproj import Transformer
from rosbags.rosbag2 import Reader
from scipy.spatial.transform import Rotation

from fieldplay.datasets.registry import open_dataset
from fieldplay.topics.selection import Selection
from fieldplay.topics.topic_checks import check
from fieldplay_samples.sensors.camera import camera_from_numbers, depth
from fieldplay_samples.write_sample import SampleOptions
from fieldplay_samples.writers.rosario import settings
from fieldplay_samples.writers.rosario.scenario import make_scenario, make_world
from support.bag_messages import messages_of_bag
from support.sampled import Sampled, sampled

Array = NDArray[np.float64]
Messages = dict[str, list[tuple[int, Any]]]
SECONDS, SEED = 4.0, 1
MADE_WITH: dict[str, Any] = {"image_rate_hz": 1.0, "image_shrink": 1}
LEVER_M = np.array([1.80070337, -0.02982362, 1.59345719])
IMU_IN_BASE = Rotation.from_quat([0.784171987, 0.000788065, 0.620542634, -0.000716013])
RMC_LATENCY_NS = 5_000_000
MAP_ORIGIN = "+lat_0=-33.03 +lon_0=-60.88 +h_0=68.0"


@pytest.fixture(scope="module")
def sample(pytestconfig: pytest.Config) -> Sampled:
    folder = pytestconfig.cache.mkdir("samples_rosario")
    return sampled("rosario", folder, SampleOptions(seconds=SECONDS, seed=SEED, settings=MADE_WITH))


@pytest.fixture(scope="module")
def messages(sample: Sampled) -> Messages:
    """All messages of the converted bag, by topic below the namespace."""
    return messages_in(sample.bag)


def messages_in(bag: Path) -> Messages:
    by_name: Messages = defaultdict(list)
    for topic, messages in messages_of_bag(bag).items():
        for _, message in messages:
            if hasattr(message, "header"):
                stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
                by_name[topic.removeprefix("/rosario/")].append((stamp, message))
    return by_name


def true_poses(sample: Sampled, stamps: Any) -> Array:
    """Where base_link truly was in the map, (n, 4, 4), at the truth's row nearest to each stamp."""
    own = sample.truth["stamp_ns"]
    rows = np.abs(own[None, :] - np.asarray(stamps, float)[:, None]).argmin(axis=1)
    poses = np.tile(np.eye(4), (len(rows), 1, 1))
    quaternion = np.stack([sample.truth[name][rows] for name in ("qx", "qy", "qz", "qw")], axis=1)
    poses[:, :3, :3] = Rotation.from_quat(quaternion).as_matrix()
    poses[:, :3, 3] = np.stack([sample.truth[name][rows] for name in ("x_m", "y_m", "z_m")], axis=1)
    return poses


def matrix(values: Any, rows: int, columns: int) -> Array:
    return np.asarray(values, float).reshape(rows, columns)


def test_archive_has_no_defects(sample: Sampled) -> None:
    with open_dataset(sample.archive) as archive:
        assert check(archive, Selection()) == []


def test_wheels_and_steering_lead_where_robot_truly_went(sample: Sampled, messages: Messages) -> None:
    stamps, odometry = zip(*messages["odom"], strict=True)
    poses = true_poses(sample, stamps)
    relative = np.linalg.inv(poses[0]) @ poses
    values = np.array([[one.pose.pose.position.x, one.pose.pose.position.y] for one in odometry])
    turn = np.array([2 * np.arctan2(one.pose.pose.orientation.z, one.pose.pose.orientation.w) for one in odometry])
    assert np.abs(values).max() > 0.5
    assert np.linalg.norm(values - relative[:, :2, 3], axis=1).max() < 0.04
    np.testing.assert_allclose(turn, np.arctan2(relative[:, 1, 0], relative[:, 0, 0]), atol=0.01)


def test_robot_goes_forward_stands_and_goes_back(messages: Messages) -> None:
    speed = np.array([one.twist.twist.linear.x for _, one in messages["odom"]])
    assert 0.5 < speed.max() < 1.25
    assert speed.min() < -0.3
    between = speed[speed.argmax() : speed.argmin()]
    assert np.abs(between).min() < 0.01


def test_fixes_are_where_antenna_truly_was(sample: Sampled, messages: Messages) -> None:
    to_map = Transformer.from_pipeline(
        f"+proj=pipeline +step +proj=unitconvert +xy_in=deg +xy_out=rad +step +proj=cart +ellps=WGS84 "
        f"+step +proj=topocentric +ellps=WGS84 {MAP_ORIGIN}"
    )
    stamps, fixes = zip(*messages["gps/fix"], strict=True)
    values = np.array([to_map.transform(one.longitude, one.latitude, one.altitude) for one in fixes])
    poses = true_poses(sample, stamps)
    error = values - (poses[:, :3, :3] @ LEVER_M + poses[:, :3, 3])
    assert np.linalg.norm(error, axis=1).max() < 0.06
    assert {one.status.status for one in fixes} == {2}


def test_antenna_moves_as_its_velocities_say(sample: Sampled, messages: Messages) -> None:
    stamps, twists = zip(*messages["gps/velocity"], strict=True)
    values = np.array([[one.twist.linear.x, one.twist.linear.y] for one in twists])
    epochs, step_ns = np.array(stamps) - RMC_LATENCY_NS, 50_000_000
    after, before = (true_poses(sample, epochs + sign * step_ns) for sign in (1, -1))
    positions = [poses[:, :3, :3] @ LEVER_M + poses[:, :3, 3] for poses in (before, after)]
    inside = slice(1, -1)
    np.testing.assert_allclose(values[inside], ((positions[1] - positions[0])[:, :2] / 0.1)[inside], atol=0.045)


def test_at_rest_imu_feels_gravity_alone_and_straight_up(sample: Sampled, messages: Messages) -> None:
    first = messages["imu/data_raw"][0][0]
    rest = [one for stamp, one in messages["imu/data_raw"] if stamp < first + 100_000_000]
    force = np.mean([[getattr(one.linear_acceleration, axis) for axis in "xyz"] for one in rest], axis=0)
    rate = np.mean([[getattr(one.angular_velocity, axis) for axis in "xyz"] for one in rest], axis=0)
    up = true_poses(sample, [first])[0][:3, :3] @ IMU_IN_BASE.apply(force)
    np.testing.assert_allclose(up, [0.0, 0.0, 9.796], atol=0.05)
    np.testing.assert_allclose(rate, 0.0, atol=0.005)


def test_rows_of_imu_share_stamps_as_usb_brought_them(sample: Sampled) -> None:
    stamps = [line.split()[0] for line in (sample.archive / "imu.log").read_text().splitlines()]
    assert 0.3 < 1 - len(set(stamps)) / len(stamps) < 0.8
    assert stamps == sorted(stamps)


@dataclass(frozen=True, eq=False, kw_only=True)
class Pair:
    """Rectified pictures (h, w) in grey, the true depth (h, w) in m, and the focal length in pixels times baseline."""

    left: NDArray[np.uint8]
    right: NDArray[np.uint8]
    depth_m: Array
    focal_m: float


@pytest.fixture(scope="module")
def pairs(sample: Sampled, messages: Messages) -> list[Pair]:
    """The first and the last pair, rectified by what CameraInfo says."""
    scenario = make_scenario(SEED, SECONDS, {**settings(), **MADE_WITH})
    scene = make_world(scenario)
    results = []
    for number in (0, 3):
        infos = {side: messages[f"stereo/{side}/camera_info"][number][1] for side in ("left", "right")}
        left = matrix(infos["left"].p, 3, 4)
        camera = camera_from_numbers(672, 376, (left[0, 0], left[1, 1], left[0, 2], left[1, 2]), (0.0,) * 5)
        stamp = messages["stereo/left/camera_info"][number][0]
        world_T_rectified = true_poses(sample, [stamp])[0] @ scenario.rig.base_T_camera["left"]
        world_T_rectified[:3, :3] = world_T_rectified[:3, :3] @ matrix(infos["left"].r, 3, 3).T
        results.append(
            Pair(
                **{side: rectified(picture(messages, side, number), infos[side]) for side in infos},
                depth_m=depth(scene, camera, world_T_rectified).astype(np.float64),
                focal_m=-matrix(infos["right"].p, 3, 4)[0, 3],
            )
        )
    return results


def test_stereo_by_camera_info_alone_finds_true_depth(pairs: list[Pair]) -> None:
    for pair in pairs:
        depth = depth_from_pair(pair)
        compared = (pair.depth_m > 2) & (pair.depth_m < 8) & np.isfinite(depth)
        assert compared.sum() > 50_000
        assert np.median(np.abs(depth[compared] / pair.depth_m[compared] - 1.0)) < 0.03


def test_patches_are_found_in_right_image_where_true_depth_puts_them(pairs: list[Pair]) -> None:
    for pair in pairs:
        rows, columns = np.nonzero((pair.depth_m > 2) & (pair.depth_m < 8))
        chosen = np.random.default_rng(1).choice(len(rows), 1500, replace=False)
        rows, columns = rows[chosen], columns[chosen]
        left = np.stack([columns, rows], axis=1).astype(np.float32)
        right = left.copy()
        right[:, 0] -= (pair.focal_m / pair.depth_m[rows, columns]).astype(np.float32)
        actual, status, _ = cv2.calcOpticalFlowPyrLK(
            pair.left, pair.right, left[:, None], right[:, None].copy(), flags=cv2.OPTFLOW_USE_INITIAL_FLOW
        )
        difference = np.median((actual[:, 0] - right)[status[:, 0] == 1], axis=0)
        np.testing.assert_allclose(difference, 0.0, atol=0.04)


def picture(messages: Messages, side: str, number: int) -> NDArray[np.uint8]:
    data = messages[f"stereo/{side}/image_raw/compressed"][number][1].data
    return np.asarray(cv2.imdecode(data, cv2.IMREAD_GRAYSCALE), np.uint8)


def rectified(grey: NDArray[np.uint8], info: Any) -> NDArray[np.uint8]:
    new = matrix(info.p, 3, 4)[:, :3]
    size = (info.width, info.height)
    maps = cv2.initUndistortRectifyMap(
        matrix(info.k, 3, 3), np.asarray(info.d), matrix(info.r, 3, 3), new, size, cv2.CV_32FC1
    )
    return np.asarray(cv2.remap(grey, *maps, cv2.INTER_LINEAR), np.uint8)


def depth_from_pair(pair: Pair) -> Array:
    """Depth (h, w) in m, inf where no match is found."""
    matcher = cv2.StereoSGBM_create(
        minDisparity=0, numDisparities=64, blockSize=7, P1=8 * 49, P2=32 * 49, uniquenessRatio=10, disp12MaxDiff=1
    )
    disparity = matcher.compute(pair.left, pair.right).astype(np.float64) / 16.0
    return np.where(disparity > 1.0, pair.focal_m / np.maximum(disparity, 1.0), np.inf)


def trajectory(bag: Path, topic: str) -> PoseTrajectory3D:
    with Reader(bag) as reader:
        return file_interface.read_bag_trajectory(reader, topic)


@pytest.fixture(scope="module")
def bagged(pytestconfig: pytest.Config) -> Sampled:
    """The same seconds as the authors' bag."""
    folder = pytestconfig.cache.mkdir("samples_rosario_bag")
    made_with = {"image_rate_hz": 1.0, "image_shrink": 8, "bag": True}
    return sampled("rosario", folder, SampleOptions(seconds=SECONDS, seed=SEED, settings=made_with))


def test_bag_of_authors_reads_as_folder_does(bagged: Sampled, messages: Messages) -> None:
    with open_dataset(bagged.archive) as archive:
        assert check(archive, Selection()) == []
    actual = messages_in(bagged.bag)
    for topic in ("imu/data_raw", "gps/fix", "gps/velocity"):
        assert [stamp for stamp, _ in actual[topic]] == [stamp for stamp, _ in messages[topic]]
    for attribute in ("linear_acceleration", "angular_velocity"):
        both = [
            [[getattr(getattr(one, attribute), axis) for axis in "xyz"] for _, one in own["imu/data_raw"]]
            for own in (actual, messages)
        ]
        np.testing.assert_allclose(*both, atol=1e-9)
    for side in ("left", "right"):
        topic = f"stereo/{side}/camera_info"
        np.testing.assert_allclose(actual[topic][0][1].p, messages[topic][0][1].p, atol=1e-6)


def test_authors_odometry_in_bag_leads_where_robot_truly_went(bagged: Sampled) -> None:
    stamps, odometry = zip(*messages_in(bagged.bag)["odom_archived"], strict=True)
    poses = true_poses(bagged, stamps)
    relative = np.linalg.inv(poses[0]) @ poses
    values = np.array([[one.pose.pose.position.x, one.pose.pose.position.y] for one in odometry])
    assert np.linalg.norm(values - relative[:, :2, 3], axis=1).max() < 0.06
    assert max(abs(one.twist.twist.linear.y) for one in odometry) < 1e-9


@pytest.fixture(scope="module")
def driven(pytestconfig: pytest.Config) -> dict[bool, Sampled]:
    """Longer drives without more than a few pictures, as the authors' bag and as raw folder: far enough for a map."""
    results = {}
    for is_bag in (True, False):
        folder = pytestconfig.cache.mkdir(f"samples_rosario_driven_{is_bag}")
        numbers = {"image_rate_hz": 0.2, "image_shrink": 4, "bag": is_bag}
        results[is_bag] = sampled("rosario", folder, SampleOptions(seconds=12.0, seed=SEED, settings=numbers))
    return results


def test_frames_of_authors_bag_are_one_tree_and_path_is_that_of_its_odometry(
    driven: dict[bool, Sampled],
) -> None:
    messages = messages_of_bag(driven[True].bag)
    edges = {
        item.child_frame_id: item.header.frame_id
        for topic in ("/tf", "/tf_static")
        for _, message in messages[topic]
        for item in message.transforms
    }
    assert edges["odom"] == "map" and edges["base_link"] == "odom"
    assert set(edges.values()) - set(edges) == {"map"}
    last, ends = messages["/rosario/path"][-1][1], messages["/rosario/odom_archived"][-1][1]
    assert len(last.poses) >= 2 and last.header.frame_id == "odom"
    distance = [getattr(last.poses[-1].pose.position, k) - getattr(ends.pose.pose.position, k) for k in "xy"]
    assert np.hypot(*distance) <= 1.0


def test_ground_truth_lies_where_tf_puts_antenna(driven: dict[bool, Sampled]) -> None:
    messages = messages_of_bag(driven[False].bag)
    static = {
        item.child_frame_id: (item.header.frame_id, np.array([getattr(item.transform.translation, k) for k in "xyz"]),
                              Rotation.from_quat([getattr(item.transform.rotation, k) for k in "xyzw"]))
        for item in messages["/tf_static"][0][1].transforms
    }  # fmt: skip
    assert static["ground_truth"][0] == static["odom"][0] == "map"
    odometry = messages_in(driven[False].bag)["odom"]
    times = np.array([stamp for stamp, _ in odometry])
    for stamp, truth in messages_in(driven[False].bag)["ground_truth/odom"][:5]:
        assert truth.header.frame_id == "ground_truth"
        near = odometry[int(np.abs(times - stamp).argmin())][1].pose.pose
        turn = Rotation.from_quat([getattr(near.orientation, k) for k in "xyzw"])
        in_odom = turn.apply(LEVER_M) + np.array([near.position.x, near.position.y, near.position.z])
        by_tf = static["odom"][2].apply(in_odom) + static["odom"][1]
        by_file = static["ground_truth"][2].apply([getattr(truth.pose.pose.position, k) for k in "xyz"])
        assert np.linalg.norm(by_tf - by_file - static["ground_truth"][1]) < 0.25


def test_evo_lays_ground_truth_on_wheels(sample: Sampled) -> None:
    wheels, truth = (trajectory(sample.bag, f"/rosario/{name}") for name in ("odom", "ground_truth/odom"))
    base_T_gps = np.eye(4)
    base_T_gps[:3, 3] = LEVER_M
    wheels.transform(base_T_gps, right_mul=True)  # from base_link to the antenna
    truth, wheels = sync.associate_trajectories(truth, wheels, max_diff=0.02)
    wheels.align(truth, correct_scale=False)
    error = metrics.APE(metrics.PoseRelation.translation_part)
    error.process_data((truth, wheels))
    assert truth.num_poses > 15
    assert error.get_statistic(metrics.StatisticsType.rmse) < 0.05
