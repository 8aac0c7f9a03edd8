"""The player's own /tf, from streams made here: what is in it, when it goes, and that no frame has two parents."""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from fieldplay.cli.summaries import summaries
from fieldplay.core.errors import UsageError
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.spec import DatasetSpec, DerivedSpec, Extrinsic
from fieldplay.messages import records
from fieldplay.messages.restamp import shift_transforms
from fieldplay.messages.stream_spec import StreamSpec
from fieldplay.player.player_state import play_plan
from fieldplay.streams.stream import Span
from fieldplay.streams.topic_batches import batches
from fieldplay.streams.topic_stream import TopicStream
from fieldplay.topics.archive_topics import archive_topic_streams, channel_of_feed, window_of
from fieldplay.topics.dynamic_tf import live_switches, switches
from fieldplay.topics.selection import Selection
from fieldplay_testing.reference_messages import block_messages

STORE = get_typestore(Stores.ROS2_JAZZY)
TF, ODOMETRY = "tf2_msgs/msg/TFMessage", "nav_msgs/msg/Odometry"
ROWS = 40
STAMPS = 1_224_198_733_000_000_000 + np.arange(ROWS) * 100_000_000
SETTINGS = {
    "wheel_radius_m": 0.28, "track_m": 1.32, "speed_std_m_s": 0.02, "slip_share": 0.1, "track_share": 0.3,
    "slide_share": 0.2, "longest_hold_s": 0.5, "longest_step_s": 1.0,
}  # fmt: skip
NAV = StreamSpec(id="nav", topic="nav/odom", type=ODOMETRY, frame="map", child_frame="base_link", tf="nav_tf")
WHEELS = StreamSpec(id="wheels", topic="payload/wheels", type="sensor_msgs/msg/JointState")
FIX = StreamSpec(id="fix", topic="nav/pose", type="geometry_msgs/msg/PoseStamped", frame="map")
ODOM = StreamSpec(id="odom", topic="wheel_odom", type=ODOMETRY, frame="odom", child_frame="base_link", tf="odom_tf")
JOINT = StreamSpec(id="joint", topic="body", type=ODOMETRY, frame="base_link", child_frame="head", tf="always")
COMPUTED = DerivedSpec(
    kind="skid_steer_odometry", streams=("wheels",), topic="wheels/odom", frame="odom", child_frames=("base_link",),
    odom_tf=True, settings=SETTINGS,
)  # fmt: skip
NAV_EDGE, ODOM_EDGE, MAP_EDGE = ("map", "base_link"), ("odom", "base_link"), ("map", "odom")
LASER_EDGE = ("base_link", "laser")


class Rows:
    """A stream of one record in two spans."""

    def __init__(self, record: records.Record) -> None:
        self._parts = [record.only(np.arange(ROWS) < 15), record.only(np.arange(ROWS) >= 15)]
        self.spans = [Span(int(p.stamp_ns[0]), int(p.stamp_ns[-1]), len(p)) for p in self._parts]

    def load(self, index: int) -> records.Record:
        return self._parts[index]


