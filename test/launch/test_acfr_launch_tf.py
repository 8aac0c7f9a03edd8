"""`ros2 launch` of ACFR with other owners of base_link: somebody else, the node that is asked, and nobody to ask.

Three launches at once, told apart by the prefix of their frames.
"""

import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # a plain `launch_test` does not look beside its file

import pytest
from ament_index_python.packages import get_package_share_directory
from rosbag2_interfaces import srv

import launch_testing
import launch_testing.asserts
from fieldplay_testing.nodes.node_stage import TopicRecorder
from launch import LaunchDescription
from launch.actions import GroupAction, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing.actions import ReadyToTest
from support.tiny_acfr import TinyAcfr

TF = "tf2_msgs/msg/TFMessage"
LAUNCHES = {
    "silent": {"nav_tf": "false", "odom_tf": "false", "map_tf": "false"},
    "asked": {"odom_tf": "true"},
    "alone": {"odom_tf": "true", "kinematics": "false"},
}
MOVING = {"silent": set(), "asked": {("odom", "base_link")}, "alone": {("map", "base_link")}}
STATIC: dict[str, set[tuple[str, str]]] = {"silent": set(), "asked": {("map", "odom")}, "alone": set()}
ROWS = {"silent": 0, "asked": 10, "alone": 20}


@pytest.mark.launch_test
def generate_test_description() -> tuple[LaunchDescription, dict[str, Any]]:
    folder = tempfile.TemporaryDirectory(prefix="fieldplay-test-")
    archive = TinyAcfr(Path(folder.name) / "29-DynamicDayTriangleClear")
    archive.write_nav()
    archive.write_payload()
    file = Path(get_package_share_directory("fieldplay_bringup"), "launch", "acfr.launch.py")
    launches = []
    for name, others in LAUNCHES.items():
        arguments = {"archive": str(archive.root), "paused": "true", "on_end": "pause", "namespace": name}
        launch = IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(file)),
            launch_arguments={**arguments, "frame_prefix": f"{name}/", **others}.items(),
        )
        launches.append(GroupAction([launch]))
    return LaunchDescription([*launches, ReadyToTest()]), {"folder": folder}


class WhilePlaying(unittest.TestCase):
    def setUp(self) -> None:
        self.listener = TopicRecorder()
        self.addCleanup(self.listener.close)

    def test_each_frame_has_owner_that_was_requested(self) -> None:
        listener, graph = self.listener, self.listener.node
        listener.subscribe("/tf", TF)
        listener.subscribe("/tf_static", TF, latched=True)
        for name in LAUNCHES:
            listener.subscribe(f"/{name}/payload/wheels", "sensor_msgs/msg/JointState")
        nodes = [name for name in LAUNCHES if name != "alone"]
        listener.wait(lambda: listener.count("/tf_static") == 3, lambda: listener.count("/tf_static"))
        with listener.changed:
            while not all(graph.count_subscribers(f"/{name}/payload/wheels") > 1 for name in nodes):
                listener.changed.wait(0.1)
            while graph.count_publishers("/tf") < 2:  # the node that is asked, and the player that is alone
                listener.changed.wait(0.1)
        for name in LAUNCHES:
            listener.namespace = name
            self.listener.ask(srv.Resume, "resume")
        sent = listener.received["/tf"]
        listener.wait(
            lambda: (
                all(self.rows(name) >= count for name, count in ROWS.items())
                and all(listener.count(f"/{name}/payload/wheels") == 10 for name in LAUNCHES)
            ),
            lambda: {name: (self.rows(name), listener.count(f"/{name}/payload/wheels")) for name in LAUNCHES},
        )
        for name in LAUNCHES:
            self.assertEqual(self.edges(sent, name), MOVING[name])
            self.assertEqual(self.rows(name), ROWS[name])
            static = self.edges(listener.received["/tf_static"], name)
            self.assertEqual({edge for edge in static if edge[0] == "map"}, STATIC[name])
            self.assertEqual(len(static - STATIC[name]), 7)
        self.assertEqual(graph.count_publishers("/tf"), 2)

    def rows(self, name: str) -> int:
        return len([message for message in self.listener.received["/tf"] if self.edges([message], name)])

    def edges(self, messages: list[Any], name: str) -> set[tuple[str, str]]:
        """The edges of one of the launches, without its prefix."""
        frames = [(each.header.frame_id, each.child_frame_id) for message in messages for each in message.transforms]
        prefix = f"{name}/"
        return {
            (parent.removeprefix(prefix), child.removeprefix(prefix))
            for parent, child in frames
            if child.startswith(prefix)
        }


@launch_testing.post_shutdown_test()
class AfterPlaying(unittest.TestCase):
    def test_all_processes_end_well(self, proc_info: Any, folder: Any) -> None:
        folder.cleanup()
        launch_testing.asserts.assertExitCodes(proc_info)
