"""Whether the time in a cloud's name is that of its first point or of its last, measured by lidar against INS."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay.core.timestamps import NS_PER_S
from fieldplay.datasets.archive import Archive
from fieldplay.datasets.measurement import Measurement, report_measurement
from fieldplay.geometry.extrinsics import edges_from_published
from fieldplay.geometry.transforms import (
    Array,
    inverse_from_transform,
    rotation_from_quaternion,
    transform_from_rotation,
)
from fieldplay.messages import records
from fieldplay.streams.stream import Stream
from fieldplay.trajectories.scan_motion import poses_of_scans
from fieldplay.trajectories.time_offset import found_offset
from fieldplay.trajectories.trajectory import Trajectory
from fieldplay.trajectories.trajectory_errors import FusionError

WINDOW_S = 16  # of clouds that are put onto each other
REACH_S = 0.5
FEWEST_CLOUDS = 40
LEAST_SHARE = 0.2  # of the sweep, by which the offset must lie to one side
WITHIN_S = 0.05
FARTHEST_M = 60.0

Stamps = NDArray[np.int64]


def check_cloud_stamp(archive: Archive) -> None:
    """Measure the shift of the clouds' times against the INS, in the part of the recording that turns most unevenly.

    Poses of scans are those of the middle of a sweep: half a sweep after the stamp, or before it.
    """
    streams, half_s = archive.streams, float(archive.spec.constants["revolution_s"]) / 2
    if not {"lidar", "odometry", "body_rates"} <= set(streams):
        return
    window = _liveliest_window(streams["body_rates"])
    if window is None:
        return
    stamp_ns, clouds = _clouds(streams["lidar"], *window)
    truth = _ins(streams["odometry"], *window)
    if len(stamp_ns) < FEWEST_CLOUDS or truth is None:
        return
    if archive.parameters["cloud_stamp"] == "end":
        stamp_ns = stamp_ns + round(2 * half_s * NS_PER_S)  # the times of the names again
    base_T_lidar = _base_T_lidar(archive)
    poses = base_T_lidar @ poses_of_scans(clouds) @ inverse_from_transform(base_T_lidar)
    estimate = Trajectory(stamp_ns=stamp_ns, poses=poses)
    try:
        offset_s = found_offset(estimate, truth, within_s=WITHIN_S, reach_s=REACH_S)
    except FusionError:
        archive.notes.append("the clouds' times against the INS: not measured, as no shift fits better than others")
        return
    name = _name_of_first(streams["lidar"])
    text = f"by the motions of lidar and INS the middle of a sweep is {offset_s:+.3f} s from the time in a cloud's name"
    if abs(offset_s) < 2 * LEAST_SHARE * half_s:
        archive.notes.append(f"measured: {text}: too near to tell start from end")
        return
    report_measurement(archive, Measurement(text, "cloud_stamp", "start" if offset_s > 0 else "end"), name)


def _liveliest_window(rates: Stream) -> tuple[int, int] | None:
    """The seconds in which the turn rate changes most, as the first and the last time; None of a shorter recording."""
    sums: dict[int, tuple[float, int]] = {}
    for index in range(len(rates.spans)):
        record = rates.load(index)
        if not isinstance(record, records.Vector):
            return None
        seconds, place = np.unique(record.stamp_ns // NS_PER_S, return_inverse=True)
        totals, counts = np.bincount(place, record.vector[:, 2]), np.bincount(place)
        for second, total, count in zip(seconds.tolist(), totals.tolist(), counts.tolist(), strict=True):
            known = sums.get(second, (0.0, 0))
            sums[second] = known[0] + total, known[1] + count
    seconds = np.array(sorted(sums), np.int64)
    means = np.array([sums[second][0] / sums[second][1] for second in seconds.tolist()])
    if len(seconds) < WINDOW_S:
        return None
    best, first = -1.0, 0
    for start in range(len(seconds) - WINDOW_S + 1):
        if seconds[start + WINDOW_S - 1] - seconds[start] == WINDOW_S - 1:
            spread = float(means[start : start + WINDOW_S].std())
            best, first = max((best, first), (spread, start))
    begin = int(seconds[first]) * NS_PER_S
    return (begin, begin + WINDOW_S * NS_PER_S) if best >= 0 else None


def _clouds(lidar: Stream, first_ns: int, last_ns: int) -> tuple[Stamps, Iterator[Array]]:
    """The times of the clouds of a stretch of time, and their points (n, 3), one after the other."""
    found: list[tuple[int, records.Clouds, int]] = []
    for index, span in enumerate(lidar.spans):
        if span.last_ns >= first_ns and span.first_ns <= last_ns:
            record = lidar.load(index)
            if isinstance(record, records.Clouds):
                inside = np.flatnonzero((record.stamp_ns >= first_ns) & (record.stamp_ns <= last_ns))
                found += [(int(record.stamp_ns[row]), record, row) for row in inside.tolist()]
    chosen = [item for _, item in sorted({item[0]: item for item in found}.items())]
    return np.array([stamp for stamp, _, _ in chosen], np.int64), (_points(record, row) for _, record, row in chosen)


def _points(record: records.Clouds, row: int) -> Array:
    """Those near enough to be seen again; none of a cloud that is damaged, which is reported where it plays."""
    try:
        cloud = record.load(row)
    except ArchiveError:
        return np.zeros((0, 3))
    points = np.stack([cloud[axis].astype(np.float64) for axis in "xyz"], axis=-1)
    near: Array = points[np.linalg.norm(points, axis=1) < FARTHEST_M]
    return near


def _ins(odometry: Stream, first_ns: int, last_ns: int) -> Trajectory | None:
    """Poses of base_link by the INS in a stretch of time and a second around it."""
    parts = []
    for index, span in enumerate(odometry.spans):
        if span.last_ns >= first_ns - NS_PER_S and span.first_ns <= last_ns + NS_PER_S:
            record = odometry.load(index)
            if isinstance(record, records.Odometry):
                parts.append(record)
    if not parts:
        return None
    stamp_ns = np.concatenate([part.stamp_ns for part in parts])
    rotations = rotation_from_quaternion(np.concatenate([part.orientation_xyzw for part in parts]))
    poses = transform_from_rotation(rotations, np.concatenate([part.position_m for part in parts]))
    inside = np.flatnonzero((stamp_ns >= first_ns - NS_PER_S) & (stamp_ns <= last_ns + NS_PER_S))
    inside = inside[np.unique(stamp_ns[inside], return_index=True)[1]]
    return Trajectory(stamp_ns=stamp_ns[inside], poses=poses[inside]) if len(inside) else None


def _base_T_lidar(archive: Archive) -> Array:
    edges = edges_from_published(archive.spec.extrinsics, archive.spec.tree)
    return next(edge.parent_t_child for edge in edges if (edge.parent, edge.child) == ("base_link", "lidar"))


def _name_of_first(lidar: Stream) -> str:
    record = lidar.load(0)
    return record.names[0] if isinstance(record, records.Clouds) else ""
