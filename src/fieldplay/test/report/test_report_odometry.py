"""Odometry against the truth in a report, of hand-made messages."""

import re
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from fieldplay.evaluation.trajectory_pair import truth_of_names
from fieldplay.messages.message_batches import Topic
from fieldplay.recording.recording import RecordingInfo
from fieldplay.report.odometry_panel import MAX_POSES, OdometryErrorPanel
from fieldplay.report.overview import Overview
from fieldplay.report.page import Section
from fieldplay.report.tf_panel import TransformPanel
from fieldplay.streams.stream_times import StreamTimes
from fieldplay.trajectories.evaluation import EvaluationSettings, evaluate
from fieldplay.trajectories.trajectory import Trajectory
from fieldplay_testing.reference_messages import (
    START_NS,
    batch,
    stamped_message,
    transform,
    transforms,
)
from fieldplay_testing.reference_trajectories import (
    Array,
    drift_trajectory,
    headings,
    wander,
)
from fieldplay_testing.reference_trajectories import transforms as poses_of

ODOMETRY = "nav_msgs/msg/Odometry"
STEP_NS = 20_000_000
STRAIGHT = poses_of(headings(np.zeros(1001)), np.c_[np.arange(1001) * 0.02, np.zeros((1001, 2))])
UNKNOWN = np.zeros(36)
UNKNOWN[[21, 28, 35]] = 1e6


def odometry(poses: Array, child: str = "base_link", step_ns: int = STEP_NS, **more: Any) -> list[tuple[int, Any]]:
    turns = Rotation.from_matrix(poses[:, :3, :3]).as_quat()
    return [
        (
            stamp_ns := START_NS + number * step_ns,
            stamped_message(
                ODOMETRY, stamp_ns, "odom", child_frame_id=child,
                **{f"pose__pose__position__{axis}": float(pose[row, 3]) for row, axis in enumerate("xyz")},
                **{f"pose__pose__orientation__{axis}": float(value) for axis, value in zip("xyzw", turn, strict=True)},
                **more,
            ),
        )
        for number, (pose, turn) in enumerate(zip(poses, turns, strict=True))
    ]  # fmt: skip


def sections(topics: dict[str, list[tuple[int, Any]]], tf: Any = None) -> list[Section]:
    overview = Overview(subject=RecordingInfo(title="", name="", kind="", size_bytes=0))
    panel = OdometryErrorPanel(overview.frames)
    if tf is not None:
        TransformPanel(overview.frames).add(batch("/tf_static", [(START_NS, tf)]))
    for name, messages in topics.items():
        batch_ = batch(name, messages)
        overview.streams.setdefault(Topic(name, ODOMETRY), StreamTimes()).add(batch_.stamp_ns)
        overview.streams[batch_.topic].flush_pending()
        panel.add(batch_)
    panel.report_issues(overview.issues)
    return panel.sections(overview)


