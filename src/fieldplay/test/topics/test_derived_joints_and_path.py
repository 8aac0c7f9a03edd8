"""The transforms of a model's joints and the path of odometry in batch, span by span."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from fieldplay.core.errors import ArchiveError
from fieldplay.datasets.spec import DerivedSpec
from fieldplay.kinematics.odometry_path import path_from_poses
from fieldplay.kinematics.pose_records import PathLimits
from fieldplay.messages import records
from fieldplay.streams.stream import Span
from fieldplay.topics.derived import DerivedOptions, FedStream, feeds_of_computation
from fieldplay_testing.reference_messages import messages_of_span

STORE = get_typestore(Stores.ROS2_JAZZY)
URDF = """<robot name="toy">
  <link name="base"/><link name="arm"/><link name="hand"/><link name="wheel"/>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>
  <joint name="wrist" type="revolute"><parent link="arm"/><child link="hand"/><axis xyz="0 0 1"/>
    <mimic joint="shoulder" multiplier="-1"/></joint>
  <joint name="roll" type="continuous"><parent link="base"/><child link="wheel"/><axis xyz="0 1 0"/></joint>
</robot>"""
ROWS = 60
STAMPS = 1_543_311_000_000_000_000 + np.arange(ROWS) * 20_000_000
NAMES = ("log_shoulder", "roll", "arm_joint_1")
TF_SPEC = DerivedSpec(
    kind="joint_transforms", streams=("joint_states",), topic="joint_states", settings={"joint_names": r"log_(\w+)=\1"}
)
PATH_SPEC = DerivedSpec(
    kind="odometry_path", streams=("wheel_odom",), topic="path", frame="odom",
    settings={"odometry": "wheel_odom", "path_step_m": 0.5, "path_poses": 8},
)  # fmt: skip


class Cut:
    """A stream of columns that is cut into spans."""

    def __init__(
        self, kind: type[records.Record], columns: Mapping[str, Any], cuts: Sequence[int], **more: Any
    ) -> None:
        self._kind, self._columns, self._more = kind, columns, more
        self._parts = [slice(*pair) for pair in pairwise([0, *cuts, ROWS])]
        self.spans = [Span(int(STAMPS[p][0]), int(STAMPS[p][-1]), len(STAMPS[p])) for p in self._parts]

    def load(self, index: int) -> records.Record:
        part = self._parts[index]
        return self._kind(stamp_ns=STAMPS[part], **{name: v[part] for name, v in self._columns.items()}, **self._more)


def derived_options(tmp_path: Path | None = None, *, first_ns: int = 0) -> DerivedOptions:
    urdf = None
    if tmp_path is not None:
        urdf = tmp_path / "toy.urdf"
        urdf.write_text(URDF)
    return DerivedOptions(
        topic=lambda name: f"/r/{name}", frame_prefix="a/", tf_rank=0, rank=1, first_ns=first_ns, urdf=urdf
    )  # fmt: skip


def messages(spec: DerivedSpec, stream: Cut, where: DerivedOptions) -> list[tuple[int, Any]]:
    (feed,) = feeds_of_computation(spec, [FedStream(stream)], where)
    assert feed.topic == ("/tf" if spec is TF_SPEC else "/r/path")
    assert feed.latched == (spec is PATH_SPEC)
    messages_by_topic = []
    for index in range(len(stream.spans)):
        for stamp_ns, data in messages_of_span(feed, index):
            messages_by_topic.append((stamp_ns, STORE.deserialize_cdr(data, feed.msgtype)))
    return messages_by_topic


def joints(cuts: Sequence[int] = ()) -> Cut:
    """The wheel is not known in the first ten rows, nothing in the eleventh."""
    position = np.stack([np.linspace(0, 1, ROWS), np.linspace(0, 5, ROWS), np.zeros(ROWS)], axis=-1)
    position[:10, 1] = position[10, :2] = np.nan
    return Cut(records.Joints, {"position": position}, cuts, names=NAMES)


@pytest.mark.parametrize("cuts", [(), (5, 10, 11, 40)])
def test_each_row_moves_links_of_its_joints(tmp_path: Path, cuts: Sequence[int]) -> None:
    result = messages(TF_SPEC, joints(cuts), derived_options(tmp_path))
    assert [stamp for stamp, _ in result] == np.delete(STAMPS, 10).tolist()
    edges = [[(t.header.frame_id, t.child_frame_id) for t in message.transforms] for _, message in result]
    arm = [("a/base", "a/arm"), ("a/arm", "a/hand")]
    assert all(sorted(row) == sorted(arm) for row in edges[:10])
    assert all(sorted(row) == sorted([*arm, ("a/base", "a/wheel")]) for row in edges[10:])


def test_joint_positions_rotate_links_and_mimic_joint_rotates_back(tmp_path: Path) -> None:
    (_, message) = messages(TF_SPEC, joints((5, 11)), derived_options(tmp_path))[-1]
    turns = {t.child_frame_id: t.transform.rotation for t in message.transforms}
    assert (turns["a/arm"].z, turns["a/arm"].w) == pytest.approx((np.sin(0.5), np.cos(0.5)))
    assert (turns["a/hand"].z, turns["a/hand"].w) == pytest.approx((-np.sin(0.5), np.cos(0.5)))
    assert abs(turns["a/wheel"].y) == pytest.approx(abs(np.sin(2.5)))
    assert {(t.header.stamp.sec, t.header.stamp.nanosec) for t in message.transforms} == {(1543311001, 180_000_000)}


def test_velocities_alone_do_not_move_links(tmp_path: Path) -> None:
    still = Cut(records.Joints, {"velocity": np.ones((ROWS, 3))}, (), names=NAMES)
    assert messages(TF_SPEC, still, derived_options(tmp_path)) == []


def test_joints_claimed_by_two_names_are_skipped(tmp_path: Path) -> None:
    twice = Cut(records.Joints, {"position": np.ones((ROWS, 2))}, (), names=("log_shoulder", "shoulder"))
    assert messages(TF_SPEC, twice, derived_options(tmp_path)) == []


def test_missing_robot_model_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="expected the model of a robot"):
        messages(TF_SPEC, joints(), derived_options())
    where = derived_options(tmp_path)
    assert where.urdf is not None
    where.urdf.write_text("<robot name='toy'>")
    with pytest.raises(ArchiveError, match=r"toy\.urdf: this is no XML"):
        messages(TF_SPEC, joints(), where)


def odometry(cuts: Sequence[int] = ()) -> Cut:
    steps, unknown = np.arange(ROWS), np.zeros((ROWS, 6, 6))
    turn = np.tile([0.1, -0.7, 0.1, 0.7], (ROWS, 1))
    still = np.zeros((ROWS, 3))
    columns = {
        "position_m": np.column_stack([0.08 * steps, 0 * steps, 0.06 * steps]), "orientation_xyzw": turn,
        "pose_covariance": unknown, "linear_velocity_m_s": still, "angular_velocity_rad_s": still,
        "twist_covariance": unknown,
    }  # fmt: skip
    return Cut(records.Odometry, columns, cuts)


@pytest.mark.parametrize("cuts", [(), (1, 7, 33)])
def test_path_has_odometry_poses_for_any_spans(cuts: Sequence[int]) -> None:
    stream = odometry(cuts)
    result = messages(PATH_SPEC, stream, derived_options())
    whole: Any = odometry().load(0)
    poses = np.concatenate([whole.position_m, whole.orientation_xyzw], axis=1)
    growths, _ = path_from_poses(PathLimits(step_m=0.5, poses=8), None, STAMPS, poses)
    expected = [growth.points.poses[:count] for growth in growths
                for count in range(growth.first, len(growth.points.stamp_ns) + 1)]  # fmt: skip
    assert len(result) == len(expected) > 8
    for (stamp, message), path_poses in zip(result, expected, strict=True):
        assert message.header.frame_id == "a/odom"
        assert stamp == message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
        seen = [[p.pose.position.x, p.pose.position.y, p.pose.position.z,
                 *(getattr(p.pose.orientation, axis) for axis in "xyzw")] for p in message.poses]  # fmt: skip
        np.testing.assert_array_equal(seen, path_poses)


def test_path_starts_with_conversion() -> None:
    result = messages(PATH_SPEC, odometry((20,)), derived_options(first_ns=int(STAMPS[30])))
    assert result[0][0] == STAMPS[30]
    assert result[0][1].poses[0].pose.position.x == pytest.approx(0.08 * 30)
