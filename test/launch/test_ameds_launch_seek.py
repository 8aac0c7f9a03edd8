"""`ros2 launch` of AMEDS and jumps of the play head: base_link stays on the truth."""

import math
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # a plain `launch_test` does not look beside its file

import numpy as np
import pytest
from rosbag2_interfaces import srv
from scipy.spatial.transform import Rotation

import launch_testing
import launch_testing.asserts
from fieldplay_testing.nodes.node_stage import TopicRecorder
from fieldplay_testing.tiny_ameds import START, TinyAmeds
from launch import LaunchDescription
from support import launched_tests as launched

TRUTH = "/ameds/gnss/odom"
SPEED_M_S, HEADING_DEG, SECONDS = 2.0, 30.0, 40
JUMPS_S = (12, 1, 25, 33, 8)  # forward, back, forward, a little forward, back
LONGEST_S = 6  # of what is played after a jump; no two jumps lead so near to each other
M_PER_RAD = 6_371_000.0


def write_drive(archive: TinyAmeds) -> None:
    """Straight on, over the ground as by the wheels."""
    north, east = (SPEED_M_S * f(math.radians(HEADING_DEG)) for f in (math.cos, math.sin))
    latitude, longitude = math.radians(37.72351), math.radians(15.00668)
    archive.root.mkdir(parents=True)
    archive.write("GnssPose.csv", 100, lambda t: [START - 0.25 + t, latitude + north * t / M_PER_RAD,
                  longitude + east * t / M_PER_RAD / math.cos(latitude), 2639.838, 0.01, 0.02, 0.03, 0.0, 0.0,
                  math.radians(HEADING_DEG), 7.0])  # fmt: skip
    archive.write("PlatformMotorEncoders.csv", 50, lambda t: [SPEED_M_S] * 8 + [1000 * t, 0, 0, 0, 0, 0, 0, 0])


@pytest.mark.launch_test
def generate_test_description() -> tuple[LaunchDescription, dict[str, Any]]:
    folder = tempfile.TemporaryDirectory(prefix="fieldplay-test-")
    archive = TinyAmeds(Path(folder.name) / "Traverse_5", seconds=SECONDS)
    write_drive(archive)
    launch = launched.launch_of("ameds", archive.root, paused="false", clock="100.0")
    return launch, {"folder": folder}


class WhilePlaying(unittest.TestCase):
    def setUp(self) -> None:
        self.listener = TopicRecorder()
        self.addCleanup(self.listener.close)
        self.listener.subscribe("/tf", "tf2_msgs/msg/TFMessage")
        self.listener.subscribe("/tf_static", "tf2_msgs/msg/TFMessage", latched=True)
        self.listener.subscribe(TRUTH, "nav_msgs/msg/Odometry")

    def test_base_is_on_truth_after_each_jump(self) -> None:
        self.check(0)
        for seconds in JUMPS_S:
            request = srv.Seek.Request()
            request.time.sec = START + seconds
            self.assertTrue(self.listener.ask(srv.Seek, "seek", time=request.time).success)
            with self.listener.changed:
                self.listener.received["/tf"].clear()
            self.check(seconds)

    def check(self, start_s: int) -> None:
        """Poses of the base in the map against the truth of their times, in what was played from some time on."""
        self.listener.wait(lambda: len(self.errors(start_s)) > 40, lambda: (start_s, self.errors(start_s)))
        errors = self.errors(start_s)
        self.assertLess(max(errors), 0.1, (start_s, [round(error, 2) for error in errors]))

    def errors(self, start_s: int) -> list[float]:
        """The distances, in m."""
        received = self.listener.received
        edges = [t for message in received["/tf"] for t in message.transforms if t.child_frame_id == "base_link"]
        by_name = {time_ns(edge): vector(edge.transform.translation) for edge in edges}
        true = {time_ns(message): vector(message.pose.pose.position) for message in received[TRUTH]}
        static = [t for message in received["/tf_static"] for t in message.transforms]
        anchors = [each.transform for each in static if each.child_frame_id == "odom"]
        first, last = (START + start_s) * 10**9, (START + start_s + LONGEST_S) * 10**9
        common = [stamp for stamp in by_name if stamp in true and first <= stamp < last]
        if not (anchors and common):
            return []
        turn, start = anchors[-1].rotation, vector(anchors[-1].translation)
        positions = start + Rotation.from_quat([turn.x, turn.y, turn.z, turn.w]).apply(
            [by_name[stamp] for stamp in common]
        )
        return [
            float(np.hypot(*(position - true[stamp])[:2])) for stamp, position in zip(common, positions, strict=True)
        ]


def time_ns(message: Any) -> int:
    return int(message.header.stamp.sec * 10**9 + message.header.stamp.nanosec)


def vector(value: Any) -> Any:
    return np.array([value.x, value.y, value.z])


@launch_testing.post_shutdown_test()
class AfterPlaying(unittest.TestCase):
    def test_all_processes_end_well(self, proc_info: Any, folder: Any) -> None:
        folder.cleanup()
        launch_testing.asserts.assertExitCodes(proc_info)
