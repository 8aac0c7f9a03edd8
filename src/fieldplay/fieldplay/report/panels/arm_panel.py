"""An arm on a lander's deck from the side and from above: its postures, the way of its tool, and the forces there.

From tf alone: a frame that turns with the arm stands at the tool, beside it are the links. Forces come from the
wrenches in that frame.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.decimation import RowDecimator
from fieldplay.core.number_text import duration_text, number_text
from fieldplay.core.timestamps import NS_PER_S, utc_text
from fieldplay.geometry.frames import Frames
from fieldplay.messages.records import Wrench
from fieldplay.recording.record_batches import Issues, RecordBatch
from fieldplay.report.html.charts import Plane, legend_of, mark, plane_drawing, plane_of_points, polyline
from fieldplay.report.html.html_page import (
    Html,
    Section,
    cards,
    element,
    join_html,
)
from fieldplay.report.panels.overview_panel import Overview

WRENCH = "geometry_msgs/msg/WrenchStamped"
TOOL, LINKS = "tool_cylindrical", ("link_1", "link_2", "link_3", "effector")
POSTURES, MAX_ARROWS, MAX_MOTIONS = 6, 24, 4
PAUSE_NS = 60 * NS_PER_S  # so long without a posture: what comes then is another motion
MAX_FORCES = 4000
ARROW_FRACTION, HEAD_FRACTION = 0.18, 0.25  # of the longest arrow in the width, and of the head in its arrow
MIN_M = 0.5
WAY, FORCE = "s7", "s6"

Array = NDArray[np.float64]


class _Arm(NamedTuple):
    """The names of its frames: where it stands, its links, and the frame at its tool."""

    base: str
    links: tuple[str, ...]
    tool: str


@dataclass(frozen=True, eq=False)
class _Motion:
    """Times (n,), the arm's corners in its base (n, corners, 3), the last at the tool, and its yaw (n,).

    Forces (k, 3) in N along the axes of the frame at the tool, and the rows (k,) that they belong to.
    """

    stamp_ns: NDArray[np.int64]
    corners: Array
    yaw: Array
    forces: Array
    rows: NDArray[np.intp]


class ArmPanel:
    """Keeps forces; the postures are in the tree of frames."""

    msgtypes = (WRENCH,)

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._forces: dict[str, RowDecimator] = {}  # by frame

    def add(self, batch: RecordBatch) -> None:
        """Wrenches."""
        for record, frame, _ in batch.records:
            if isinstance(record, Wrench):
                finite = np.isfinite(record.force_n).all(axis=1)
                forces = self._forces.setdefault(frame.lstrip("/"), RowDecimator(3, MAX_FORCES))
                forces.add(record.stamp_ns[finite], record.force_n[finite])

    def report_issues(self, issues: Issues) -> None:
        """The panel of measurements tells what is wrong with them."""

    def sections(self, overview: Overview) -> list[Section]:
        """Two views of each motion."""
        motions = [(arm, motion) for arm in _arms(self._frames) for motion in self._motions(arm)]
        if not motions:
            return []
        longest = sorted(range(len(motions)), key=lambda index: -len(motions[index][1].stamp_ns))[:MAX_MOTIONS]
        figures = [figure for index in sorted(longest) for figure in _figures(*motions[index])]
        left_out = len(motions) - len(longest)
        more = element("p", f"{left_out} shorter motions are not shown.", class_="muted") if left_out else ""
        lead = "From the side, in the arm's own plane, and from above: postures, the way of the tool, the forces there."
        return [Section("arm", "Arm", join_html([cards(figures, "wide"), more]), lead)]

    def _motions(self, arm: _Arm) -> list[_Motion]:
        frames = self._frames
        stamp_ns, _ = frames.parents[arm.tool].rows.rows()
        transforms = [_transforms(frames, arm.base, frame, stamp_ns=stamp_ns) for frame in (*arm.links, arm.tool)]
        known = np.all([there for _, there in transforms], axis=0)
        if not known.any():
            return []
        stamp_ns, transforms = stamp_ns[known], [(transform[known], there) for transform, there in transforms]
        corners = np.stack(
            [np.zeros((len(stamp_ns), 3)), *(transform[:, :3, 3] for transform, _ in transforms)], axis=1
        )
        tool, _ = transforms[-1]
        yaw = np.arctan2(tool[:, 1, 0], tool[:, 0, 0])
        cuts = np.flatnonzero(np.diff(stamp_ns) > PAUSE_NS) + 1
        runs = np.split(np.arange(len(stamp_ns)), cuts)
        return [self._motion(arm, stamp_ns[run], corners[run], yaw=yaw[run]) for run in runs]

    def _motion(self, arm: _Arm, stamp_ns: NDArray[np.int64], corners: Array, *, yaw: Array) -> _Motion:
        """With the forces of its time, each beside the posture that is the nearest before it."""
        if arm.tool not in self._forces:
            return _Motion(stamp_ns, corners, yaw, np.zeros((0, 3)), np.zeros(0, np.intp))
        force_ns, forces = self._forces[arm.tool].rows()
        within = (force_ns >= stamp_ns[0]) & (force_ns <= stamp_ns[-1])
        rows = np.searchsorted(stamp_ns, force_ns[within], side="right") - 1
        return _Motion(stamp_ns, corners, yaw, forces[within], rows)


def _arms(frames: Frames) -> list[_Arm]:
    """What of the tree is such an arm, whatever stands before the names of its frames."""
    arms = []
    for name, edge in frames.parents.items():
        if name.endswith(TOOL):
            links = tuple(name.removesuffix(TOOL) + link for link in LINKS)
            if all(link in frames.parents and edge.parent in frames.path_to_root(link) for link in links):
                arms.append(_Arm(edge.parent, links, name))
    return arms


def _transforms(
    frames: Frames, base: str, frame: str, *, stamp_ns: NDArray[np.int64]
) -> tuple[Array, NDArray[np.bool_]]:
    transforms = frames.transform(base, frame, stamp_ns)
    assert transforms is not None  # the frame hangs on the base, see _arms
    return transforms


def _figures(arm: _Arm, motion: _Motion) -> list[Html]:
    """From the side and from above."""
    cos, sin = np.cos(motion.yaw)[:, None], np.sin(motion.yaw)[:, None]
    x, y, z = np.moveaxis(motion.corners, -1, 0)
    radial, across, down = motion.forces.T
    yaw = motion.yaw[motion.rows]
    ahead, aside = np.cos(yaw) * radial - np.sin(yaw) * across, np.sin(yaw) * radial + np.cos(yaw) * across
    side = np.stack([cos * x + sin * y, -z], axis=-1), np.stack([radial, -down], axis=-1)
    above = np.stack([x, -y], axis=-1), np.stack([ahead, -aside], axis=-1)
    since = utc_text(int(motion.stamp_ns[0]))
    length = duration_text((int(motion.stamp_ns[-1]) - int(motion.stamp_ns[0])) / NS_PER_S)
    return [
        _figure(f"{view}, {since} UTC", f"{length}, in {arm.base}", motion, points=points, arrows=arrows)
        for view, (points, arrows) in (("From the side", side), ("From above", above))
    ]


def _figure(title: str, details: str, motion: _Motion, *, points: Array, arrows: Array) -> Html:
    """Corners (n, corners, 2) and forces (k, 2) in the plane of the drawing."""
    tool_path, corners = points[:, -1], points.reshape(-1, 2)
    chosen = np.unique(np.linspace(0, len(points) - 1, POSTURES).astype(int))
    longest = float(np.linalg.norm(motion.forces, axis=1).max(initial=0.0))
    width = plane_of_points(corners, least_m=MIN_M).width
    shafts = arrows * (ARROW_FRACTION * width / longest) if longest > 0 else arrows[:0]
    tails = tool_path[motion.rows][: len(shafts)]
    plane = plane_of_points(np.concatenate([corners, tails + shafts]), least_m=MIN_M)
    layers = [
        polyline(plane, tool_path, WAY),
        *(polyline(plane, points[k], f"s{i}") for i, k in enumerate(chosen.tolist())),
    ]
    layers += _arrows(plane, tails, shafts)
    seconds = (motion.stamp_ns[chosen] - motion.stamp_ns[0]) / NS_PER_S
    details += f"; the longest force is {number_text(longest)} N" if longest > 0 else ""
    caption = element(
        "figcaption",
        element("b", title),
        element("span", details, class_="muted"),
        legend_of([f"after {number_text(after)} s" for after in seconds.tolist()]),
    )
    marks = [mark(plane, *points[0, 0].tolist(), kind="sensor"), mark(plane, *tool_path[-1].tolist(), kind="end")]
    return element("figure", caption, plane_drawing(plane, layers, marks), class_="card")


def _arrows(plane: Plane, tails: Array, shafts: Array) -> list[Html]:
    """Some arrows (k, 2) from their points (k, 2) on."""
    chosen = np.unique(np.linspace(0, len(tails) - 1, min(MAX_ARROWS, len(tails))).astype(int))
    tails, shafts = tails[chosen], shafts[chosen]
    across = np.stack([-shafts[:, 1], shafts[:, 0]], axis=-1)
    tips = tails + shafts
    barbs = [tips - HEAD_FRACTION * (shafts + side * across / 2) for side in (1, -1)]
    return [polyline(plane, path, FORCE) for path in np.stack([tails, tips, barbs[0], tips, barbs[1]], axis=1)]
