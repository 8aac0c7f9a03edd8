"""Odometry of a skid-steered base in batch, from wheels that are told side by side, span by span."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from fieldplay.datasets.spec import DerivedSpec
from fieldplay.kinematics.skid_steer_odometry import skid_steer_from_settings, skid_steer_odometry_from_wheels
from fieldplay.messages import records
from fieldplay.streams.stream import Span
from fieldplay.topics.derived import DerivedOptions, FedStream, feeds_of_computation
from fieldplay_testing.reference_messages import messages_of_span

STORE = get_typestore(Stores.ROS2_JAZZY)
SPEC = DerivedSpec(
    kind="skid_steer_odometry", streams=("payload_wheels",), topic="wheels/odom", frame="odom", odom_tf=True,
    child_frames=("base_link",),
    settings={
        "wheel_radius_m": 0.25, "track_m": 2.0, "speed_std_m_s": 0.02, "slip_share": 0.1, "track_share": 0.3,
        "slide_share": 0.2, "longest_hold_s": 0.5, "longest_step_s": 1.0,
    },
)  # fmt: skip
ROWS = 300
STAMPS = 1_224_198_733_000_000_000 + np.arange(ROWS) * 50_000_000


def rates() -> np.ndarray[Any, np.dtype[np.float64]]:
    """Ten rows of the left side alone, then the sides in turns."""
    both = np.stack([6 + 3 * np.sin(np.arange(ROWS) / 40), 6 + 3 * np.cos(np.arange(ROWS) / 30)], axis=-1)
    both[::2, 1] = both[1::2, 0] = np.nan
    both[:10, 0], both[:10, 1] = 6.0, np.nan
    return both


class Wheels:
    """A stream of joint states that is cut into spans."""

    def __init__(self, cuts: Sequence[int]) -> None:
        self._parts = [slice(*pair) for pair in pairwise([0, *cuts, ROWS])]
        self.spans = [Span(int(STAMPS[p][0]), int(STAMPS[p][-1]), len(STAMPS[p])) for p in self._parts]

    def load(self, index: int) -> records.Record:
        part = self._parts[index]
        return records.Joints(stamp_ns=STAMPS[part], names=("left_wheel", "right_wheel"), velocity=rates()[part])


def derived_messages(
    cuts: Sequence[int], *, first_ns: int = 0, odom_tf: bool = False
) -> dict[str, list[tuple[int, Any]]]:
    """The messages by topic, each with its time."""
    options = DerivedOptions(
        topic=lambda name: f"/argo/{name}", frame_prefix="a/", tf_rank=0, rank=1, first_ns=first_ns, odom_tf=odom_tf
    )
    feeds = feeds_of_computation(SPEC, [FedStream(Wheels(cuts))], options)
    messages: dict[str, list[tuple[int, Any]]] = {feed.topic: [] for feed in feeds}
    for index in range(len(cuts) + 1):
        for feed in feeds:
            for stamp_ns, data in messages_of_span(feed, index):
                messages[feed.topic].append((stamp_ns, STORE.deserialize_cdr(data, feed.msgtype)))
    return messages


def test_odometry_does_not_depend_on_spans() -> None:
    batch = skid_steer_odometry_from_wheels(skid_steer_from_settings(SPEC.settings), None, STAMPS, rates())
    assert len(batch.stamp_ns) == ROWS - 11  # the right side is told in row 11 first
    for cuts in ([], [5, 10, 12, 150, 299]):
        result = derived_messages(cuts, odom_tf=True)
        assert [stamp for stamp, _ in result["/argo/wheels/odom"]] == batch.stamp_ns.tolist()
        assert [stamp for stamp, _ in result["/tf"]] == batch.stamp_ns.tolist()
        for row, ((_, odometry), (_, message)) in enumerate(
            zip(result["/argo/wheels/odom"], result["/tf"], strict=True)
        ):
            position, (sent,) = odometry.pose.pose.position, message.transforms
            assert [position.x, position.y, position.z] == pytest.approx([*batch.poses[row, :2], 0.0], abs=1e-9)
            assert odometry.twist.twist.angular.z == pytest.approx(batch.twists[row, 2])
            frames = (sent.header.frame_id, sent.child_frame_id)
            assert frames == (odometry.header.frame_id, odometry.child_frame_id) == ("a/odom", "a/base_link")
            assert (sent.transform.translation.x, sent.transform.translation.y) == pytest.approx(
                (position.x, position.y)
            )


def test_tf_is_empty_without_odom_tf() -> None:
    assert set(derived_messages([])) == {"/argo/wheels/odom"}


def test_later_start_is_time_zero_without_earlier_messages() -> None:
    result = derived_messages([100, 200], first_ns=int(STAMPS[150]))["/argo/wheels/odom"]
    assert result[0][0] == STAMPS[151]
    assert (result[0][1].pose.pose.position.x, result[0][1].pose.pose.orientation.w) == (0, 1)
