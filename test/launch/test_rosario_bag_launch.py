"""`ros2 launch` of Rosario with the authors' bag: its odometry moves the robot on tf, and images come rectified."""

import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # a plain `launch_test` does not look beside its file

import pytest

import launch_testing
import launch_testing.asserts
from fieldplay.convert.conversion import BagOptions, convert
from fieldplay.datasets.registry import open_dataset
from fieldplay.topics.selection import Selection
from fieldplay_testing.nodes.node_stage import TopicRecorder
from launch import LaunchDescription
from support import launched_tests as launched
from support.bag_messages import messages_of_bag
from support.tiny_rosario import START
from support.tiny_rosario_bag import TinyBag

HEARD = {
    "/rosario/path": "nav_msgs/msg/Path",
    "/rosario/odom_archived": "nav_msgs/msg/Odometry",
    "/rosario/stereo/left/camera_info_rect": "sensor_msgs/msg/CameraInfo",
    "/tf": "tf2_msgs/msg/TFMessage",
}
IMAGE = "/rosario/stereo/left/image_rect/compressed"


@pytest.mark.launch_test
def generate_test_description() -> tuple[LaunchDescription, dict[str, Any]]:
    folder = tempfile.TemporaryDirectory(prefix="fieldplay-test-")
    bag = Path(folder.name) / "sequence01.bag"
    TinyBag().write(bag)
    return launched.launch_of("rosario", bag, images="compressed", rectify="true"), {"root": bag, "folder": folder}


class WhilePlaying(unittest.TestCase):
    def setUp(self) -> None:
        self.listener = TopicRecorder("rosario")
        self.addCleanup(self.listener.close)

    def test_bag_s_odometry_moves_robot_as_in_conversion(self, root: Path, folder: Any) -> None:
        written = Path(folder.name) / "bag"
        with open_dataset(root) as archive:
            selection = Selection(derived=True, rectify=True, images="compressed")
            convert(archive, written, selection, BagOptions())
        topics = {*HEARD, "/tf_static", IMAGE}
        actual = messages_of_bag(written, topics)
        expected = {topic: [message for _, message in messages] for topic, messages in actual.items()}
        launched.hear_all(self.listener, {**HEARD, IMAGE: "sensor_msgs/msg/CompressedImage"}, latched=["/rosario/path"])
        launched.find_all(self.listener, [*HEARD, IMAGE], ["/rosario/odom_archived"], readers=2)
        ends = launched.last_keys(expected, HEARD)
        launched.play_to_the_end(self.listener, ends)
        launched.play_again_in_full(self.listener, expected, HEARD, START)
        for topic in (*HEARD, "/tf_static"):
            launched.check_same(topic, self.listener.received[topic], expected[topic])
        images = {bytes(message.data) for message in self.listener.received[IMAGE]}
        self.assertEqual(images, {message.data.tobytes() for message in expected[IMAGE]})
        self.assertEqual(expected["/tf"][0].transforms[0].header.frame_id, "odom")


@launch_testing.post_shutdown_test()
class AfterPlaying(unittest.TestCase):
    def test_all_processes_end_well(self, proc_info: Any, folder: Any) -> None:
        folder.cleanup()
        launch_testing.asserts.assertExitCodes(proc_info)
