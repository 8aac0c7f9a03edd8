"""The programs as processes, over DDS."""

import contextlib
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from geometry_msgs.msg import TransformStamped
from scipy.spatial.transform import Rotation

from tf2_ros_programs.echo import text_of

PATIENCE_S = 40.0
TURN = ("--x", "1.5", "--yaw", "1.5707963267948966", "--frame-id", "map", "--child-frame-id", "base")


@pytest.fixture(scope="module")
def start():
    started = []

    def begin(module, *words):
        process = subprocess.Popen(
            [sys.executable, "-m", f"tf2_ros_programs.{module}", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        guard = threading.Timer(PATIENCE_S, process.kill)
        guard.start()
        started.append((process, guard))
        return process

    yield begin
    for process, guard in started:
        guard.cancel()
        process.send_signal(signal.SIGINT)  # who is killed may hold a lock of the shared memory that others wait for
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_S)
        process.kill()
        process.stdout.close()
        process.wait()


@pytest.fixture(scope="module")
def running(start):
    """All of them at once, the publishers for the others."""
    return SimpleNamespace(
        publisher=start("publisher", *TURN),
        other=start("publisher", "--z", "2", "--frame-id", "base", "--child-frame-id", "lidar"),
        echo=start("echo", "map", "lidar", "5", "-p", "2"),
    )


def read_until(process, text):
    read = ""
    for line in process.stdout:
        read += line
        if text in line:
            return read
    raise AssertionError(f"{text} did not come, but:\n{read}")


def test_echo_tells_the_pose(running):
    read_until(running.echo, "At time 0.0")
    assert read_until(running.echo, "(degree)").splitlines() == [
        "- Translation: [1.50, 0.00, 2.00]",
        "- Rotation: in Quaternion (xyzw) [0.00, 0.00, 0.71, 0.71]",
        "- Rotation: in RPY (radian) [0.00, -0.00, 1.57]",
        "- Rotation: in RPY (degree) [0.00, -0.00, 90.00]",
    ]
    running.echo.send_signal(signal.SIGINT)
    assert running.echo.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("words", [["map"], ["map", "base", "0"]])
def test_wrong_usage_is_told(start, words):
    process = start("echo", *words)
    assert "usage: tf2_echo" in process.stdout.read()
    assert process.wait(PATIENCE_S) == 2


def test_angles_are_those_of_scipy():
    angles = np.array([0.3, -1.1, 2.5])
    message = TransformStamped()
    turn = message.transform.rotation
    turn.x, turn.y, turn.z, turn.w = map(float, Rotation.from_euler("xyz", angles).as_quat())
    lines = text_of(message, 6).splitlines()
    told = [float(number) for number in lines[3].split("[")[1].rstrip("]").split(",")]
    assert told == pytest.approx(angles, abs=1e-6)
    matrix = np.array([[float(number) for number in line.split()] for line in lines[6:]])
    assert matrix[:3, :3] == pytest.approx(Rotation.from_euler("xyz", angles).as_matrix(), abs=1e-6)
