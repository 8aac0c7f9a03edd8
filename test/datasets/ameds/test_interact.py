"""ESA's rover Interact as urdf/interact.urdf describes it, and the view of RViz that shows it."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldplay.datasets.spec import spec_from_file
from fieldplay.geometry.extrinsics import edges_from_published
from fieldplay.geometry.transforms import inverse_from_transform, quaternion_from_rotation
from fieldplay.geometry.urdf_model import (
    fixed_transforms,
    link_poses_from_positions,
    model_from_text,
    transforms_from_positions,
)
from fieldplay.kinematics.denavit_hartenberg import DhRow, links_from_joints
from fieldplay.kinematics.steered_wheels import symmetric_base, wheel_poses_from_angles
from support.robot_models import (
    displays_of_topics,
    offered_qos,
    parents_by_ros,
    shapes_of,
    view_of,
)

ROOT = Path(__file__).parents[3]
FILE = ROOT / "urdf" / "interact.urdf"
TEXT = FILE.read_text()
MODEL = model_from_text(TEXT)
AMEDS = spec_from_file(ROOT / "config" / "datasets" / "ameds.yaml")
VIEW = view_of("ameds")

ARMS = ("main", "aux")
JOINTS = [f"{arm}_arm_joint_{number}" for arm in ARMS for number in range(1, 8)]
WHEELS = [f"wheel_{number}" for number in range(1, 5)]
STILL, SECOND, THIRD = [0.0] * 7, [0.3, -0.5, 0.7, 1.1, -0.4, 0.9, -1.2], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
LWR = [DhRow(alpha=np.radians(alpha), d=d) for alpha, d in
       ((0, 0.31), (90, 0), (-90, 0.4), (-90, 0), (90, 0.39), (90, 0), (-90, 0))]  # fmt: skip


def pose(parent: str, child: str, joints: list[float]) -> np.ndarray:
    """parent_T_child with both arms' joints alike."""
    poses = link_poses_from_positions(MODEL, JOINTS, joints * 2)
    return inverse_from_transform(poses[parent]) @ poses[child]


def test_links_are_frames_that_are_published() -> None:
    of_arms = {f"{arm}_arm_{part}" for arm in ARMS for part in (*(f"link_{number}" for number in range(1, 8)), "end")}
    described = {child for children in AMEDS.tree.values() for child in children}
    assert set(MODEL.links) == {"base_link", *WHEELS} | described | of_arms
    assert MODEL.root == "base_link"


def test_parser_of_ros_reads_same_tree() -> None:
    assert parents_by_ros(FILE, "base_link") == MODEL.parents


def test_each_frame_stands_where_table_of_paper_puts_it() -> None:
    fixed = fixed_transforms(MODEL)
    edges = edges_from_published(AMEDS.extrinsics, AMEDS.tree)
    assert len(edges) == 7
    for edge in edges:
        assert MODEL.parents[edge.child] == edge.parent
        np.testing.assert_allclose(fixed[edge.child], edge.parent_t_child, atol=1e-9, err_msg=edge.child)


@pytest.mark.parametrize("arm", ARMS)
def test_arms_are_those_of_paper_s_table(arm: str) -> None:
    angles = np.random.default_rng(3).uniform(-2, 2, (100, 7))
    names = [f"{arm}_arm_joint_{number}" for number in range(1, 8)]
    poses = link_poses_from_positions(MODEL, names, angles, base=f"{arm}_arm_base", missing="leave_out")
    links = links_from_joints(LWR, angles)
    for number in range(1, 8):
        np.testing.assert_allclose(poses[f"{arm}_arm_link_{number}"], links[:, number - 1], atol=1e-9)
    np.testing.assert_array_equal(poses[f"{arm}_arm_end"], poses[f"{arm}_arm_link_7"])


