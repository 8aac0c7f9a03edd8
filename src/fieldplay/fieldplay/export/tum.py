"""Topics of poses as trajectories in files of TUM."""

from collections.abc import Iterator
from pathlib import Path

from fieldplay.export.folder import ExportedFeeds, ExportedTopic
from fieldplay.export.table_file import file_names
from fieldplay.trajectories.pose_topics import PATH, PoseRows
from fieldplay.trajectories.trajectory import tum_lines

BATCH = 20_000  # poses that are held


def export_tum(feeds: ExportedFeeds, folder: Path) -> Iterator[ExportedTopic]:
    """A file for each topic; poses without time of their own, or not later than the one before, are left out."""
    for name, topic in zip(file_names(list(feeds.feeds), ".tum"), feeds.feeds, strict=True):
        count, frames = _write(feeds, topic, folder / name)
        frame = " -> ".join(frame for frame in frames if frame)
        yield ExportedTopic(topic=topic, type=feeds.feeds[topic][0].msgtype, path=name, count=count, frame=frame)


def _write(feeds: ExportedFeeds, topic: str, path: Path) -> tuple[int, tuple[str, str]]:
    rows, count, last_ns = PoseRows(topic), 0, None
    is_path = feeds.feeds[topic][0].msgtype == PATH
    frames = ("", "")
    with path.open("w", encoding="utf-8") as out:

        def flush() -> None:
            nonlocal count, last_ns
            trajectory = rows.trajectory().trajectory
            trajectory = trajectory if last_ns is None else trajectory.between(last_ns + 1, None)
            out.writelines(tum_lines(trajectory))
            count += len(trajectory)
            last_ns = int(trajectory.stamp_ns[-1]) if len(trajectory) else last_ns
            rows.rows.clear()

        for record, frame, child in feeds.records(topic):
            rows.add(record, frame, child)
            frames = rows.frames
            if not is_path and sum(len(stamps) for stamps, *_ in rows.rows) > BATCH:
                flush()
        flush()
    return count, frames
