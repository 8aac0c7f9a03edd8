"""`ros2 launch` of KITTI: what the player publishes of a drive is what `convert` writes."""

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
from support.tiny_kitti import DATE, TinyDrive
from support.written import derived_messages, key

CLOUDS = "/kitti/lidar/points"
TYPES = {
    "/kitti/imu/data": "sensor_msgs/msg/Imu",
    "/kitti/gnss/velocity": "geometry_msgs/msg/TwistWithCovarianceStamped",
    "/kitti/gnss/odom": "nav_msgs/msg/Odometry",
    CLOUDS: "sensor_msgs/msg/PointCloud2",
    "/kitti/camera_gray_right/camera_info": "sensor_msgs/msg/CameraInfo",
    "/tf": "tf2_msgs/msg/TFMessage",
}


@pytest.mark.launch_test
def generate_test_description() -> tuple[LaunchDescription, dict[str, Any]]:
    folder = tempfile.TemporaryDirectory(prefix="fieldplay-test-")
    root = TinyDrive(Path(folder.name) / DATE).write_all().root
    return launched.launch_of("kitti", root, point_time="always"), {"root": root, "folder": folder}


class WhilePlaying(unittest.TestCase):
    def setUp(self) -> None:
        self.listener = TopicRecorder("kitti")
        self.addCleanup(self.listener.close)

    def test_live_topics_are_what_conversion_writes(self, root: Path, folder: Any) -> None:
        expected = derived_messages(root, Path(folder.name) / "bag", [*TYPES, "/tf_static"], point_time="always")
        launched.hear_all(self.listener, TYPES)
        launched.find_all(self.listener, TYPES, ())
        launched.play_to_the_end(self.listener, launched.last_keys(expected, TYPES))
        for topic in {*TYPES, "/tf_static"} - {CLOUDS}:
            launched.check_same(topic, self.listener.received[topic], expected[topic])
        clouds = {key(cloud): bytes(cloud.data) for cloud in self.listener.received[CLOUDS]}
        self.assertEqual(clouds, {key(cloud): bytes(cloud.data) for cloud in expected[CLOUDS]})
        self.assertEqual(len(self.listener.received[CLOUDS][0].fields), 5)  # with the time of each point


@launch_testing.post_shutdown_test()
class AfterShutdown(unittest.TestCase):
    def test_all_programs_ended_well(self, proc_info: Any, folder: Any) -> None:
        folder.cleanup()
        launch_testing.asserts.assertExitCodes(proc_info)
