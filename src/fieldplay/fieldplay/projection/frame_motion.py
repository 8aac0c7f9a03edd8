"""Where frames were about a time: the static tree, and all that moves in it, as `convert --derived` has them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError, UsageError
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.origins import archive_of_origin
from fieldplay.geometry.frames import Frames
from fieldplay.geometry.transforms import Array, inverse_from_transform
from fieldplay.kinematics.robots import UNKNOWN_VARIANCE
from fieldplay.messages import records
from fieldplay.messages.records import Record
from fieldplay.messages.stream_spec import StreamSpec
from fieldplay.recording.archive_recording import batches_of_feeds
from fieldplay.recording.record_batches import TF, FrameReader
from fieldplay.topics.archive_topics import archive_topic_streams, window_of
from fieldplay.topics.selection import Selection

AROUND_NS = 5 * NS_PER_S  # slow motions are published rarely
MILLISECOND_NS = 1_000_000
AUTO, NONE = "auto", "none"


def frames_about(archive: Archive, first_ns: int, last_ns: int, *, delay_ns: int = 0) -> Frames:
    """The transforms from some seconds before a time to some after another, which a bag has logged `delay_ns` later.

    An odometry that starts with them is as good as a complete one: only the motion between times is needed.
    """
    start = window_of(archive, Selection()).archive_ns
    start_s = max(first_ns + delay_ns - AROUND_NS - start, 0) / NS_PER_S
    duration_s = (last_ns - first_ns + 2 * AROUND_NS) / NS_PER_S
    selection = Selection(derived=archive.bag is None, start_s=start_s, duration_s=duration_s)
    feeds = [feed for feed in archive_topic_streams(archive, selection) if feed.msgtype == TF]
    window, frames = window_of(archive, selection), Frames()
    reader = FrameReader(frames)
    for batch, _ in batches_of_feeds(feeds, window.first_ns, window.last_ns):
        if batch is not None:
            reader.add(batch)
    return frames


def frames_with_truth(archive: Archive, frames: Frames, first_ns: int, last_ns: int) -> Frames | None:
    """The same with the poses of the dataset's truth in place of what tf says of its base; None where there are none.

    They know of pitch and roll, where odometry of wheels is flat: a quarter of a degree is some pixels in an image.
    """
    if archive.origin is not None:
        archive = archive_of_origin(archive, archive.origin)
    spec = next((spec for spec in archive.spec.streams if spec.id == archive.spec.truth), None)
    stream = archive.streams.get(archive.spec.truth)
    if spec is None or stream is None:
        return None
    first_ns, last_ns = first_ns - AROUND_NS, last_ns + AROUND_NS
    truth_frames = Frames()
    for index, span in enumerate(stream.spans):
        if span.last_ns >= first_ns and span.first_ns <= last_ns:
            _add_poses(truth_frames, spec, stream.load(index), (first_ns, last_ns))
    if not truth_frames.edges:
        return None
    truth_frames.edges |= {
        (edge.parent, edge.child): edge for edge in frames.edges.values() if edge.child != spec.child_frame
    }
    return truth_frames


def _add_poses(frames: Frames, spec: StreamSpec, record: Record, window: tuple[int, int]) -> None:
    """Poses of a window whose orientations are known."""
    if isinstance(record, records.Odometry):
        variances = np.diagonal(record.pose_covariance, axis1=1, axis2=2)
        keep_mask = (record.stamp_ns >= window[0]) & (record.stamp_ns <= window[1])
        keep_mask &= (variances < UNKNOWN_VARIANCE / 2).all(axis=1)
        if keep_mask.any():
            values = np.concatenate([record.position_m, record.orientation_xyzw], axis=1)[keep_mask]
            stamp_ns = record.stamp_ns[keep_mask]
            frames.add(spec.frame, spec.child_frame, is_static=False, stamp_ns=stamp_ns, values=values)


@dataclass(frozen=True, eq=False)
class SensorMotion:
    """What the sensor did between its points and the image: sensor_T_sensor (n, 4, 4), and in what it was followed.

    `frame` is empty where the motion is left out, `moved_m` the longest way.
    """

    now_t_then: Array
    frame: str = ""
    moved_m: float = 0.0


def transform_at(frames: Frames, camera: str, sensor: str, stamp_ns: int) -> Array:
    """camera_T_sensor (4, 4) at a time by tf; ArchiveError says why there is none."""
    joined = frames.transform(camera, sensor, np.array([stamp_ns], np.int64))
    if joined is None:
        roots = [frames.path_to_root(frame)[-1] for frame in (sensor, camera)]
        message = f"nothing joins {sensor} (below {roots[0]}) and {camera} (below {roots[1]}) in tf"
        raise ArchiveError(f"{message}: the archive lacks what moves between them")
    transforms, known = joined
    if not known.all():
        raise ArchiveError(f"where {camera} and {sensor} stand to each other is not known at the image's time")
    return np.asarray(transforms[0], np.float64)


def no_motion(count: int) -> SensorMotion:
    """As if the sensor had stood still."""
    return SensorMotion(np.broadcast_to(np.eye(4), (count, 4, 4)))


def motion_of_sensor(
    frames: Frames, sensor: str, stamp_ns: int, *, then_ns: NDArray[np.int64], fixed: str
) -> SensorMotion:
    """How the sensor moved from the times of its points (n,) to a time, in a fixed frame that is named or found out."""
    frame = fixed_frame(frames, sensor, fixed)
    if not frame or not len(then_ns):
        return no_motion(len(then_ns))
    times, inverse = np.unique(np.append(then_ns, stamp_ns) // MILLISECOND_NS, return_inverse=True)
    joined = frames.transform(frame, sensor, times * MILLISECOND_NS)
    if joined is None or not joined[1].all():
        if fixed == AUTO:
            return no_motion(len(then_ns))
        raise ArchiveError(f"where {sensor} was in {fixed} is not known at all these times; --fixed-frame none goes on")
    fixed_t_sensor = joined[0][inverse.reshape(-1)]
    now_t_then = inverse_from_transform(fixed_t_sensor[-1]) @ fixed_t_sensor[:-1]
    return SensorMotion(now_t_then, frame, float(np.linalg.norm(now_t_then[:, :3, 3], axis=1).max()))


def fixed_frame(frames: Frames, sensor: str, requested: str) -> str:
    """The frame that does not move: as requested, or the root of the tree if the sensor moves in it, else none."""
    if requested == NONE:
        return ""
    if requested == AUTO:
        root = frames.path_to_root(sensor)[-1]
        return "" if frames.are_fixed(root, sensor) else root
    if requested not in frames.names:
        raise UsageError(f"there is no frame '{requested}'; there are {', '.join(sorted(frames.names))}")
    return requested
