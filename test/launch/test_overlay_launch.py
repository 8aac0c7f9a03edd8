"""`ros2 launch` with `overlay:=LASER,CAMERA`: pictures with points, each at the time of its picture."""

import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # a plain `launch_test` does not look beside its file

import numpy as np
import pytest
from ament_index_python.packages import get_package_share_directory

import launch_testing
import launch_testing.asserts
from fieldplay.datasets.registry import open_dataset
from fieldplay.projection.projection import ProjectionRequest, project
from fieldplay_testing.nodes.node_stage import TopicRecorder
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing.actions import ReadyToTest
from support.launched_tests import play_again_in_full
from support.tiny_acfr import START, TinyAcfr

IMAGE = "sensor_msgs/msg/Image"
PICTURES = 2  # of the archive
RAW, OVERLAY = "/acfr/visual_camera/image_raw", "/acfr/visual_camera/overlay"


@pytest.mark.launch_test
def generate_test_description() -> tuple[LaunchDescription, dict[str, Any]]:
    folder = tempfile.TemporaryDirectory(prefix="fieldplay-test-")
    archive = TinyAcfr(Path(folder.name) / "29-DynamicDayTriangleClear")
    archive.write_all()
    file = Path(get_package_share_directory("fieldplay_bringup"), "launch", "acfr.launch.py")
    arguments = {"archive": str(archive.root), "paused": "true", "on_end": "pause", "kinematics": "false"}
    launch = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(file)),
        launch_arguments={**arguments, "overlay": "laser_starboard,visual_camera"}.items(),
    )
    return LaunchDescription([launch, ReadyToTest()]), {"root": archive.root, "folder": folder}


class WhilePlaying(unittest.TestCase):
    def setUp(self) -> None:
        self.listener = TopicRecorder("acfr")
        self.addCleanup(self.listener.close)

    def test_points_are_where_command_puts_them(self, root: Path) -> None:
        received = self.listener.received
        for topic in (RAW, OVERLAY):
            self.listener.subscribe(topic, IMAGE)
        graph = self.listener.node
        topics = (RAW, "/acfr/visual_camera/camera_info", "/acfr/laser_starboard/scan")
        with self.listener.changed:
            while not (all(graph.count_subscribers(topic) for topic in topics) and graph.count_publishers(OVERLAY)):
                self.listener.changed.wait(0.1)
        images = {topic: [None] * PICTURES for topic in (RAW, OVERLAY)}
        play_again_in_full(self.listener, images, images, START)
        raw = {ns_of(message): message for message in received[RAW]}
        for message in received[OVERLAY]:
            self.assertIn(ns_of(message), raw)
            positions = self._places(root, ns_of(message))
            self.assertGreater(len(positions), 20)
            before, after = (
                pixels_of(each)[positions[:, 1], positions[:, 0]] for each in (raw[ns_of(message)], message)
            )
            changed = np.abs(before.astype(int) - after.astype(int)).max(axis=1) > 10
            self.assertGreater(changed.mean(), 0.9)

    def _places(self, root: Path, stamp_ns: int) -> Any:
        """The pixels (n, 2) of the points that the command finds for a picture, as the node without odometry does."""
        time = f"{stamp_ns // 10**9}.{stamp_ns % 10**9:09d}"
        requested = ProjectionRequest(laser="laser_starboard", camera="visual_camera", time=time, fixed_frame="none")
        with open_dataset(root) as archive:
            projection = project(archive, requested, step=lambda fraction, count: None, report=lambda text: None)
        self.assertEqual((projection.image.stamp_ns, projection.extrinsics), (stamp_ns, "own"))
        return np.rint(projection.projection.pixels[projection.projection.is_visible]).astype(int)


def ns_of(message: Any) -> int:
    return int(message.header.stamp.sec * 10**9 + message.header.stamp.nanosec)


def pixels_of(message: Any) -> Any:
    return (
        np.frombuffer(message.data, np.uint8)
        .reshape(message.height, message.step)[:, : 3 * message.width]
        .reshape(message.height, message.width, 3)
    )


@launch_testing.post_shutdown_test()
class Afterwards(unittest.TestCase):
    def test_all_ended_well(self, proc_info: Any, folder: Any) -> None:
        folder.cleanup()
        launch_testing.asserts.assertExitCodes(proc_info)
