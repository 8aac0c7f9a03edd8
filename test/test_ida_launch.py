"""`ros2 launch` of IDA: gaps of many sols are passed over, and the live arm is what `convert --derived` writes."""

import tempfile
import unittest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ament_index_python.packages import get_package_share_directory
from audience import Audience
from rosbag2_interfaces import srv
from written import derived_messages, key, numbers

import launch_testing
from fieldplay_samples.sample import SampleOptions, write_sample
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing.actions import ReadyToTest

POSE = "geometry_msgs/msg/PoseStamped"
DERIVED = {
    "/ida/tcp": POSE,
    "/ida/tcp_pot": POSE,
    "/ida/tcp_deflected": POSE,
    "/ida/tcp_error": "geometry_msgs/msg/Vector3Stamped",
    "/tf": "tf2_msgs/msg/TFMessage",
}
INPUTS = ("tool", "grapple/phase", "arm/geometry", "joint_states", "joint_states_pot", "archived/tool_enc")
MONTH_S = 30 * 86400
TOOLS = ("blade_1", "blade_2", "scoop", "idc", "wrist", "grapple_attach", "grapple", "seis", "wts", "hp3")


@pytest.mark.launch_test
def generate_test_description() -> tuple[LaunchDescription, dict[str, Any]]:
    folder = tempfile.TemporaryDirectory(prefix="fieldplay-test-")
    root = Path(folder.name) / "bundle"
    write_sample("ida", root, SampleOptions(seconds=4))
    file = Path(get_package_share_directory("fieldplay_bringup"), "launch", "ida.launch.py")
    arguments = {"archive": str(root), "paused": "true", "clock": "50.0", "rate": "4.0", "on_end": "pause"}
    launch = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(file)), launch_arguments=list(arguments.items())
    )
    return LaunchDescription([launch, ReadyToTest()]), {"root": root, "folder": folder}


class WhilePlaying(unittest.TestCase):
    def setUp(self) -> None:
        self.audience = Audience("ida")
        self.addCleanup(self.audience.close)

    def test_a_the_live_arm_is_what_a_conversion_writes_over_gaps_of_months(self, root: Path, folder: Any) -> None:
        expected = derived_messages(root, Path(folder.name) / "bag", DERIVED)
        for topic, msgtype in DERIVED.items():
            self.audience.hear(topic, msgtype)
        self.audience.hear("/tf_static", "tf2_msgs/msg/TFMessage", latched=True)
        heard, graph = self.audience.heard, self.audience.node
        self.audience.wait(lambda: self.audience.count("/tf_static") == 1, lambda: "no /tf_static")

        def discovered() -> bool:
            is_heard = all(graph.count_subscribers(f"/ida/{name}") > 0 for name in INPUTS)
            return is_heard and all(graph.count_publishers(topic) > 0 for topic in DERIVED)

        with self.audience.changed:
            while not discovered():
                self.audience.changed.wait(0.1)
        self.audience.ask(srv.Resume, "resume")  # all find each other; the second round counts, after a jump back
        ends = {topic: max(map(key, expected[topic])) for topic in DERIVED}
        self.audience.wait(
            lambda: all(any(key(message) == end for message in heard[topic]) for topic, end in ends.items()),
            lambda: {topic: len(heard[topic]) for topic in DERIVED},
        )
        self.audience.ask(srv.Pause, "pause")
        for topic in DERIVED:
            heard[topic].clear()
        first, *_ = sorted(key(message) for message in expected["/tf"])
        request = srv.Seek.Request()
        request.time.sec, request.time.nanosec = first[:2]
        self.assertTrue(self.audience.ask(srv.Seek, "seek", time=request.time).success)
        self.audience.ask(srv.Resume, "resume")
        self.audience.wait(
            lambda: all(len(heard[topic]) >= len(expected[topic]) for topic in DERIVED),
            lambda: {topic: (len(heard[topic]), len(expected[topic])) for topic in DERIVED},
        )
        self.assertGreater(ends["/tf"][0] - first[0], 3 * MONTH_S)
        for topic in (*DERIVED, "/tf_static"):
            live, written = sorted(heard[topic], key=key), sorted(expected[topic], key=key)
            self.assertEqual([key(message) for message in live], [key(message) for message in written])
            for one, other in zip(live, written, strict=True):
                np.testing.assert_allclose(numbers(one), numbers(other), rtol=1e-9, atol=1e-12)
        errors = [np.linalg.norm([m.vector.x, m.vector.y, m.vector.z]) for m in heard["/ida/tcp_error"]]
        self.assertLess(max(errors), 3e-4)  # four decimals of joints and places

    def test_b_the_tf_tree_is_complete_and_has_one_root(self, root: Path, folder: Any) -> None:
        parents: dict[str, str] = {}
        written = derived_messages(root, Path(folder.name) / "tree", ["/tf"])
        for message in [message for part in written.values() for message in part]:
            for transform in message.transforms:
                parent = parents.setdefault(transform.child_frame_id, transform.header.frame_id)
                self.assertEqual(parent, transform.header.frame_id)
        self.assertEqual(set(parents.values()) - set(parents), {"map"})
        chain = ["effector", "link_3", "link_2", "link_1", "payload", "local_level", "map"]
        self.assertEqual([parents[frame] for frame in chain[:-1]], chain[1:])
        self.assertLessEqual({*TOOLS, "tool_cylindrical", "lander", "idc_camera"}, set(parents))

    def test_c_the_robot_s_model_is_offered(self) -> None:
        self.audience.hear("/ida/robot_description", "std_msgs/msg/String", latched=True)
        heard = self.audience.heard["/ida/robot_description"]
        self.audience.wait(lambda: len(heard) == 1, lambda: "no model")
        self.assertIn('<robot name="insight_ida">', heard[0].data)


@launch_testing.post_shutdown_test()
class AfterPlaying(unittest.TestCase):
    def test_all_processes_end_well(self, proc_info: Any, proc_output: Any, folder: Any) -> None:
        folder.cleanup()
        launch_testing.asserts.assertExitCodes(proc_info)
        said = b"".join(event.text for name in proc_output.process_names() for event in proc_output[name]).decode()
        self.assertNotIn("is left out", said)
