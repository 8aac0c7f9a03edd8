"""Sketches: an arm on a lander's deck from the side and from above, and maps of keyframes."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.decimation import RowDecimator
from fieldplay.core.number_text import count_noun, duration_text, number_text
from fieldplay.core.timestamps import NS_PER_S, utc_text
from fieldplay.geometry.frames import Frames
from fieldplay.geometry.transforms import Array
from fieldplay.messages.records import Poses, Wrench
from fieldplay.projection.relief import plane_of_points
from fieldplay.recording.record_batches import RecordBatch
from fieldplay.report import figures as fig
from fieldplay.report.overview import Overview, Panel
from fieldplay.report.page import Html, Section, join, render

WRENCH = "geometry_msgs/msg/WrenchStamped"
TOOL, LINKS = "tool_cylindrical", ("link_1", "link_2", "link_3", "effector")
POSTURES, MAX_ARROWS, MAX_MOTIONS = 6, 24, 4
PAUSE_NS = 60 * NS_PER_S  # so long without a posture: what comes then is another motion
MAX_FORCES = 4000
ARROW_FRACTION = 0.18  # of the width, the longest arrow
MIN_M = 0.5
TOOL_PATH, FORCE = 7, 6  # colours
ARM_LEAD = "From the side, in the arm's own plane, and from above: postures, the path of the tool, the forces there."
KEYFRAMES, CLOSURES = "keyframes", "closures"
KEYFRAMES_LEAD = "Dots are keyframes, in their order; lines between them loop closures. Axes in metres."


class _Arm(NamedTuple):
    """The names of its frames: its base, its links, and the frame at its tool."""

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


class ArmPanel(Panel):
    """Keeps forces; the postures are in the tree of frames, with a frame at the tool that turns with the arm."""

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

    def sections(self, overview: Overview) -> list[Section]:
        """Two views of each motion."""
        motions = [(arm, motion) for arm in _arms(self._frames) for motion in self._motions(arm)]
        if not motions:
            return []
        longest = sorted(range(len(motions)), key=lambda index: -len(motions[index][1].stamp_ns))[:MAX_MOTIONS]
        figures = [figure for index in sorted(longest) for figure in _arm_figures(*motions[index])]
        left_out = len(motions) - len(longest)
        more = render("paragraph", f"{left_out} shorter motions are not shown.", "muted") if left_out else ""
        return [Section("arm", "Arm", join([render("cards", figures, "wide"), more]), ARM_LEAD)]

    def _motions(self, arm: _Arm) -> list[_Motion]:
        stamp_ns, _ = self._frames.parents[arm.tool].rows.rows()
        transforms = [self._frames.transform(arm.base, frame, stamp_ns) for frame in (*arm.links, arm.tool)]
        joined = [transform for transform in transforms if transform is not None]  # all hang on the base, see _arms
        known = np.all([there for _, there in joined], axis=0)
        stamp_ns, poses = stamp_ns[known], [pose[known] for pose, _ in joined]
        corners = np.stack([np.zeros((len(stamp_ns), 3)), *(pose[:, :3, 3] for pose in poses)], axis=1)
        yaw = np.arctan2(poses[-1][:, 1, 0], poses[-1][:, 0, 0])
        runs = np.split(np.arange(len(stamp_ns)), np.flatnonzero(np.diff(stamp_ns) > PAUSE_NS) + 1)
        return [self._motion(arm, stamp_ns[run], corners[run], yaw=yaw[run]) for run in runs if len(run)]

    def _motion(self, arm: _Arm, stamp_ns: NDArray[np.int64], corners: Array, *, yaw: Array) -> _Motion:
        """With the forces of its time, each at the posture that is the nearest before it."""
        if arm.tool not in self._forces:
            return _Motion(stamp_ns, corners, yaw, np.zeros((0, 3)), np.zeros(0, np.intp))
        force_ns, forces = self._forces[arm.tool].rows()
        within = (force_ns >= stamp_ns[0]) & (force_ns <= stamp_ns[-1])
        rows = np.searchsorted(stamp_ns, force_ns[within], side="right") - 1
        return _Motion(stamp_ns, corners, yaw, forces[within], rows)


def _arms(frames: Frames) -> list[_Arm]:
    """What of the tree is such an arm, whatever the prefix of its frames' names."""
    arms = []
    for name, edge in frames.parents.items():
        if name.endswith(TOOL):
            links = tuple(name.removesuffix(TOOL) + link for link in LINKS)
            if all(link in frames.parents and edge.parent in frames.path_to_root(link) for link in links):
                arms.append(_Arm(edge.parent, links, name))
    return arms


