"""The player as a process: what a subscriber and a caller of its services see."""

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from threading import Condition, Event, Thread
from typing import Any

import numpy as np
import pytest
import rclpy
import yaml
from ament_index_python.packages import get_package_prefix
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rosbag2_interfaces import srv
from rosbags.rosbag2 import Reader
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image, NavSatFix
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from fieldplay.bags.storage import Channel
from fieldplay.bags.writer import BagWriter
from fieldplay.convert.conversion import BagOptions, convert
from fieldplay.datasets.registry import open_dataset
from fieldplay.streams.message_block import MessageBlock, messages_of_channel
from fieldplay.topics.selection import Selection
from support.foreign_bags import (
    START_NS,
    stored,
    write_ros1,
    write_ros2,
)

PLAYER = Path(get_package_prefix("fieldplay_ros")) / "lib" / "fieldplay_ros" / "player"
PATIENCE_S = 60.0
NS_PER_S = 10**9
START = 1656931512
FIX, INFO = "/ameds/gnss/fix", "/ameds/main_cam/camera_info"
MANY = QoSProfile(depth=5000)
LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class TopicRecorder:
    """A node of this process: keeps what comes on topics, calls services."""

    def __init__(self) -> None:
        self.node = rclpy.create_node("listener")
        self.changed = Condition()
        self.received: dict[str, list[bytes]] = {}
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self._over = Event()
        self._thread = Thread(target=self._spin)
        self._thread.start()

    def _spin(self) -> None:
        while not self._over.is_set():
            self._executor.spin_once()

    def close(self) -> None:
        self._over.set()
        self._executor.create_task(lambda: None)
        self._thread.join()
        self._executor.shutdown()
        self.node.destroy_node()

    def listen(self, kind: Any, topic: str, qos: QoSProfile = MANY) -> list[bytes]:
        """What comes on a topic, as it comes: the bytes."""
        received = self.received[topic] = []

        def keep(data: bytes) -> None:
            with self.changed:
                received.append(data)
                self.changed.notify_all()

        self.node.create_subscription(kind, topic, keep, qos, raw=True)
        self._executor.wake()
        return received

    def wait(self, what: Callable[[], Any]) -> None:
        """Wait until something holds after a message has come."""
        with self.changed:
            assert self.changed.wait_for(what, PATIENCE_S), {
                name: len(received) for name, received in self.received.items()
            }

    def call(self, kind: Any, **request: Any) -> Any:
        """The answer of a service of the player."""
        name = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in kind.__name__)[1:]
        client = self.node.create_client(kind, f"/ameds/player/{name}")
        try:
            assert client.wait_for_service(PATIENCE_S), name
            answered = Event()
            future = client.call_async(kind.Request(**request))
            future.add_done_callback(lambda _: answered.set())
            self._executor.wake()
            assert answered.wait(PATIENCE_S), name
            return future.result()
        finally:
            self.node.destroy_client(client)


