"""Live play at AMEDS's full rates with a subscriber on everything: how punctual, how complete, at what cost.

Two cameras as JPEG at 30 Hz, the lidar at 5 Hz with 115,200 points, all tables. The error of a message is when it was
handed to the middleware, against its stamp. Usage: ./ws exec python bench/play.py [--seconds 60] [--rate 1]
"""

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from archive import write_clouds, write_pictures, write_tables

PROFILE = Path(__file__).parents[1] / "config" / "fastdds.xml"


def play(archive: str, rate: str) -> None:
    """The player with a stopwatch at its publishers; prints what was measured as JSON."""
    from fieldplay_player import node
    from fieldplay_player.live_sink import LiveTopics

    sent: list[tuple[int, int]] = []
    publish = LiveTopics.publish

    def publish_and_note(self: LiveTopics, feed: int, data: bytes) -> None:
        publish(self, feed, data)
        sent.append(
            (int.from_bytes(data[4:8], "little") * 10**9 + int.from_bytes(data[8:12], "little"), time.monotonic_ns())
        )

    parameters = {"archive": archive, "rate": rate, "images": "compressed", "wait_for_subscribers": "28"}
    arguments = [word for name, value in parameters.items() for word in ("-p", f"{name}:={value}")]
    with patch.object(LiveTopics, "publish", publish_and_note):
        node.main(["player", "--ros-args", *arguments])
    stamps, times = np.array(sent[1:]).T  # the first is the static tree
    error_ms = (times - times[0] - (stamps - stamps[0]) / float(rate)) / 1e6
    use = resource.getrusage(resource.RUSAGE_SELF)
    measured = {
        "messages": len(sent),
        "p50_ms": float(np.percentile(error_ms, 50)),
        "p99_ms": float(np.percentile(error_ms, 99)),
        "max_ms": float(error_ms.max()),
        "cpu": (use.ru_utime + use.ru_stime) / ((times[-1] - times[0]) / 1e9),
        "memory_mb": use.ru_maxrss / 1024,
    }
    sys.stdout.write(json.dumps(measured) + "\n")


def listen(archive: str) -> None:
    """Subscribes to every topic as bytes, until SIGINT; prints how many messages came."""
    import rclpy
    from rclpy.executors import ExternalShutdownException

    from fieldplay_archive.datasets import open_dataset
    from fieldplay_archive.outlets.archive_feeds import channel_of_feed, feeds_of_archive
    from fieldplay_archive.outlets.selection import Selection
    from fieldplay_player.live_sink import message_class, profile

    with open_dataset(Path(archive)) as opened:
        feeds = feeds_of_archive(opened, Selection())
    rclpy.init()
    node = rclpy.create_node("listener")
    count = [0]

    def heard(_: bytes) -> None:
        count[0] += 1

    for feed in feeds:
        qos = profile(channel_of_feed(feed).qos)
        node.create_subscription(message_class(feed.msgtype), feed.topic, heard, qos, raw=True)
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        sys.stdout.write(f"{count[0]}\n")


def measure(archive: Path, rate: float) -> dict[str, Any]:
    environment = {
        **os.environ,
        "ROS_DOMAIN_ID": str(random.randint(1, 101)),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        "FASTRTPS_DEFAULT_PROFILES_FILE": os.environ.get("FASTRTPS_DEFAULT_PROFILES_FILE", str(PROFILE)),
    }
    me = [sys.executable, __file__]
    listener = subprocess.Popen([*me, "listen", str(archive)], env=environment, stdout=subprocess.PIPE, text=True)
    command = [*me, "play", str(archive), str(rate)]
    player = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    listener.send_signal(signal.SIGINT)
    heard, _ = listener.communicate(timeout=30)
    return {**json.loads(player.stdout.splitlines()[-1]), "heard": int(heard)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="length of the archive")
    parser.add_argument("--rate", type=float, default=1.0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fieldplay-bench-", dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
        root = Path(folder) / "archive"
        write_tables(root, chosen.seconds)
        write_pictures(root, "MainCam", (1080, 1920), chosen.seconds)
        write_pictures(root, "AuxCam", (720, 1280), chosen.seconds)
        write_clouds(root, chosen.seconds)
        size = sum(path.stat().st_size for path in root.iterdir())
        found = measure(root, chosen.rate)
    rate = f"{size / 1e6 / chosen.seconds:.0f} MB of files a second"
    print(f"{chosen.seconds} s of AMEDS at {chosen.rate:g} times its rate, {rate}")
    p50, p99, largest = (f"{found[name]:.2f} ms" for name in ("p50_ms", "p99_ms", "max_ms"))
    print(f"  publish-time error: p50 {p50}, p99 {p99}, max {largest}")
    sent, heard = found["messages"], found["heard"]
    print(f"  messages: {sent} sent, {heard} heard, {sent - heard} lost")
    print(f"  the player took {found['cpu']:.0%} of a core and {found['memory_mb']:.0f} MB of memory at most")


if __name__ == "__main__":
    if sys.argv[1:2] == ["play"]:
        play(*sys.argv[2:])
    elif sys.argv[1:2] == ["listen"]:
        listen(*sys.argv[2:])
    else:
        main()
