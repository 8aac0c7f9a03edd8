"""`ros2 launch` of AMEDS as a user runs it: its end by itself, by Ctrl-C, and two of them side by side."""

import os
import signal
import subprocess
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from tf2_msgs.msg import TFMessage

PATIENCE_S = 40.0


@contextmanager
def launched(archive: Path, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """A launch in a process group of its own, as a terminal makes one; all of it is gone in the end."""
    command = ["ros2", "launch", "fieldplay_bringup", "ameds.launch.py", f"archive:={archive}", "images:=compressed"]
    process = subprocess.Popen(
        [*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_for_line(process: "subprocess.Popen[str]", text: str) -> None:
    assert process.stdout
    for line in process.stdout:
        if text in line:
            return
    raise AssertionError(f"the launch ended without '{text}'")


def test_the_end_of_the_archive_ends_the_launch_well(tiny_ameds: Any) -> None:
    with launched(tiny_ameds.root, "rate:=4.0", "on_end:=exit") as launch:
        told, _ = launch.communicate(timeout=PATIENCE_S)
    assert launch.returncode == 0, told
    assert "published 3489 messages on 29 topics, skipped 0" in told
    assert "has died" not in told


def test_ctrl_c_ends_all_processes_well(tiny_ameds: Any) -> None:
    with launched(tiny_ameds.root, "loop:=true") as launch:
        wait_for_line(launch, "again and again")
        os.killpg(launch.pid, signal.SIGINT)
        told, _ = launch.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in told
    assert "has died" not in told, told
    with pytest.raises(ProcessLookupError):
        os.killpg(launch.pid, 0)


def test_an_archive_that_is_not_there_is_said_and_fails(tmp_path: Path) -> None:
    with launched(tmp_path / "nothing") as launch:
        told, _ = launch.communicate(timeout=PATIENCE_S)
    assert launch.returncode == 1
    assert "there is no such folder or file" in told
    assert "Traceback" not in told


def test_two_play_side_by_side_with_a_namespace_and_a_frame_prefix_each(tiny_ameds: Any) -> None:
    frames: dict[str, set[str]] = defaultdict(set)
    topics: set[str] = set()
    changed = threading.Condition()
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node("side_by_side", context=context)

    def take(message: TFMessage) -> None:
        with changed:
            for transform in message.transforms:
                frames[transform.child_frame_id.partition("/")[0]].add(transform.child_frame_id)
            topics.update(name for name, _ in node.get_topic_names_and_types())
            changed.notify_all()

    latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_subscription(TFMessage, "/tf_static", take, latched)
    node.create_subscription(TFMessage, "/tf", take, QoSProfile(depth=1000))
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    thread = threading.Thread(target=executor.spin)
    thread.start()
    try:
        with (
            launched(tiny_ameds.root, "namespace:=one", "frame_prefix:=one/", "loop:=true"),
            launched(tiny_ameds.root, "namespace:=two", "frame_prefix:=two/", "loop:=true"),
            changed,
        ):
            wanted = {"base_link", "lidar", "wheel_1", "main_arm_end", "odom"}
            both = {name: {f"{name}/{frame}" for frame in wanted} for name in ("one", "two")}
            found = changed.wait_for(lambda: all(both[name] <= frames[name] for name in both), PATIENCE_S)
            assert found, dict(frames)
    finally:
        executor.shutdown()
        thread.join()
        node.destroy_node()
        rclpy.shutdown(context=context)
    assert {"/one/lidar/points", "/two/lidar/points", "/one/wheels/odom", "/two/wheels/odom"} <= topics
    assert set(frames) == {"one", "two"}
