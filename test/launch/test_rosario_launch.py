"""`ros2 launch` of Rosario: that the live odometry is what `convert --derived` writes, and that tf is one tree."""

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
from support.tiny_rosario import START, TinyRosario
from support.written import derived_messages

DERIVED = {
    "/rosario/odom": "nav_msgs/msg/Odometry",
    "/rosario/path": "nav_msgs/msg/Path",
    "/tf": "tf2_msgs/msg/TFMessage",
}
JOINTS = {"rear_left_wheel", "rear_right_wheel", "front_steering"}


@pytest.mark.launch_test
def generate_test_description() -> tuple[LaunchDescription, dict[str, Any]]:
    folder = tempfile.TemporaryDirectory(prefix="fieldplay-test-")
    archive = TinyRosario(Path(folder.name) / "sequence01")
    archive.write_all()
    return launched.launch_of("rosario", archive.root, images="compressed"), {"root": archive.root, "folder": folder}


class WhilePlaying(unittest.TestCase):
    def setUp(self) -> None:
        self.listener = TopicRecorder("rosario")
        self.addCleanup(self.listener.close)

    def test_live_odometry_is_what_conversion_writes(self, root: Path, folder: Any) -> None:
        expected = derived_messages(root, Path(folder.name) / "bag", DERIVED)
        launched.hear_all(self.listener, DERIVED, latched=["/rosario/path"])
        received = self.listener.received
        launched.find_all(self.listener, DERIVED, ["/rosario/wheels/joint_states"])
        ends = launched.last_keys(expected, DERIVED)
        launched.play_to_the_end(self.listener, ends)  # all find each other; the second round counts, after a jump back
        launched.play_again_in_full(self.listener, expected, DERIVED, START)
        self.assertGreater(len(expected["/rosario/odom"]), 10)
        self.assertGreater(len(expected["/rosario/path"][-1].poses), 1)
        for topic in (*DERIVED, "/tf_static"):
            launched.check_same(topic, received[topic], expected[topic])

    def test_tf_tree_is_complete_and_has_one_root(self, root: Path, folder: Any) -> None:
        written = derived_messages(root, Path(folder.name) / "tree", ["/tf", "/tf_static"])
        parents = launched.parents_in(message for part in written.values() for message in part)
        self.assertEqual(set(parents.values()) - set(parents), {"map"})
        self.assertEqual(
            set(parents), {"odom", "base_link", "imu", "gps", "left_camera", "right_camera", "ground_truth"} | JOINTS
        )

    def test_robot_s_model_is_offered(self) -> None:
        self.assertIn('<robot name="rosario">', launched.model_offered(self.listener))


@launch_testing.post_shutdown_test()
class AfterPlaying(unittest.TestCase):
    def test_all_processes_end_well(self, proc_info: Any, proc_output: Any, folder: Any) -> None:
        folder.cleanup()
        launch_testing.asserts.assertExitCodes(proc_info)
        message = launched.said_by(proc_output)
        self.assertIn("[rosario.ackermann_odometry]", message)
        self.assertIn("starting anew", message)
