"""What the tests of `ros2 launch` share: starting it, finding each other, playing twice, comparing, and one tree."""

import time
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from ament_index_python.packages import get_package_share_directory
from rosbag2_interfaces import srv

from fieldplay_testing.nodes.node_stage import MEET_PATIENCE_S as PATIENCE_S
from fieldplay_testing.nodes.node_stage import TopicRecorder
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing.actions import ReadyToTest
from support.written import key, numbers

Messages = Mapping[str, list[Any]]
ROUNDS = 3


def launch_of(dataset: str, root: Path, **arguments: str) -> LaunchDescription:
    """A dataset's launch file with an archive; it starts paused, and pauses at the end."""
    file = Path(get_package_share_directory("fieldplay_bringup"), "launch", f"{dataset}.launch.py")
    parameters = {"archive": str(root), "paused": "true", "clock": "50.0", "on_end": "pause", **arguments}
    launch = IncludeLaunchDescription(PythonLaunchDescriptionSource(str(file)), launch_arguments=parameters.items())
    return LaunchDescription([launch, ReadyToTest()])


def hear_all(listener: TopicRecorder, types: Mapping[str, str], latched: Collection[str] = ()) -> None:
    """Hear topics of these types, and /tf_static, which comes at once."""
    for topic, msgtype in types.items():
        listener.subscribe(topic, msgtype, latched=topic in latched)
    listener.subscribe("/tf_static", "tf2_msgs/msg/TFMessage", latched=True)
    listener.wait(lambda: listener.count("/tf_static") == 1, lambda: "no /tf_static")


def find_all(listener: TopicRecorder, sent: Iterable[str], read: Iterable[str], readers: int = 1) -> None:
    """Wait until each topic that is sent has a publisher, and each that is read has so many readers."""
    graph, sent, read = listener.node, list(sent), list(read)

    def lacking() -> list[str]:
        publishers = [topic for topic in sent if graph.count_publishers(topic) == 0]
        return publishers + [topic for topic in read if graph.count_subscribers(topic) < readers]

    end = time.monotonic() + PATIENCE_S
    with listener.changed:
        while missing := lacking():
            assert time.monotonic() < end, f"no {missing}, of {graph.get_node_names_and_namespaces()}"
            listener.changed.wait(0.1)


def last_keys(expected: Messages, topics: Iterable[str]) -> dict[str, tuple[Any, ...]]:
    """Time and frame of the last message of each topic."""
    return {topic: max(map(key, expected[topic])) for topic in topics}


def play_to_the_end(listener: TopicRecorder, ends: Mapping[str, tuple[Any, ...]]) -> None:
    """Play until the last message of each topic is there, and pause."""
    received = listener.received
    listener.ask(srv.Resume, "resume")
    listener.wait(
        lambda: all(any(key(message) == end for message in received[topic]) for topic, end in ends.items()),
        lambda: {topic: len(received[topic]) for topic in ends},
    )
    listener.ask(srv.Pause, "pause")


def play_again(listener: TopicRecorder, topics: Iterable[str], sec: int, nanosec: int = 0) -> None:
    """Forget what was heard of these topics, jump back and play on."""
    for topic in topics:
        listener.received[topic].clear()
    request = srv.Seek.Request()
    request.time.sec, request.time.nanosec = sec, nanosec
    assert listener.ask(srv.Seek, "seek", time=request.time).success
    listener.ask(srv.Resume, "resume")


def play_again_in_full(
    listener: TopicRecorder, expected: Messages, topics: Iterable[str], sec: int, nanosec: int = 0
) -> None:
    """Jump back and play on until as many messages of each topic are there as a conversion writes.

    A busy machine may lose some of those of which DDS keeps ten: then another round is played.
    """
    received, topics = listener.received, list(topics)
    for _ in range(ROUNDS):
        play_again(listener, topics, sec, nanosec)
        with listener.changed:
            if listener.changed.wait_for(
                lambda: all(len(received[topic]) >= len(expected[topic]) for topic in topics), PATIENCE_S / ROUNDS
            ):
                return
    raise AssertionError({topic: (len(received[topic]), len(expected[topic])) for topic in topics})


def check_same(topic: str, received: list[Any], expected: list[Any], *, numbers_too: bool = True) -> None:
    """Live messages are those written: their times and frames, and all their numbers."""
    live, written = sorted(received, key=key), sorted(expected, key=key)
    assert [key(message) for message in live] == [key(message) for message in written], topic
    for one, other in zip(live, written, strict=True) if numbers_too else ():
        np.testing.assert_allclose(numbers(one), numbers(other), rtol=1e-9, atol=1e-12, err_msg=topic)


def parents_in(messages: Iterable[Any]) -> dict[str, str]:
    """The parent of each frame in messages of tf: the same one always."""
    parents: dict[str, str] = {}
    for message in messages:
        for transform in message.transforms:
            parent = parents.setdefault(transform.child_frame_id, transform.header.frame_id)
            assert parent == transform.header.frame_id, transform.child_frame_id
    return parents


def model_offered(listener: TopicRecorder) -> str:
    """The robot's model, as one hears it who comes later."""
    topic = f"/{listener.namespace}/robot_description"
    listener.subscribe(topic, "std_msgs/msg/String", latched=True)
    received = listener.received[topic]
    listener.wait(lambda: len(received) == 1, lambda: "no model")
    return str(received[0].data)


def said_by(proc_output: Any) -> str:
    """What all processes wrote."""
    return b"".join(event.text for name in proc_output.process_names() for event in proc_output[name]).decode()
