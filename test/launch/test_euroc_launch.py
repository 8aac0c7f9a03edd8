"""`ros2 launch` of EuRoC: what the player publishes of a sequence is what `convert` writes."""

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
from support.tiny_euroc import TinyEuroc
from support.written import derived_messages

TYPES = {
    "/euroc/imu/data_raw": "sensor_msgs/msg/Imu",
    "/euroc/ground_truth/odom": "nav_msgs/msg/Odometry",
    "/euroc/leica/position": "geometry_msgs/msg/PointStamped",
    "/euroc/cam1/camera_info": "sensor_msgs/msg/CameraInfo",
    "/tf": "tf2_msgs/msg/TFMessage",
}


@pytest.mark.launch_test
def generate_test_description() -> tuple[LaunchDescription, dict[str, Any]]:
    folder = tempfile.TemporaryDirectory(prefix="fieldplay-test-")
    root = TinyEuroc(Path(folder.name) / "V1_01_easy").write_all().root
    return launched.launch_of("euroc", root, imu_noise_factor="5.0"), {"root": root, "folder": folder}


class WhilePlaying(unittest.TestCase):
    def setUp(self) -> None:
        self.listener = TopicRecorder("euroc")
        self.addCleanup(self.listener.close)

    def test_live_topics_are_what_conversion_writes(self, root: Path, folder: Any) -> None:
        expected = derived_messages(root, Path(folder.name) / "bag", [*TYPES, "/tf_static"], imu_noise_factor=5.0)
        launched.hear_all(self.listener, TYPES)
        launched.find_all(self.listener, TYPES, ())
        launched.play_to_the_end(self.listener, launched.last_keys(expected, TYPES))
        for topic in (*TYPES, "/tf_static"):
            launched.check_same(topic, self.listener.received[topic], expected[topic])


@launch_testing.post_shutdown_test()
class AfterShutdown(unittest.TestCase):
    def test_all_programs_ended_well(self, proc_info: Any, folder: Any) -> None:
        folder.cleanup()
        launch_testing.asserts.assertExitCodes(proc_info)
