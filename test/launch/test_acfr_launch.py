"""`ros2 launch` of ACFR: that every topic arrives as `convert --derived` writes it, and that tf is one tree."""

import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # a plain `launch_test` does not look beside its file

import pytest

import launch_testing
import launch_testing.asserts
from fieldplay_testing.nodes.node_stage import TopicRecorder
from launch import LaunchDescription
from support import launched_tests as launched
from support.tiny_acfr import START, TinyAcfr
from support.written import derived_messages

ODOM, TF = "/acfr/wheels/odom", "/tf"
LASERS = ("horizontal", "vertical", "port", "starboard")
TYPES = {
    ODOM: "nav_msgs/msg/Odometry",
    TF: "tf2_msgs/msg/TFMessage",
    "/acfr/nav/odom": "nav_msgs/msg/Odometry",
    "/acfr/nav/fix": "sensor_msgs/msg/NavSatFix",
    "/acfr/radar/points": "sensor_msgs/msg/PointCloud2",
    "/acfr/radar/spectrum": "sensor_msgs/msg/Image",
    "/acfr/radar/spectrum_points": "sensor_msgs/msg/PointCloud2",
    "/acfr/payload/wheels": "sensor_msgs/msg/JointState",
    "/acfr/payload/engine": "sensor_msgs/msg/JointState",
    "/acfr/payload/battery_12v": "sensor_msgs/msg/BatteryState",
    "/acfr/payload/battery_24v": "sensor_msgs/msg/BatteryState",
    "/acfr/payload/twist": "geometry_msgs/msg/TwistStamped",
    "/acfr/payload/brakes": "sensor_msgs/msg/JointState",
    "/acfr/payload/setpoints": "sensor_msgs/msg/JointState",
    **{f"/acfr/laser_{at}/scan": "sensor_msgs/msg/LaserScan" for at in LASERS},
    **{f"/acfr/laser_{at}/scan_filtered": "sensor_msgs/msg/LaserScan" for at in LASERS},
    **{f"/acfr/{camera}_camera/image_raw": "sensor_msgs/msg/Image" for camera in ("visual", "ir")},
    **{f"/acfr/{camera}_camera/camera_info": "sensor_msgs/msg/CameraInfo" for camera in ("visual", "ir")},
}
COMPARED = (ODOM, TF, "/tf_static", *(f"/acfr/laser_{at}/scan_filtered" for at in LASERS))
SENSORS = {f"laser_{at}" for at in LASERS}
SENSORS |= {"radar", "visual_camera", "ir_camera"}


@pytest.mark.launch_test
def generate_test_description() -> tuple[LaunchDescription, dict[str, Any]]:
    folder = tempfile.TemporaryDirectory(prefix="fieldplay-test-")
    archive = TinyAcfr(Path(folder.name) / "29-DynamicDayTriangleClear", seconds=1.5)
    archive.write_all()
    return launched.launch_of("acfr", archive.root), {"root": archive.root, "folder": folder}


class WhilePlaying(unittest.TestCase):
    def setUp(self) -> None:
        self.listener = TopicRecorder("acfr")
        self.addCleanup(self.listener.close)

    def test_every_topic_arrives_and_computed_ones_are_what_conversion_writes(self, root: Path, folder: Any) -> None:
        expected = derived_messages(root, Path(folder.name) / "bag", TYPES)
        self.assertEqual(set(expected), {*TYPES, "/tf_static"})
        launched.hear_all(self.listener, TYPES)
        received, graph = self.listener.received, self.listener.node
        launched.find_all(self.listener, TYPES, ["/acfr/payload/wheels"], readers=2)  # the node, and this one
        self.assertEqual(graph.count_publishers(TF), 1)
        ends = launched.last_keys(expected, TYPES)
        launched.play_to_the_end(self.listener, ends)  # all find each other; the second round counts, after a jump back
        launched.play_again_in_full(self.listener, expected, TYPES, START)
        self.assertGreater(len(expected[ODOM]), 10)
        for topic in (*TYPES, "/tf_static"):
            launched.check_same(topic, received[topic], expected[topic], numbers_too=topic in COMPARED)

    def test_tf_tree_is_complete_and_has_one_root(self, root: Path, folder: Any) -> None:
        written = derived_messages(root, Path(folder.name) / "tree", [TF])
        parents = launched.parents_in(message for part in written.values() for message in part)
        self.assertEqual(set(parents.values()) - set(parents), {"map"})
        self.assertEqual(set(parents), {"base_link", "odom"} | SENSORS)
        self.assertEqual((parents["base_link"], parents["odom"]), ("map", "map"))
        self.assertEqual([len(message.transforms) for message in written[TF]], [1] * 30)

    def test_robot_s_model_is_offered(self) -> None:
        self.assertIn('<robot name="argo">', launched.model_offered(self.listener))


@launch_testing.post_shutdown_test()
class AfterPlaying(unittest.TestCase):
    def test_all_processes_end_well(self, proc_info: Any, proc_output: Any, folder: Any) -> None:
        folder.cleanup()
        launch_testing.asserts.assertExitCodes(proc_info)
        message = launched.said_by(proc_output)
        self.assertIn("[acfr.skid_steer_odometry]", message)
        self.assertIn("starting anew", message)
