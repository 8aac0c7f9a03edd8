"""Clouds as a dataset of KITTI's odometry: scans, times, calibration, and true poses where there are some."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError, UsageError
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.evaluation.trajectory_pair import chosen_topic, load_trajectories, own_truth
from fieldplay.export.folder import ExportedFeeds, ExportedTopic
from fieldplay.geometry.transforms import Array, inverse_from_transform
from fieldplay.messages.records import Clouds
from fieldplay.recording.archive_recording import ArchiveRecording
from fieldplay.topics.selection import Selection
from fieldplay.trajectories.trajectory import poses_between

FIRST_WITHOUT_POSES = 11  # KITTI has true poses of its sequences 00 to 10 alone
SCANS, INTENSITY, NO_POSES = "velodyne", "intensity", "none"
MIN_KNOWN = 0.5  # of the scans must have a pose
LONGEST_GAP_S = 1.0  # between two poses of the truth
ONE = "1 0 0 0 0 1 0 0 0 0 1 0"  # the identity, three rows of four


def export_kitti(feeds: ExportedFeeds, folder: Path, poses: str) -> Iterator[ExportedTopic]:
    """A sequence for each topic of clouds. `poses` names the topic or file of true poses, "" takes the dataset's.

    Camera and scanner are one frame in the calibration (Tr is the identity), so poses are those of the scanner, from
    its first on. KITTI has a pose for each scan: the few scans without one are left out, unless `poses` is "none".
    """
    if len(feeds.feeds) > FIRST_WITHOUT_POSES:
        raise UsageError(
            f"KITTI has {FIRST_WITHOUT_POSES} sequences with poses, and these are {len(feeds.feeds)} topics"
        )
    for number, topic in enumerate(feeds.feeds):
        scratch = folder / "sequences" / "new"
        stamp_ns = _write_scans(feeds, topic, scratch)
        rows, note = None, ""
        if poses != NO_POSES and len(stamp_ns):
            rows, known, note = _pose_rows(feeds, topic, stamp_ns, poses)
            stamp_ns = stamp_ns if rows is None else _keep_scans(scratch, stamp_ns, known)
        name = f"{number if rows is not None else FIRST_WITHOUT_POSES + number:02d}"
        scratch.rename(folder / "sequences" / name)
        if rows is not None:
            (folder / "poses").mkdir(exist_ok=True)
            lines = (" ".join(f"{value:.9e}" for value in row) + "\n" for row in rows.tolist())
            (folder / "poses" / f"{name}.txt").write_text("".join(lines), "utf-8")
        own = feeds.feeds[topic][0]
        path = f"sequences/{name}"
        yield ExportedTopic(topic=topic, type=own.msgtype, path=path, count=len(stamp_ns), frame=own.frame, note=note)


def _write_scans(feeds: ExportedFeeds, topic: str, sequence_folder: Path) -> NDArray[np.int64]:
    """The scans with their times and calibration; the times (n,)."""
    scans, stamps = sequence_folder / SCANS, list[int]()
    scans.mkdir(parents=True)
    with (sequence_folder / "times.txt").open("w", encoding="utf-8") as times:
        for record, row in feeds.rows(topic):
            try:
                points = _points(record, row)
            except (ArchiveError, OSError) as error:
                feeds.report(topic, "damaged_cloud", error)
                continue
            (scans / _name(len(stamps))).write_bytes(points.tobytes())
            stamps.append(int(record.stamp_ns[row]))
            times.write(_seconds(stamps[-1]))
    names = [*(f"P{camera}" for camera in range(4)), "Tr"]
    (sequence_folder / "calib.txt").write_text("".join(f"{name}: {ONE}\n" for name in names), "utf-8")
    return np.array(stamps, np.int64)


def _name(number: int) -> str:
    return f"{number:06d}.bin"


def _seconds(stamp_ns: int) -> str:
    """A line of a file of times, with all nanoseconds."""
    seconds, nanoseconds = divmod(stamp_ns, NS_PER_S)
    return f"{seconds}.{nanoseconds:09d}\n"


def _keep_scans(sequence_folder: Path, stamp_ns: NDArray[np.int64], is_kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Delete the other scans and renumber these; return their times."""
    for number in np.flatnonzero(~is_kept).tolist():
        (sequence_folder / SCANS / _name(number)).unlink()
    for number, old_number in enumerate(np.flatnonzero(is_kept).tolist()):
        (sequence_folder / SCANS / _name(old_number)).rename(sequence_folder / SCANS / _name(number))
    (sequence_folder / "times.txt").write_text("".join(map(_seconds, stamp_ns[is_kept].tolist())), "utf-8")
    return stamp_ns[is_kept]


def _points(record: object, row: int) -> NDArray[np.float32]:
    """x, y, z and intensity (n, 4), which is 0 where there is none."""
    if not isinstance(record, Clouds):
        raise ArchiveError(f"expected clouds, got {type(record).__name__}")
    points = record.load(row)
    values = np.zeros((len(points), 4), "<f4")
    for column, name in enumerate(("x", "y", "z", INTENSITY)):
        if name in (points.dtype.names or ()):
            values[:, column] = points[name]
    return values


def _pose_rows(
    feeds: ExportedFeeds, topic: str, stamp_ns: NDArray[np.int64], word: str
) -> tuple[Array | None, NDArray[np.bool_], str]:
    """Rows (m, 12) of where the scanner was, from the first on, and at which scans (n,); or none, and why."""
    archive, frame = feeds.archive, feeds.feeds[topic][0].frame or _frame_of_messages(feeds, topic)
    none: NDArray[np.bool_] = np.zeros(len(stamp_ns), bool)
    source = ArchiveRecording(archive, Selection(joints_tf=archive.bag is None))
    truth = word or own_truth([topic.name for topic in source.typed_topics], source.spec)
    if not truth:
        return None, none, "no true poses: the dataset names none, --poses TOPIC does"
    name = chosen_topic(truth, source.typed_topics)
    with feeds.watch(f"reading {name}") as progress:
        (pair,) = load_trajectories(source, [name], name, progress=progress)
    truth_trajectory, frames = pair.truth, pair.frames
    link = (
        frames.transform(truth_trajectory.child, frame, np.zeros(1, np.int64))
        if frames.are_fixed(truth_trajectory.child, frame)
        else None
    )
    if truth_trajectory.child != frame and link is None:
        return (
            None,
            none,
            f"no true poses: no static transform between {truth_trajectory.child or name} and {frame or topic}",
        )
    trajectory = (
        truth_trajectory.trajectory
        if link is None
        else truth_trajectory.trajectory.of_frame(np.asarray(link[0][0], np.float64))
    )
    poses, known = poses_between(trajectory, stamp_ns, longest_gap_ns=LONGEST_GAP_S * NS_PER_S)
    missing = f"{len(known) - int(known.sum())} of {len(known)} scans"
    if known.mean() < MIN_KNOWN:
        return None, none, f"no true poses: {missing} are at times without a pose of {name}"
    relative = inverse_from_transform(poses[known][0]) @ poses[known]
    note = "" if known.all() else f"; {missing} are left out, for which it has no pose"
    return relative[:, :3].reshape(-1, 12), known, f"true poses of {name}{note}"


def _frame_of_messages(feeds: ExportedFeeds, topic: str) -> str:
    """The frame that the first message of a bag's topic names."""
    return next((frame.lstrip("/") for _, frame, _ in feeds.records(topic)), "")
