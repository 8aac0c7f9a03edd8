"""`ros2 launch` of AMEDS: what is there, how it obeys, and that live nodes compute what `convert --derived` writes."""

import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # a plain `launch_test` does not look beside its file

import pytest
from rosbag2_interfaces import srv

import launch_testing
import launch_testing.asserts
from fieldplay_testing.nodes.node_stage import TopicRecorder
from fieldplay_testing.tiny_ameds import START, TinyAmeds
from launch import LaunchDescription
from support import launched_tests as launched
from support.written import derived_messages

DERIVED = {
    "/ameds/wheels/poses": "geometry_msgs/msg/PoseArray",
    "/ameds/wheels/odom": "nav_msgs/msg/Odometry",
    "/ameds/wheels/expected": "sensor_msgs/msg/JointState",
    "/ameds/main_arm/tcp": "geometry_msgs/msg/PoseStamped",
    "/ameds/aux_arm/tcp": "geometry_msgs/msg/PoseStamped",
    "/tf": "tf2_msgs/msg/TFMessage",
}
INPUTS = ("joint_states", "wheel_speeds", "twist_estimate")


@pytest.mark.launch_test
def generate_test_description() -> tuple[LaunchDescription, dict[str, Any]]:
    folder = tempfile.TemporaryDirectory(prefix="fieldplay-test-")
    archive = TinyAmeds(Path(folder.name) / "Traverse_5")
    archive.write_all()
    return launched.launch_of("ameds", archive.root, images="compressed"), {"root": archive.root, "folder": folder}


class WhilePlaying(unittest.TestCase):
    def setUp(self) -> None:
        self.listener = TopicRecorder()
        self.addCleanup(self.listener.close)

    def test_a_live_nodes_compute_what_conversion_writes(self, root: Path, folder: Any) -> None:
        expected = derived_messages(root, Path(folder.name) / "bag", DERIVED)
        launched.hear_all(self.listener, DERIVED)
        received = self.listener.received
        launched.find_all(self.listener, DERIVED, [f"/ameds/platform/{name}" for name in INPUTS])
        ends = launched.last_keys(expected, DERIVED)
        launched.play_to_the_end(self.listener, ends)  # all find each other; the second round counts, after a jump back
        launched.play_again_in_full(self.listener, expected, DERIVED, START)
        for topic in (*DERIVED, "/tf_static"):
            launched.check_same(topic, received[topic], expected[topic])

    def test_b_tf_tree_is_complete_and_has_one_root(self, root: Path, folder: Any) -> None:
        written = derived_messages(root, Path(folder.name) / "tree", ["/tf"])
        parents = launched.parents_in(message for part in written.values() for message in part)
        roots = set(parents.values()) - set(parents)
        self.assertEqual(roots, {"map"})
        arms = {f"{arm}_arm_{part}" for arm in ("main", "aux") for part in ("base", "end", "link_1", "link_7")}
        wheels = {f"wheel_{wheel}" for wheel in (1, 2, 3, 4)}
        self.assertLessEqual(arms | wheels | {"odom", "base_link", "lidar", "main_cam", "aux_cam"}, set(parents))

    def test_c_services_are_obeyed_and_clock_follows(self) -> None:
        self.listener.subscribe("/clock", "rosgraph_msgs/msg/Clock")
        self.listener.subscribe("/ameds/imu/data_raw", "sensor_msgs/msg/Imu")
        clock, imu = self.listener.received["/clock"], self.listener.received["/ameds/imu/data_raw"]
        self.assertTrue(self.listener.ask(srv.IsPaused, "is_paused").paused)
        self.assertTrue(self.listener.ask(srv.SetRate, "set_rate", rate=2.0).success)
        self.assertFalse(self.listener.ask(srv.SetRate, "set_rate", rate=0.0).success)
        request = srv.Seek.Request()
        request.time.sec = START + 1
        self.assertTrue(self.listener.ask(srv.Seek, "seek", time=request.time).success)
        self.listener.ask(srv.Resume, "resume")
        self.listener.wait(lambda: len(imu) >= 90 and len(clock) > 10, lambda: (len(imu), len(clock)))
        self.assertGreaterEqual(imu[0].header.stamp.sec, START + 1)
        times = [tick.clock.sec * 10**9 + tick.clock.nanosec for tick in clock]
        self.assertEqual(times, sorted(times))


@launch_testing.post_shutdown_test()
class AfterPlaying(unittest.TestCase):
    def test_all_processes_end_well(self, proc_info: Any, folder: Any) -> None:
        folder.cleanup()
        launch_testing.asserts.assertExitCodes(proc_info)
