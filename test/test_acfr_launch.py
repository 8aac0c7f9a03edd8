"""`ros2 launch` of ACFR: that every topic arrives as `convert --derived` writes it, and that tf is one tree."""

import tempfile
import unittest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ament_index_python.packages import get_package_share_directory
from audience import Audience
from rosbag2_interfaces import srv
from tiny_acfr import START, TinyAcfr
from written import derived_messages, key, numbers

import launch_testing
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing.actions import ReadyToTest

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
    file = Path(get_package_share_directory("fieldplay_bringup"), "launch", "acfr.launch.py")
    arguments = {"archive": str(archive.root), "paused": "true", "clock": "50.0", "on_end": "pause"}
    launch = IncludeLaunchDescription(PythonLaunchDescriptionSource(str(file)), launch_arguments=arguments.items())
    return LaunchDescription([launch, ReadyToTest()]), {"root": archive.root, "folder": folder}


class WhilePlaying(unittest.TestCase):
    def setUp(self) -> None:
        self.audience = Audience("acfr")
        self.addCleanup(self.audience.close)

    def test_every_topic_arrives_and_the_computed_ones_are_what_a_conversion_writes(
        self, root: Path, folder: Any
    ) -> None:
        expected = derived_messages(root, Path(folder.name) / "bag", TYPES)
        self.assertEqual(set(expected), {*TYPES, "/tf_static"})
        for topic, msgtype in TYPES.items():
            self.audience.hear(topic, msgtype)
        self.audience.hear("/tf_static", "tf2_msgs/msg/TFMessage", latched=True)
        heard, graph = self.audience.heard, self.audience.node
        self.audience.wait(lambda: self.audience.count("/tf_static") == 1, lambda: "no /tf_static")

        def discovered() -> bool:
            is_heard = graph.count_subscribers("/acfr/payload/wheels") > 1  # the node, and this one
            return is_heard and all(graph.count_publishers(topic) > 0 for topic in TYPES)

        with self.audience.changed:
            while not discovered():
                self.audience.changed.wait(0.1)
        self.assertEqual(graph.count_publishers(TF), 1)
        self.audience.ask(srv.Resume, "resume")  # all find each other; the second round counts, after a jump back
        ends = {topic: max(map(key, expected[topic])) for topic in TYPES}
        self.audience.wait(
            lambda: all(any(key(message) == end for message in heard[topic]) for topic, end in ends.items()),
            lambda: {topic: len(heard[topic]) for topic in TYPES},
        )
        self.audience.ask(srv.Pause, "pause")
        for topic in TYPES:
            heard[topic].clear()
        request = srv.Seek.Request()
        request.time.sec = START
        self.assertTrue(self.audience.ask(srv.Seek, "seek", time=request.time).success)
        self.audience.ask(srv.Resume, "resume")
        self.audience.wait(
            lambda: all(len(heard[topic]) >= len(expected[topic]) for topic in TYPES),
            lambda: {topic: (len(heard[topic]), len(expected[topic])) for topic in TYPES},
        )
        self.assertGreater(len(expected[ODOM]), 10)
        for topic in (*TYPES, "/tf_static"):
            live, written = sorted(heard[topic], key=key), sorted(expected[topic], key=key)
            self.assertEqual([key(message) for message in live], [key(message) for message in written], topic)
            for one, other in zip(live, written, strict=True) if topic in COMPARED else ():
                np.testing.assert_allclose(numbers(one), numbers(other), rtol=1e-9, atol=1e-12)

    def test_the_tf_tree_is_complete_and_has_one_root(self, root: Path, folder: Any) -> None:
        parents: dict[str, str] = {}
        written = derived_messages(root, Path(folder.name) / "tree", [TF])
        for message in [message for part in written.values() for message in part]:
            for transform in message.transforms:
                parent = parents.setdefault(transform.child_frame_id, transform.header.frame_id)
                self.assertEqual(parent, transform.header.frame_id)
        self.assertEqual(set(parents.values()) - set(parents), {"map"})
        self.assertEqual(set(parents), {"base_link", "odom"} | SENSORS)
        self.assertEqual((parents["base_link"], parents["odom"]), ("map", "map"))
        self.assertEqual([len(message.transforms) for message in written[TF]], [1] * 30)

    def test_the_robot_s_model_is_offered(self) -> None:
        self.audience.hear("/acfr/robot_description", "std_msgs/msg/String", latched=True)
        heard = self.audience.heard["/acfr/robot_description"]
        self.audience.wait(lambda: len(heard) == 1, lambda: "no model")
        self.assertIn('<robot name="argo">', heard[0].data)


@launch_testing.post_shutdown_test()
class AfterPlaying(unittest.TestCase):
    def test_all_processes_end_well(self, proc_info: Any, proc_output: Any, folder: Any) -> None:
        folder.cleanup()
        launch_testing.asserts.assertExitCodes(proc_info)
        said = b"".join(event.text for name in proc_output.process_names() for event in proc_output[name]).decode()
        self.assertIn("[acfr.skid_steer_odometry]", said)
        self.assertIn("starting anew", said)
