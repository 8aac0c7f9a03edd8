"""What a conversion makes of odometry and its truth: the same as the functions, of streams that are cut into spans."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore
from scipy.spatial.transform import Rotation

from fieldplay.core.errors import ArchiveError
from fieldplay.datasets.spec import DerivedSpec
from fieldplay.geometry.extrinsics import Edge
from fieldplay.kinematics.computation import FrameNames
from fieldplay.messages import records
from fieldplay.streams.stream import Span
from fieldplay.streams.topic_batches import Window, batches
from fieldplay.topics.derived import DerivedOptions, FedStream, feeds_of_computation
from fieldplay.trajectories.evaluation import EvaluationSettings, states_of_evaluation
from fieldplay.trajectories.odometry_evaluation import RunningEvaluation
from fieldplay_testing.reference_trajectories import (
    Array,
    drift_trajectory,
    transforms,
    wander,
)

STORE = get_typestore(Stores.ROS2_JAZZY)
START_NS = 1_543_311_000 * 10**9
STAMPS = START_NS + np.arange(400) * 50_000_000
BODY_T_UNIT = transforms(Rotation.from_euler("xyz", [[np.pi, 0, 0.5]]), np.array([[-0.4, 0.1, 0.5]]))[0]
TRUTH = wander(400) @ BODY_T_UNIT
ESTIMATE = drift_trajectory(wander(400))
SPEC = DerivedSpec(
    kind="odometry_evaluation", streams=("wheel_odom", "dgps_odom"), topic="evaluation", frame="map",
    child_frames=("base_link", "dgps"),
    settings={"estimate": "wheel_odom", "truth": "dgps/odom", "lengths_m": [1, 2], "period_s": 2.0},
)  # fmt: skip
EDGES = [Edge("base_link", "dgps", BODY_T_UNIT)]
ERROR, STATISTICS = "/rover/evaluation/position_error", "/rover/evaluation/statistics"


class Poses:
    """A stream of odometry that is cut into spans."""

    def __init__(self, poses: Array, cuts: Sequence[int], variance: float = 0.0) -> None:
        self._poses, self._parts = poses, [slice(*pair) for pair in pairwise([0, *cuts, len(STAMPS)])]
        self._covariance = variance * np.eye(6)
        self.spans = [Span(int(STAMPS[p][0]), int(STAMPS[p][-1]), len(STAMPS[p])) for p in self._parts]

    def load(self, index: int) -> records.Record:
        part = self._parts[index]
        poses = self._poses[part]
        return records.Odometry(
            stamp_ns=STAMPS[part],
            position_m=poses[:, :3, 3],
            orientation_xyzw=Rotation.from_matrix(poses[:, :3, :3]).as_quat(),
            pose_covariance=np.tile(self._covariance, (len(poses), 1, 1)),
            linear_velocity_m_s=np.zeros((len(poses), 3)),
            angular_velocity_rad_s=np.zeros((len(poses), 3)),
            twist_covariance=np.zeros((len(poses), 6, 6)),
        )


def messages(
    cuts: tuple[Sequence[int], Sequence[int]], *, first_ns: int = START_NS, variance: float = 0.0, edges: Any = EDGES
) -> dict[str, list[tuple[int, Any]]]:
    options = DerivedOptions(
        topic=lambda name: f"/rover/{name}", frame_prefix="", tf_rank=2, rank=4, first_ns=first_ns, static=edges
    )
    estimate = FedStream(Poses(ESTIMATE, cuts[0]), FrameNames("odom", "base_link"))
    truth = FedStream(Poses(TRUTH, cuts[1], variance), FrameNames("map", "dgps"))
    feeds = feeds_of_computation(SPEC, [estimate, truth], options)
    messages_by_topic: dict[str, list[tuple[int, Any]]] = {feed.topic: [] for feed in feeds}
    for batch in batches(feeds, range(len(feeds)), Window(START_NS, first_ns, None)):
        stops = np.cumsum(batch.block.size)
        buffer = np.zeros(int(stops[-1]), np.uint8)
        batch.block.copy_to(buffer, stops - batch.block.size)
        for channel, stamp_ns, data in zip(batch.channel, batch.stamp_ns, np.split(buffer, stops[:-1]), strict=True):
            feed = feeds[int(channel)]
            messages_by_topic[feed.topic].append((int(stamp_ns), STORE.deserialize_cdr(data.tobytes(), feed.msgtype)))
    return messages_by_topic


@pytest.mark.parametrize("cuts", [([], []), ([50, 300], [7, 8, 250]), ([399], [1])])
def test_each_period_reports_results_of_evaluation(cuts: tuple[list[int], list[int]]) -> None:
    state = RunningEvaluation(EvaluationSettings(lengths_m=(1.0, 2.0)), period_s=2.0)
    for stamp_ns, estimate, truth in zip(STAMPS.tolist(), ESTIMATE, TRUTH, strict=True):
        state.add_estimate(stamp_ns, estimate @ BODY_T_UNIT)
        state.add_truth(stamp_ns, truth)
    known, result = state.reports(), messages(cuts)
    assert [stamp_ns for stamp_ns, _ in result[ERROR]] == [report.stamp_ns for report in known]
    errors = [message.data for _, message in result[ERROR]]
    assert errors == pytest.approx([report.position_error_m for report in known]) and len(errors) == 9
    assert errors[-1] > errors[0] > 0
    for (stamp_ns, message), report in zip(result[STATISTICS], known, strict=True):
        assert message.header.stamp.sec * 10**9 + message.header.stamp.nanosec == stamp_ns == report.stamp_ns
        states = states_of_evaluation("wheel_odom", report.evaluation)
        assert [status.name for status in message.status] == [name for name, _, _ in states]
        for status, (_, _, values) in zip(message.status, states, strict=True):
            numbers = [float(value.value) for value in status.values]
            assert numbers == pytest.approx([float(value) for _, value in values], abs=1e-6)


def test_poses_before_start_are_ignored() -> None:
    result = messages(([], []), first_ns=int(STAMPS[110]))
    assert [stamp_ns for stamp_ns, _ in result[ERROR]][:1] == [int(STAMPS[119])]
    assert result[STATISTICS][0][1].status[0].values[0].key == "count"


def test_truth_without_orientation_yields_translation_errors_only() -> None:
    result = messages(([], []), variance=1e6)
    keys = [value.key for _, message in result[STATISTICS] for status in message.status for value in status.values]
    assert keys and not any(key.startswith("rotation") for key in keys)


def test_disconnected_frames_are_rejected() -> None:
    with pytest.raises(ArchiveError, match="expected base_link and dgps to be joined"):
        messages(([], []), edges=[])
