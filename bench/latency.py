"""What a live node costs: how long after a joint state its transforms are on /tf, and processor time per message.

./ws exec python bench/latency.py. The floor beside it is a node of rclpy that answers each joint state with the same
number of messages of the same size, without computing or encoding them.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

os.environ["ROS_DOMAIN_ID"] = str(random.randint(1, 101))
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from fieldplay.datasets.registry import dataset_files
from fieldplay.datasets.spec import spec_from_file

RATE_HZ = 100
DEPTH = QoSProfile(depth=200)
NODE = "import sys; from fieldplay_ros.programs import program; sys.exit(program('wheel_poses')())"
FLOOR = """
import rclpy
from geometry_msgs.msg import Pose, PoseArray, TransformStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

rclpy.init()
node = rclpy.create_node("floor")
poses, tf = node.create_publisher(PoseArray, "wheels/poses", 200), node.create_publisher(TFMessage, "/tf", 100)
pose_bytes = serialize_message(PoseArray(poses=[Pose() for _ in range(4)]))
transforms = TFMessage(transforms=[TransformStamped() for _ in range(4)])

def answer(data):
    transforms.transforms[0].header.stamp = deserialize_message(data, JointState).header.stamp
    poses.publish(pose_bytes)
    tf.publish(serialize_message(transforms))

node.create_subscription(JointState, "platform/joint_states", answer, 200, raw=True)
executor = SingleThreadedExecutor()
executor.add_node(node)
while rclpy.ok():
    executor.spin_once(timeout_sec=0.1)
"""


def parameters(name: str) -> list[str]:
    spec = spec_from_file(dataset_files()["ameds"])
    derived = next(item for item in spec.derived if item.name == name)
    parameters = derived.node_parameters()
    return [
        word for key, value in parameters.items() for word in ("-p", f"{key}:={str(value).replace(chr(39), chr(34))}")
    ]


def cpu_s(pid: int) -> float:
    """The processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(name: str, command: list[str], count: int) -> None:
    """Send joint states to a process; print what came back when, and what it cost."""
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    node = rclpy.create_node("stopwatch")
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    sent: dict[tuple[int, int], int] = {}
    took: list[float] = []

    def receive(message: TFMessage) -> None:
        stamp = message.transforms[0].header.stamp
        took.append((time.monotonic_ns() - sent[stamp.sec, stamp.nanosec]) / 1e6)

    node.create_subscription(TFMessage, "/tf", receive, DEPTH)
    publisher = node.create_publisher(JointState, "platform/joint_states", DEPTH)
    while node.count_publishers("/tf") == 0 or publisher.get_subscription_count() == 0:
        executor.spin_once(timeout_sec=0.1)
    names = [f"{kind}_{wheel}" for kind in ("drive", "steer") for wheel in (1, 2, 3, 4)]
    before = cpu_s(process.pid)
    for index in range(count):
        message = JointState(name=names, position=[0.01 * index] * 8)
        message.header.stamp.sec, message.header.stamp.nanosec = 1 + index, index
        end = time.monotonic() + 1 / RATE_HZ
        sent[1 + index, index] = time.monotonic_ns()
        publisher.publish(message)
        while (left := end - time.monotonic()) > 0:
            executor.spin_once(timeout_sec=left)
    used_ms = (cpu_s(process.pid) - before) * 1e3 / count
    executor.shutdown()
    node.destroy_node()
    process.send_signal(signal.SIGINT)
    process.wait()
    p50, p99 = np.percentile(took, (50, 99))
    figures = f"p50 {p50:.2f} ms, p99 {p99:.2f} ms, max {max(took):.2f} ms; {used_ms:.2f} ms of CPU for each"
    print(f"{name}: {len(took)} of {count} joint states at {RATE_HZ} Hz to tf: {figures}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=2)
    chosen = parser.parse_args()
    rclpy.init()
    nodes = {
        "wheel_poses": [sys.executable, "-c", NODE, "--ros-args", *parameters("wheel_poses")],
        "floor": [sys.executable, "-c", FLOOR],
    }
    for _ in range(chosen.rounds):
        for name, command in nodes.items():
            measure(name, command, chosen.messages)
    rclpy.shutdown()


if __name__ == "__main__":
    main()