@pytest.mark.parametrize(
    ("parent", "child", "joints", "position", "quaternion"),
    [
        ("main_arm_base", "main_arm_end", STILL, (0, 0, 1.1), (0, 0, 0, 1)),
        ("aux_arm_base", "aux_arm_end", SECOND, (0.420932435, 0.364589175, 0.688830581),
         (-0.276372098, 0.110520625, -0.151632532, 0.942555691)),
        ("main_arm_base", "main_arm_end", THIRD, (-0.013072214, 0.043795336, 1.082904985),
         (0.040929416, -0.190039254, 0.694647965, 0.692585063)),
        ("base_link", "main_cam", STILL, (-0.128, 0, 2.014), (-0.5, 0.5, -0.5, 0.5)),
        ("base_link", "aux_cam", STILL, (1.644285470, -1.005876991, -0.110764768),
         (0.491197644, 0.686102688, -0.171064613, 0.508650051)),
        ("origin", "main_cam", SECOND, (-0.601302160, 0.445545404, -1.485385909),
         (0.588907941, 0.464168374, 0.630019848, 0.202015218)),
        ("origin", "aux_cam", SECOND, (0.991068735, 0.838290666, 0.661544085),
         (0.237674305, 0.247766972, 0.850432604, -0.398606118)),
        ("origin", "aux_cam", STILL, (1.644285470, 1.005876991, 0.191764768),
         (0.508650051, 0.171064613, 0.686102688, -0.491197644)),
        ("base_link", "lidar", STILL, (-0.549, 0, 1.47), (0, 0, 1, 0)),
    ],
)  # fmt: skip
def test_chains_reach_known_poses(
    parent: str, child: str, joints: list[float], position: tuple[float, ...], quaternion: tuple[float, ...]
) -> None:
    actual = pose(parent, child, joints)
    np.testing.assert_allclose(actual[:3, 3], position, atol=1e-6)
    turn = quaternion_from_rotation(actual[:3, :3])
    np.testing.assert_allclose(turn * np.sign(turn @ quaternion), quaternion, atol=1e-6)


def test_only_arms_move_by_joints_and_within_their_limits() -> None:
    assert {joint.name for joint in MODEL.joints if joint.kind == "revolute"} == set(JOINTS)
    limits = {element.get("name"): element.find("limit") for element in ElementTree.fromstring(TEXT).iter("joint")}
    for name in JOINTS:
        expected = np.radians(170 if int(name[-1]) % 2 else 120)
        actual = [float(limits[name].get(end)) for end in ("lower", "upper")]
        np.testing.assert_allclose(actual, [-expected, expected], atol=1e-6)


def test_wheels_are_left_to_their_node_and_stand_straight() -> None:
    base = symmetric_base(length_m=0.402, width_m=0.396, swivel_m=0.143, wheel_drop_m=0.135)
    joints = {joint.child: joint for joint in MODEL.joints}
    for wheel, expected in zip(WHEELS, wheel_poses_from_angles(base, np.zeros(4), np.zeros(4)), strict=True):
        assert (joints[wheel].kind, joints[wheel].parent) == ("floating", "base_link")
        np.testing.assert_allclose(joints[wheel].parent_t_zero, expected, atol=1e-9)
    published = fixed_transforms(MODEL) | transforms_from_positions(MODEL, JOINTS, STILL * 2)
    assert not set(WHEELS) & set(published)


def test_shapes_have_colours_and_sizes() -> None:
    shapes = shapes_of(TEXT)
    assert shapes.used == shapes.colours
    assert min(shapes.sizes_m) > 0.005 and max(shapes.sizes_m) < 1.5


def displays(kind: str) -> list[dict[str, Any]]:
    return [display for display in VIEW["Displays"] if display["Class"] == f"rviz_default_plugins/{kind}"]


def test_view_shows_topics_that_there_are_with_types_that_it_can_show() -> None:
    types = {f"/{AMEDS.namespace}/{stream.topic}": stream.type for stream in AMEDS.streams}
    types |= {
        f"/{AMEDS.namespace}/wheels/odom": "nav_msgs/msg/Odometry",
        f"/{AMEDS.namespace}/robot_description": "std_msgs/msg/String",
    }
    shown = {
        display.get("Topic", display.get("Description Topic"))["Value"]: display["Class"].rpartition("/")[2]
        for display in VIEW["Displays"]
        if "Topic" in display or "Description Topic" in display
    }
    requested = {
        "sensor_msgs/msg/PointCloud2": "PointCloud2", "sensor_msgs/msg/Image": "Image",
        "nav_msgs/msg/Odometry": "Odometry", "std_msgs/msg/String": "RobotModel",
    }  # fmt: skip
    assert shown == {topic: requested[types[topic]] for topic in shown}
    assert {topic.removeprefix("/ameds/") for topic in shown} == {
        "robot_description", "lidar/points", "main_cam/image_raw", "aux_cam/image_raw", "gnss/odom", "wheels/odom",
    }  # fmt: skip


def test_view_asks_for_topics_as_they_are_offered() -> None:
    for display in displays_of_topics(VIEW, AMEDS.namespace):
        assert display.qos == offered_qos(lasting=display.kind == "RobotModel"), display.name


def test_view_stands_in_map_follows_rover_and_draws_two_trails() -> None:
    assert VIEW["Global Options"]["Fixed Frame"] == "map"
    assert VIEW["Views"]["Current"]["Target Frame"] == "base_link"
    assert len({display["Name"] for display in VIEW["Displays"]}) == len(VIEW["Displays"])
    assert len(displays("Grid")) == len(displays("TF")) == len(displays("RobotModel")) == 1
    trails = displays("Odometry")
    assert [path["Keep"] for path in trails] == [1000, 1000]
    assert len({path["Shape"]["Color"] for path in trails}) == 2
