"""`ros2 launch` of AMEDS: what is there, how it obeys, and that live nodes compute what `convert --derived` writes."""

import tempfile
import unittest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ament_index_python.packages import get_package_share_directory
from audience import Audience
from rosbag2_interfaces import srv
from tiny_ameds import START, TinyAmeds
from written import derived_messages, key, numbers

import launch_testing
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing.actions import ReadyToTest

PATIENCE_S = 30.0
DERIVED = {
    "/ameds/wheels/poses": "geometry_msgs/msg/PoseArray",
    "/ameds/wheels/odom": "nav_msgs/msg/Odometry",
    "/ameds/wheels/expected": "sensor_msgs/msg/JointState",
    "/ameds/main_arm/tcp": "geometry_msgs/msg/PoseStamped",
    "/ameds/aux_arm/tcp": "geometry_msgs/msg/PoseStamped",
    "/tf": "tf2_msgs/msg/TFMessage",
}


@pytest.mark.launch_test
def generate_test_description() -> tuple[LaunchDescription, dict[str, Any]]:
    folder = tempfile.TemporaryDirectory(prefix="fieldplay-test-")
    archive = TinyAmeds(Path(folder.name) / "Traverse_5")
    archive.write_all()
    file = Path(get_package_share_directory("fieldplay_bringup"), "launch", "ameds.launch.py")
    arguments = {"archive": str(archive.root), "paused": "true", "clock": "50.0", "images": "compressed"}
    launch = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(file)), launch_arguments={**arguments, "on_end": "pause"}.items()
    )
    return LaunchDescription([launch, ReadyToTest()]), {"root": archive.root, "folder": folder}


class WhilePlaying(unittest.TestCase):
    def setUp(self) -> None:
        self.audience = Audience()
        self.addCleanup(self.audience.close)

    def test_a_live_nodes_compute_what_a_conversion_writes(self, root: Path, folder: Any) -> None:
        expected = derived_messages(root, Path(folder.name) / "bag", DERIVED)
        for topic, msgtype in DERIVED.items():
            self.audience.hear(topic, msgtype)
        self.audience.hear("/tf_static", "tf2_msgs/msg/TFMessage", latched=True)
        heard = self.audience.heard
        graph = self.audience.node
        self.audience.wait(lambda: self.audience.count("/tf_static") == 1, lambda: "no /tf_static")
        inputs = ("joint_states", "wheel_speeds", "twist_estimate")

        def discovered() -> bool:
            heard = all(graph.count_subscribers(f"/ameds/platform/{name}") > 0 for name in inputs)
            return heard and all(graph.count_publishers(topic) > 0 for topic in DERIVED)

        with self.audience.changed:
            while not discovered():
                self.audience.changed.wait(0.1)
        self.audience.ask(srv.Resume, "resume")  # all find each other; the second round counts, after a jump back
        ends = {topic: max(map(key, messages)) for topic, messages in expected.items() if topic in DERIVED}
        self.audience.wait(
            lambda: all(any(key(message) == end for message in heard[topic]) for topic, end in ends.items()),
            lambda: {topic: len(heard[topic]) for topic in DERIVED},
        )
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
        for topic in (*DERIVED, "/tf_static"):
            live, written = sorted(heard[topic], key=key), sorted(expected[topic], key=key)
            self.assertEqual([key(message) for message in live], [key(message) for message in written])
            for one, other in zip(live, written, strict=True):
                np.testing.assert_allclose(numbers(one), numbers(other), rtol=1e-9, atol=1e-12)

    def test_b_the_tf_tree_is_complete_and_has_one_root(self, root: Path, folder: Any) -> None:
        parents: dict[str, str] = {}
        written = derived_messages(root, Path(folder.name) / "tree", ["/tf"])
        for message in [message for part in written.values() for message in part]:
            for transform in getattr(message, "transforms", ()):
                parent = parents.setdefault(transform.child_frame_id, transform.header.frame_id)
                self.assertEqual(parent, transform.header.frame_id)
        roots = set(parents.values()) - set(parents)
        self.assertEqual(roots, {"map"})
        arms = {f"{arm}_arm_{part}" for arm in ("main", "aux") for part in ("base", "end", "link_1", "link_7")}
        wheels = {f"wheel_{wheel}" for wheel in (1, 2, 3, 4)}
        self.assertLessEqual(arms | wheels | {"odom", "base_link", "lidar", "main_cam", "aux_cam"}, set(parents))

    def test_c_the_services_are_obeyed_and_the_clock_follows(self) -> None:
        self.audience.hear("/clock", "rosgraph_msgs/msg/Clock")
        self.audience.hear("/ameds/imu/data_raw", "sensor_msgs/msg/Imu")
        clock, imu = self.audience.heard["/clock"], self.audience.heard["/ameds/imu/data_raw"]
        self.assertTrue(self.audience.ask(srv.IsPaused, "is_paused").paused)
        self.assertTrue(self.audience.ask(srv.SetRate, "set_rate", rate=2.0).success)
        self.assertFalse(self.audience.ask(srv.SetRate, "set_rate", rate=0.0).success)
        request = srv.Seek.Request()
        request.time.sec = START + 1
        self.assertTrue(self.audience.ask(srv.Seek, "seek", time=request.time).success)
        self.audience.ask(srv.Resume, "resume")
        self.audience.wait(lambda: len(imu) >= 90 and len(clock) > 10, lambda: (len(imu), len(clock)))
        self.assertGreaterEqual(imu[0].header.stamp.sec, START + 1)
        times = [tick.clock.sec * 10**9 + tick.clock.nanosec for tick in clock]
        self.assertEqual(times, sorted(times))


@launch_testing.post_shutdown_test()
class AfterPlaying(unittest.TestCase):
    def test_all_processes_end_well(self, proc_info: Any, folder: Any) -> None:
        folder.cleanup()
        launch_testing.asserts.assertExitCodes(proc_info)
