"""`ros2 launch` of IDA: gaps of many sols are passed over, and the live arm is what `convert --derived` writes."""

import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # a plain `launch_test` does not look beside its file

import numpy as np
import pytest

import launch_testing
import launch_testing.asserts
from fieldplay_samples.write_sample import SampleOptions, write_sample
from fieldplay_testing.nodes.node_stage import TopicRecorder
from launch import LaunchDescription
from support import launched_tests as launched
from support.written import derived_messages, key

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
TOOLS = (
    "blade_1",
    "blade_2",
    "scoop",
    "idc",
    "wrist",
    "grapple_attach",
    "grapple",
    "seis_held",
    "wts_held",
    "hp3_held",
)


@pytest.mark.launch_test
def generate_test_description() -> tuple[LaunchDescription, dict[str, Any]]:
    folder = tempfile.TemporaryDirectory(prefix="fieldplay-test-")
    root = Path(folder.name) / "bundle"
    write_sample("ida", root, SampleOptions(seconds=4, workers=1))
    return launched.launch_of("ida", root, rate="4.0"), {"root": root, "folder": folder}


class WhilePlaying(unittest.TestCase):
    def setUp(self) -> None:
        self.listener = TopicRecorder("ida")
        self.addCleanup(self.listener.close)

    def test_a_live_arm_is_what_conversion_writes_over_gaps_of_months(self, root: Path, folder: Any) -> None:
        expected = derived_messages(root, Path(folder.name) / "bag", DERIVED)
        launched.hear_all(self.listener, DERIVED)
        received = self.listener.received
        launched.find_all(self.listener, DERIVED, [f"/ida/{name}" for name in INPUTS])
        ends = launched.last_keys(expected, DERIVED)
        launched.play_to_the_end(self.listener, ends)  # all find each other; the second round counts, after a jump back
        first, *_ = sorted(key(message) for message in expected["/tf"])
        launched.play_again_in_full(self.listener, expected, DERIVED, *first[:2])
        self.assertGreater(ends["/tf"][0] - first[0], 3 * MONTH_S)
        for topic in (*DERIVED, "/tf_static"):
            launched.check_same(topic, received[topic], expected[topic])
        errors = [np.linalg.norm([m.vector.x, m.vector.y, m.vector.z]) for m in received["/ida/tcp_error"]]
        self.assertLess(max(errors), 3e-4)  # four decimals of joints and places

    def test_b_tf_tree_is_complete_and_has_one_root(self, root: Path, folder: Any) -> None:
        written = derived_messages(root, Path(folder.name) / "tree", ["/tf"])
        parents = launched.parents_in(message for part in written.values() for message in part)
        self.assertEqual(set(parents.values()) - set(parents), {"map"})
        chain = ["effector", "link_3", "link_2", "link_1", "payload", "local_level", "map"]
        self.assertEqual([parents[frame] for frame in chain[:-1]], chain[1:])
        self.assertLessEqual({*TOOLS, "tool_cylindrical", "lander", "idc_camera"}, set(parents))

    def test_c_robot_s_model_is_offered(self) -> None:
        self.assertIn('<robot name="insight_ida">', launched.model_offered(self.listener))


@launch_testing.post_shutdown_test()
class AfterPlaying(unittest.TestCase):
    def test_all_processes_end_well(self, proc_info: Any, proc_output: Any, folder: Any) -> None:
        folder.cleanup()
        launch_testing.asserts.assertExitCodes(proc_info)
        self.assertNotIn("is left out", launched.said_by(proc_output))
