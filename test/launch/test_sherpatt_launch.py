"""`ros2 launch` of SherpaTT: that every topic arrives as `convert --derived` writes it, and that tf is one tree."""

import sys
import tempfile
import unittest
from functools import cache
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
from support.written import derived_messages, key, numbers

TF, PATH, SURFACE, CLOUD = "/tf", "/sherpatt/path", "/sherpatt/surface", "sensor_msgs/msg/PointCloud2"
TYPES = {
    TF: "tf2_msgs/msg/TFMessage",
    PATH: "nav_msgs/msg/Path",
    SURFACE: CLOUD,
    "/sherpatt/wheel_odom": "nav_msgs/msg/Odometry",
    "/sherpatt/dgps/odom": "nav_msgs/msg/Odometry",
    "/sherpatt/body_joint": "nav_msgs/msg/Odometry",
    "/sherpatt/joint_states": "sensor_msgs/msg/JointState",
    "/sherpatt/velodyne/points": CLOUD,
    "/sherpatt/velodyne_lidar/laser_scans": CLOUD,
    **{f"/sherpatt/stereo/{side}/image_raw": "sensor_msgs/msg/Image" for side in ("left", "right")},
    **{f"/sherpatt/stereo/{side}/camera_info": "sensor_msgs/msg/CameraInfo" for side in ("left", "right")},
}
HEARD_BY_NODES = ("wheel_odom", "joint_states")
STANDING = (TF, "/tf_static")
# Kept as ten messages each, and what is made of one of them: a machine that is busy may lose some.
QUICK = (TF, *(f"/sherpatt/{name}" for name in ("dgps/odom", "body_joint", "joint_states")))
SHARE = 0.9
COMPARED = (TF, PATH, "/tf_static")
SETTINGS = {"image_rate_hz": 0.5, "image_shrink": 24, "lidar_columns": 90}
START = 1543311000
LEGS = ("front_left", "front_right", "rear_left", "rear_right")


@pytest.mark.launch_test
def generate_test_description() -> tuple[LaunchDescription, dict[str, Any]]:
    folder = tempfile.TemporaryDirectory(prefix="fieldplay-test-")
    root = Path(folder.name) / "logs"
    write_sample("sherpatt", root, SampleOptions(seconds=8, settings=SETTINGS, workers=1))
    return launched.launch_of("sherpatt", root, rate="2.0"), {"root": root, "folder": folder}


@cache
def written_messages(root: Path, folder: str) -> dict[str, list[Any]]:
    return derived_messages(root, Path(folder) / "bag", TYPES)


class WhilePlaying(unittest.TestCase):
    def setUp(self) -> None:
        self.listener = TopicRecorder("sherpatt")
        self.addCleanup(self.listener.close)

    def test_every_topic_arrives_and_computed_ones_are_what_conversion_writes(self, root: Path, folder: Any) -> None:
        expected = written_messages(root, folder.name)
        self.assertEqual(set(expected), {*TYPES, "/tf_static"})
        launched.hear_all(self.listener, TYPES)
        received, graph = self.listener.received, self.listener.node
        read = [f"/sherpatt/{name}" for name in HEARD_BY_NODES]
        launched.find_all(self.listener, TYPES, read, readers=2)  # the node, and this one

        def senders() -> dict[str, set[str]]:
            return {name: {each.node_name for each in graph.get_publishers_info_by_topic(name)} for name in STANDING}

        unnamed = "_NODE_NAME_UNKNOWN_"  # a topic's publisher may be known before the node that it belongs to
        self.listener.wait_for_graph(lambda: unnamed not in set.union(*senders().values()))
        self.assertEqual(senders(), {TF: {"player", "joint_transforms"}, "/tf_static": {"player"}})
        ends = launched.last_keys(expected, TYPES)
        launched.play_to_the_end(self.listener, ends)  # all find each other; the second round counts, after a jump back
        launched.play_again(self.listener, TYPES, START)
        requested = {topic: len(expected[topic]) * (SHARE if topic in QUICK else 1) for topic in TYPES}
        self.listener.wait(
            lambda: all(
                len(received[topic]) >= requested[topic] and max(map(key, received[topic])) >= ends[topic]
                for topic in TYPES
            ),
            lambda: {topic: (len(received[topic]), len(expected[topic])) for topic in TYPES},
        )
        self.assertEqual(max(len(message.poses) for message in received[PATH]), 2)  # half a metre was driven
        for topic in (*TYPES, "/tf_static"):
            self._compare(topic, received[topic], expected[topic])

    def _compare(self, topic: str, received: list[Any], expected: list[Any]) -> None:
        live, written = ({key(message): message for message in messages} for messages in (list(received), expected))
        if topic in QUICK:
            self.assertLessEqual(set(live), set(written), topic)
        else:
            self.assertEqual(set(live), set(written), topic)
        self.assertEqual(len(written), len(expected), topic)
        for position, message in live.items() if topic in COMPARED else ():
            np.testing.assert_allclose(numbers(message), numbers(written[position]), rtol=1e-9, atol=1e-12)

    def test_surface_path_and_model_are_there_for_late_subscriber(self) -> None:
        latched = {SURFACE: CLOUD, PATH: TYPES[PATH], "/sherpatt/robot_description": "std_msgs/msg/String"}
        for topic, msgtype in latched.items():
            self.listener.subscribe(topic, msgtype, latched=True)
        received = self.listener.received
        self.listener.wait(
            lambda: all(len(received[topic]) == 1 for topic in latched), lambda: {t: len(received[t]) for t in latched}
        )
        (surface,), (path,), (model,) = (received[topic] for topic in latched)
        self.assertEqual((surface.header.frame_id, surface.width), ("map", 220 * 220 - 20 * 30))
        self.assertEqual(path.header.frame_id, "odom")
        self.assertIn('<robot name="sherpatt">', model.data)

    def test_tf_tree_is_complete_and_has_one_root(self, root: Path, folder: Any) -> None:
        written = written_messages(root, folder.name)
        parents = launched.parents_in([*written[TF], *written["/tf_static"]])
        self.assertEqual(set(parents.values()) - set(parents), {"map"})
        self.assertEqual((parents["base_link"], parents["odom"]), ("odom", "map"))
        self.assertEqual(parents["velodyne_plane_moving"], "velodyne_plane_fixed")
        for leg in LEGS:
            chain = ["wheel", "wheel_lower", "wheel_upper", "outer_strut", "knee", "inner_strut", "pan"]
            above = [parents[f"{link}_{leg}"] for link in chain]
            self.assertEqual(above, [*(f"{link}_{leg}" for link in chain[1:]), "base_link"])
            self.assertEqual(parents[f"wheel_end_point_{leg}"], f"wheel_lower_{leg}")


@launch_testing.post_shutdown_test()
class AfterPlaying(unittest.TestCase):
    def test_all_processes_end_well(self, proc_info: Any, proc_output: Any, folder: Any) -> None:
        folder.cleanup()
        launch_testing.asserts.assertExitCodes(proc_info)
        message = launched.said_by(proc_output)
        self.assertIn("[sherpatt.odometry_path]", message)
        self.assertIn("starting anew", message)
        self.assertNotIn("is left out", message)
