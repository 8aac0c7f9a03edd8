"""SherpaTT as urdf/sherpatt.urdf describes it, against its geometry by hand, and the view of RViz that shows it."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from fieldplay.datasets.spec import spec_from_file
from fieldplay.geometry.extrinsics import edges_from_published
from fieldplay.geometry.urdf_model import fixed_transforms, link_poses_from_positions, model_from_text
from support.robot_models import (
    displays_of_topics,
    offered_qos,
    parents_by_ros,
    shapes_of,
    view_of,
)

ROOT = Path(__file__).parents[3]
FILE = ROOT / "urdf" / "sherpatt.urdf"
TEXT = FILE.read_text()
MODEL = model_from_text(TEXT)
SHERPATT = spec_from_file(ROOT / "config" / "datasets" / "sherpatt.yaml")
VIEW = view_of("sherpatt")
LEGS = {"front_left": (1, 1), "front_right": (1, -1), "rear_left": (-1, 1), "rear_right": (-1, -1)}
LINKS = (
    "pan", "inner_strut", "inner_leg", "knee", "outer_strut", "outer_leg", "wheel_upper", "wheel_lower", "wheel",
    "wheel_end_point", "force_torque_sensor",
)  # fmt: skip
MIMICS = {
    "beta1_fake": ("beta", -1),
    "beta2_fake": ("beta", 1),
    "gamma1_fake": ("gamma", -1),
    "gamma2_fake": ("gamma", 1),
}
AT_REST = {"alpha": 0.0, "beta": np.radians(-26.14), "gamma": np.radians(34.84), "phi": 0.0, "omega": 0.0}
ANGLES = st.fixed_dictionaries(
    {
        "alpha": st.floats(-1.57, 2.18),
        "beta": st.floats(-0.87, 0.29),
        "gamma": st.floats(-0.01, 1.3),
        "phi": st.floats(-2.8, 2.8),
        "omega": st.floats(-10, 10),
    }
)


def poses(angles: Mapping[str, float]) -> dict[str, np.ndarray]:
    """base_T_link (4, 4), all legs alike."""
    names = [f"{joint}_{leg}" for joint in angles for leg in LEGS]
    return link_poses_from_positions(MODEL, names, np.repeat(list(angles.values()), len(LEGS)))


def contact(leg: str, angles: Mapping[str, float]) -> np.ndarray:
    """Where a wheel meets the ground (3,), by the lengths of the struts in the plane of the leg."""
    lower = angles["gamma"] + 0.13055
    out = 0.1375 + 0.4 * np.cos(angles["beta"]) + 0.045 + 0.4 * np.cos(lower) + 0.04302
    down = 0.4 * np.sin(angles["beta"]) + 0.4 * np.sin(lower) + 0.355 + 0.2
    ahead, left = LEGS[leg]
    direction = np.arctan2(left, ahead) + angles["alpha"]
    return np.array([0.4 * ahead + out * np.cos(direction), 0.4 * left + out * np.sin(direction), -down])


def test_each_leg_has_eleven_links_on_body_and_no_arm() -> None:
    assert SHERPATT.robot == FILE.stem
    assert MODEL.root == "base_link"
    assert set(MODEL.links) == {"base_link", *(f"{link}_{leg}" for link in LINKS for leg in LEGS)}
    assert (len(MODEL.joints), len(MODEL.links)) == (44, 45)


def test_parser_of_ros_reads_same_tree() -> None:
    assert parents_by_ros(FILE, "base_link") == MODEL.parents


def test_joints_that_close_parallelograms_follow_driven_ones() -> None:
    by_name = {joint.name: joint.mimic for joint in MODEL.joints if joint.mimic is not None}
    assert {name: tuple(mimic) for name, mimic in by_name.items()} == {
        f"{fake}_{leg}": (f"{driven}_{leg}", factor, 0) for fake, (driven, factor) in MIMICS.items() for leg in LEGS
    }


def test_at_rest_wheels_stand_on_ground_below_corners_of_square() -> None:
    actual = poses(AT_REST)
    for leg, (ahead, left) in LEGS.items():
        position = actual[f"wheel_end_point_{leg}"][:3, 3]
        np.testing.assert_allclose(position, [1.0237 * ahead, 1.0237 * left, -0.6485], atol=2e-3)


@given(ANGLES)
def test_wheels_stand_where_lengths_of_struts_bring_them(angles: dict[str, float]) -> None:
    actual = poses(angles)
    for leg in LEGS:
        np.testing.assert_allclose(actual[f"wheel_end_point_{leg}"][:3, 3], contact(leg, angles), atol=1e-9)


@given(ANGLES)
def test_parallelograms_keep_knee_and_wheel_s_column_upright(angles: dict[str, float]) -> None:
    actual = poses(angles)
    for leg, (ahead, left) in LEGS.items():
        upright = Rotation.from_euler("xz", [-np.pi / 2, np.arctan2(left, ahead) + angles["alpha"]]).as_matrix()
        for link in ("knee", "wheel_upper"):
            np.testing.assert_allclose(actual[f"{link}_{leg}"][:3, :3], upright, atol=1e-9)
        np.testing.assert_allclose(actual[f"wheel_lower_{leg}"][:3, 2], [0, 0, 1], atol=1e-9)
        np.testing.assert_allclose(actual[f"wheel_{leg}"][2, 2], 0, atol=1e-9)  # its axle is level


@given(ANGLES)
def test_second_struts_end_where_knee_and_column_hold_them(angles: dict[str, float]) -> None:
    """Struts of one length, so that each end keeps its place in the part that it holds: what closes the loop."""
    actual, end = poses(angles), np.array([0.4, 0, 0, 1])
    for leg in LEGS:
        for strut, held, position in (
            ("inner_leg", "knee", (-0.0875, -0.15155)),
            ("outer_leg", "wheel_upper", (0.085, -0.127)),
        ):
            seen = np.linalg.inv(actual[f"{held}_{leg}"]) @ actual[f"{strut}_{leg}"] @ end
            np.testing.assert_allclose(seen[:3], [*position, 0], atol=1e-9)


def test_phi_steers_to_left_and_wheel_rolls_about_its_axle() -> None:
    straight, steered = poses(AT_REST), poses({**AT_REST, "phi": 0.3, "omega": 1.0})
    for leg in LEGS:
        turn = Rotation.from_matrix(steered[f"wheel_lower_{leg}"][:3, :3] @ straight[f"wheel_lower_{leg}"][:3, :3].T)
        np.testing.assert_allclose(turn.as_rotvec(), [0, 0, 0.3], atol=1e-9)
        axle = steered[f"wheel_{leg}"][:3, 2]
        lower = steered[f"wheel_lower_{leg}"][:3, :3]
        np.testing.assert_allclose(axle, -lower[:, 0], atol=1e-9)
        rolled = Rotation.from_matrix(
            steered[f"wheel_{leg}"][:3, :3] @ (lower @ Rotation.from_euler("y", -np.pi / 2).as_matrix()).T
        )
        np.testing.assert_allclose(rolled.as_rotvec(), axle, atol=1e-9)


def test_limits_hold_joints_and_legs_at_rest_are_within() -> None:
    limits = {element.get("name"): element.find("limit") for element in ElementTree.fromstring(TEXT).iter("joint")}
    for leg in LEGS:
        low, high = ([float(limits[f"{joint}_{leg}"].get(end)) for joint in ("alpha", "beta", "gamma", "phi")]
                     for end in ("lower", "upper"))  # fmt: skip
        np.testing.assert_allclose(
            np.stack([low, high]), [(-1.5708, -0.8727, -0.01745, -2.8798), (2.1817, 0.2967, 1.309, 2.8798)]
        )
        assert all(low[i] < AT_REST[joint] < high[i] for i, joint in enumerate(("alpha", "beta", "gamma", "phi")))
        assert limits[f"omega_{leg}"] is None


def test_what_stands_still_in_legs_is_sent_by_player_as_model_has_it() -> None:
    sent = {edge.child: edge for edge in edges_from_published(SHERPATT.extrinsics, SHERPATT.tree)}
    fixed = fixed_transforms(MODEL)
    assert set(fixed) == {f"{link}_{leg}" for link in ("wheel_end_point", "force_torque_sensor") for leg in LEGS}
    for child, transform in fixed.items():
        assert sent[child].parent == MODEL.parents[child]
        np.testing.assert_allclose(sent[child].parent_t_child, transform, atol=1e-12)
    assert not {joint.child for joint in MODEL.joints if joint.kind != "fixed"} & set(sent)


def test_shapes_have_colours_and_sizes_and_struts_their_length() -> None:
    shapes = shapes_of(TEXT)
    assert shapes.used == shapes.colours
    assert min(shapes.sizes_m) > 0.01 and max(shapes.sizes_m) < 1.0
    robot = ElementTree.fromstring(TEXT)
    for leg in LEGS:
        tyre = robot.find(f"link[@name='wheel_{leg}']/visual/geometry/cylinder")
        assert tyre.get("radius") == "0.2"


def test_view_shows_topics_that_there_are_as_they_are_offered() -> None:
    kinds = {
        "sensor_msgs/msg/Image": "Image", "nav_msgs/msg/Odometry": "Odometry", "nav_msgs/msg/Path": "Path",
        "sensor_msgs/msg/PointCloud2": "PointCloud2", "std_msgs/msg/String": "RobotModel",
    }  # fmt: skip
    types = {stream.topic: stream.type for stream in SHERPATT.streams}
    types |= {"path": "nav_msgs/msg/Path", "robot_description": "std_msgs/msg/String"}
    lasting = {"path", "robot_description"} | {stream.topic for stream in SHERPATT.streams if stream.latched}
    shown = set()
    for display in displays_of_topics(VIEW, SHERPATT.namespace):
        shown.add(display.topic)
        assert display.kind == kinds[types[display.topic]], display.topic
        assert display.qos == offered_qos(lasting=display.topic in lasting), display.name
    assert shown == {
        "robot_description", "wheel_odom", "dgps/odom", "path", "velodyne/points", "surface", "stereo/left/image_raw",
        "stereo/right/image_raw",
    }  # fmt: skip


def test_view_stands_in_map_and_follows_rover() -> None:
    assert VIEW["Global Options"]["Fixed Frame"] == "map"
    assert VIEW["Views"]["Current"]["Target Frame"] == "base_link"
    assert len({display["Name"] for display in VIEW["Displays"]}) == len(VIEW["Displays"])
    trails = [display for display in VIEW["Displays"] if display["Class"].endswith("Odometry")]
    assert len({path["Shape"]["Color"] for path in trails}) == len(trails) == 2
