"""The files of settings beside the logs: cameras, and frames that hang on the rover's."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fieldplay_archive.archive import Archive
from fieldplay_archive.logs.archive_streams.topics import frame_name
from fieldplay_archive.logs.types.rows import field, flat
from fieldplay_archive.readers.sherpatt.transform_forest import forest_of_rows
from fieldplay_archive.spec import Extrinsic
from fieldplay_messages.errors import ArchiveError, Defect
from fieldplay_messages.spec import Camera

BASE = "base_link"
BODY, UNIT = "sherpa_tt_body", "imu"  # the rover's body as the unit's settings call it, and what the unit hangs on
LEFT, RIGHT = "camera_left", "camera_right"
NO_TURN = (0.0, 0.0, 0.0, 1.0)
RECTIFIED = "rect"
MOST_COEFFICIENTS = 5
NORM_ERROR = 1e-3
APART = "they hang on no frame of the rover, but on another root"
ASIDE = np.cos(np.radians(45))


@dataclass(frozen=True, kw_only=True)
class CameraSettings:
    """What a file says of one camera; the baseline stands with the right one of a pair."""

    file: str
    matrix: tuple[float, ...]
    coefficients: tuple[float, ...]
    baseline_m: float

    @property
    def fault(self) -> str | None:
        """What is wrong with the intrinsics; None if nothing is."""
        fx, fy = self.matrix[0], self.matrix[4]
        return None if fx > 0 and fy > 0 else f"expected focal lengths, got K with fx {fx:g} and fy {fy:g}"


def camera_settings(archive: Archive, settings: Mapping[str, Any]) -> dict[str, CameraSettings]:
    """The cameras of all files of settings, by the topic of their information."""
    found: dict[str, CameraSettings] = {}
    for file, topic, value in _entries(settings, str):
        try:
            matrix = flat(field(value, "intrinsic.cameramatrix"), 9)
            given = field(value, "intrinsic.distcoeffs", default=())
            coefficients = tuple(float(number) for number in given)
            baseline = float(field(value, "baseline", default=0.0))
            if not np.isfinite([*matrix, *coefficients, baseline]).all():
                raise ValueError("numbers, got NaN")
        except (TypeError, ValueError) as error:
            _report(archive, file, f"{topic}: expected a camera: {error}")
            continue
        numbers = tuple(float(number) for number in matrix)
        found[topic] = CameraSettings(file=file, matrix=numbers, coefficients=coefficients, baseline_m=baseline)
    return found


def camera_from_settings(found: CameraSettings, topic: str, width: int, height: int) -> Camera:
    """A camera of pictures of a size; those of a rectified pair have no distortion, whatever the settings say."""
    fx, _, cx, _, fy, cy = found.matrix[:6]
    is_rectified = RECTIFIED in topic
    own = (*found.coefficients, *(0.0,) * MOST_COEFFICIENTS)[:MOST_COEFFICIENTS]
    return Camera(
        width=width,
        height=height,
        fx=fx,
        fy=fy,
        cx=cx,
        cy=cy,
        distortion_model="plumb_bob",
        distortion=(0.0,) * MOST_COEFFICIENTS if is_rectified else own,
        projection=(fx, 0.0, cx, -fx * found.baseline_m, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0) if is_rectified else (),
        source=found.file,
    )


def describe_frames(archive: Archive, settings: Mapping[str, Any], baseline_m: float) -> None:
    """Put the frames of the settings that hang on the rover's body into the archive's description."""
    _require_logs(archive, settings)
    rows = forest_of_rows(_rows(archive, settings), archive.defects, archive.notes.append)
    if not rows:
        return
    rows = [_without_turn(archive, row) for row in rows]
    rows.append(_same(BASE, BODY, "the body in the settings is the rover's"))
    if baseline_m > 0:
        rows.append(replace(_same(LEFT, RIGHT, "the baseline of the pair"), translation=(baseline_m, 0.0, 0.0)))
    placed = _placed(archive.spec.tree)
    moving = _that_move(archive)
    tree, used = _tree(rows, placed, moving)
    archive.spec = replace(archive.spec, extrinsics=(*archive.spec.extrinsics, *used), tree=_merged(archive, tree))
    _note_others(archive, [row for row in rows if row.source in settings and row not in used], placed, moving)
    _note_used(archive, used)
    _note_view(archive, used)


def _rows(archive: Archive, settings: Mapping[str, Any]) -> Iterator[Extrinsic]:
    names = archive.spec.constants["frame_names"]
    for file, key, value in _entries(settings, tuple):
        try:
            parent, child = (frame_name(str(name), names) for name in key)
            x, y, z = (float(number) for number in flat(field(value, "translation"), 3))
            turn = flat(field(value, "rotation"), 4)
            if not np.isfinite([x, y, z, *turn]).all() or abs(np.linalg.norm(turn) - 1) > NORM_ERROR:
                raise ValueError("a place and a unit quaternion, got others")
        except (TypeError, ValueError) as error:
            _report(archive, file, f"{key}: expected a transform: {error}")
            continue
        rotation = tuple(float(number) for number in turn)
        yield Extrinsic(
            parent=parent, child=child, convention="m_quaternion_xyzw", translation=(x, y, z), rotation=rotation,
            source=file,
        )  # fmt: skip


def _require_logs(archive: Archive, settings: Mapping[str, Any]) -> None:
    """Settings alone play nothing; ArchiveError if a single file is one."""
    if settings and not archive.streams and archive.root.name in settings:
        count = len(settings[archive.root.name])
        raise ArchiveError(
            f"{archive.root}: a file of settings with {count} entries, no log: expected the log or the folder of both"
        )


def _entries(settings: Mapping[str, Any], kind: type) -> Iterator[tuple[str, Any, Any]]:
    for file, data in settings.items():
        for key, value in data.items() if isinstance(data, Mapping) else ():
            if isinstance(key, kind):
                yield file, key, value


def _report(archive: Archive, file: str, message: str) -> None:
    archive.defects(Defect(file=file, kind="unreadable_settings", message=message))


def _without_turn(archive: Archive, row: Extrinsic) -> Extrinsic:
    is_unit = {row.parent, row.child} == {UNIT, BODY}
    return replace(row, rotation=NO_TURN) if is_unit and archive.parameters["unit_turn"] == "none" else row


def _same(parent: str, child: str, source: str) -> Extrinsic:
    return Extrinsic(
        parent=parent, child=child, convention="m_quaternion_xyzw", translation=(0.0, 0.0, 0.0), rotation=NO_TURN,
        source=source,
    )  # fmt: skip


def _placed(tree: Mapping[str, Sequence[str]]) -> set[str]:
    """The frames that have a parent already."""
    return {child for children in tree.values() for child in children}


def _that_move(archive: Archive) -> set[str]:
    moving = {stream.child_frame for stream in archive.spec.streams if stream.tf} - {BASE}
    return {*archive.spec.constants["frames_that_move"], "odom", "map", *moving}


def _tree(
    rows: Sequence[Extrinsic], placed: set[str], moving: set[str]
) -> tuple[dict[str, list[str]], list[Extrinsic]]:  # fmt: skip
    """The edges from the rover's base on, along rows that may run either way, and the rows that were used."""
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


