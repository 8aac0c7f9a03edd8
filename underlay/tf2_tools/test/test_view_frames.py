"""The tree of frames, drawn."""

import subprocess
import sys

import pytest
import rclpy
from geometry_msgs.msg import TransformStamped
from rclpy.context import Context
from rclpy.node import Node

from tf2_ros import StaticTransformBroadcaster

PATIENCE_S = 60.0


def test_the_tree_that_is_heard_is_drawn(tmp_path):
    context = Context()
    rclpy.init(args=[], context=context)
    node = Node("standing", context=context)
    transform = TransformStamped(child_frame_id="lidar")
    transform.header.frame_id = "base"
    transform.transform.rotation.w = 1.0
    StaticTransformBroadcaster(node).sendTransform(transform)
    command = [sys.executable, "-m", "tf2_tools.view_frames", "--wait-time", "4", "-o", str(tmp_path / "tree")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    node.destroy_node()
    rclpy.shutdown(context=context)
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / "tree") in done.stdout + done.stderr
    assert '"base" -> "lidar"[label="Broadcaster: ' in (tmp_path / "tree.gv").read_text()


@pytest.mark.stand_in("upstream's function has another name")
def test_without_frames_there_is_a_drawing_that_says_so():
    from tf2_tools.view_frames import drawing

    assert '"No tf data received"' in drawing({}, 0.0)
