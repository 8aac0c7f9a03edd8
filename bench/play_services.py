"""How soon the player does what is asked of it through its services, while it plays AMEDS at full rates.

From the call to when the middleware was handed the message that shows it: the first at a new place, the last of /clock
before a pause, the first behind it; and how many messages still come at the old rate.
Usage: ./ws exec python bench/play_services.py [--calls 40] [--data FOLDER]
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from archive import START
from play import ROOT, environment_of, write_sources

TOPIC, RATE_HZ = "/ameds/imu/data_raw", 100
CLOCK_HZ = 500.0
QUIET_S = 0.1


class Caller:
    """A client of the services that hears one topic."""

    def __init__(self, seconds: int, prefix: str) -> None:
        import rclpy
        from rosbag2_interfaces import srv
        from rosgraph_msgs.msg import Clock
        from sensor_msgs.msg import Imu

        rclpy.init()
        self.srv, self.seconds = srv, seconds
        self.node = rclpy.create_node("caller")
        self.heard: list[tuple[int, int]] = []  # stamp, sent
        self.clock: list[tuple[int, int]] = []
        for kind, topic, result in ((Imu, TOPIC, self.heard), (Clock, "/clock", self.clock)):
            self.node.create_subscription(kind, topic, partial(self._take, result), 1000, raw=True)
        self.spin = lambda: rclpy.spin_once(self.node, timeout_sec=0.001)
        self.clients = {
            kind: self.node.create_client(getattr(srv, kind), f"{prefix}/player/{name}")
            for kind, name in {"Seek": "seek", "Pause": "pause", "Resume": "resume", "SetRate": "set_rate"}.items()
        }
        for client in self.clients.values():
            client.wait_for_service()
        self._wait(lambda: len(self.heard) > RATE_HZ)

    def _take(self, actual: list[tuple[int, int]], data: bytes, info: Any) -> None:
        stamp_ns = int.from_bytes(data[4:8], "little") * 10**9 + int.from_bytes(data[8:12], "little")
        actual.append((stamp_ns, info["source_timestamp"]))

    def _wait(self, is_done: Callable[[], bool], timeout_s: float = 10.0) -> None:
        end = time.monotonic() + timeout_s
        while not is_done() and time.monotonic() < end:
            self.spin()

    def call(self, kind: str, **fields: Any) -> int:
        """Call a service; when that was."""
        request = getattr(self.srv, kind).Request(**fields)
        start = time.time_ns()
        future = self.clients[kind].call_async(request)
        self._wait(future.done)
        return start

    def seek(self) -> float:
        from builtin_interfaces.msg import Time

        second = START + random.randrange(1, self.seconds - 2)
        start = self.call("Seek", time=Time(sec=second))

        def there() -> list[int]:
            return [sent for stamp, sent in self.heard if sent >= start and stamp == second * 10**9]

        self._wait(lambda: bool(there()))
        return (there()[0] - start) / 1e6

    def pause(self) -> float:
        start = self.call("Pause")
        end = time.monotonic() + QUIET_S
        self._wait(lambda: time.monotonic() > end)
        return max(0.0, max(sent - start for _, sent in self.clock) / 1e6)

    def resume(self) -> float:
        start = self.call("Resume")
        self._wait(lambda: self.clock[-1][1] > start)
        return min(sent - start for _, sent in self.clock if sent > start) / 1e6

    def set_rate(self) -> float:
        """How many messages still come at the old distance."""
        start = self.call("SetRate", rate=4.0)
        self._wait(lambda: sum(sent > start for _, sent in self.heard) > 6)
        sent = [sent for _, sent in self.heard if sent > start][:7]
        self.call("SetRate", rate=1.0)
        return float(sum(np.diff(sent) / 1e6 > 0.75 * 1e3 / RATE_HZ))


def call(calls: str, seconds: str, prefix: str) -> None:
    caller = Caller(int(seconds), prefix)
    by_name: dict[str, list[float]] = {"seek": [], "pause": [], "resume": [], "set_rate": []}
    for _ in range(int(calls)):
        for name, took in by_name.items():
            took.append(getattr(caller, name)())
            end = time.monotonic() + random.uniform(QUIET_S, 2 * QUIET_S)
            caller._wait(lambda end=end: time.monotonic() > end)
    for name, took in by_name.items():
        unit = "messages at the old rate" if name == "set_rate" else "ms"
        p50, p90 = np.percentile(took, (50, 90))
        sys.stdout.write(f"  {name}: p50 {p50:.2f}, p90 {p90:.2f}, max {max(took):.2f} {unit}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60, help="length of the archive")
    parser.add_argument("--calls", type=int, default=40)
    parser.add_argument("--against", type=Path, help="another checkout, whose player is measured behind this one's")
    parser.add_argument("--data", type=Path, help="a folder in which archive and bag are kept for the next time")
    chosen = parser.parse_args()
    checkouts = {"this": ROOT} | ({"other": chosen.against.resolve()} if chosen.against else {})
    with tempfile.TemporaryDirectory(prefix="fieldplay-bench-", dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
        for source in write_sources(chosen.data or Path(folder), chosen.seconds):
            for name, checkout in checkouts.items():
                environment = environment_of(checkout)
                how = {"archive": str(source), "loop": "true", "wait_for_subscribers": "1", "clock": str(CLOCK_HZ)}
                how |= {"images": "compressed"} if source.name == "ameds" else {}
                options = [word for key, value in how.items() for word in ("-p", f"{key}:={value}")]
                command = [sys.executable, "-m", "fieldplay_ros.player_node", "--ros-args", *options]
                prefix = "/ameds" if source.name == "ameds" else ""
                player = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
                print(f"{name}, {source.name}", flush=True)
                me = [sys.executable, __file__, "call", str(chosen.calls), str(chosen.seconds)]
                subprocess.run([*me, prefix], env=environment, check=True)
                player.send_signal(signal.SIGINT)
                player.wait(30)


if __name__ == "__main__":
    if sys.argv[1:2] == ["call"]:
        call(*sys.argv[2:])
    else:
        main()
