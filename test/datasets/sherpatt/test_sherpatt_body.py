"""A sample of SherpaTT converted with all that is derived: its legs, its path, its place on the surface model."""

from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation

from fieldplay.datasets.registry import open_dataset
from fieldplay.topics.topic_checks import check_settings
from fieldplay_samples.write_sample import SampleOptions
from support.bag_messages import messages_of_bag
from support.sampled import Sampled, sampled

SETTINGS = {"image_rate_hz": 0.25, "image_shrink": 24, "lidar_columns": 90}
LEGS = ("front_left", "front_right", "rear_left", "rear_right")
BODY_M = 0.6485
TOPICS = {"/tf", "/tf_static", "/sherpatt/path", "/sherpatt/surface", "/sherpatt/wheel_odom", "/sherpatt/joint_states"}
Bag = dict[str, list[tuple[int, Any]]]


@pytest.fixture(scope="module")
def sample(pytestconfig: pytest.Config) -> Sampled:
    folder = pytestconfig.cache.mkdir("samples_sherpatt_body")
    return sampled("sherpatt", folder, SampleOptions(seconds=12, settings=SETTINGS))


@pytest.fixture(scope="module")
def bag(sample: Sampled) -> Bag:
    """What the conversion wrote, with its times."""
    return messages_of_bag(sample.bag, TOPICS)


def matrix(transform: Any) -> np.ndarray:
    position, turn = transform.translation, transform.rotation
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_quat([turn.x, turn.y, turn.z, turn.w]).as_matrix()
    matrix[:3, 3] = position.x, position.y, position.z
    return matrix


def edges(bag: Bag) -> dict[str, list[tuple[int, str, np.ndarray]]]:
    """By child: time, parent, and the child in it."""
    by_name: dict[str, list[tuple[int, str, np.ndarray]]] = defaultdict(list)
    for topic in ("/tf", "/tf_static"):
        for stamp, message in bag[topic]:
            for each in message.transforms:
                by_name[each.child_frame_id].append((stamp, each.header.frame_id, matrix(each.transform)))
    return by_name


def true_map_from_world(sample: Sampled) -> np.ndarray:
    """The map's origin (3,) in the world: the satellite unit when it starts, 0.53 m above the body and 0.3 m aside."""
    truth = sample.truth
    turn = Rotation.from_quat([truth[f"q{axis}"][0] for axis in "xyzw"])
    unit_T_body = Rotation.from_quat([-0.965427150, 0.260673010, 0, 0])
    body = np.array([truth[f"{axis}_m"][0] for axis in "xyz"])
    return body - (turn * unit_T_body.inv()).apply([0.3, 0, 0.53])


def test_every_frame_has_one_parent_and_map_is_above_all(bag: Bag) -> None:
    actual = edges(bag)
    for child, rows in actual.items():
        assert len({parent for _, parent, _ in rows}) == 1, child
    parents = {child: rows[0][1] for child, rows in actual.items()}
    assert set(parents.values()) - set(parents) == {"map"}
    assert {f"wheel_{leg}" for leg in LEGS} | {"velodyne", "camera_left", "odom", "base_link", "dgps"} <= set(parents)


def test_legs_bring_each_wheel_to_ground_at_every_joint_state(bag: Bag) -> None:
    actual = edges(bag)
    times = [stamp for stamp, _ in bag["/sherpatt/joint_states"]]
    assert len(times) == 600
    for leg in LEGS:
        assert [stamp for stamp, _, _ in actual[f"wheel_{leg}"]] == times
        for row in (0, 77, 599):
            pose, link = np.eye(4), f"wheel_end_point_{leg}"
            while link != "base_link":
                rows = actual[link]
                _, link, step = rows[row] if len(rows) > 1 else rows[0]
                pose = step @ pose
            assert np.abs(pose[:2, 3]) == pytest.approx([1.0237, 1.0237], abs=2e-3)
            assert pose[2, 3] == pytest.approx(-BODY_M, abs=2e-3)


def test_wheels_turn_as_far_as_joint_states_say(bag: Bag) -> None:
    joints = [message for _, message in bag["/sherpatt/joint_states"]]
    column = joints[0].name.index("omega_rear_left")
    output = joints[-1].position[column] - joints[0].position[column]
    turns = [Rotation.from_matrix(step[:3, :3]) for _, _, step in edges(bag)["wheel_rear_left"]]
    rolled = sum((before.inv() * after).as_rotvec()[2] for before, after in pairwise(turns))
    assert abs(output) > 0.5
    assert rolled == pytest.approx(output, abs=1e-6)


