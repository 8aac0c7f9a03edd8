"""A day of play, compressed: a second played round and round, subscribers that come and go, calls, and what grows.

./ws exec python -m campaigns.day [--seconds S] [--seed N]
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import rclpy
from ament_index_python.packages import get_package_prefix
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from rosbag2_interfaces import srv
from sensor_msgs.msg import Imu, NavSatFix

from campaigns.frame import WrongError, say
from fieldplay.core.timestamps import NS_PER_S
from fieldplay_testing.tiny_ameds import START, TinyAmeds

TENTHS = 10
MOST_GROWTH = 0.05
SLOW_S, STOPPED_S = 0.2, 1.0
PATIENCE_S = 30.0
PLAYED = "gnss/fix$|imu/data_raw$|platform/joint_states$"
TOPICS = {"/ameds/gnss/fix": NavSatFix, "/ameds/imu/data_raw": Imu}
FIX = "/ameds/gnss/fix"
FIXES, STEP_NS = 100, 10_000_000  # of a second
MANY = QoSProfile(depth=5000)


class Use(NamedTuple):
    """What a player holds."""

    kb: int
    threads: int
    files: int
    endpoints: int

    @classmethod
    def of(cls, pid: int, endpoints: int) -> "Use":
        """What the system tells of a process."""
        lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        files = len(os.listdir(f"/proc/{pid}/fd"))
        return cls(int(lines["VmRSS"].split()[0]), int(lines["Threads"]), files, endpoints)


@contextmanager
def playing(archive: Path, **values: Any) -> Iterator["subprocess.Popen[str]"]:
    """A player as a process."""
    program = Path(get_package_prefix("fieldplay_ros")) / "lib" / "fieldplay_ros" / "player"
    arguments = [word for name, value in values.items() for word in ("-p", f"{name}:={value}")]
    arguments = [str(program), "--ros-args", "-p", f"archive:={archive}", "-p", f"topics:={PLAYED}", *arguments]
    started = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield started
    finally:
        started.kill()
        started.communicate()


class Listener:
    """A node that hears in turns."""

    def __init__(self, name: str) -> None:
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node(name, context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)

    def spin(self, seconds: float) -> None:
        """Hear for so long."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.executor.spin_once(timeout_sec=left)

    def call(self, kind: Any, name: str, **request: Any) -> Any:
        """The answer of a service of the player."""
        client = self.node.create_client(kind, f"/ameds/player/{name}")
        if not client.wait_for_service(PATIENCE_S):
            raise WrongError(f"no service {name}")
        future = client.call_async(kind.Request(**request))
        until = time.monotonic() + PATIENCE_S
        while not future.done():
            if time.monotonic() > until:
                raise WrongError(f"no answer of {name}")
            self.executor.spin_once(timeout_sec=0.1)
        self.node.destroy_client(client)
        return future.result()

    def close(self) -> None:
        """End it."""
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)


def subscribers(seed: int) -> None:
    """What a process of subscribers does: they come and go until it is ended; some are slow. It tells how many came."""
    draw, listener, came = random.Random(seed), Listener(f"subscribers_{seed}"), 0
    is_over: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: is_over.append(number))
    while not is_over:
        results = []
        for _ in range(draw.randrange(1, 30)):
            slow_s = SLOW_S if draw.random() < 0.02 else 0.0
            topic, kind = draw.choice(list(TOPICS.items()))
            results.append(
                listener.node.create_subscription(kind, topic, lambda _, slow=slow_s: time.sleep(slow), MANY, raw=True)
            )
        came += len(results)
        listener.spin(draw.random())
        for one in results:
            listener.node.destroy_subscription(one)
    listener.close()
    say(str(came))


def stamps_ns(data: bytes) -> int:
    """The time within a message's bytes, from the archive's begin."""
    seconds, nanoseconds = (int.from_bytes(data[low : low + 4], "little") for low in (4, 8))
    return (seconds - START) * NS_PER_S + nanoseconds


