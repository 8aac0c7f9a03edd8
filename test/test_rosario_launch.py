"""`ros2 launch` of Rosario: that the live odometry is what `convert --derived` writes, and that tf is one tree."""

import tempfile
import unittest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ament_index_python.packages import get_package_share_directory
from audience import Audience
from rosbag2_interfaces import srv
from tiny_rosario import START, TinyRosario
from written import derived_messages, key, numbers

import launch_testing
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing.actions import ReadyToTest

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
    file = Path(get_package_share_directory("fieldplay_bringup"), "launch", "rosario.launch.py")
    arguments = {"archive": str(archive.root), "paused": "true", "clock": "50.0", "images": "compressed"}
    launch = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(file)), launch_arguments={**arguments, "on_end": "pause"}.items()
    )
    return LaunchDescription([launch, ReadyToTest()]), {"root": archive.root, "folder": folder}


class WhilePlaying(unittest.TestCase):
    def setUp(self) -> None:
        self.audience = Audience("rosario")
        self.addCleanup(self.audience.close)

    def test_the_live_odometry_is_what_a_conversion_writes(self, root: Path, folder: Any) -> None:
        expected = derived_messages(root, Path(folder.name) / "bag", DERIVED)
        for topic, msgtype in DERIVED.items():
            self.audience.hear(topic, msgtype, latched=topic.endswith("path"))
        self.audience.hear("/tf_static", "tf2_msgs/msg/TFMessage", latched=True)
        heard, graph = self.audience.heard, self.audience.node
        self.audience.wait(lambda: self.audience.count("/tf_static") == 1, lambda: "no /tf_static")

        def discovered() -> bool:
            is_heard = graph.count_subscribers("/rosario/wheels/joint_states") > 0
            return is_heard and all(graph.count_publishers(topic) > 0 for topic in DERIVED)

        with self.audience.changed:
            while not discovered():
                self.audience.changed.wait(0.1)
        self.audience.ask(srv.Resume, "resume")  # all find each other; the second round counts, after a jump back
        end = max(map(key, expected["/rosario/odom"]))
        odometry = heard["/rosario/odom"]
        self.audience.wait(lambda: any(key(message) == end for message in odometry), lambda: len(odometry))
        self.audience.ask(srv.Pause, "pause")
        for topic in DERIVED:
            heard[topic].clear()
        request = srv.Seek.Request()
        request.time.sec = START
        self.assertTrue(self.audience.ask(srv.Seek, "seek", time=request.time).success)
        self.audience.ask(srv.Resume, "resume")
        self.audience.wait(
            lambda: all(len(heard[topic]) >= len(expected[topic]) for topic in DERIVED),
            lambda: {topic: (len(heard[topic]), len(expected[topic])) for topic in DERIVED},
        )
        self.assertGreater(len(expected["/rosario/odom"]), 10)
        self.assertGreater(len(expected["/rosario/path"][-1].poses), 1)
        for topic in (*DERIVED, "/tf_static"):
            live, written = sorted(heard[topic], key=key), sorted(expected[topic], key=key)
            self.assertEqual([key(message) for message in live], [key(message) for message in written])
            for one, other in zip(live, written, strict=True):
                np.testing.assert_allclose(numbers(one), numbers(other), rtol=1e-9, atol=1e-12)

    def test_the_tf_tree_is_complete_and_has_one_root(self, root: Path, folder: Any) -> None:
        parents: dict[str, str] = {}
        written = derived_messages(root, Path(folder.name) / "tree", ["/tf"])
        for message in [message for part in written.values() for message in part]:
            for transform in message.transforms:
                parent = parents.setdefault(transform.child_frame_id, transform.header.frame_id)
                self.assertEqual(parent, transform.header.frame_id)
        self.assertEqual(set(parents.values()) - set(parents), {"odom"})
        self.assertEqual(set(parents), {"base_link", "imu", "gps", "left_camera", "right_camera"} | JOINTS)

    def test_the_robot_s_model_is_offered(self) -> None:
        self.audience.hear("/rosario/robot_description", "std_msgs/msg/String", latched=True)
        heard = self.audience.heard["/rosario/robot_description"]
        self.audience.wait(lambda: len(heard) == 1, lambda: "no model")
        self.assertIn('<robot name="rosario">', heard[0].data)


@launch_testing.post_shutdown_test()
class AfterPlaying(unittest.TestCase):
    def test_all_processes_end_well(self, proc_info: Any, proc_output: Any, folder: Any) -> None:
        folder.cleanup()
        launch_testing.asserts.assertExitCodes(proc_info)
        said = b"".join(event.text for name in proc_output.process_names() for event in proc_output[name]).decode()
        self.assertIn("[rosario.ackermann_odometry]", said)
        self.assertIn("starting anew", said)
