"""How long after a joint state its transforms are on /tf, through a live node: ./ws exec python bench/latency.py."""

import argparse
import os
import random
import subprocess
import time

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

RATE_HZ = 50
DEPTH = QoSProfile(depth=200)


def parameters(name: str) -> list[str]:
    spec = spec_from_file(dataset_files()["ameds"])
    derived = next(item for item in spec.derived if item.name == name)
    parameters = derived.node_parameters()
    return [
        word for key, value in parameters.items() for word in ("-p", f"{key}:={str(value).replace(chr(39), chr(34))}")
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=1000)
    count = parser.parse_args().messages
    command = ["ros2", "run", "fieldplay_ros", "wheel_poses", "--ros-args", *parameters("wheel_poses")]
    process = subprocess.Popen(command)
    rclpy.init()
    node = rclpy.create_node("stopwatch")
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    sent: dict[tuple[int, int], int] = {}
    took: list[float] = []

    def heard(message: TFMessage) -> None:
        stamp = message.transforms[0].header.stamp
        took.append((time.monotonic_ns() - sent[stamp.sec, stamp.nanosec]) / 1e6)

    node.create_subscription(TFMessage, "/tf", heard, DEPTH)
    publisher = node.create_publisher(JointState, "platform/joint_states", DEPTH)
    while node.count_publishers("/tf") == 0 or publisher.get_subscription_count() == 0:
        executor.spin_once(timeout_sec=0.1)
    names = [f"{kind}_{wheel}" for kind in ("drive", "steer") for wheel in (1, 2, 3, 4)]
    for index in range(count):
        message = JointState(name=names, position=[0.01 * index] * 8)
        message.header.stamp.sec, message.header.stamp.nanosec = 1 + index, index
        end = time.monotonic() + 1 / RATE_HZ
        sent[1 + index, index] = time.monotonic_ns()
        publisher.publish(message)
        while (left := end - time.monotonic()) > 0:
            executor.spin_once(timeout_sec=left)
    process.terminate()
    process.wait()
    rclpy.try_shutdown()
    figures = f"p50 {np.percentile(took, 50):.2f} ms, p99 {np.percentile(took, 99):.2f} ms, max {max(took):.2f} ms"
    print(f"{len(took)} of {count} joint states at {RATE_HZ} Hz to tf: {figures}")


if __name__ == "__main__":
    main()