def odometry() -> records.Odometry:
    draw = np.random.default_rng(1)
    quaternions = draw.normal(size=(ROWS, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1)[:, None]
    none = np.zeros((ROWS, 6, 6))
    return records.Odometry(
        stamp_ns=STAMPS, position_m=draw.normal(size=(ROWS, 3)), orientation_xyzw=quaternions, pose_covariance=none,
        linear_velocity_m_s=np.zeros((ROWS, 3)), angular_velocity_rad_s=np.zeros((ROWS, 3)), twist_covariance=none,
    )  # fmt: skip


class Joints:
    """Wheels in two spans; the names of a record are no column."""

    def __init__(self) -> None:
        self.spans = [Span(int(STAMPS[0]), int(STAMPS[14]), 15), Span(int(STAMPS[15]), int(STAMPS[-1]), ROWS - 15)]

    def load(self, index: int) -> records.Record:
        part = slice(15) if index == 0 else slice(15, None)
        rates = np.tile([4.0, 5.0], (ROWS, 1))[part]
        return records.Joints(stamp_ns=STAMPS[part], names=("left_wheel", "right_wheel"), velocity=rates)


def pose() -> records.Pose:
    record = odometry()
    return records.Pose(stamp_ns=STAMPS, position_m=record.position_m, orientation_xyzw=record.orientation_xyzw)


def archive_of(streams: Sequence[StreamSpec], *, without: Sequence[str] = (), **arguments: Any) -> Archive:
    """An archive of these streams, with a laser on its base."""
    spec = DatasetSpec(
        name="made", title="Made here", status="", reader="none", namespace="made", detect=(),
        plausible_years=(2000, 2100), streams=tuple(streams), tree={"base_link": ("laser",)},
        extrinsics=(
            Extrinsic(
                parent="base_link", child="laser", convention="m_quaternion_xyzw", translation=(1.0, 0.0, 0.0),
                rotation=(0.0, 0.0, 0.0, 1.0),
            ),
        ),
        **arguments,
    )  # fmt: skip
    streams_by_id = {"wheels": Joints(), "fix": Rows(pose())}
    there = {
        stream.id: streams_by_id.get(stream.id) or Rows(odometry()) for stream in streams if stream.id not in without
    }
    return Archive(root=Path("made"), spec=spec, parameters={}, streams=there)


def argo(without: Sequence[str] = ()) -> Archive:
    return archive_of(
        [FIX, NAV, WHEELS], without=without, derived=(COMPUTED,), truth="nav", tf_off=("odom_tf",)
    )  # fmt: skip


def messages_of(archive: Archive, selection: Selection) -> list[tuple[TopicStream, int, bytes]]:
    """All messages in their order, each with its feed and its time."""
    feeds = archive_topic_streams(archive, selection)
    messages = []
    for batch in batches(feeds, range(len(feeds)), window_of(archive, selection)):
        for channel, stamp, data in zip(batch.channel, batch.stamp_ns, block_messages(batch.block), strict=True):
            messages.append((feeds[channel], int(stamp), data))
    return messages


def edges_of(archive: Archive, selection: Selection) -> set[tuple[str, str]]:
    """All edges of /tf and /tf_static; a frame with two parents is a failure."""
    edges = set()
    for feed, _, data in messages_of(archive, selection):
        if feed.msgtype == TF:
            sent = STORE.deserialize_cdr(data, TF).transforms
            edges |= {(each.header.frame_id, each.child_frame_id) for each in sent}
    children = [child for _, child in edges]
    assert len(children) == len(set(children)), f"a frame has two parents: {sorted(edges)}"
    return edges


def ns_of(stamp: Any) -> int:
    return int(stamp.sec * 10**9 + stamp.nanosec)


def test_each_odometry_becomes_transform_with_its_pose_and_stamp() -> None:
    messages = messages_of(argo(), Selection(frame_prefix="robot/"))
    sent = [STORE.deserialize_cdr(data, TF) for feed, _, data in messages if feed.topic == "/tf"]
    truth = odometry()
    assert len(sent) == ROWS
    for row, message in enumerate(sent):
        (each,) = message.transforms
        assert (each.header.frame_id, each.child_frame_id) == ("robot/map", "robot/base_link")
        assert ns_of(each.header.stamp) == STAMPS[row]
        position, turn = each.transform.translation, each.transform.rotation
        assert [position.x, position.y, position.z] == truth.position_m[row].tolist()
        assert [turn.x, turn.y, turn.z, turn.w] == truth.orientation_xyzw[row].tolist()


def test_encoded_bytes_match_reference_encoder() -> None:
    for feed, _, data in messages_of(argo(), Selection()):
        if feed.topic == "/tf":
            assert STORE.serialize_cdr(STORE.deserialize_cdr(data, TF), TF).tobytes() == data


def test_tf_is_sent_after_static_tf_and_before_data_of_same_time() -> None:
    order = [feed.topic for feed, stamp, _ in messages_of(argo(), Selection()) if stamp == STAMPS[0]]
    assert order == ["/tf_static", "/tf", "/made/nav/pose", "/made/nav/odom", "/made/payload/wheels"]


def test_tf_starts_with_selection_and_keeps_stamps_of_rows() -> None:
    messages = messages_of(argo(), Selection(start_s=2.05, duration_s=1.0))
    stamps = [stamp for feed, stamp, _ in messages if feed.topic == "/tf"]
    assert stamps == STAMPS[21:31].tolist()


def test_stamps_of_tf_can_be_shifted_for_looping() -> None:
    program, feeds = play_plan(argo(), Selection())
    (number,) = (number for number, feed in enumerate(feeds) if feed.topic == "/tf")
    assert program.restamps[number] is shift_transforms
    assert not feeds[number].latched and not feeds[number].static
    assert channel_of_feed(feeds[number]).qos.durability == "volatile"


PLAIN = {NAV_EDGE, LASER_EDGE}
COMBINATIONS: list[tuple[dict[str, Any], set[tuple[str, str]]]] = [
    ({}, PLAIN),
    ({"tf": {"nav_tf": False}}, {LASER_EDGE}),
    ({"derived": True}, PLAIN | {MAP_EDGE}),
    ({"derived": True, "tf": {"nav_tf": False}}, {LASER_EDGE, MAP_EDGE}),
    ({"derived": True, "tf": {"odom_tf": True}}, {LASER_EDGE, MAP_EDGE, ODOM_EDGE}),
    ({"derived": True, "tf": {"odom_tf": True, "nav_tf": True}}, {LASER_EDGE, MAP_EDGE, ODOM_EDGE}),
    ({"map_tf": True, "tf": {"nav_tf": True, "odom_tf": False}}, PLAIN | {MAP_EDGE}),
    ({"map_tf": False, "tf": {"nav_tf": True, "odom_tf": True}}, {LASER_EDGE}),  # the node sends odom -> base_link
    ({"map_tf": True, "tf": {"nav_tf": True, "odom_tf": True}}, {LASER_EDGE, MAP_EDGE}),
]


@pytest.mark.parametrize(("options", "expected"), COMBINATIONS)
def test_tf_tree_of_each_combination_of_switches(options: Mapping[str, Any], expected: set[tuple[str, str]]) -> None:
    assert edges_of(argo(), Selection(**options)) == expected


@pytest.mark.parametrize("options", [options for options, _ in COMBINATIONS])
def test_archive_without_wheels_has_no_computed_odometry_on_base(options: dict[str, Any]) -> None:
    """A static dataset has no payload: the node is silent, whatever it was told."""
    is_off = options.get("tf", {}).get("nav_tf") is False
    assert edges_of(argo(without=["wheels"]), Selection(**options)) == {LASER_EDGE} | (set() if is_off else {NAV_EDGE})


def test_every_combination_gives_each_frame_at_most_one_parent() -> None:
    states = (None, True, False)
    for derived, map_tf, nav, odom in product((True, False), (True, False), states, states):
        tf = {name: value for name, value in (("nav_tf", nav), ("odom_tf", odom)) if value is not None}
        edges = edges_of(argo(), Selection(derived=derived, map_tf=map_tf, tf=tf))
        by_node = {ODOM_EDGE} if odom and not derived else set()  # live, the node sends it
        parents = [parent for parent, child in edges | by_node if child == "base_link"]
        assert parents == (["odom"] if odom else [] if nav is False else ["map"])


def test_archived_odometry_with_frame_without_switch() -> None:
    archive = archive_of([ODOM, JOINT])
    joint, odom = ("base_link", "head"), ("odom", "base_link")
    assert edges_of(archive, Selection()) == {LASER_EDGE, joint, odom}
    assert edges_of(archive, Selection(tf={"odom_tf": False})) == {LASER_EDGE, joint}
    assert live_switches(archive.spec) == switches(archive.spec) == {"odom_tf": True}


def test_first_available_stream_provides_a_shared_frame() -> None:
    archive = archive_of([ODOM, NAV])
    assert edges_of(archive, Selection()) == {LASER_EDGE, ODOM_EDGE}
    assert edges_of(archive, Selection(tf={"odom_tf": False})) == {LASER_EDGE, NAV_EDGE}
    assert edges_of(archive_of([ODOM, NAV], without=["odom"]), Selection()) == {LASER_EDGE, NAV_EDGE}


def test_static_frame_gets_no_dynamic_transform() -> None:
    spec = StreamSpec(id="odom", topic="o", type=ODOMETRY, frame="map", child_frame="laser", tf="always")
    assert edges_of(archive_of([spec]), Selection()) == {LASER_EDGE}


def test_unknown_switch_is_usage_error() -> None:
    with pytest.raises(UsageError, match="made has no switch 'odom'; there are: nav_tf, odom_tf"):
        archive_topic_streams(argo(), Selection(tf={"odom": True}))


def test_switch_defaults_of_dataset_and_of_live_player() -> None:
    spec = argo().spec
    assert switches(spec) == live_switches(spec) == {"nav_tf": True, "odom_tf": False}
    usual = archive_of([NAV, WHEELS], derived=(COMPUTED,)).spec
    assert (switches(usual)["odom_tf"], live_switches(usual)["odom_tf"]) == (True, False)


def test_archive_summary_lists_tf_with_its_stream() -> None:
    by_id = {summary.id: (summary.topic, summary.count) for summary in summaries(argo(), Selection())}
    assert (by_id["nav"], by_id["nav.tf"]) == (("/made/nav/odom", ROWS), ("/tf", ROWS))
    assert list(by_id) == ["fix", "nav.tf", "nav", "wheels"]


def test_derived_odometry_drives_circle_of_its_settings() -> None:
    """Radius 0.28 m, track 1.32 m, 4 and 5 rad/s for 3.9 s: a circle of 5.94 m."""
    sent = [
        data for feed, _, data in messages_of(argo(), Selection(derived=True)) if feed.topic.endswith("wheels/odom")
    ]
    assert len(sent) == ROWS
    last = STORE.deserialize_cdr(sent[-1], ODOMETRY)
    turned = 3.9 * 0.28 / 1.32
    position = last.pose.pose.position
    assert (position.x, position.y) == pytest.approx((5.94 * np.sin(turned), 5.94 * (1 - np.cos(turned))))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tf": "map_tf"}, "expected 'always' or"),
        ({"tf": "NAV"}, "expected 'always' or"),
        ({"child_frame": ""}, "frame"),
    ],
)
def test_inconsistent_descriptions_are_rejected(arguments: dict[str, str], message: str) -> None:
    usual = {"id": "nav", "topic": "nav", "type": ODOMETRY, "frame": "map", "child_frame": "base_link", "tf": "nav_tf"}
    with pytest.raises(ValueError, match=message):
        StreamSpec(**{**usual, **arguments})