def test_path_goes_through_poses_of_odometry_half_metre_apart_and_stays(bag: Bag, sample: Sampled) -> None:
    poses = {stamp: message.pose.pose for stamp, message in bag["/sherpatt/wheel_odom"]}
    _, last = bag["/sherpatt/path"][-1]
    assert last.header.frame_id == "odom"
    for pose in last.poses:
        stamp = pose.header.stamp.sec * 10**9 + pose.header.stamp.nanosec
        assert pose.pose == poses[stamp]
    positions = np.array([[pose.pose.position.x, pose.pose.position.y, pose.pose.position.z] for pose in last.poses])
    trajectory = np.array([[pose.position.x, pose.position.y, pose.position.z] for pose in poses.values()])
    length = np.linalg.norm(np.diff(trajectory, axis=0), axis=1).sum()
    assert len(positions) == len(bag["/sherpatt/path"]) == int(length / 0.5) + 1
    description = yaml.safe_load((sample.bag / "metadata.yaml").read_text())
    topics = [
        entry["topic_metadata"] for entry in description["rosbag2_bagfile_information"]["topics_with_message_count"]
    ]
    lasting = {topic["name"] for topic in topics if "transient_local" in str(topic["offered_qos_profiles"])}
    assert {"/sherpatt/path", "/sherpatt/surface", "/tf_static"} == lasting


def test_odometry_is_put_on_true_start_and_heading_in_map(bag: Bag, sample: Sampled) -> None:
    actual, truth = edges(bag), sample.truth
    ((_, parent, map_T_odom),) = actual["odom"]
    assert parent == "map"
    np.testing.assert_allclose(map_T_odom[2, :3], [0, 0, 1], atol=1e-12)
    base = map_T_odom @ actual["base_link"][0][2]
    origin = true_map_from_world(sample)
    np.testing.assert_allclose(base[:3, 3], [truth[f"{a}_m"][0] for a in "xyz"] - origin, atol=0.05)  # D-GPS: 1 cm
    true = Rotation.from_quat([truth[f"q{axis}"][0] for axis in "xyzw"]).as_matrix()
    assert np.arctan2(base[1, 0], base[0, 0]) == pytest.approx(np.arctan2(true[1, 0], true[0, 0]), abs=0.02)


def test_surface_lies_under_wheels_all_along_true_trajectory(bag: Bag, sample: Sampled) -> None:
    ((stamp, cloud),) = bag["/sherpatt/surface"]
    assert (cloud.header.frame_id, stamp) == ("map", min(time for time, _ in bag["/sherpatt/wheel_odom"]))
    assert [field.name for field in cloud.fields] == ["x", "y", "z"]
    points = np.frombuffer(bytes(cloud.data), "<f4").reshape(-1, 3)
    assert len(points) == 220 * 220 - 20 * 30
    trajectory = np.column_stack([sample.truth[f"{axis}_m"] for axis in "xyz"])[::10] - true_map_from_world(sample)
    nearest = [points[np.argmin(np.linalg.norm(points[:, :2] - position[:2], axis=1))] for position in trajectory]
    above = trajectory[:, 2] - np.array(nearest)[:, 2]
    assert np.linalg.norm(np.array(nearest)[:, :2] - trajectory[:, :2], axis=1).max() < 0.15
    assert np.median(above) == pytest.approx(BODY_M, abs=0.06)
    assert np.abs(above - BODY_M).max() < 0.15


def test_archive_gives_what_it_measured_and_which_joints_have_no_model(sample: Sampled) -> None:
    with open_dataset(sample.archive) as archive:
        check_settings(archive)
        text = "\n".join(archive.notes)
    assert "measured: the body is 0.6" in text
    assert "joint_states: joints that are not in the model sherpatt: arm_joint_1, arm_joint_2" in text


def test_joints_of_other_names_are_reported_and_can_be_mapped(sample: Sampled) -> None:
    turned_off = {"joint_names": r"(\w+)_front_left=\1_fl"}
    with open_dataset(sample.archive, "sherpatt", turned_off) as archive:
        check_settings(archive)
        text = "\n".join(archive.notes)
    assert "the log does not have 5 joints by which the model sherpatt moves" in text
    assert "alpha_front_left, beta_front_left" in text
    assert "joint_names maps them" in text
