"""tf2_monitor: who publishes which frames, how often and how late."""

import argparse
import sys
import time
from collections import defaultdict, deque
from collections.abc import Sequence

import rclpy
import yaml
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.time import Time
from tf2_msgs.msg import TFMessage

from tf2_ros import Buffer, TransformException, TransformListener

from .program import parsed, running_node

GATHER_S = 10.0
REPORT_S = 1.0
NOBODY = "<no authority available>"
DEPTH = 100
KEPT = 1000
STEP_S = 0.1


def main(arguments: Sequence[str] | None = None) -> int:
    """The program."""
    parser = argparse.ArgumentParser("tf2_monitor", description="Tell of all frames, or of the way between two.")
    parser.add_argument("source_frame", nargs="?")
    parser.add_argument("target_frame", nargs="?")
    parser.add_argument("--gather", type=float, default=GATHER_S, help="seconds before the first report")
    chosen = parsed(parser, arguments)
    if chosen.source_frame and not chosen.target_frame:
        parser.error("expected both frames or none")
    way = (chosen.source_frame, chosen.target_frame) if chosen.source_frame else None
    with running_node("tf2_monitor", arguments) as node:
        monitor = Monitor(node, way)
        _write(f"Gathering data on {monitor.about} for {chosen.gather:g} seconds...\n")
        end = time.monotonic() + chosen.gather
        while time.monotonic() < end:
            rclpy.spin_once(node, timeout_sec=STEP_S)
        _write(monitor.report())
        node.create_timer(REPORT_S, lambda: _write(monitor.report()))
        rclpy.spin(node)
    return 0


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


class Delays:
    """How late the last messages came, in seconds."""

    def __init__(self) -> None:
        self._last_s: deque[float] = deque(maxlen=KEPT)

    def add(self, delay_s: float) -> None:
        """Take note of one."""
        self._last_s.append(delay_s)

    @property
    def mean_s(self) -> float:
        """The mean, 0 of none."""
        return sum(self._last_s) / len(self._last_s) if self._last_s else 0.0

    @property
    def most_s(self) -> float:
        """The longest, 0 of none."""
        return max(self._last_s, default=0.0)


class Monitor:
    """Hears all transforms, and tells of them, or of those on the way from one frame to another."""

    def __init__(self, node: Node, way: tuple[str, str] | None) -> None:
        self._node, self._way = node, way
        self.about = f"{way[0]} to {way[1]}" if way else "all frames"
        self._begin_s = time.monotonic()
        self._count = 0
        self._all, self._net = Delays(), Delays()
        self._frames: dict[str, Delays] = defaultdict(Delays)
        self._buffer = Buffer(node=node)
        self._listener = TransformListener(self._buffer, node)
        lasting = QoSProfile(depth=DEPTH, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        node.create_subscription(TFMessage, "/tf", self._hear, DEPTH)
        node.create_subscription(TFMessage, "/tf_static", self._hear_static, lasting)

    def report(self) -> str:
        """Return what is known by now, in writing."""
        chain = self._chain()
        lines = ["", f"RESULTS: for {self.about}"]
        if self._way:
            lines += [f"Chain is: {' -> '.join(chain)}"]
            lines += [f"Net delay     avg = {self._net.mean_s:g}: max = {self._net.most_s:g}"]
        lines += ["", "Frames:"]
        for frame, delays in sorted(self._frames.items()):
            if not self._way or frame in chain:
                late = f"Average Delay: {delays.mean_s:g}, Max Delay: {delays.most_s:g}"
                lines.append(f"Frame: {frame}, published by {NOBODY}, {late}")
        rate_hz = self._count / max(time.monotonic() - self._begin_s, 1e-9)
        late = f"Average Delay: {self._all.mean_s:g} Max Delay: {self._all.most_s:g}"
        lines += ["", "All Broadcasters:", f"Node: {NOBODY} {rate_hz:g} Hz, {late}"]
        return "\n".join(lines) + "\n"

    def _hear(self, message: TFMessage) -> None:
        now = self._node.get_clock().now()
        self._count += 1
        for transform in message.transforms:
            delay_s = (now - Time.from_msg(transform.header.stamp, now.clock_type)).nanoseconds * 1e-9
            self._frames[transform.child_frame_id].add(delay_s)
            self._all.add(delay_s)
        if self._way:
            self._take_net_delay(now)

    def _hear_static(self, message: TFMessage) -> None:
        """What stands still is never late."""
        self._count += 1
        for transform in message.transforms:
            self._frames[transform.child_frame_id].add(0.0)

    def _take_net_delay(self, now: Time) -> None:
        try:
            latest = self._buffer.get_latest_common_time(*(self._way or ()))
        except TransformException:
            return
        if latest.nanoseconds:
            self._net.add((now.nanoseconds - latest.nanoseconds) * 1e-9)

    def _chain(self) -> list[str]:
        """The frames from the first to the second, over the one that is above both; none while they are not joined."""
        if not self._way:
            return []
        told = yaml.safe_load(self._buffer.all_frames_as_yaml()) or {}
        parents = {str(child): str(entry["parent"]) for child, entry in dict(told).items()}
        up, down = (_above(frame, parents) for frame in self._way)
        shared = next((frame for frame in up if frame in down), None)
        if shared is None:
            return []
        return up[: up.index(shared) + 1] + down[: down.index(shared)][::-1]


def _above(frame: str, parents: dict[str, str]) -> list[str]:
    """A frame, its parent and so on."""
    found = [frame]
    while found[-1] in parents and parents[found[-1]] not in found:
        found.append(parents[found[-1]])
    return found


if __name__ == "__main__":
    sys.exit(main())
