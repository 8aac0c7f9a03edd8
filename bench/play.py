"""Live play at AMEDS's full rates beside a listener on everything: how even, how complete, at what cost.

Two cameras as JPEG at 30 Hz, the lidar at 5 Hz with 115,200 points, all tables; from the archive, and from a bag of it.
Late is when the listener's middleware has a message, against its time in the archive on the clock of the player; left
is when the player handed it over, against the same. Both clocks are the machine's, so that nothing has to be aligned.
With --against the player of another checkout takes turns with this one. Usage: ./ws exec python bench/play.py [...]
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from archive import write_clouds, write_images, write_tables

from fieldplay.player.dds_profile import use_profile

ROOT = Path(__file__).parents[1]
FAST = 1000.0  # a rate at which nothing is ever waited for
POLL_S = 0.004
FIRST_NS = 1_000_000_000
PERCENTILES = (50, 95, 99, 99.9, 100)
HEADS = ("source", "rate", "late ms: p50 / p95 / p99 / p99.9 / max", "of the first second", "left ms: p50 / p99 / max")
HEADS += ("took s", "lost", "CPU s", "MB", "start s")


def play(path: str, rate: str, subscribers: str, out: str) -> None:
    """The player, which notes when its clock began to run, and what it took."""
    from fieldplay.player.player_time import PlayerClock
    from fieldplay_ros import player_node as node

    started: list[tuple[int, int]] = []
    run_from = PlayerClock.run_from

    def noted(self: PlayerClock, position_ns: int) -> None:
        run_from(self, position_ns)
        started.append((position_ns, time.time_ns() - time.monotonic_ns() + self.deadline_ns(position_ns)))

    options = {"archive": path, "rate": rate, "wait_for_subscribers": subscribers, "skip_gaps": "0"}
    options |= {} if is_bag(path) else {"images": "compressed"}
    arguments = [word for name, value in options.items() for word in ("-p", f"{name}:={value}")]
    with patch.object(PlayerClock, "run_from", noted):
        node.main(["player", "--ros-args", *arguments])
    status = Path("/proc/self/status").read_text()
    peak = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    Path(out).write_text(json.dumps({"begun": started[0], "memory_mb": int(peak) / 1024}))


def is_bag(path: str) -> bool:
    return Path(path, "metadata.yaml").is_file()


def list_times(path: str, out: str) -> None:
    """Write down which topics move, and when their messages are due: what all runs are measured against."""
    from fieldplay.datasets.registry import open_dataset
    from fieldplay.topics.archive_topics import archive_topic_streams
    from fieldplay.topics.selection import Selection

    with open_dataset(Path(path)) as opened:
        feeds = archive_topic_streams(opened, Selection(images=None if is_bag(path) else "compressed"))
        moving = [feed for feed in feeds if not feed.static]
        times = {f.topic: [f.records(i).leaves_ns for i in range(len(f.spans))] for f in moving}
        np.savez(out, **{topic: np.concatenate(spans) for topic, spans in times.items()})


def listen(path: str, out: str) -> None:
    """Take every message as bytes until SIGINT; the middleware's times of sending and receiving by topic.

    It looks every few milliseconds rather than at each message, so that it leaves the processors to the player.
    """
    import rclpy

    from fieldplay.datasets.registry import open_dataset
    from fieldplay.topics.archive_topics import archive_topic_streams, channel_of_feed
    from fieldplay.topics.selection import Selection
    from fieldplay_ros.live_sink import message_class, profile

    with open_dataset(Path(path)) as opened:
        feeds = archive_topic_streams(opened, Selection(images=None if is_bag(path) else "compressed"))
        offers = {f.topic: (message_class(f.msgtype), profile(channel_of_feed(f).qos)) for f in feeds if not f.static}
    rclpy.init(signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
    node = rclpy.create_node("listener")
    taken: dict[str, list[tuple[int, int]]] = {}
    handles = []
    for topic, (kind, qos) in offers.items():
        qos.depth = 100_000  # the listener itself drops nothing: what is missing was lost on the way
        handle = node.create_subscription(kind, topic, lambda _: None, qos, raw=True).handle
        handles.append((handle, kind, taken.setdefault(topic, [])))
    ends: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: ends.append(number))
    while not ends:
        time.sleep(POLL_S)
        for handle, kind, times in handles:
            with handle:
                while (message := handle.take_message(kind, True)) is not None:
                    times.append((message[1]["source_timestamp"], message[1]["received_timestamp"]))
    np.savez(out, **{topic: np.array(times, np.int64).reshape(-1, 2) for topic, times in taken.items()})


def figures(due: dict[str, Any], heard: dict[str, Any], rate: float, started: tuple[int, int]) -> dict[str, Any]:
    """Late and left in ms, and what was lost; topics of which something was lost have no times."""
    position_ns, wall_ns = started
    late, left, first, ends = [np.zeros(0)], [np.zeros(0)], [np.zeros(0)], []
    for topic, stamps in due.items():
        sent, received = heard[topic].T
        ends += [*received[:1], *received[-1:]]
        if len(sent) == len(stamps):
            expected = wall_ns + (stamps - position_ns) / rate
            is_first = expected < wall_ns + FIRST_NS
            late.append((received - expected)[~is_first] / 1e6)
            left.append((sent - expected)[~is_first] / 1e6)
            first.append((received - expected)[is_first] / 1e6)
    return {
        "late": np.percentile(np.concatenate(late), PERCENTILES).tolist() if sum(map(len, late)) else [],
        "first": np.percentile(np.concatenate(first), PERCENTILES).tolist() if sum(map(len, first)) else [],
        "left": np.percentile(np.concatenate(left), (50, 99, 100)).tolist() if sum(map(len, left)) else [],
        "lost": sum(map(len, due.values())) - sum(map(len, heard.values())),
        "of": ", ".join(topic for topic, stamps in due.items() if len(heard[topic]) != len(stamps)),
        "took_s": (max(ends) - min(ends)) / 1e9,
        "first_ns": min(ends),
    }


def measure(path: Path, rate: float, checkout: Path, folder: Path) -> dict[str, Any]:
    """One run of the player of a checkout."""
    environment = environment_of(checkout)
    times, received, played = folder / f"{path.name}.npz", folder / "heard.npz", folder / "played.json"
    mine = environment_of(ROOT) | {"ROS_DOMAIN_ID": environment["ROS_DOMAIN_ID"]}
    me = [sys.executable, __file__]
    if not times.exists():
        subprocess.run([*me, "times", str(path), str(times)], env=mine, check=True)
    due = dict(np.load(times))
    listener = subprocess.Popen([*me, "listen", str(path), str(received)], env=mine)
    time.sleep(3.0)  # so that its start is not counted
    start_ns = time.time_ns()
    command = [*me, "play", str(path), str(rate), str(len(due)), str(played)]
    player = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    _, status, use = os.wait4(player.pid, 0)
    time.sleep(0.5)
    listener.send_signal(signal.SIGINT)
    listener.wait(60)
    if status:
        raise SystemExit(f"the player ended with status {status}")
    actual = json.loads(played.read_text())
    result = figures(due, dict(np.load(received)), rate, actual["begun"])
    start_s = (result["first_ns"] - start_ns) / 1e9
    return {**result, "cpu_s": use.ru_utime + use.ru_stime, "memory_mb": actual["memory_mb"], "start_s": start_s}


def environment_of(checkout: Path) -> dict[str, str]:
    """The environment in which the packages are those of a checkout, and the settings of Fast DDS those of this one."""
    use_profile()
    packages = os.pathsep.join(map(str, sorted((checkout / "src").glob("*/"))))
    return {
        **os.environ,
        "PYTHONPATH": packages + os.pathsep + os.environ["PYTHONPATH"],
        "ROS_DOMAIN_ID": str(random.randint(1, 101)),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
    }


def row(name: str, path: Path, rate: float, result: dict[str, Any]) -> str:
    def several(values: list[float]) -> str:
        return " / ".join(f"{value:.2g}" if abs(value) < 10 else f"{value:.0f}" for value in values) or "-"

    pace = "as fast as possible" if rate >= FAST else f"{rate:g}"
    is_fast = rate >= FAST
    times = ["-"] * 3 if is_fast else [several(result[key]) for key in ("late", "first", "left")]
    cells = [f"{name}, {'bag' if is_bag(str(path)) else 'archive'}", pace, *times, f"{result['took_s']:.1f}"]
    cells += [
        f"{result['lost']} {result['of']}".strip(),
        f"{result['cpu_s']:.1f}",
        f"{result['memory_mb']:.0f}",
        f"{result['start_s']:.1f}",
    ]
    return "| " + " | ".join(cells) + " |"


@contextmanager
def busy_cores(count: int) -> Iterator[None]:
    """Other programs that keep so many cores busy."""
    programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def write_sources(data: Path, seconds: int) -> list[Path]:
    """The archive and a bag of it, unless they are there."""
    archive, bag = data / "ameds", data / "bag"
    if not archive.exists():
        write_tables(archive, seconds)
        write_images(archive, "MainCam", (1080, 1920), seconds)
        write_images(archive, "AuxCam", (720, 1280), seconds)
        write_clouds(archive, seconds)
    if not bag.exists():
        command = ["fieldplay", "convert", str(archive), str(bag), "--images", "compressed"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return [archive, bag]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60, help="length of the archive")
    parser.add_argument("--rates", type=float, nargs="+", default=[1.0, 5.0, 10.0, FAST], help="1000 is without waits")
    parser.add_argument("--sources", nargs="+", choices=("ameds", "bag"), default=["ameds", "bag"])
    parser.add_argument("--runs", type=int, default=1, help="how often all of it is measured, in turns")
    parser.add_argument("--busy", type=int, default=0, help="cores that are kept busy meanwhile")
    parser.add_argument("--against", type=Path, help="another checkout, whose player is measured in turns")
    parser.add_argument("--data", type=Path, help="a folder in which archive and bag are kept for the next time")
    chosen = parser.parse_args()
    checkouts = {"this": ROOT} | ({"other": chosen.against.resolve()} if chosen.against else {})
    print("| " + " | ".join(HEADS) + " |\n|" + "---|" * len(HEADS))
    with tempfile.TemporaryDirectory(prefix="fieldplay-bench-", dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
        sources = [path for path in write_sources(chosen.data or Path(folder), chosen.seconds)]
        for path in (path for path in sources if path.name in chosen.sources):
            for rate in (rate for rate in chosen.rates for _ in range(chosen.runs)):
                for name, checkout in checkouts.items():
                    with busy_cores(chosen.busy):
                        print(row(name, path, rate, measure(path, rate, checkout, Path(folder))), flush=True)


if __name__ == "__main__":
    commands = {"play": play, "listen": listen, "times": list_times}
    if sys.argv[1:2] and sys.argv[1] in commands:
        commands[sys.argv[1]](*sys.argv[2:])
    else:
        main()