def _arm_figures(arm: _Arm, motion: _Motion) -> list[Html]:
    """From the side and from above; z of the base is down."""
    cos, sin = np.cos(motion.yaw), np.sin(motion.yaw)
    x, y, z = np.moveaxis(motion.corners, -1, 0)
    radial, across, down = motion.forces.T
    ahead = cos[motion.rows] * radial - sin[motion.rows] * across
    aside = sin[motion.rows] * radial + cos[motion.rows] * across
    side = np.stack([cos[:, None] * x + sin[:, None] * y, -z], axis=-1), np.stack([radial, -down], axis=-1)
    above = np.stack([x, -y], axis=-1), np.stack([ahead, -aside], axis=-1)
    since = utc_text(int(motion.stamp_ns[0]))
    length = duration_text((int(motion.stamp_ns[-1]) - int(motion.stamp_ns[0])) / NS_PER_S)
    return [
        _arm_figure(f"{view}, {since} UTC", f"{length}, in {arm.base}", motion, points=points, arrows=arrows)
        for view, (points, arrows) in (("From the side", side), ("From above", above))
    ]


def _arm_figure(title: str, details: str, motion: _Motion, *, points: Array, arrows: Array) -> Html:
    """Corners (n, corners, 2) and forces (k, 2) in the plane of the drawing."""
    tool_path, corners = points[:, -1], points.reshape(-1, 2)
    chosen = np.unique(np.linspace(0, len(points) - 1, POSTURES).astype(int)).tolist()
    longest = float(np.linalg.norm(motion.forces, axis=1).max(initial=0.0))
    width = plane_of_points(corners, least_m=MIN_M).width
    some = np.unique(np.linspace(0, len(arrows) - 1, min(MAX_ARROWS, len(arrows))).astype(int))
    shafts = arrows[some] * (ARROW_FRACTION * width / longest) if longest > 0 else arrows[:0]
    tails = tool_path[motion.rows[some]][: len(shafts)]
    axes = fig.plane_axes(plane_of_points(np.concatenate([corners, tails + shafts]), least_m=MIN_M))
    fig.draw_path(axes, tool_path, TOOL_PATH)
    for colour, row in enumerate(chosen):
        fig.draw_path(axes, points[row], colour)
    if len(shafts):
        look: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1, "width": 0.004}
        axes.quiver(*tails.T, *shafts.T, color=fig.SERIES[FORCE], zorder=4, gid="arrows s6", **look)
        details += f"; the longest force is {number_text(longest)} N"
    fig.draw_mark(axes, points[0, 0], kind="sensor")
    fig.draw_mark(axes, tool_path[-1], kind="end")
    seconds = (motion.stamp_ns[chosen] - motion.stamp_ns[0]) / NS_PER_S
    legend = fig.keys((n, f"after {number_text(after)} s") for n, after in enumerate(seconds.tolist()))
    return render("figure", fig.svg_of(axes, title), title, details, legend)


@dataclass(frozen=True, eq=False)
class _PoseList:
    """The keyframes (n, 3) that came last, and their frame."""

    positions: Array
    frame: str


class KeyframePanel(Panel):
    """Keeps the last map of each pipeline: keyframes, and both ends of each place that was known again."""

    msgtypes = ("geometry_msgs/msg/PoseArray",)

    def __init__(self) -> None:
        self._maps: dict[str, dict[str, _PoseList]] = {}

    def add(self, batch: RecordBatch) -> None:
        """The poses of a map; other arrays of poses are none."""
        namespace, _, name = batch.topic.name.rpartition("/")
        if name not in (KEYFRAMES, CLOSURES):
            return
        for framed in batch.records:
            if isinstance(framed.record, Poses):
                self._maps.setdefault(namespace, {})[name] = _PoseList(framed.record.position_m[-1], framed.frame)

    def sections(self, overview: Overview) -> list[Section]:
        """A drawing for each map, seen along its narrowest axis."""
        figures = [
            _keyframe_figure(namespace, lists[KEYFRAMES].positions, lists.get(CLOSURES))
            for namespace, lists in self._maps.items()
            if KEYFRAMES in lists
            and np.isfinite(lists[KEYFRAMES].positions).all()
            and len(lists[KEYFRAMES].positions) > 1
        ]
        return (
            [Section("keyframes", "Maps of keyframes", render("cards", figures, "wide"), KEYFRAMES_LEAD)]
            if figures
            else []
        )


def _keyframe_figure(namespace: str, keyframes: Array, closures: _PoseList | None) -> Html:
    axes_shown = np.sort(np.argsort(np.ptp(keyframes, axis=0), kind="stable")[1:])
    points = keyframes[:, axes_shown]
    ends = np.zeros((0, 2)) if closures is None else closures.positions[:, axes_shown]
    axes = fig.plane_axes(plane_of_points(np.concatenate([points, ends]), room=0.12, least_m=0.1))
    fig.draw_path(axes, points, 0, ends=True, marker=".")
    if len(ends):
        fig.draw_path(axes, ends, 1, breaks=range(2, len(ends), 2))
    across, up = ("xyz"[axis] for axis in axes_shown)
    counts = f"{count_noun(len(points), 'keyframe')}, {count_noun(len(ends) // 2, 'closure')}"
    return render("figure", fig.svg_of(axes, namespace), namespace, f"{counts}; {across} to the right, {up} up")
