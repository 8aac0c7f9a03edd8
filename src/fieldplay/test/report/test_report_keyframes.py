"""Maps of keyframes from hand-made messages: what is drawn, and what is no map."""

from typing import Any

import numpy as np

from fieldplay.recording.record_batches import Issues
from fieldplay.recording.recording import RecordingInfo
from fieldplay.report.overview import Overview
from fieldplay.report.sketch_panels import KeyframePanel
from fieldplay_testing.drawn import drawn_lines
from fieldplay_testing.reference_messages import (
    START_NS,
    batch,
    make,
    stamped_message,
)

ARRAY = "geometry_msgs/msg/PoseArray"
LAP = [(3 * np.sin(turn), 0.1 * turn, 3 * np.cos(turn)) for turn in np.linspace(0, 6, 30)]


def poses(positions: list[tuple[float, float, float]]) -> list[tuple[int, Any]]:
    names = ("position__x", "position__y", "position__z")
    messages = [
        make("geometry_msgs/msg/Pose", orientation__w=1.0, **dict(zip(names, position, strict=True)))
        for position in positions
    ]
    return [(START_NS, stamped_message(ARRAY, START_NS, "slam/scene", poses=messages))]


def page_text(**topics: list[tuple[float, float, float]]) -> str:
    panel = KeyframePanel()
    for name, positions in topics.items():
        panel.add(batch(f"/rig/stereo_slam/{name}", poses(positions)))
    issues = Issues()
    overview = Overview(subject=RecordingInfo(title="", name="", kind="", size_bytes=0))
    panel.report_issues(issues)
    assert not issues.total
    return "".join(str(section.body) for section in panel.sections(overview))


def test_map_is_drawn_from_above_with_loop_closures() -> None:
    text = page_text(keyframes=LAP, closures=[LAP[0], LAP[28], LAP[1], LAP[29]])
    assert "30 keyframes, 2 closures; x to the right, z up" in text
    assert len(drawn_lines(text, "line s1")) == 2 and len(drawn_lines(text, "line s0")[0]) > 10
    assert "0 closures" in page_text(keyframes=LAP)


def test_other_pose_arrays_are_ignored() -> None:
    assert page_text(wheels=LAP) == "" and page_text(closures=LAP[:2]) == "" and page_text(keyframes=LAP[:1]) == ""
    assert page_text(keyframes=[(np.nan, 0.0, 0.0), *LAP]) == ""
