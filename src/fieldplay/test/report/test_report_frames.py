"""The tf tree of a recording, beside SciPy and by hand."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

from fieldplay.geometry.frames import Frames
from fieldplay.recording.record_batches import Issues
from fieldplay.recording.recording import RecordingInfo
from fieldplay.report.overview import Overview
from fieldplay.report.tf_panel import TransformPanel, roots_of
from fieldplay_testing.reference_messages import (
    START_NS,
    batch,
    transform,
    transforms,
)

SECOND = 10**9
LEVEL = (0.0, 0.0, 0.0, 1.0)


def add(
    frames: Frames, parent: str, child: str, rows: list[tuple[int, list[float]]], *, is_static: bool = True
) -> None:
    stamp_ns = np.array([stamp for stamp, _ in rows], np.int64)
    frames.add(parent, child, is_static=is_static, stamp_ns=stamp_ns, values=np.array([row for _, row in rows]))


def recording_of(frames: Frames) -> Overview:
    return Overview(subject=RecordingInfo(title="", name="", kind="", size_bytes=0), frames=frames)


def test_moving_frame_is_interpolated_like_scipy_slerp() -> None:
    turns = Rotation.from_euler("zyx", [[0.1, 0.2, 0.3], [0.5, 0.1, -0.2]])
    positions = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 3.5]])
    rows = [(k * SECOND, [*positions[k], *turns.as_quat()[k]]) for k in range(2)]
    rows[1] = (rows[1][0], [*positions[1], *(-turns.as_quat()[1])])  # the same turn, told by the other quaternion
    frames = Frames()
    add(frames, "odom", "base", rows=rows, is_static=False)
    result = frames.transform("odom", "base", np.array([SECOND // 4]))
    assert result is not None
    transform_result, known = result
    assert known.all()
    assert transform_result[0, :3, 3] == pytest.approx([1.25, 2.5, 3.125])
    expected = Slerp([0, 1], turns)([0.25]).as_matrix()[0]
    assert transform_result[0, :3, :3] == pytest.approx(expected, abs=2e-3)  # a normalised mean of near quaternions


def test_chain_through_tree_is_product_of_transforms() -> None:
    turn = Rotation.from_euler("z", 90, degrees=True).as_quat().tolist()
    frames = Frames()
    add(frames, "base", "mast", rows=[(0, [0.0, 0.0, 2.0, *turn])])
    add(frames, "base", "arm", rows=[(0, [1.0, 0.0, 0.0, *LEVEL])])
    result = frames.transform("mast", "arm", np.array([5]))
    assert result is not None
    # the arm lies 1 m before the base and 2 m below the mast, which is turned to the left: so to its right
    assert result[0][0, :3, 3] == pytest.approx([0.0, -1.0, -2.0])


def test_moving_frame_is_unknown_far_outside_its_transforms() -> None:
    frames = Frames()
    add(frames, "odom", "base", rows=[(k * SECOND // 10, [k, 0.0, 0.0, *LEVEL]) for k in range(11)], is_static=False)
    result = frames.transform("odom", "base", np.array([-5 * SECOND, 0, SECOND + SECOND // 2, 9 * SECOND]))
    assert result is not None
    assert result[1].tolist() == [False, True, True, False]
    assert frames.transform("odom", "moon", np.array([0])) is None


def test_cyclic_frames_do_not_loop_forever() -> None:
    frames = Frames()
    for parent, child in (("a", "b"), ("b", "c"), ("c", "a")):
        add(frames, parent, child, rows=[(0, [0.0, 0.0, 0.0, *LEVEL])])
    assert roots_of(frames)
    (section,) = TransformPanel(frames).sections(recording_of(frames))
    assert all(f"<b>{name}</b>" in section.body for name in "abc")


def test_frame_with_two_parents_is_reported_and_drawn_once() -> None:
    frames, issues = Frames(), Issues()
    panel = TransformPanel(frames)
    panel.add(batch("/tf_static", [(START_NS, transforms(transform(START_NS, "body", "eye", (0, 0, 1))))]))
    panel.add(
        batch(
            "/tf", [(START_NS + k, transforms(transform(START_NS + k, "/head", "/eye", (k, 0, 0)))) for k in range(3)]
        )
    )
    panel.report_issues(issues)
    assert [(f.location, f.message) for f in issues.listed["frame_with_several_parents"]] == [
        ("eye", "expected one parent, got body, head")
    ]
    assert frames.parents["eye"].parent == "head"
    (section,) = panel.sections(recording_of(frames))
    assert section.body.count("<b>eye</b>") == 1


def test_transforms_with_zero_quaternion_or_nan_are_reported_and_skipped() -> None:
    frames, issues = Frames(), Issues()
    panel = TransformPanel(frames)
    bad = [
        transforms(transform(START_NS, "map", "odom", (0, 0, 0), (0, 0, 0, 0))),
        transforms(transform(START_NS, "map", "odom", (np.nan, 0, 0))),
        transforms(transform(START_NS, "map", "odom", (1, 0, 0))),
    ]
    panel.add(batch("/tf", [(START_NS + k, message) for k, message in enumerate(bad)]))
    panel.report_issues(issues)
    assert issues.counts == {"unusable_transform": 2}
    assert frames.edges["map", "odom"].rows.seen == 1


def test_tree_marks_moving_and_fixed_frames() -> None:
    frames = Frames()
    panel = TransformPanel(frames)
    panel.add(batch("/tf_static", [(START_NS, transforms(transform(START_NS, "base_link", "imu", (0.1, 0, 0.25))))]))
    moving = [
        (START_NS + k * 10**8, transforms(transform(START_NS + k * 10**8, "odom", "base_link", (k, 0, 0))))
        for k in range(11)
    ]
    panel.add(batch("/tf", moving))
    (section,) = panel.sections(recording_of(frames))
    assert "3 frames, 1 of them moving" in section.lead
    assert "0.1 0 0.25" in section.body
    assert "0 0 0 · 10 Hz" in section.body
    assert section.body.count('class="row"') == 3