def a_day(archive: Path, seconds: float, seed: int) -> str:
    """Play as fast as it goes while subscribers come and go; what came of it, in a line."""
    draw = random.Random(seed)
    states: list[bytes] = []
    with ExitStack() as stack:
        player = stack.enter_context(playing(archive, rate=1000.0, loop=True))
        auditor = Listener("auditor")
        stack.callback(auditor.close)
        auditor.node.create_subscription(DiagnosticArray, "/diagnostics", states.append, 10, raw=True)
        command = [sys.executable, "-m", "campaigns.day", "--subscribers"]
        crowd = [subprocess.Popen([*command, str(k)], stdout=subprocess.PIPE, text=True) for k in (seed, seed + 1)]
        for one in crowd:
            stack.callback(one.kill)
        uses: list[list[Use]] = []
        until = time.monotonic() + PATIENCE_S
        while not states and time.monotonic() < until:
            auditor.spin(0.1)
        auditor.spin(seconds / TENTHS)  # everything has been asked for once
        for _ in range(TENTHS):
            uses.append(list(_uses(auditor, player.pid, draw, crowd, seconds / TENTHS)))
        came = 0
        for one in crowd:
            one.send_signal(signal.SIGTERM)
            came += int(one.communicate(timeout=PATIENCE_S)[0] or 0)
        player.send_signal(signal.SIGINT)
        output, _ = player.communicate(timeout=PATIENCE_S)
        if player.returncode or "Traceback" in output:
            raise WrongError(f"the player ended with {player.returncode}: {output[-2000:]}")
    (status,) = deserialize_message(states[-1], DiagnosticArray).status
    values = {entry.key: entry.value for entry in status.values}
    rounds = int(values[f"published {FIX}"]) // FIXES
    grown = growth(uses[0], uses[-1])
    grown += f" (MB by tenths: {', '.join(f'{max(use.kb for use in part) / 1000:.0f}' for part in uses)})"
    return f"day: {rounds} rounds of a second, {values['published']} messages, {came} subscribers, grown by {grown}"