class Process:
    """A player; its output is read when it has ended."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        values = [text for name, value in parameters.items() for text in ("-p", f"{name}:={value}")]
        self.popen = subprocess.Popen(
            [str(PLAYER), "--ros-args", *values], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def close(self) -> None:
        """End it in order: who is killed may hold a lock of the shared memory, for which others then wait for ever."""
        for number in (signal.SIGINT, signal.SIGKILL):
            if self.popen.poll() is None:
                self.popen.send_signal(number)
                with suppress(subprocess.TimeoutExpired):
                    self.popen.communicate(timeout=PATIENCE_S)

    def end(self) -> tuple[int, str]:
        """The exit code and what it said."""
        output, _ = self.popen.communicate(timeout=PATIENCE_S)
        assert "Traceback" not in output, output
        return self.popen.returncode, output


@pytest.fixture(scope="module")
def ros() -> Iterator[None]:
    rclpy.init()
    yield
    rclpy.try_shutdown()


@pytest.fixture
def listener(ros: None) -> Iterator[TopicRecorder]:
    listener = TopicRecorder()
    yield listener
    listener.close()


@contextmanager
def playing(root: Path, **parameters: Any) -> Iterator[Process]:
    with closing(Process({"archive": root, **parameters})) as process:
        yield process


def message_class(msgtype: str) -> Any:
    package, _, name = msgtype.split("/")
    return getattr(import_module(f"{package}.msg"), name)


def same_length(received: bytes, sent: bytes) -> bytes:
    """What was heard without the padding to four bytes that DDS puts behind a message."""
    return received[: len(sent)] if len(received) == len(sent) + -len(sent) % 4 else received


def stamp_ns(data: bytes) -> int:
    return int.from_bytes(data[4:8], "little") * NS_PER_S + int.from_bytes(data[8:12], "little")


def after_start_ms(received: list[bytes]) -> list[int]:
    return [(stamp_ns(data) - START * NS_PER_S) // 10**6 for data in received]


def state(received: list[bytes]) -> dict[str, str]:
    """The last state on /diagnostics."""
    (status,) = deserialize_message(received[-1], DiagnosticArray).status
    return {entry.key: entry.value for entry in status.values}


def test_every_message_arrives_as_bag_has_it(tiny_ameds: Any, listener: TopicRecorder, tmp_path: Path) -> None:
    with open_dataset(tiny_ameds.root) as archive:
        convert(archive, tmp_path / "bag", Selection(rectify=True), BagOptions())
    expected: dict[str, list[bytes]] = {}
    kinds = {}
    with Reader(tmp_path / "bag") as bag:
        for connection, _, data in bag.messages():
            kinds[connection.topic] = connection.msgtype
            expected.setdefault(connection.topic, []).append(bytes(data))
    deep = {topic: {"history": "keep_last", "depth": 5000} for topic in expected if topic != "/tf_static"}
    (tmp_path / "qos.yaml").write_text(yaml.safe_dump(deep))
    for topic, kind in kinds.items():
        listener.listen(message_class(kind), topic, LATCHED if topic == "/tf_static" else MANY)
    parameters = {"rate": 10, "images": "compressed", "rectify": True, "joints_tf": False}
    parameters |= {"wait_for_subscribers": len(expected) - 1, "qos_overrides": tmp_path / "qos.yaml"}
    with playing(tiny_ameds.root, **parameters) as process:
        code, output = process.end()
    assert code == 0, output
    assert {topic: len(received) for topic, received in listener.received.items()} == {
        topic: len(sent) for topic, sent in expected.items()
    }
    for topic, sent in expected.items():
        assert [same_length(*pair) for pair in zip(listener.received[topic], sent, strict=True)] == sent, topic
    assert f"published {sum(map(len, expected.values()))} messages on {len(expected)} topics, skipped 0" in output


def test_bag_that_others_wrote_is_played_as_it_was_offered(listener: TopicRecorder, tmp_path: Path) -> None:
    bag = write_ros2(tmp_path / "bag", best_effort=("/words",))
    text = listener.listen(String, "/words", QoSProfile(depth=500, reliability=ReliabilityPolicy.BEST_EFFORT))
    frames, images = listener.listen(TFMessage, "/tf_static", LATCHED), listener.listen(Image, "/cam")
    sent = stored(bag)
    with playing(bag, rate=4, start=1.0, wait_for_subscribers=3) as process:
        listener.wait(lambda: frames)
        (offered,) = listener.node.get_publishers_info_by_topic("/words")
        code, output = process.end()
    assert code == 0, output
    assert offered.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT
    assert "my_robot: left out 1 topic with types that this ROS 2 does not have: /gear" in output
    for received, topic, start in ((text, "/words", 20), (images, "/cam", 2), (frames, "/tf_static", 0)):
        expected = [data for _, data in sent[topic]][start:]
        assert [same_length(*pair) for pair in zip(received, expected, strict=True)] == expected, topic


def test_bag_of_ros_1_is_played(tmp_path: Path) -> None:
    with playing(write_ros1(tmp_path / "robot.bag"), rate=10, topics="words|place") as process:
        code, output = process.end()
    assert code == 0 and "published 100 messages on 1 topic, skipped 0" in output, output
    assert "/place: 1 message of sensor_msgs/msg/NavSatFix left out" in output


def test_it_starts_when_streams_that_it_waits_for_are_received(tiny_ameds: Any, listener: TopicRecorder) -> None:
    states = listener.listen(DiagnosticArray, "/diagnostics")
    with playing(tiny_ameds.root, topics="gnss/fix$", rate=10, wait_for_streams="fix lidar") as process:
        listener.wait(lambda: states)
        assert state(states)["state"] == "waiting for subscribers"
        received = listener.listen(NavSatFix, FIX)
        code, output = process.end()
    assert code == 0, output
    assert f"published {len(received) + 1} messages on 2 topics" in output  # the static tree with them


def test_it_waits_for_the_required_subscriber_whoever_else_receives_the_stream(
    tiny_ameds: Any, listener: TopicRecorder
) -> None:
    states = listener.listen(DiagnosticArray, "/diagnostics")
    with playing(tiny_ameds.root, topics="gnss/fix$", rate=10, wait_for_streams="fix@navigator") as process:
        others = listener.listen(NavSatFix, FIX)
        listener.wait(lambda: states and state(states)["subscribers"] == "1")
        assert state(states)["state"] == "waiting for subscribers"
        navigator = rclpy.create_node("navigator", namespace="ameds")
        try:
            navigator.create_subscription(NavSatFix, FIX, lambda _: None, MANY)
            code, output = process.end()
        finally:
            navigator.destroy_node()
    assert code == 0 and "begins with" not in output, output
    assert f"published {len(others) + 1} messages on 2 topics" in output  # the static tree with them


def test_its_services_do_what_those_of_rosbag2_do(tiny_ameds: Any, listener: TopicRecorder) -> None:
    received = listener.listen(NavSatFix, FIX)
    clock = listener.listen(Clock, "/clock")
    static = listener.listen(TFMessage, "/tf_static", LATCHED)
    states = listener.listen(DiagnosticArray, "/diagnostics")
    with playing(tiny_ameds.root, topics="gnss/fix$", paused=True, clock=50, on_end="pause") as process:
        listener.wait(lambda: static)
        listener.wait(lambda: states)
        assert state(states)["state"] == "paused"
        assert listener.node.count_publishers(FIX) == 1
        assert listener.call(srv.IsPaused).paused
        assert (received, clock) == ([], [])

        assert listener.call(srv.PlayNext).success
        assert listener.call(srv.Burst, num_messages=3).actually_burst == 3
        listener.wait(lambda: len(received) >= 4)
        assert after_start_ms(received) == [0, 10, 20, 30]
        assert listener.call(srv.GetRate).rate == 1.0
        assert not listener.call(srv.SetRate, rate=0.0).success
        assert not listener.call(srv.SetRate, rate=-1.0).success
        assert listener.call(srv.SetRate, rate=0.25).success
        assert listener.call(srv.GetRate).rate == 0.25
        assert not listener.call(srv.Seek, time=Time(sec=START - 1)).success
        assert not listener.call(srv.Seek, time=Time(sec=START + 2)).success

        listener.call(srv.Resume)
        listener.wait(lambda: len(received) >= 6)
        assert not listener.call(srv.IsPaused).paused
        assert not listener.call(srv.PlayNext).success
        assert listener.call(srv.Burst, num_messages=2).actually_burst == 0
        listener.call(srv.TogglePaused)
        assert listener.call(srv.IsPaused).paused
        listener.call(srv.PlayNext)
        listener.wait(lambda: stamp_ns(received[-1]) == int(heard_clock(clock)[-1]))

        assert listener.call(srv.Seek, time=Time(sec=START + 1)).success
        listener.call(srv.PlayNext)
        listener.wait(lambda: after_start_ms(received)[-1] == 1000)
        assert listener.call(srv.Seek, time=Time(sec=START, nanosec=500_000_000)).success
        listener.call(srv.PlayNext)
        listener.wait(lambda: after_start_ms(received)[-1] == 500)
        before = len(received)
        assert listener.call(srv.Burst, num_messages=0).actually_burst == 149
        listener.wait(lambda: len(received) == before + 149)
        assert not listener.call(srv.PlayNext).success
        assert len(static) == 1

        listener.call(srv.Stop)
        code, output = process.end()
        assert code == 0, output
    assert state(states)[f"published {FIX}"] == str(len(received))


def heard_clock(received: list[bytes]) -> list[int]:
    return [stamp_ns(data) for data in received]


def test_part_is_played_again_and_again_with_its_clock(tiny_ameds: Any, listener: TopicRecorder) -> None:
    received = listener.listen(NavSatFix, FIX)
    clock = listener.listen(Clock, "/clock")
    parameters = {"topics": "gnss/fix$", "loop": True, "start": 0.5, "duration": 0.2, "clock": 100}
    with playing(tiny_ameds.root, **parameters, rate=2.0, wait_for_subscribers=1) as process:
        listener.wait(lambda: len(received) >= 50)
        process.popen.send_signal(signal.SIGINT)
        start = time.monotonic()
        code, output = process.end()
        assert time.monotonic() - start < PATIENCE_S / 4
        assert code == 0, output
    assert after_start_ms(received)[:44] == [*range(500, 701, 10), *range(500, 701, 10), 500, 510]
    times = [(ns - START * NS_PER_S) / 10**6 for ns in heard_clock(clock)]
    assert all(500 <= ms <= 711 for ms in times)
    jumps = [(a, b) for a, b in pairwise(times) if b < a]
    assert jumps
    # /clock keeps one message: a busy listener may miss the last of a round, or the first of the next
    assert any(before > 690 and after == 500 for before, after in jumps)


def test_stamps_now_are_time_of_day_same_for_what_belongs_together(tiny_ameds: Any, listener: TopicRecorder) -> None:
    received = listener.listen(CameraInfo, INFO)
    images = listener.listen(message_class("sensor_msgs/msg/CompressedImage"), "/ameds/main_cam/image_raw/compressed")
    parameters = {"topics": "main_cam/(camera|image)", "images": "compressed", "stamps": "now", "rate": 5.0}
    start = time.time_ns()
    with playing(tiny_ameds.root, **parameters, wait_for_subscribers=2, loop=False) as process:
        code, output = process.end()
    end = time.time_ns()
    assert code == 0, output
    listener.wait(lambda: len(received) == len(images) == 60)
    stamps = [stamp_ns(data) for data in received]
    assert stamps == [stamp_ns(data) for data in images]
    assert start < stamps[0] < stamps[-1] < end
    assert 0.38e9 < stamps[-1] - stamps[0] < 0.40e9


def test_late_subscriber_gets_what_is_latched_and_end_may_be_waited_at(
    tiny_ameds: Any, listener: TopicRecorder, tmp_path: Path
) -> None:
    urdf = tmp_path / "robot.urdf"
    urdf.write_text("<robot name='rover'/>")
    received = listener.listen(NavSatFix, FIX)
    parameters = {"topics": "gnss/fix$", "rate": 50.0, "on_end": "pause", "urdf": urdf, "wait_for_subscribers": 1}
    with playing(tiny_ameds.root, **parameters, frame_prefix="rover/") as process:
        listener.wait(lambda: len(received) == 200)
        assert listener.call(srv.IsPaused).paused
        static = listener.listen(TFMessage, "/tf_static", LATCHED)
        description = listener.listen(String, "/ameds/robot_description", LATCHED)
        listener.wait(lambda: static and description)
        assert deserialize_message(description[0], String).data == "<robot name='rover'/>"
        (tree,) = (deserialize_message(data, TFMessage) for data in static)
        assert "rover/imu_link" in {transform.child_frame_id for transform in tree.transforms}
        process.popen.send_signal(signal.SIGTERM)
        start = time.monotonic()
        code, output = process.end()
        assert time.monotonic() - start < PATIENCE_S / 4
        assert code == 0, output


def test_it_starts_without_subscribers_when_time_is_up(tiny_ameds: Any) -> None:
    parameters = {"topics": "gnss/fix$", "rate": 50.0, "wait_for_subscribers": 3, "wait_timeout": 0.1}
    with playing(tiny_ameds.root, **parameters) as process:
        code, output = process.end()
    assert code == 0
    assert "starts with 0 of 3 subscribers" in output
    assert "published 201 messages" in output


def test_what_is_damaged_is_named_at_end(tiny_ameds: Any) -> None:
    (tiny_ameds.root / f"MainCam_{START}.500000.jpg").write_bytes(b"\xff\xd8\xff")
    parameters = {"topics": "main_cam/camera_info", "rate": 50.0}
    with playing(tiny_ameds.root, **parameters) as process:
        code, output = process.end()
    assert code == 0
    assert "published 60 messages on 2 topics, skipped 1" in output
    assert f"MainCam_{START}.500000.jpg" in output


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"archive": "/nowhere"}, "/nowhere: there is no such folder"),
        ({}, "archive: expected the folder or file to play"),
        ({"rate": 0}, "rate: expected a number above 0"),
        ({"stamps": "tomorrow"}, "stamps: expected one of archive, now"),
        ({"dataset_parameters": "gyro_unit:=turns"}, "gyro_unit: expected one of"),
        ({"gyro_unit": "turns"}, "gyro_unit: expected one of"),
        ({"gyro_units": "rad/s"}, "the player of ameds has no parameter 'gyro_units': did you mean 'gyro_unit'?"),
    ],
)
def test_what_cannot_be_played_is_reported_in_one_line(
    parameters: dict[str, Any], message: str, tmp_path: Path
) -> None:
    (tmp_path / "GnssImu.csv").write_text("1656931512.0,1,2,3,4,5,6,7,8,9,10,11,12\n")
    archive = {"archive": tmp_path} if parameters else {}
    code, output = Process({**archive, **parameters}).end()
    assert code == 1
    assert message in output
    assert len(output.splitlines()) == 1


def test_what_cannot_be_played_stops_nothing_else(tmp_path: Path) -> None:
    """A name that ROS 2 does not allow, types that are not installed: a line for the name, one for the package."""
    bag = tmp_path / "bag"
    with BagWriter(bag) as writer:
        for topic, msgtype in (("/ORB-SLAM", "UInt32"), ("/a", "Gear"), ("/b", "Tooth"), ("/value", "UInt32")):
            package = "std_msgs" if msgtype == "UInt32" else "my_robot"
            channel = Channel(topic=topic, msgtype=f"{package}/msg/{msgtype}", msgdef="", type_hash="")
            number = writer.add_channel(channel)
            data = MessageBlock.of_messages([bytes((0, 1, 0, 0, 1, 0, 0, 0))])
            writer.write(messages_of_channel(number, np.array([START_NS]), data))
    played = subprocess.run(["fieldplay", "play", str(bag)], capture_output=True, text=True, check=True)
    message = played.stderr
    assert "/ORB-SLAM is left out: ROS 2 allows no such topic name; --remap /ORB-SLAM:=NAME gives it another" in message
    assert "my_robot: left out 2 topics with types that this ROS 2 does not have: /a, /b" in message
    assert "published 1 message on 1 topic, skipped 0" in message
    arguments = ["fieldplay", "play", str(bag), "--remap", "/ORB-SLAM:=/orb_slam", "-r", "2"]
    played = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert "published 2 messages on 2 topics" in played.stderr


def test_player_that_waits_reports_it(tmp_path: Path) -> None:
    bag = write_ros2(tmp_path / "bag")
    command = ["fieldplay", "play", str(bag), "--wait-for-subscribers", "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        assert any("waits for 2 subscribers" in line for line in lines)
        process.kill()
