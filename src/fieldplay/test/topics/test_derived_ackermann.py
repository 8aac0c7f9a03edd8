"""Odometry and path of a base with steered front wheels in batch, from streams made here, span by span."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from rosbags.typesys import Stores, get_typestore

from fieldplay.datasets.spec import DerivedSpec
from fieldplay.kinematics.pose_records import PathLimits, extend_path, paths_record
from fieldplay.messages import records
from fieldplay.messages.stream_spec import StreamSpec
from fieldplay.streams.stream import Span
from fieldplay.streams.topic_batches import Window, batches
from fieldplay.streams.topic_stream import PATH, TopicStream, messages_of_record
from fieldplay.topics.archive_topics import channel_of_feed
from fieldplay.topics.derived import DerivedOptions, FedStream, feeds_of_computation
from fieldplay_testing.reference_messages import block_messages, messages_of_span

STORE = get_typestore(Stores.ROS2_JAZZY)
SPEC = DerivedSpec(
    kind="ackermann_odometry", streams=("wheel_joints",), topic="odom", frame="odom", odom_tf=True,
    child_frames=("base_link", "rear_left_wheel", "rear_right_wheel", "front_steering"),
    settings={
        "wheelbase_m": 1.6, "track_m": 1.054, "wheel_diameter_m": 0.57, "noise_limit_rpm": 70.0,
        "speed_std_m_s": 0.02, "speed_share": 0.05, "one_wheel_share": 0.15, "slide_share": 0.03,
        "steering_std_deg": 1.0, "turn_rate_std_rad_s": 0.01, "integration": "arcs", "longest_step_s": 1.0,
        "path_step_m": 1.0, "path_poses": 10,
    },
)  # fmt: skip
NAMES = ("rear_left_wheel", "rear_right_wheel", "front_steering")
ROWS = 400
STAMPS = 1_514_301_945_000_000_000 + np.arange(ROWS) * 100_000_000


class Joints:
    """A stream of joint states that is cut into spans."""

    def __init__(self, cuts: Sequence[int]) -> None:
        borders = [0, *cuts, ROWS]
        self._parts = [slice(*pair) for pair in pairwise(borders)]
        self.spans = [Span(int(STAMPS[p][0]), int(STAMPS[p][-1]), len(STAMPS[p])) for p in self._parts]

    def load(self, index: int) -> records.Record:
        part, none = self._parts[index], np.full(ROWS, np.nan)
        rate, steering = 3 + np.sin(np.arange(ROWS) / 30), 0.3 * np.sin(np.arange(ROWS) / 50)
        position, velocity = np.stack([none, none, steering], axis=-1), np.stack([rate, rate, none], axis=-1)
        return records.Joints(stamp_ns=STAMPS[part], names=NAMES, position=position[part], velocity=velocity[part])


def derived_messages(cuts: Sequence[int], first_ns: int = 0) -> dict[str, list[tuple[int, bytes]]]:
    """The messages by topic, as a conversion would write them."""
    options = DerivedOptions(topic=lambda name: f"/farm/{name}", frame_prefix="", tf_rank=0, rank=1, first_ns=first_ns)
    feeds = feeds_of_computation(SPEC, [FedStream(Joints(cuts))], options)
    messages: dict[str, list[tuple[int, bytes]]] = {feed.topic: [] for feed in feeds}
    window = Window(int(STAMPS[0]), max(first_ns, int(STAMPS[0])), None)
    for batch in batches(feeds, range(len(feeds)), window):
        for channel, stamp, data in zip(batch.channel, batch.stamp_ns, block_messages(batch.block), strict=True):
            messages[feeds[channel].topic].append((int(stamp), data))
    return messages


def path_feed() -> TopicStream:
    options = DerivedOptions(topic=lambda name: f"/farm/{name}", frame_prefix="", tf_rank=0, rank=1, first_ns=0)
    (feed,) = (feed for feed in feeds_of_computation(SPEC, [FedStream(Joints([]))], options) if feed.msgtype == PATH)
    return feed


@pytest.mark.parametrize("frame", ["odom", "robot/odom", "o", "odometry", "farm_1/odom_frame"])
def test_encoded_path_matches_reference_encoder(frame: str) -> None:
    rows: NDArray[np.int64] = np.arange(40, dtype=np.int64) * 1_700_000_000
    poses = np.random.default_rng(4).normal(size=(40, 3))
    growths, _ = extend_path(
        None, PathLimits(step_m=1.0, poses=7), stamp_ns=rows, poses=poses, lengths_m=np.full(40, 1.3)
    )
    record = paths_record(growths)
    stamps = record.stamp_ns
    spec = StreamSpec(id="path", topic="path", type=PATH, frame=frame)
    block, is_valid = messages_of_record(record, spec).encode(np.arange(len(stamps)))
    assert is_valid.all() and len(stamps) > 10
    states = [(g, count) for g in growths for count in range(g.first, len(g.points.stamp_ns) + 1)]
    for data, stamp, (growth, count) in zip(block_messages(block), stamps, states, strict=True):
        path = STORE.deserialize_cdr(data, PATH)
        assert STORE.serialize_cdr(path, PATH).tobytes() == data
        assert ns_of(path.header) == stamp == growth.points.stamp_ns[count - 1]
        assert {path.header.frame_id, *(pose.header.frame_id for pose in path.poses)} == {frame}
        assert [ns_of(pose.header) for pose in path.poses] == growth.points.stamp_ns[:count].tolist()
        actual = [[p.pose.position.x, p.pose.position.y, yaw_of(p.pose)] for p in path.poses]
        np.testing.assert_allclose(actual, growth.points.poses[:count], atol=1e-12)


def ns_of(header: Any) -> int:
    return int(header.stamp.sec * 1_000_000_000 + header.stamp.nanosec)


def yaw_of(pose: Any) -> float:
    return float(2 * np.arctan2(pose.orientation.z, pose.orientation.w))


def test_result_does_not_depend_on_spans_of_stream() -> None:
    whole, parts = derived_messages([]), derived_messages([1, 2, 150, 399])
    assert {topic: len(messages) for topic, messages in whole.items()}["/farm/odom"] == ROWS
    for topic, messages in whole.items():
        assert [stamp for stamp, _ in parts[topic]] == [stamp for stamp, _ in messages]
    for (_, one), (_, other) in zip(whole["/farm/odom"], parts["/farm/odom"], strict=True):
        poses = [STORE.deserialize_cdr(data, "nav_msgs/msg/Odometry").pose.pose.position for data in (one, other)]
        assert (poses[0].x, poses[0].y) == pytest.approx((poses[1].x, poses[1].y), abs=1e-9)


def test_later_start_is_time_zero() -> None:
    result = derived_messages([100, 200], first_ns=int(STAMPS[250]))
    assert [len(result[f"/farm/{name}"]) for name in ("odom",)] == [150]
    first = STORE.deserialize_cdr(result["/farm/odom"][0][1], "nav_msgs/msg/Odometry")
    assert (first.pose.pose.position.x, first.pose.pose.orientation.w) == (0, 1)
    path = STORE.deserialize_cdr(result["/farm/path"][0][1], PATH)
    assert (result["/farm/path"][0][0], len(path.poses)) == (STAMPS[250], 1)


def test_path_is_decimated_and_latched() -> None:
    feed = path_feed()
    assert (channel_of_feed(feed).qos.durability, channel_of_feed(feed).qos.depth) == ("transient_local", 1)
    lengths = [len(STORE.deserialize_cdr(data, PATH).poses) for _, data in messages_of_span(feed, 0)]
    assert (lengths[0], max(lengths)) == (1, 10)
    assert len(lengths) < 40
