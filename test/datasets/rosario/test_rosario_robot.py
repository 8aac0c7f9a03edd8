"""The robot of the Rosario dataset as urdf/rosario.urdf describes it, and the view of RViz that shows it."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np

from fieldplay.datasets.spec import spec_from_file
from fieldplay.geometry.extrinsics import edges_from_published
from fieldplay.geometry.urdf_model import model_from_text, transforms_from_positions
from fieldplay.kinematics.ackermann_odometry import (
    REAR_WHEELS,
    STEERING,
    ackermann_from_settings,
    joint_transforms_from_angles,
)
from support.robot_models import (
    displays_of_topics,
    offered_qos,
    parents_by_ros,
    shapes_of,
    view_of,
)

ROOT = Path(__file__).parents[3]
FILE = ROOT / "urdf" / "rosario.urdf"
TEXT = FILE.read_text()
MODEL = model_from_text(TEXT)
ROSARIO = spec_from_file(ROOT / "config" / "datasets" / "rosario.yaml")
VIEW = view_of("rosario")
JOINTS = [*REAR_WHEELS, *STEERING]
ODOMETRY = next(derived for derived in ROSARIO.derived if derived.kind == "ackermann_odometry")
COMPUTED = {
    "odom": "nav_msgs/msg/Odometry",
    "path": "nav_msgs/msg/Path",
    "robot_description": "std_msgs/msg/String",
}


def test_links_are_frames_of_odometry_s_node_and_none_that_player_owns() -> None:
    assert ROSARIO.robot == FILE.stem
    assert (MODEL.root, set(MODEL.links)) == ("base_link", set(ODOMETRY.child_frames))
    owned = {child for children in ROSARIO.tree.values() for child in children}
    assert owned >= {"imu", "gps", "left_camera", "right_camera"}
    assert not owned & (set(ODOMETRY.child_frames) | {ODOMETRY.frame})


def test_joints_move_links_as_node_does() -> None:
    assert {joint.name: joint.kind for joint in MODEL.joints} == {
        "rear_left_wheel": "continuous", "rear_right_wheel": "continuous", "front_steering": "revolute",
    }  # fmt: skip
    positions = np.random.default_rng(9).uniform(-0.3, 0.3, (20, 3))
    base = ackermann_from_settings(ODOMETRY.settings).base
    expected = joint_transforms_from_angles(base, positions[:, :2], positions[:, 2])
    actual = transforms_from_positions(MODEL, JOINTS, positions)
    for index, frame in enumerate(ODOMETRY.child_frames[1:]):
        np.testing.assert_allclose(actual[frame], expected[:, index], atol=1e-12)


def test_parser_of_ros_reads_same_tree() -> None:
    assert parents_by_ros(FILE, "base_link") == MODEL.parents


def test_wheels_are_those_of_paper_and_stand_on_one_ground() -> None:
    robot = ElementTree.fromstring(TEXT)
    tyres = [visual for visual in robot.iter("visual") if visual.find("material").get("name") == "tyre"]
    assert [float(tyre.find("geometry/cylinder").get("radius")) * 2 for tyre in tyres] == [0.57] * 4
    heights = {float(tyre.find("origin").get("xyz").split()[2]) for tyre in tyres}
    assert heights == {joint.parent_t_zero[2, 3] for joint in MODEL.joints} == {0.0}
    positions = {joint.name: joint.parent_t_zero[0, 3] for joint in MODEL.joints}
    assert positions["front_steering"] - positions["rear_left_wheel"] == 1.6


def test_sensors_are_drawn_where_their_frames_are() -> None:
    """The antenna, the IMU's box and the stereo camera: no more than a hand from where the tables put them."""
    base = ElementTree.fromstring(TEXT).find("link[@name='base_link']")
    drawn = np.array([[float(n) for n in origin.get("xyz").split()] for origin in base.iter("origin")])
    edges = {edge.child: edge for edge in edges_from_published(ROSARIO.extrinsics, ROSARIO.tree)}
    for frame in ("gps", "imu"):
        assert edges[frame].parent == "base_link"
        assert np.linalg.norm(drawn - edges[frame].parent_t_child[:3, 3], axis=1).min() < 0.05
    cameras = [edges["imu"].parent_t_child @ edges[f"{side}_camera"].parent_t_child for side in ("left", "right")]
    middle = (cameras[0] + cameras[1])[:3, 3] / 2
    assert np.linalg.norm(drawn - middle, axis=1).min() < 0.05


def test_shapes_have_colours_and_sizes() -> None:
    shapes = shapes_of(TEXT)
    assert shapes.used == shapes.colours
    assert min(shapes.sizes_m) > 0.005 and max(shapes.sizes_m) < 2.5


def test_view_shows_topics_that_there_are_as_they_are_offered() -> None:
    kinds = {
        "sensor_msgs/msg/Image": "Image", "nav_msgs/msg/Odometry": "Odometry", "nav_msgs/msg/Path": "Path",
        "std_msgs/msg/String": "RobotModel",
    }  # fmt: skip
    types = {stream.topic: stream.type for stream in ROSARIO.streams} | COMPUTED
    shown = set()
    for display in displays_of_topics(VIEW, ROSARIO.namespace):
        shown.add(display.topic)
        assert display.kind == kinds[types[display.topic]]
        assert display.qos == offered_qos(lasting=display.kind in ("RobotModel", "Path")), display.name
    assert shown == {
        *COMPUTED, "ground_truth/odom", "odom_archived", "stereo/left/image_raw", "stereo/right/image_raw",
    }  # fmt: skip


def test_view_stands_in_odometry_s_frame_and_follows_robot() -> None:
    assert VIEW["Global Options"]["Fixed Frame"] == ODOMETRY.frame
    assert VIEW["Views"]["Current"]["Target Frame"] == ODOMETRY.child_frames[0]
    assert len({display["Name"] for display in VIEW["Displays"]}) == len(VIEW["Displays"])
