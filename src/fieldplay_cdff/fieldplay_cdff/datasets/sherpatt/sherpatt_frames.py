"""The frames of settings that are connected to the rover's; their transforms become a forest without loops."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fieldplay.core.errors import ArchiveError, Defect, Report
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.spec import Extrinsic
from fieldplay.geometry.axes import rotate_vectors
from fieldplay_cdff.logs.sample_rows import field, flat
from fieldplay_cdff.logs.topic_builder import frame_name

BASE = "base_link"
BODY, UNIT = "sherpa_tt_body", "imu"  # names in the unit's settings: the body, and the mount of the unit
LEFT, RIGHT = "camera_left", "camera_right"
NO_TURN = (0.0, 0.0, 0.0, 1.0)
NORM_ERROR = 1e-3
UNREACHED = "their root is not a frame of the rover"
ASIDE = np.cos(np.radians(45))
NEAR_M, NEAR_DEG = 1e-3, 0.1  # the largest difference between the two directions of one transform
CONJUGATE = np.array([-1.0, -1.0, -1.0, 1.0])


def describe_frames(archive: Archive, settings: Mapping[str, Any], baseline_m: float) -> None:
    """Add the frames of the settings that are connected to the rover's body to the archive's description."""
    _require_logs(archive, settings)
    rows = forest_of_rows(_rows(archive, settings), archive.defects, archive.notes.append)
    if not rows:
        return
    rows = [_without_turn(archive, row) for row in rows]
    rows.append(_same(BASE, BODY, "the body in the settings is the rover's"))
    if baseline_m > 0:
        rows.append(replace(_same(LEFT, RIGHT, "the baseline of the pair"), translation=(baseline_m, 0.0, 0.0)))
    placed = _child_frames(archive.spec.tree)
    moving = _moving_frames(archive)
    tree, used = _tree(rows, placed, moving)
    archive.spec = replace(
        archive.spec, extrinsics=(*archive.spec.extrinsics, *used), tree=_merge_parents(archive, tree)
    )
    _note_unused(archive, [row for row in rows if row.source in settings and row not in used], placed, moving)
    _note_used(archive, used)
    _note_view(archive, used)


def _rows(archive: Archive, settings: Mapping[str, Any]) -> Iterator[Extrinsic]:
    names = archive.spec.constants["frame_names"]
    for file, key, value in settings_entries(settings, tuple):
        try:
            parent, child = (frame_name(str(name), names) for name in key)
            x, y, z = (float(number) for number in flat(field(value, "translation"), 3))
            turn = flat(field(value, "rotation"), 4)
            if not np.isfinite([x, y, z, *turn]).all() or abs(np.linalg.norm(turn) - 1) > NORM_ERROR:
                raise ValueError("a position and a unit quaternion, got others")
        except (TypeError, ValueError) as error:
            report_settings(archive, file, f"{key}: expected a transform: {error}")
            continue
        rotation = tuple(float(number) for number in turn)
        yield Extrinsic(
            parent=parent, child=child, convention="m_quaternion_xyzw", translation=(x, y, z), rotation=rotation,
            source=file,
        )  # fmt: skip


def _require_logs(archive: Archive, settings: Mapping[str, Any]) -> None:
    """Settings alone have no streams; ArchiveError if a single file is one."""
    if settings and not archive.streams and archive.root.name in settings:
        count = len(settings[archive.root.name])
        raise ArchiveError(
            f"{archive.root}: a file of settings with {count} entries, no log: expected the log or the folder of both"
        )


def settings_entries(settings: Mapping[str, Any], kind: type) -> Iterator[tuple[str, Any, Any]]:
    for file, data in settings.items():
        for key, value in data.items() if isinstance(data, Mapping) else ():
            if isinstance(key, kind):
                yield file, key, value


def report_settings(archive: Archive, file: str, message: str) -> None:
    archive.defects(Defect(file=file, kind="unreadable_settings", message=message))


def _without_turn(archive: Archive, row: Extrinsic) -> Extrinsic:
    is_unit = {row.parent, row.child} == {UNIT, BODY}
    return replace(row, rotation=NO_TURN) if is_unit and archive.parameters["unit_turn"] == "none" else row


def _same(parent: str, child: str, source: str) -> Extrinsic:
    return Extrinsic(
        parent=parent, child=child, convention="m_quaternion_xyzw", translation=(0.0, 0.0, 0.0), rotation=NO_TURN,
        source=source,
    )  # fmt: skip


def _child_frames(tree: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the frames that already have a parent."""
    return {child for children in tree.values() for child in children}


def _moving_frames(archive: Archive) -> set[str]:
    moving = {stream.child_frame for stream in archive.spec.streams if stream.tf} - {BASE}
    return {*archive.spec.constants["frames_that_move"], "odom", "map", *moving}


def _tree(
    rows: Sequence[Extrinsic], placed: set[str], moving: set[str]
) -> tuple[dict[str, list[str]], list[Extrinsic]]:  # fmt: skip
    """The edges from the rover's base on, along rows of either direction, and the rows that were used."""
    tree: dict[str, list[str]] = {}
    used: list[Extrinsic] = []
    waiting, reached = [BASE], {BASE, *placed, *moving}
    while waiting:
        frame = waiting.pop(0)
        for row in rows:
            other = {row.parent: row.child, row.child: row.parent}.get(frame)
            if other is not None and other not in reached:
                reached.add(other)
                waiting.append(other)
                tree.setdefault(frame, []).append(other)
                used.append(row)
    return tree, used


