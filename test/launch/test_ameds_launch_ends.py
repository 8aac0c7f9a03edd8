"""Launches of AMEDS beside each other, in a namespace and with a frame prefix each, and how they end.

One plays again and again until Ctrl-C, one to the end of the archive, and one has an archive that is not there.
"""

import signal
import sys
import tempfile
import unittest
from collections import defaultdict
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # a plain `launch_test` does not look beside its file

import pytest
from rosbag2_interfaces import srv

import launch_testing
import launch_testing.asserts
import launch_testing.markers
from fieldplay_testing.nodes.node_stage import MEET_PATIENCE_S as PATIENCE_S
from fieldplay_testing.nodes.node_stage import TopicRecorder
from fieldplay_testing.tiny_ameds import TinyAmeds
from launch import LaunchDescription
from launch.actions import ExecuteProcess
from launch.events import matches_action
from launch.events.process import SignalProcess
from launch_testing.actions import ReadyToTest
from launch_testing.util import KeepAliveProc
from support.launch_ending import TELLS_ITS_PLACE, assert_it_ends, said
from support.launched_tests import find_all

PLAYING = ("interrupted", "to_the_end")
FRAMES = ("base_link", "lidar", "wheel_1", "main_arm_end", "odom")


def launched(archive: Path, namespace: str, *arguments: str) -> ExecuteProcess:
    """`ros2 launch` as a user types it."""
    command = ["ros2", "launch", "fieldplay_bringup", "ameds.launch.py", f"archive:={archive}", "images:=compressed"]
    difference = [f"namespace:={namespace}", f"frame_prefix:={namespace}/"]
    return ExecuteProcess(cmd=[*command, *difference, *arguments], additional_env=TELLS_ITS_PLACE)


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> tuple[LaunchDescription, dict[str, Any]]:
    folder = tempfile.TemporaryDirectory(prefix="fieldplay-test-")
    archive = TinyAmeds(Path(folder.name) / "Traverse_5")
    archive.write_all()
    launches = {
        "to_the_end": launched(archive.root, "to_the_end", "rate:=4.0", "on_end:=exit", "paused:=true"),
        "interrupted": launched(archive.root, "interrupted", "loop:=true"),
        "nothing": launched(archive.root / "nothing", "nothing"),
    }
    return LaunchDescription([*launches.values(), KeepAliveProc(), ReadyToTest()]), {**launches, "folder": folder}


class WhilePlaying(unittest.TestCase):
    """By the order of their names: the ends come last."""

    def test_a_each_has_topics_and_frames_of_its_own(self) -> None:
        listener = TopicRecorder("to_the_end")
        self.addCleanup(listener.close)
        listener.subscribe("/tf", "tf2_msgs/msg/TFMessage")
        listener.subscribe("/tf_static", "tf2_msgs/msg/TFMessage", latched=True)

        def frames() -> dict[str, set[str]]:
            by_name: dict[str, set[str]] = defaultdict(set)
            for message in listener.received["/tf"] + listener.received["/tf_static"]:
                for transform in message.transforms:
                    by_name[transform.child_frame_id.partition("/")[0]].add(transform.child_frame_id)
            return by_name

        topics = {f"/{name}/{topic}" for name in PLAYING for topic in ("lidar/points", "wheels/odom")}
        nodes = [f"/{name}/platform/joint_states" for name in PLAYING]
        find_all(listener, topics, nodes, readers=2)
        listener.send(srv.Resume, "/to_the_end/player/resume")  # it may have ended before an answer arrives
        requested = {name: {f"{name}/{frame}" for frame in FRAMES} for name in PLAYING}
        listener.wait(lambda: all(requested[name] <= frames()[name] for name in PLAYING), frames)
        self.assertEqual(set(frames()), set(PLAYING))

    def test_b_every_round_computes_same_again(self) -> None:
        listener, topic = TopicRecorder("interrupted"), "/interrupted/wheels/odom"
        self.addCleanup(listener.close)
        listener.subscribe(topic, "nav_msgs/msg/Odometry")

        def rounds() -> list[dict[int, tuple[float, ...]]]:
            result: list[dict[int, tuple[float, ...]]] = [{}]
            for message in listener.received[topic]:
                stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
                if result[-1] and stamp < max(result[-1]):
                    result.append({})
                pose = message.pose.pose
                result[-1][stamp] = (pose.position.x, pose.position.y, pose.orientation.z, pose.orientation.w)
            return result

        listener.wait(lambda: len(rounds()) > 3, lambda: [len(part) for part in rounds()])
        _, second, third, *_ = rounds()  # the first may have begun before it was heard
        common = sorted(second.keys() & third.keys())  # a busy machine may miss the end of a round
        self.assertGreater(len(common), 10)
        self.assertEqual([second[stamp] for stamp in common], [third[stamp] for stamp in common])

    def test_end_of_archive_ends_launch(self, proc_info: Any, proc_output: Any, to_the_end: ExecuteProcess) -> None:
        assert_it_ends(proc_info, proc_output, to_the_end)

    def test_ctrl_c_ends_launch(
        self, launch_service: Any, proc_info: Any, proc_output: Any, interrupted: ExecuteProcess
    ) -> None:
        proc_output.assertWaitFor("again and again", process=interrupted, timeout=PATIENCE_S, stream="stdout")
        launch_service.emit_event(
            SignalProcess(signal_number=signal.SIGINT, process_matcher=matches_action(interrupted))
        )
        assert_it_ends(proc_info, proc_output, interrupted)

    def test_archive_that_is_not_there_ends_launch(
        self, proc_info: Any, proc_output: Any, nothing: ExecuteProcess
    ) -> None:
        assert_it_ends(proc_info, proc_output, nothing)


@launch_testing.post_shutdown_test()
class AfterPlaying(unittest.TestCase):
    def test_launch_that_came_to_its_end_has_done_well(
        self, proc_info: Any, proc_output: Any, to_the_end: ExecuteProcess, folder: Any
    ) -> None:
        folder.cleanup()
        launch_testing.asserts.assertExitCodes(proc_info, process=to_the_end)
        message = said(proc_output, to_the_end)
        self.assertIn("published 4289 messages on 33 topics, skipped 0", message)
        self.assertNotIn("has died", message)

    def test_launch_that_was_interrupted_has_ended_all_its_processes_well(
        self, proc_output: Any, interrupted: ExecuteProcess
    ) -> None:
        output = said(proc_output, interrupted)
        self.assertNotIn("Traceback", output)
        self.assertNotIn("has died", output)
        self.assertEqual(output.count("process has finished cleanly"), output.count("process started with pid"))
        again = r"\[interrupted.wheel_odometry\]: the (player|times of the messages) jumped.*: starting anew"
        self.assertRegex(output, again)

    def test_archive_that_is_not_there_is_reported(
        self, proc_info: Any, proc_output: Any, nothing: ExecuteProcess
    ) -> None:
        launch_testing.asserts.assertExitCodes(proc_info, [0, 1], process=nothing)  # 0 by ROS 2's own launch
        message_text = said(proc_output, nothing)
        self.assertIn("Traverse_5/nothing: there is no such folder or file", message_text)
        self.assertNotIn("process started", message_text)
        self.assertNotIn("Traceback", message_text)
