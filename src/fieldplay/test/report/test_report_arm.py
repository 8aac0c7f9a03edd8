"""The arm's two views in a report: postures from tf, the path of the tool, and forces at it."""

import re
from typing import Any

import numpy as np

from fieldplay.recording.recording import RecordingInfo
from fieldplay.report.overview import Overview
from fieldplay.report.report_page import sections_of
from fieldplay.report.sketch_panels import ArmPanel
from fieldplay.report.tf_panel import TransformPanel
from fieldplay_testing.drawn import drawn_lines
from fieldplay_testing.reference_messages import (
    START_NS,
    batch,
    stamped_message,
    transform,
    transforms,
)

SECOND = 10**9
WRENCH = "geometry_msgs/msg/WrenchStamped"


def arm_at(stamp_ns: int, yaw: float, prefix: str = "") -> Any:
    """An arm with links of 1 m up and 1 m out, turned by a yaw, its tool 0.5 m below the end. z is down."""
    turn, out = (0, 0, np.sin(yaw / 2), np.cos(yaw / 2)), np.array([np.cos(yaw), np.sin(yaw), 0.0])
    edges = [
        ("payload", "link_1", (0, 0, -0.1), turn), ("link_1", "link_2", (0, 0, -1)),
        ("link_2", "link_3", (1, 0, 0)), ("link_3", "effector", (0, 0, 0)),
        ("payload", "tool_cylindrical", (*out[:2], -0.6), turn),
    ]  # fmt: skip
    return transforms(*(transform(stamp_ns, prefix + parent, prefix + child, *pose) for parent, child, *pose in edges))


def force(stamp_ns: int, xyz: tuple[float, float, float], frame: str = "tool_cylindrical") -> Any:
    values = {f"wrench__force__{axis}": value for axis, value in zip("xyz", xyz, strict=True)}
    return stamp_ns, stamped_message(WRENCH, stamp_ns, frame, **values)


def feed_arm_panel(times: np.ndarray, *, forces: list[Any] = (), prefix: str = "") -> tuple[Overview, ArmPanel]:
    overview = Overview(subject=RecordingInfo(title="", name="", kind="", size_bytes=0))
    moved = [(int(t), arm_at(int(t), 0.1 * k, prefix)) for k, t in enumerate(times)]
    TransformPanel(overview.frames).add(batch("/tf", moved))
    panel = ArmPanel(overview.frames)
    if forces:
        panel.add(batch("/wrench", forces))
    return overview, panel


def arrows(figure: str) -> list[np.ndarray]:
    """The directions of arrows, which are outlines from one side of the tail around the tip to the other."""
    (group,) = re.findall(r'<g class="arrows s6">(.*?)</g>', figure, flags=re.DOTALL)
    paths = re.findall(r' d="([^"]*)"', group)
    outlines = [np.array(re.findall(r"-?[\d.]+", path), float).reshape(-1, 2) for path in paths]
    return [outline[3] - (outline[0] + outline[6]) / 2 for outline in outlines]


def figures(body: str) -> list[str]:
    return body.split("<figure")[1:]


TENTHS = START_NS + np.arange(11) * SECOND // 10


def test_postures_are_upright_from_side_and_rotate_from_above() -> None:
    overview, panel = feed_arm_panel(TENTHS)
    (section,) = panel.sections(overview)
    side, above = figures(section.body)
    postures = [line for index in range(6) for line in drawn_lines(side, f"line s{index}")]
    assert len(postures) == 6
    for posture in postures:  # in its own plane it looks the same whichever way it is turned
        np.testing.assert_allclose(posture, postures[0], atol=0.5)
        steps = np.diff(posture, axis=0)
        steps = steps[np.abs(steps).max(axis=1) > 0.5]
        unit = -steps[:2, 1].sum() / 1.1  # 1.1 m up
        expected = [[0, -1.1], [1, 0], [0, 0.5]]
        np.testing.assert_allclose([steps[:-2].sum(axis=0) / unit, *steps[-2:] / unit], expected, atol=0.01)
    seen = [line[-1] - line[0] for index in range(6) for line in drawn_lines(above, f"line s{index}")]
    angles = [np.arctan2(y, x) for x, y in seen]  # a drawing's y is down, as payload's y is on the right
    np.testing.assert_allclose(angles, 0.1 * np.array([0, 2, 4, 6, 8, 10]), atol=0.01)
    assert len(drawn_lines(above, "line s7")) == 1  # the path of the tool


def test_forces_are_drawn_at_tool_along_frame_axes() -> None:
    forces = [force(int(t), (5.0, 0.0, -20.0)) for t in TENTHS]
    overview, panel = feed_arm_panel(TENTHS, forces=[*forces, force(START_NS, (9e9, 0, 0), "elsewhere")])
    (section,) = panel.sections(overview)
    side, above = figures(section.body)
    assert "the longest force is 20.6 N" in side
    shafts = arrows(side)
    assert len(shafts) == 11
    for x, y in shafts:
        assert y < 0  # up
        np.testing.assert_allclose(x / -y, 5 / 20, atol=0.02)
    np.testing.assert_allclose([np.arctan2(y, x) for x, y in arrows(above)], 0.1 * np.arange(11), atol=0.05)


def test_long_pause_splits_motions_and_longest_are_shown() -> None:
    times = np.concatenate([TENTHS[: 3 + k] + k * 86400 * SECOND for k in range(6)])
    overview, panel = feed_arm_panel(times)
    (section,) = panel.sections(overview)
    assert len(figures(section.body)) == 8
    assert "2 shorter motions are not shown" in section.body
    days = re.findall(r"From the side, ([0-9-]+)", section.body)
    assert days == sorted(days) and len(set(days)) == 4


def test_frames_may_have_prefix_and_other_trees_have_no_arm_view() -> None:
    overview, panel = feed_arm_panel(TENTHS, prefix="nsyt/")
    (section,) = panel.sections(overview)
    assert "in nsyt/payload" in section.body
    overview = Overview(subject=RecordingInfo(title="", name="", kind="", size_bytes=0))
    lonely = transforms(transform(START_NS, "payload", "tool_cylindrical", (1, 0, 0)))
    TransformPanel(overview.frames).add(batch("/tf", [(START_NS, lonely)]))
    assert sections_of(overview, [ArmPanel(overview.frames)])[0].key != "arm"
