"""Two launches of AMEDS at once, in a namespace and with a frame prefix each, playing again and again."""

import sys
import tempfile
import unittest
from collections import defaultdict
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent))  # a plain `launch_test` does not look beside its file

import pytest
from ament_index_python.packages import get_package_share_directory

import launch_testing
import launch_testing.asserts
from helpers.audience import Audience
from helpers.tiny_ameds import TinyAmeds
from launch import LaunchDescription
from launch.actions import GroupAction, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing.actions import ReadyToTest

NAMESPACES = ("one", "two")
FRAMES = ("base_link", "lidar", "wheel_1", "main_arm_end", "odom")


@pytest.mark.launch_test
def generate_test_description() -> tuple[LaunchDescription, dict[str, Any]]:
    folder = tempfile.TemporaryDirectory(prefix="fieldplay-test-")
    archive = TinyAmeds(Path(folder.name) / "Traverse_5")
    archive.write_all()
    file = Path(get_package_share_directory("fieldplay_bringup"), "launch", "ameds.launch.py")
    common = {"archive": str(archive.root), "loop": "true", "images": "compressed", "rate": "1.0"}
    launches = [
        GroupAction(
            [
                IncludeLaunchDescription(
                    PythonLaunchDescriptionSource(str(file)),
                    launch_arguments={**common, "namespace": name, "frame_prefix": f"{name}/"}.items(),
                )
            ]
        )
        for name in NAMESPACES
    ]
    return LaunchDescription([*launches, ReadyToTest()]), {"folder": folder}


class WhilePlaying(unittest.TestCase):
    def setUp(self) -> None:
        self.audience = Audience()
        self.addCleanup(self.audience.close)

    def test_each_has_topics_and_frames_of_its_own(self) -> None:
        self.audience.hear("/tf", "tf2_msgs/msg/TFMessage")
        self.audience.hear("/tf_static", "tf2_msgs/msg/TFMessage", latched=True)

        def frames() -> dict[str, set[str]]:
            found: dict[str, set[str]] = defaultdict(set)
            for message in self.audience.heard["/tf"] + self.audience.heard["/tf_static"]:
                for transform in message.transforms:
                    found[transform.child_frame_id.partition("/")[0]].add(transform.child_frame_id)
            return found

        wanted = {name: {f"{name}/{frame}" for frame in FRAMES} for name in NAMESPACES}
        self.audience.wait(lambda: all(wanted[name] <= frames()[name] for name in NAMESPACES), frames)
        self.assertEqual(set(frames()), set(NAMESPACES))
        topics = {name for name, _ in self.audience.node.get_topic_names_and_types()}
        self.assertLessEqual(
            {f"/{name}/{topic}" for name in NAMESPACES for topic in ("lidar/points", "wheels/odom")}, topics
        )

    def test_every_round_computes_the_same_again(self) -> None:
        topic = "/one/wheels/odom"
        self.audience.hear(topic, "nav_msgs/msg/Odometry")

        def rounds() -> list[dict[int, tuple[float, ...]]]:
            found: list[dict[int, tuple[float, ...]]] = [{}]
            for message in self.audience.heard[topic]:
                stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
                if found[-1] and stamp < max(found[-1]):
                    found.append({})
                pose = message.pose.pose
                found[-1][stamp] = (pose.position.x, pose.position.y, pose.orientation.z, pose.orientation.w)
            return found

        self.audience.wait(lambda: len(rounds()) > 3, lambda: [len(part) for part in rounds()])
        _, second, third, *_ = rounds()  # the first may have begun before it was heard
        common = sorted(second.keys() & third.keys())  # a busy machine may miss the end of a round
        self.assertGreater(len(common), 10)
        self.assertEqual([second[stamp] for stamp in common], [third[stamp] for stamp in common])


@launch_testing.post_shutdown_test()
class AfterPlaying(unittest.TestCase):
    def test_all_processes_end_well(self, proc_info: Any, proc_output: Any, folder: Any) -> None:
        folder.cleanup()
        launch_testing.asserts.assertExitCodes(proc_info)
        said = b"".join(event.text for name in proc_output.process_names() for event in proc_output[name]).decode()
        self.assertRegex(said, r"\[one.wheel_odometry\]: the (player|times of the messages) jumped.*: starting anew")
