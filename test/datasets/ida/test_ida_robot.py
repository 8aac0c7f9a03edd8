"""InSight's arm on its lander as urdf/insight_ida.urdf describes it, and the view of RViz that shows it."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from fieldplay.datasets.spec import spec_from_file
from fieldplay.geometry.extrinsics import edges_from_published
from fieldplay.geometry.transforms import rotation_from_fixed_xyz
from fieldplay.geometry.urdf_model import fixed_transforms, link_poses_from_positions, model_from_text
from fieldplay.kinematics.insight_arm import HANGING, JOINTS, RIGID, links_of_arm, pose_of_tool
from fieldplay.kinematics.insight_arm_computation import (
    FRAMES,
    HELD,
    frames_from_joints,
    lander_model_from_settings,
    parents_of_frames,
)
from fieldplay_testing.insight_arm_settings import arm_settings
from support.robot_models import (
    displays_of_topics,
    offered_qos,
    parents_by_ros,
    shapes_of,
    view_of,
)

ROOT = Path(__file__).parents[3]
FILE = ROOT / "urdf" / "insight_ida.urdf"
TEXT = FILE.read_text()
MODEL = model_from_text(TEXT)
IDA = spec_from_file(ROOT / "config" / "datasets" / "ida.yaml")
VIEW = view_of("ida")
ARM = lander_model_from_settings(arm_settings(dh_set="sis"))
ANGLES = np.random.default_rng(12).uniform(-2, 2, (50, 4))
STATIC = {"lander", "idc_camera"}  # of the frames that the player publishes, those below or above the arm
COMPUTED = {
    "tcp": "geometry_msgs/msg/PoseStamped",
    "tcp_deflected": "geometry_msgs/msg/PoseStamped",
    "robot_description": "std_msgs/msg/String",
}


def test_links_are_frames_of_arm_s_node_and_of_player() -> None:
    (derived,) = (derived for derived in IDA.derived if derived.kind == "lander_arm")
    assert (IDA.robot, MODEL.root, derived.child_frames) == (FILE.stem, "payload", FRAMES)
    assert set(MODEL.links) == {"payload", *FRAMES, *STATIC}
    owned = {child for children in IDA.tree.values() for child in children}
    assert owned >= STATIC and not owned & set(FRAMES)


def test_chain_reaches_frames_of_denavit_and_hartenberg_and_rigid_tools() -> None:
    poses = link_poses_from_positions(MODEL, JOINTS, ANGLES)
    for number, name in enumerate(("link_1", "link_2", "link_3", "effector")):
        np.testing.assert_allclose(poses[name], links_of_arm(ARM.arm, ANGLES)[:, number], atol=1e-8)
    for tool in RIGID:
        np.testing.assert_allclose(poses[tool], pose_of_tool(ARM.arm, tool, ANGLES), atol=1e-7)
    assert not set(HELD) & set(poses)


def test_moving_parts_stand_where_node_puts_them() -> None:
    poses = link_poses_from_positions(MODEL, JOINTS, ANGLES)
    transforms = frames_from_joints(ARM, ANGLES, np.zeros(50, np.uint8))
    in_payload = {"payload": np.broadcast_to(np.eye(4), (50, 4, 4))}
    for index, (frame, parent) in enumerate(zip(FRAMES, parents_of_frames("payload", FRAMES), strict=True)):
        in_payload[frame] = in_payload[parent] @ transforms[:, index]
    for frame in set(poses) & set(FRAMES):
        np.testing.assert_allclose(poses[frame], in_payload[frame], atol=1e-7, err_msg=frame)


def test_what_gravity_places_stands_on_floating_joints_as_of_stretched_arm_over_level_ground() -> None:
    floating = {joint.child: joint for joint in MODEL.joints if joint.kind == "floating"}
    assert set(floating) == {*HELD, "tool_cylindrical"}
    for frame, tool in zip(HELD, HANGING, strict=True):
        assert floating[frame].parent == "grapple_attach"
        np.testing.assert_allclose(floating[frame].parent_t_zero[:3, 3], (0, 0, ARM.arm.hang_m[tool]))


def test_limits_are_those_of_arm() -> None:
    limits = {element.get("name"): element.find("limit") for element in ElementTree.fromstring(TEXT).iter("joint")}
    expected = IDA.constants["arm_limits"]
    for end, name in (("lower", "q_min_rad"), ("upper", "q_max_rad")):
        assert [float(limits[joint].get(end)) for joint in JOINTS] == expected[name]
    assert [float(limits[joint].get("effort")) for joint in JOINTS] == [35, 120, 65, 10.5]


def test_player_s_frames_stand_where_its_tree_has_them() -> None:
    fixed = fixed_transforms(MODEL)
    for edge in edges_from_published(IDA.extrinsics, IDA.tree):
        if edge.child in STATIC:
            assert MODEL.parents[edge.child] == edge.parent
            np.testing.assert_allclose(fixed[edge.child], edge.parent_t_child, atol=2e-6, err_msg=edge.child)


@pytest.mark.parametrize(
    ("position", "turn"),
    [((-0.408, -0.319, -0.334), 0.357808), ((-0.996, -0.459, -0.261), 0.0), ((-0.861, -0.008, -0.455), -0.353446)],
)
def test_instruments_are_drawn_where_parameter_file_has_them(position: tuple[float, ...], turn: float) -> None:
    """Each stands on the deck and reaches up to its place: up is -z."""
    payload = ElementTree.fromstring(TEXT).find("link[@name='payload']")
    drawn = {}
    for visual in payload.findall("visual"):
        origin = visual.find("origin")
        x, y, z = map(float, origin.get("xyz").split())
        drawn[x, y, 2 * z] = rotation_from_fixed_xyz([float(n) for n in origin.get("rpy", "0 0 0").split()])
    assert position in drawn
    assert np.arctan2(drawn[position][1, 0], drawn[position][0, 0]) == pytest.approx(turn, abs=1e-3)


def test_parser_of_ros_reads_same_tree() -> None:
    assert parents_by_ros(FILE, "payload") == MODEL.parents


def test_shapes_have_colours_and_sizes() -> None:
    shapes = shapes_of(TEXT)
    assert shapes.used == shapes.colours
    assert min(shapes.sizes_m) > 0.005 and max(shapes.sizes_m) < 1.5


def test_view_shows_topics_that_there_are_as_they_are_offered() -> None:
    kinds = {
        "geometry_msgs/msg/PoseStamped": "Pose", "geometry_msgs/msg/WrenchStamped": "Wrench",
        "std_msgs/msg/String": "RobotModel",
    }  # fmt: skip
    types = {stream.topic: stream.type for stream in IDA.streams} | COMPUTED
    shown = set()
    for display in displays_of_topics(VIEW, IDA.namespace):
        shown.add(display.topic)
        assert display.kind == kinds[types[display.topic]]
        assert display.qos == offered_qos(lasting=display.topic == "robot_description"), display.name
    assert shown == {*COMPUTED, "archived/tool_enc", "wrench"}


def test_view_stands_upright_in_map_whose_origin_is_arm_s() -> None:
    assert VIEW["Global Options"]["Fixed Frame"] == VIEW["Views"]["Current"]["Target Frame"] == "map"
    (edge,) = (edge for edge in edges_from_published(IDA.extrinsics, IDA.tree) if edge.child == "local_level")
    assert edge.parent == "map" and not edge.parent_t_child[:3, 3].any()
    assert len({display["Name"] for display in VIEW["Displays"]}) == len(VIEW["Displays"])