def _uses(
    auditor: Listener, pid: int, draw: random.Random, crowd: list["subprocess.Popen[str]"], seconds: float
) -> Iterator[Use]:
    """What the player holds during a part of the day, in which one process of subscribers stands still for a while."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        stopped = draw.choice([*crowd, None, None])
        if stopped is not None:
            stopped.send_signal(signal.SIGSTOP)
        auditor.spin(draw.random() * STOPPED_S)
        if stopped is not None:
            stopped.send_signal(signal.SIGCONT)
        names = auditor.node.get_publisher_names_and_types_by_node("player", "/ameds")
        services = auditor.node.get_service_names_and_types_by_node("player", "/ameds")
        yield Use.of(pid, len(names) + len(services))


def growth(first: list[Use], last: list[Use]) -> str:
    """By how much of each a player holds more, in percent; WrongError where that is too much."""
    messages = []
    for name, before, after in zip(Use._fields, zip(*first, strict=True), zip(*last, strict=True), strict=True):
        grown = (sum(after) / len(after)) / (sum(before) / len(before)) - 1
        messages.append(f"{name} {grown:+.1%}")
        if grown > MOST_GROWTH:
            raise WrongError(f"{name} has grown by {grown:.1%}: from {before} to {after}")
    return ", ".join(messages)


class Calls:
    """Random calls of a live player, and whether what it publishes is what they ask for."""

    def __init__(self, seed: int) -> None:
        self.draw, self.listener = random.Random(f"calls {seed}"), Listener("caller")
        self.heard: list[int] = []
        self.targets: list[int] = []  # of seeks: the first fix that follows each
        self.is_paused = True
        self.listener.node.create_subscription(NavSatFix, FIX, self._hear, MANY, raw=True)

    def _hear(self, data: bytes) -> None:
        self.heard.append(stamps_ns(data) // STEP_NS)

    def make(self) -> None:
        """One call, and whether its answer is right."""
        name = self.draw.choice(["pause", "resume", "seek", "seek", "set_rate", "burst", "play_next"])
        getattr(self, f"_{name}")()
        self._expect(self.listener.call(srv.IsPaused, "is_paused").paused, self.is_paused, "is_paused")

    def _pause(self) -> None:
        self.listener.call(srv.Pause, "pause")
        self.is_paused = True
        self.listener.spin(0.1)

    def _resume(self) -> None:
        self.listener.call(srv.Resume, "resume")
        self.is_paused = False
        self.listener.spin(self.draw.random() * 0.5)

    def _seek(self) -> None:
        index = self.draw.choice([self.draw.randrange(FIXES * STEP_NS), -NS_PER_S, 2 * NS_PER_S])
        is_there = 0 <= index <= (FIXES - 1) * STEP_NS
        time_there = Time(sec=START + index // NS_PER_S, nanosec=index % NS_PER_S)
        self._expect(self.listener.call(srv.Seek, "seek", time=time_there).success, is_there, "seek")
        if is_there:
            self.targets.append(-(-index // STEP_NS))

    def _set_rate(self) -> None:
        rate = self.draw.choice([0.5, 1.0, 2.0, 10.0, 0.0, -1.0, 1e300])
        self._expect(self.listener.call(srv.SetRate, "set_rate", rate=rate).success, 0 < rate < 100, "set_rate")

    def _burst(self) -> None:
        count = self.draw.randrange(1, 50)
        before = len(self.heard)
        sent = self.listener.call(srv.Burst, "burst", num_messages=count).actually_burst
        self._expect(sent, count if self.is_paused else 0, "burst")
        self._come(before, sent)

    def _play_next(self) -> None:
        before = len(self.heard)
        is_sent = self.listener.call(srv.PlayNext, "play_next").success
        self._expect(is_sent, self.is_paused, "play_next")
        self._come(before, int(is_sent))

    def _come(self, before: int, sent: int) -> None:
        """What was sent while paused comes, and no more."""
        if not self.is_paused:
            return
        until = time.monotonic() + PATIENCE_S
        while len(self.heard) < before + sent and time.monotonic() < until:
            self.listener.spin(0.01)
        self._expect(len(self.heard), before + sent, "what came of a step")

    def judge(self) -> None:
        """Every message is the one behind the one before, or the first behind a seek, in the order of the seeks."""
        targets, ahead = list(self.targets), self.heard[0] if self.heard else 0
        for position, got in enumerate(self.heard):
            if got != ahead:
                if got not in targets:
                    raise WrongError(f"message {position}: expected fix {ahead}, got {got}")
                del targets[: targets.index(got) + 1]
            ahead = (got + 1) % FIXES

    @staticmethod
    def _expect(got: Any, expected: Any, what: str) -> None:
        if got != expected:
            raise WrongError(f"{what}: expected {expected}, got {got}")


def calls(archive: Path, count: int, seed: int) -> str:
    """So many calls; what came of it, in a line."""
    with playing(archive, loop=True, paused=True, topics="gnss/fix$") as player:
        calls = Calls(seed)
        try:
            for _ in range(count):
                calls.make()
            calls.judge()
            calls.listener.call(srv.Stop, "stop")
            output, _ = player.communicate(timeout=PATIENCE_S)
        finally:
            calls.listener.close()
        if player.returncode or "Traceback" in output:
            raise WrongError(f"the player ended with {player.returncode}: {output[-2000:]}")
    return f"calls: {2 * count} live, {len(calls.targets)} seeks, {len(calls.heard)} messages as they should be"


def main() -> int:
    """The exit code: 1 where something is not as it must be."""
    parser = argparse.ArgumentParser(prog="campaigns.day", description=__doc__)
    parser.add_argument("--seconds", type=float, default=100.0, help="of the day")
    parser.add_argument("--calls", type=int, default=150, help="each of which is followed by another")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--subscribers", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.subscribers is not None:
        subscribers(chosen.subscribers)
        return 0
    os.environ |= {"ROS_DOMAIN_ID": str(random.randrange(1, 101)), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    with tempfile.TemporaryDirectory(prefix="day-") as folder:
        archive = TinyAmeds(Path(folder) / "Traverse_5", seconds=1)
        archive.write_all()
        try:
            if chosen.calls:
                say(calls(archive.root, chosen.calls, chosen.seed))
            if chosen.seconds:
                say(a_day(archive.root, chosen.seconds, chosen.seed))
        except WrongError as error:
            say(f"failed: {error}; seed {chosen.seed}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
