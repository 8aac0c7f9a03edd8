"""The Argo of the ACFR datasets as urdf/argo.urdf describes it, and the view of RViz that shows it."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldplay.datasets.spec import spec_from_file
from fieldplay.geometry.extrinsics import edges_from_published
from fieldplay.geometry.transforms import quaternion_from_rotation
from fieldplay.geometry.urdf_model import fixed_transforms, model_from_text
from fieldplay.kinematics.skid_steer_odometry import skid_steer_from_settings
from support.robot_models import (
    displays_of_topics,
    offered_qos,
    parents_by_ros,
    shapes_of,
    view_of,
)

ROOT = Path(__file__).parents[3]
FILE = ROOT / "urdf" / "argo.urdf"
TEXT = FILE.read_text()
MODEL = model_from_text(TEXT)
ACFR = spec_from_file(ROOT / "config" / "datasets" / "acfr.yaml")
VIEW = view_of("acfr")
ODOMETRY = next(derived for derived in ACFR.derived if derived.kind == "skid_steer_odometry")
IMU_HEIGHT_M = 0.93
# The facts' transforms, computed from the report's tables by another way: metres, and the quaternion x y z w.
PLACES = {
    "laser_horizontal": ((0.108987, -0.008302, 0.919726), (-0.007442202, 0.074764509, 0.014673940, 0.997065473)),
    "laser_vertical": ((-0.000291, 0.082272, 1.126802), (0.698142817, 0.007580259, 0.006297898, 0.715890692)),
    "laser_port": ((0.190857, 0.548777, 0.763776), (-0.004723424, 0.022756928, 0.015854280, 0.999604148)),
    "laser_starboard": ((0.198663, -0.534253, 0.849538), (-0.005383311, 0.003651945, 0.020525629, 0.999768164)),
    "radar": ((-0.025753, 0.047174, 1.399104), (0.993539706, 0.058476645, -0.097005753, 0.007015579)),
    "visual_camera": ((0.183635946, -0.414215997, 1.219122630), (-0.569131368, 0.539748320, -0.435233060, 0.441965406)),
    "ir_camera": ((0.266830288, 0.353304530, 1.195903685), (-0.587281885, 0.534418893, -0.428627021, 0.431016602)),
}  # fmt: skip


def wheels() -> dict[str, Any]:
    base = ElementTree.fromstring(TEXT).find("link[@name='base_link']")
    return {visual.get("name"): visual for visual in base.iter("visual") if visual.get("name")}


def place_of(visual: Any) -> list[float]:
    return [float(number) for number in visual.find("origin").get("xyz").split()]


def test_every_link_is_frame_that_player_sends() -> None:
    assert ACFR.robot == FILE.stem
    assert (MODEL.root, set(MODEL.links)) == ("base_link", {"base_link", *ACFR.tree["base_link"]})
    assert {joint.kind for joint in MODEL.joints} == {"fixed"}


def test_links_stand_where_facts_have_them_and_where_player_puts_them() -> None:
    sent = {edge.child: edge.parent_t_child for edge in edges_from_published(ACFR.extrinsics, ACFR.tree)}
    by_name = {child: transform for (_, child), transform in edges_of_model().items()}
    assert set(by_name) == set(PLACES) == set(sent)
    for frame, (position, quaternion) in PLACES.items():
        np.testing.assert_allclose(by_name[frame], sent[frame], atol=1e-8)
        np.testing.assert_allclose(by_name[frame][:3, 3], position, atol=1e-8)
        turn = quaternion_from_rotation(by_name[frame][:3, :3])
        assert abs(turn @ np.array(quaternion)) == pytest.approx(1, abs=1e-9)


def edges_of_model() -> dict[tuple[str, str], Any]:
    parents = {joint.child: joint.parent for joint in MODEL.joints}
    return {(parents[child], child): transform for child, transform in fixed_transforms(MODEL).items()}


def test_parser_of_ros_reads_same_tree() -> None:
    assert parents_by_ros(FILE, "base_link") == MODEL.parents


def test_eight_wheels_stand_on_ground_four_on_side() -> None:
    base = skid_steer_from_settings(ODOMETRY.settings).base
    assert set(wheels()) == {f"{side}_wheel_{number}" for side in ("left", "right") for number in range(1, 5)}
    for name, wheel in wheels().items():
        x, y, z = place_of(wheel)
        tyre = wheel.find("geometry/cylinder")
        assert float(tyre.get("radius")) == base.wheel_radius_m
        assert z - base.wheel_radius_m == pytest.approx(-IMU_HEIGHT_M)
        assert y == (base.track_m / 2 if name.startswith("left") else -base.track_m / 2)
        assert x == pytest.approx(0.9 - 0.6 * (int(name[-1]) - 1))


def test_front_wheels_are_as_report_s_plan_of_static_scene_has_them() -> None:
    """157 cm from outside to outside, 91 cm before the sensor frame, which lies 11 cm before the IMU at most."""
    front = {name: wheel for name, wheel in wheels().items() if name.endswith("_1")}
    widths = [float(wheel.find("geometry/cylinder").get("length")) for wheel in front.values()]
    left, right = (place_of(front[f"{side}_wheel_1"]) for side in ("left", "right"))
    assert left[1] - right[1] + widths[0] == pytest.approx(1.57)
    assert left[0] == pytest.approx(0.91, abs=0.11)


def test_shapes_have_colours_and_sizes() -> None:
    shapes = shapes_of(TEXT)
    assert shapes.used == shapes.colours
    assert min(shapes.sizes_m) > 0.01 and max(shapes.sizes_m) < 3.0


def test_view_shows_topics_that_there_are_as_they_are_offered() -> None:
    kinds = {
        "sensor_msgs/msg/Image": "Image", "sensor_msgs/msg/LaserScan": "LaserScan", "nav_msgs/msg/Odometry": "Odometry",
        "sensor_msgs/msg/PointCloud2": "PointCloud2", "std_msgs/msg/String": "RobotModel",
        "visualization_msgs/msg/MarkerArray": "MarkerArray",
    }  # fmt: skip
    types = {stream.topic: stream.type for stream in ACFR.streams}
    types |= {"wheels/odom": "nav_msgs/msg/Odometry", "robot_description": "std_msgs/msg/String"}
    shown = set()
    for display in displays_of_topics(VIEW, ACFR.namespace):
        shown.add(display.topic)
        assert display.kind == kinds[types[display.topic]], display.topic
        assert display.qos == offered_qos(lasting=display.kind in ("RobotModel", "MarkerArray")), display.name
    assert shown == {
        "reference_objects", "robot_description", "nav/odom", "wheels/odom",
        "radar/points", "radar/spectrum", "radar/spectrum_points",
        "visual_camera/image_raw", "ir_camera/image_raw",
        *(f"laser_{position}/scan" for position in ("horizontal", "vertical", "port", "starboard")),
    }  # fmt: skip


def test_view_stands_in_map_follows_vehicle_and_gives_its_displays_apart() -> None:
    assert VIEW["Global Options"]["Fixed Frame"] == "map"
    assert VIEW["Views"]["Current"]["Target Frame"] == "base_link"
    assert len({display["Name"] for display in VIEW["Displays"]}) == len(VIEW["Displays"])
    lasers = [display for display in VIEW["Displays"] if display["Class"].endswith("LaserScan")]
    assert len({laser["Color"] for laser in lasers}) == 4
    trails = [display for display in VIEW["Displays"] if display["Class"].endswith("Odometry")]
    assert [path["Keep"] for path in trails] == [1000, 1000]
    assert len({path["Shape"]["Color"] for path in trails}) == 2