def _merged(archive: Archive, tree: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    old = archive.spec.tree
    return {name: (*old.get(name, ()), *tree.get(name, ())) for name in (*old, *(n for n in tree if n not in old))}


def _note_others(archive: Archive, left: Iterable[Extrinsic], placed: set[str], moving: set[str]) -> None:
    """Say which transforms are not sent, and why: of frames that move, that are placed already, or of another root."""
    reasons: dict[str, list[str]] = {}
    for row in left:
        ends = {row.parent, row.child}
        why = "they move" if ends & moving else "they are placed by other numbers already" if ends & placed else APART
        reasons.setdefault(why, []).append(f"{row.parent} -> {row.child}")
    if reasons:
        told = "; ".join(f"as {why}: {', '.join(names)}" for why, names in reasons.items())
        archive.notes.append(f"transforms of the settings that are not sent, {told}")


def _note_used(archive: Archive, used: Sequence[Extrinsic]) -> None:
    names = sorted({row.source for row in used if row.source.endswith((".msg", ".zz"))})
    if names:
        archive.notes.append(f"frames of the stereo unit: {', '.join(names)}")


def _note_view(archive: Archive, used: Sequence[Extrinsic]) -> None:
    """Say if the unit is turned in the rover, so that its cameras do not look ahead."""
    for row in used:
        if {row.parent, row.child} == {UNIT, BODY}:
            z, w = row.rotation[2], row.rotation[3]
            if 1 - 2 * z * z - 2 * row.rotation[1] ** 2 < ASIDE:
                turn = np.degrees(2 * np.arctan2(z, w))
                text = f"{row.parent} -> {row.child} turns by {turn:.0f} degrees: the cameras look aside (unit_turn)"
                archive.notes.append(text)