def text_of(body: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", str.replace(body, "<wbr>", "")))


def longer(poses: Array, fraction: float) -> Array:
    stretched = poses.copy()
    stretched[:, :3, 3] *= 1 + fraction
    return stretched


def test_odometry_error_is_shown_for_each_length() -> None:
    (section,) = sections({"/wheels/odom": odometry(longer(STRAIGHT, 0.02)), "/gnss/odom": odometry(STRAIGHT)})
    assert section.lead.startswith("Against /gnss/odom.")
    text = text_of(section.body)
    for expected in ("/wheels/odom", "over 1 m, % 2 2", "over 5 m, % 2 2", "over 1 m, rotation, deg/m 0 0"):
        assert expected in text
    assert section.body.count("<figure") == 4
    assert "Translation error" in text and "Rotation error" in text and "Distance from the truth" in text


def test_odometries_are_drawn_together_without_truth() -> None:
    (section,) = sections(
        {
            "/ground_truth/odom": odometry(STRAIGHT),
            "/gnss/odom": odometry(longer(STRAIGHT, 0.001)),
            "/wheels/odom": odometry(longer(STRAIGHT, 0.03)),
        }
    )
    figure = section.body.split("<figure")[1]
    labels = re.findall(r'class="key s\d"></i>([^<]*)', str.replace(figure, "<wbr>", ""))
    assert labels == ["/gnss/odom", "/wheels/odom"]
    assert "over 2 m, % 3 3" in text_of(section.body) and "over 2 m, % 0.1 0.1" in text_of(section.body)


def test_lever_arm_comes_from_tf_and_frames_moving_in_base_are_ignored() -> None:
    base_t_unit = poses_of(Rotation.from_euler("xyz", [[np.pi, 0, 0.5]]), np.array([[-0.4, 0.1, 0.5]]))[0]
    body = wander(600)
    turn = Rotation.from_matrix(base_t_unit[:3, :3]).as_quat()
    tree = transforms(transform(START_NS, "base_link", "dgps", base_t_unit[:3, 3], turn))
    topics = {"/wheel_odom": odometry(body), "/dgps/odom": odometry(body @ base_t_unit, "dgps")}
    swing = {"/swing": odometry(wander(600, seed=3), "plane")}
    (section,) = sections({**topics, **swing}, tree)
    assert "/swing" not in text_of(section.body)
    rmse, median = re.search(r"over 2 m, % (\S+) (\S+)", text_of(section.body)).groups()
    assert max(float(rmse), float(median)) < 1e-6
    assert sections(topics) == []


def test_truth_without_orientation_has_no_rotation_figure() -> None:
    truth = odometry(STRAIGHT, pose__covariance=UNKNOWN)
    (section,) = sections({"/odom": odometry(longer(STRAIGHT, 0.02)), "/ground_truth/odom": truth})
    assert "Rotation" not in section.body and "over 1 m, % 2 2" in text_of(section.body)


@pytest.mark.parametrize(
    "topics",
    [
        {"/odom": odometry(STRAIGHT[:50])},
        {"/gnss/odom": odometry(STRAIGHT[:50])},
        {"/odom": odometry(STRAIGHT), "/gnss/odom": odometry(np.repeat(STRAIGHT[:1], 1001, axis=0))},
        {"/odom": odometry(STRAIGHT[:1]), "/gnss/odom": odometry(STRAIGHT[:1])},
    ],
)
def test_nothing_is_drawn_without_comparable_odometry(topics: dict[str, list[tuple[int, Any]]]) -> None:
    assert sections(topics) == []


def test_long_recording_is_compared_by_decimated_poses() -> None:
    count = 2 * MAX_POSES + 1000
    positions = poses_of(headings(np.zeros(count)), np.c_[np.arange(count) * 0.005, np.zeros((count, 2))])
    overview = Overview(subject=RecordingInfo(title="", name="", kind="", size_bytes=0))
    panel = OdometryErrorPanel(overview.frames)
    for name, poses in (("/gnss/odom", positions), ("/odom", longer(positions, 0.02))):
        messages = odometry(poses)
        for start in range(0, count, 1000):
            panel.add(batch(name, messages[start : start + 1000]))
    (section,) = panel.sections(overview)
    assert "over 5 m, % 2 2" in text_of(section.body)
    assert all(len(received.trajectory()) < 0.6 * count for received in panel._received.values())


def test_percentiles_over_length_match_errors() -> None:
    truth = wander(800)
    stamps = np.arange(800) * STEP_NS
    result = evaluate(
        EvaluationSettings(),
        Trajectory(stamp_ns=stamps, poses=drift_trajectory(truth)),
        Trajectory(stamp_ns=stamps, poses=truth),
    )
    for is_rotation, factor in ((False, 100.0), (True, np.degrees(1.0))):
        rows = result.percentiles_over_length[int(is_rotation)]
        assert len(rows) > 10 and (np.diff(rows[:, 1:], axis=1) >= 0).all()
        errors = result.over_length(float(rows[4, 0])).errors
        values = np.sort(errors.rotation if is_rotation else errors.translation) * factor
        assert rows[4, 2] == pytest.approx(np.median(values))
        assert (values <= rows[4, 4]).mean() == pytest.approx(0.95, abs=0.01)


@pytest.mark.parametrize(
    ("names", "truth"),
    [
        (["/wheel_odom", "/dgps/odom"], "/dgps/odom"),
        (["/a/gnss/odom", "/a/ground_truth/odom", "/a/odom"], "/a/ground_truth/odom"),
        (["/acfr/wheels/odom", "/acfr/nav/odom"], "/acfr/nav/odom"),
        (["/navigation/odom", "/odom"], None),
        (["/odom_rtk", "/odom"], "/odom_rtk"),
        ([], None),
    ],
)
def test_truth_is_recognised_by_name(names: list[str], truth: str | None) -> None:
    assert truth_of_names(names) == truth
