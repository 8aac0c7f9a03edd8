"""Odometry of four steered wheels in batch, over a gap such as that between two recordings in one archive."""

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from fieldplay.datasets.spec import DerivedSpec
from fieldplay.messages import records
from fieldplay.streams.stream import InMemoryStream
from fieldplay.streams.topic_batches import Window, batches
from fieldplay.topics.derived import DerivedOptions, FedStream, feeds_of_computation
from fieldplay_testing.reference_messages import block_messages

STORE = get_typestore(Stores.ROS2_JAZZY)
LENGTHS = {"length_m": 0.402, "width_m": 0.396, "swivel_m": 0.143, "wheel_drop_m": 0.135}
EXACT = dict.fromkeys(("speed_std_m_s", "slip_share", "slide_share", "steering_std_deg"), 0.0)
WHEELS = (1, 2, 3, 4)
SPEED_M_S, STEP_NS, HOUR_NS = 0.4, 20_000_000, 3600 * 10**9
START_NS = 1656931512 * 10**9
STAMPS = START_NS + np.concatenate([np.arange(50), 50 + np.arange(50)]) * STEP_NS
STAMPS[50:] += HOUR_NS


def driven(settings: dict[str, float]) -> list[tuple[float, float]]:
    """The way ahead in m and its standard deviation at each row of a straight drive that pauses for an hour."""
    names = tuple(f"{kind}_{wheel}" for kind in ("drive", "steer") for wheel in WHEELS)
    joints = records.Joints(stamp_ns=STAMPS, names=names, position=np.zeros((100, 8)))
    speeds = records.Joints(stamp_ns=STAMPS, names=names[:4], velocity=np.full((100, 4), SPEED_M_S))
    spec = DerivedSpec(
        kind="wheel_odometry", streams=("wheel_joints", "wheel_speeds"), topic="wheels/odom", frame="odom",
        child_frames=("base_link",), settings=LENGTHS | EXACT | settings,
    )  # fmt: skip
    options = DerivedOptions(topic=lambda name: f"/{name}", frame_prefix="", tf_rank=0, rank=1, first_ns=0)
    sources = [FedStream(InMemoryStream(joints)), FedStream(InMemoryStream(speeds))]
    feeds = [feed for feed in feeds_of_computation(spec, sources, options) if feed.rank]
    messages = []
    for batch in batches(feeds, [0], Window(START_NS, START_NS, None)):
        for data in block_messages(batch.block):
            message = STORE.deserialize_cdr(data, "nav_msgs/msg/Odometry")
            messages.append((message.pose.pose.position.x, message.pose.covariance[0] ** 0.5))
    return messages


@pytest.mark.parametrize(("settings", "longest_s"), [({}, 1.0), ({"longest_step_s": 0.5}, 0.5)])
def test_gap_is_integrated_for_longest_step_and_adds_uncertainty(settings: dict[str, float], longest_s: float) -> None:
    result = driven(settings)
    assert len(result) == 100
    before = 49 * STEP_NS / 1e9 * SPEED_M_S
    assert result[49] == pytest.approx((before, 1e-3), abs=1e-9)  # the floor
    assert result[50][0] == pytest.approx(before + longest_s * SPEED_M_S)
    assert result[50][1] == pytest.approx((3600.02 - longest_s) * SPEED_M_S)
    assert result[99][0] - result[50][0] == pytest.approx(before)


def test_slip_and_noise_grow_with_distance() -> None:
    result = driven({"speed_std_m_s": 0.01, "slip_share": 0.1})
    step_std = STEP_NS / 1e9 * np.hypot(0.01 / 2, 0.1 * SPEED_M_S)
    assert result[49][1] == pytest.approx(step_std * np.sqrt(49), rel=1e-6)