def _merge_parents(archive: Archive, tree: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    old = archive.spec.tree
    return {name: (*old.get(name, ()), *tree.get(name, ())) for name in (*old, *(n for n in tree if n not in old))}


def _note_unused(archive: Archive, left: Iterable[Extrinsic], placed: set[str], moving: set[str]) -> None:
    """Report which transforms are not published, and why: moving frames, frames with a parent, or another root."""
    reasons: dict[str, list[str]] = {}
    for row in left:
        frames = {row.parent, row.child}
        why = (
            "they move"
            if frames & moving
            else "they are placed by other numbers already"
            if frames & placed
            else UNREACHED
        )
        reasons.setdefault(why, []).append(f"{row.parent} -> {row.child}")
    if reasons:
        text = "; ".join(f"as {why}: {', '.join(names)}" for why, names in reasons.items())
        archive.notes.append(f"transforms of the settings that are not sent, {text}")


def _note_used(archive: Archive, used: Sequence[Extrinsic]) -> None:
    names = sorted({row.source for row in used if row.source.endswith((".msg", ".zz"))})
    if names:
        archive.notes.append(f"frames of the stereo unit: {', '.join(names)}")


def _note_view(archive: Archive, used: Sequence[Extrinsic]) -> None:
    """Report if the unit is rotated in the rover, so that its cameras do not look ahead."""
    for row in used:
        if {row.parent, row.child} == {UNIT, BODY}:
            z, w = row.rotation[2], row.rotation[3]
            if 1 - 2 * z * z - 2 * row.rotation[1] ** 2 < ASIDE:
                turn = np.degrees(2 * np.arctan2(z, w))
                text = f"{row.parent} -> {row.child} turns by {turn:.0f} degrees: the cameras look aside (unit_turn)"
                archive.notes.append(text)


def forest_of_rows(rows: Iterable[Extrinsic], report: Report, note: Callable[[str], None]) -> list[Extrinsic]:
    """The rows that are a forest: what gives a frame itself, a second parent or a loop is reported and left out.

    Of a pair in both directions the first is used if they agree, else neither.
    """
    parents: dict[str, str] = {}
    trees = []
    for row in _in_one_direction(rows, report, note):
        issue = _row_issue(row, parents)
        if issue:
            _report(report, row, f"{issue}; it is left out")
        else:
            parents[row.child] = row.parent
            trees.append(row)
    return trees


def _in_one_direction(rows: Iterable[Extrinsic], report: Report, note: Callable[[str], None]) -> list[Extrinsic]:
    """Of each two frames the first row; duplicates are noted, edges in both directions are reported as issues."""
    first: dict[frozenset[str], Extrinsic] = {}
    contradicted = set()
    for row in rows:
        pair = frozenset((row.parent, row.child))
        taken = first.setdefault(pair, row)
        if taken is row:
            continue
        if taken.parent == row.parent:
            note(f"{row.source}: {row.parent} -> {row.child} stands in the settings more than once: the first counts")
            continue
        other = f"{taken.parent} -> {taken.child}" + (f" of {taken.source}" if taken.source != row.source else "")
        difference = _describe_difference(taken, row)
        if difference:
            contradicted.add(pair)
        text = f"{difference}; both are left out" if difference else "as its inverse; it is left out"
        _report(report, row, f"expected each pair in one direction, got {other} too, {text}")
    return [row for pair, row in first.items() if pair not in contradicted]


def _describe_difference(row: Extrinsic, back: Extrinsic) -> str:
    """Describe how far two opposite transforms are from being inverse; "" where they are."""
    turn, turn_back = np.array(row.rotation), np.array(back.rotation)
    distance_m = float(np.linalg.norm(np.array(row.translation) + rotate_vectors(turn, np.array(back.translation))))
    cosine = abs(float(turn @ (turn_back * CONJUGATE)) / float(np.linalg.norm(turn) * np.linalg.norm(turn_back)))
    angle_deg = float(np.degrees(2 * np.arccos(min(cosine, 1.0))))
    if distance_m <= NEAR_M and angle_deg <= NEAR_DEG:
        return ""
    return f"which is not its inverse by {distance_m:.3f} m and {angle_deg:.1f} degrees"


def _row_issue(row: Extrinsic, parents: Mapping[str, str]) -> str:
    """Return the issue of a transform after others; parents are by child, without loops."""
    if row.parent == row.child:
        return "expected two frames, got one that is its own parent"
    chain = [row.parent]
    while chain[-1] in parents:
        chain.append(parents[chain[-1]])
    if row.child in chain:
        loop = " -> ".join(reversed(chain[: chain.index(row.child) + 1]))
        return f"expected a tree of frames, got a loop, as there is {loop}"
    if row.child in parents:
        return f"expected one parent, got a second one: {row.child} hangs on {parents[row.child]} already"
    return ""


def _report(report: Report, row: Extrinsic, message: str) -> None:
    text = f"{row.parent} -> {row.child}: {message}"
    report(Defect(file=row.source, kind="unreadable_settings", message=text))
