"""Viewers of `fieldplay view`: who listens where, a viewer that goes, and live topics."""

import http.client
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy
import rerun as rr
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import Imu
from std_msgs.msg import Float64, String
from tf2_msgs.msg import TFMessage

from fieldplay.cli.main import main
from fieldplay.streams.message_block import RawMessage
from fieldplay.view import viewer
from fieldplay.view.show import LiveShow, ReceiveQueue
from fieldplay_ros.view_listener import listening
from fieldplay_testing.reference_messages import (
    START_NS,
    make,
    serialize,
    stamped_message,
    transform,
    transforms,
    write_bag,
)
from support.rerun_recordings import entities_of

SECOND = 10**9
ANYWHERE = {"00000000", "0" * 32}  # of /proc/net/tcp
LISTENS = "0A"


def numbers() -> Iterator[tuple[str, int, Any]]:
    for row in range(20):
        now = START_NS + row * SECOND // 10
        yield "/number", now, make("std_msgs/msg/Float64", data=float(row))


@pytest.fixture
def bag(tmp_path: Path) -> Path:
    return write_bag(tmp_path / "bag", numbers())


def listeners(pid: int) -> set[str]:
    """The addresses, in hexadecimals, at which a process and its children listen."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    inodes = set()
    for each in (str(pid), *children):
        for link in Path(f"/proc/{each}/fd").iterdir():
            try:
                target = os.readlink(link)
            except FileNotFoundError:
                continue
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    names = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENS and fields[9] in inodes:
                names.add(fields[1].partition(":")[0])
    return names


def test_page_is_served_here_alone_and_may_talk_to_its_data_alone(bag: Path) -> None:
    port = viewer.free_port("127.0.0.1", 0)
    command = ["fieldplay", "view", str(bag), "--web", "--port", str(port)]
    quiet = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with (
        subprocess.Popen(command, env=quiet, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process,
        ExitStack() as stack,
    ):
        stack.callback(process.kill)  # where something is not as expected it must not be waited for
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line.rstrip())
            if line.startswith("Ctrl-C"):
                break
        assert lines[0] == f"open http://127.0.0.1:{port}/"
        assert "sent: 20 messages on 1 topic" in lines
        addresses = listeners(process.pid)
        assert addresses == {"0100007F"}, lines
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", "/")
        away = connection.getresponse()
        away.read()
        assert (away.status, away.getheader("Location", "")[:6]) == (302, "/?url=")
        connection.request("GET", away.getheader("Location", ""))
        page = connection.getresponse()
        assert page.status == 200
        assert b"<html" in page.read().lower()
        policy = dict(rule.split(" ", 1) for rule in page.getheader("Content-Security-Policy", "").split("; "))
        assert policy["default-src"] == "'none'"
        hosts = {word.rpartition(":")[0] for word in policy["connect-src"].split() if word.startswith("http")}
        assert hosts == {"http://127.0.0.1", "http://localhost"}
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait() == 0, rest
        assert "Traceback" not in rest


def test_viewer_that_is_closed_in_middle_is_reported(bag: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUST_LOG", "off")
    stream = rr.RecordingStream("test")
    with (
        viewer._start_viewer("127.0.0.1", viewer.free_port("127.0.0.1", 0), "--serve-grpc") as started,
        pytest.raises(viewer.ViewerError, match=f"the viewer at {started.url.replace('+', '.')} is gone"),
        viewer.connect_to(stream, started.url),
    ):
        stream.log("a", rr.Scalars(1.0))
        stream.flush()
        started.process.kill()
        started.process.wait()
        while True:  # what is under way is told of a little later
            stream.log("a", rr.Scalars(2.0))
            stream.flush(timeout_sec=30)


def test_viewer_that_runs_is_used(bag: Path, capsys: pytest.CaptureFixture[str]) -> None:
    port = viewer.free_port("127.0.0.1", 0)
    with viewer._start_viewer("127.0.0.1", port, "--serve-grpc"):
        assert main(["view", str(bag), "--connect", str(port)]) == 0
    assert "sent: 20 messages on 1 topic" in capsys.readouterr().out


def test_what_no_room_is_for_is_dropped_and_counted() -> None:
    backlog = ReceiveQueue(100_000)
    for row in range(5):
        backlog.put(RawMessage("/picture", row, bytes(40_000), "sensor_msgs/msg/Image"))
        backlog.put(RawMessage("/number", row, bytes(12), "std_msgs/msg/Float64"))
    result = backlog.take(0.0)
    numbers_only = [("/number", row) for row in range(3)]
    both = [(topic, row) for row in (3, 4) for topic in ("/picture", "/number")]
    assert [(message.topic, message.log_time_ns) for message in result] == numbers_only + both
    assert backlog.drop_summary() == "dropped, as the viewer was slower: 3 of 5 on /picture"
    assert backlog.take(0.0) == []


def test_live_topics_are_shown_at_times_of_their_headers(tmp_path: Path) -> None:
    """Reliable and latched ones, one that has no header, one of a type that is not shown."""
    context = rclpy.Context()
    rclpy.init(args=[], context=context)
    node = rclpy.create_node("talker", context=context)
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    tree, imu = node.create_publisher(TFMessage, "/tf_static", latched), node.create_publisher(Imu, "/imu", 10)
    number, text = node.create_publisher(Float64, "/number", 10), node.create_publisher(String, "/words", 10)
    tree.publish(serialize(transforms(transform(START_NS, "base_link", "imu_link", (0, 0, 1)))))
    stream = rr.RecordingStream("test")
    stream.save(str(tmp_path / "out.rrd"))
    show = LiveShow(stream, print, dataset="", namespace="", every=1)
    backlog, sent = ReceiveQueue(1 << 20), 0
    with listening(backlog, "") as listener:
        ends = threading.Event()
        while not {"/imu", "/number", "/tf_static"} <= {topic.name for topic in listener.topics}:
            assert not ends.wait(0.05)
        while backlog.received["/imu"] < 5 or backlog.received["/number"] < 5 or not backlog.received["/tf_static"]:
            now = START_NS + sent * SECOND // 100
            values = {"angular_velocity__x": float(sent), "linear_acceleration__z": 9.8}
            imu.publish(serialize(stamped_message("sensor_msgs/msg/Imu", now, "imu_link", **values)))
            number.publish(serialize(make("std_msgs/msg/Float64", data=float(sent))))
            text.publish(serialize(make("std_msgs/msg/String", data="word")))
            sent += 1
            show.set_topics(listener.topics)
            show.take(backlog.take(0.1))
        show.take(backlog.take(0.0))  # what came since
        left = dict(listener.left)
    stream.disconnect()
    node.destroy_node()
    rclpy.try_shutdown(context=context)
    entities = entities_of(tmp_path / "out.rrd")
    rates = entities["/imu/turn_rate"]["Scalars:scalars"]
    assert len(rates) >= 5
    assert [time for time, _ in rates] == [START_NS + round(x) * SECOND // 100 for _, (x, *_) in rates]
    assert len(entities["/number"]["Scalars:scalars"]) >= 5
    assert all(time < START_NS + SECOND * sent for time, _ in entities["/number"]["Scalars:scalars"])
    translation = entities["/tf_static/imu_link"]["Transform3D:translation"]
    np.testing.assert_allclose(translation[0][1], [[0, 0, 1]])
    assert left["/words"] == "std_msgs/msg/String"
    assert "/words" not in entities
