"""The GNSS poses: their axes, determined from the trajectory, and the poses as east, north, up."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay.datasets.archive import Archive
from fieldplay.geometry import axes
from fieldplay.messages import records
from fieldplay_cdff.logs.file_index import NO_TIME
from fieldplay_cdff.logs.log_streams import LogStream
from fieldplay_cdff.logs.sample_rows import Floats, SampleRows
from fieldplay_cdff.logs.topic_builder import Convert
from fieldplay_cdff.logs.type_table import ORIENTATION, POSITION

NED, NWU = "ned", "nwu"
HALF = float(np.sqrt(0.5))
ENU_TURN = {NED: (HALF, HALF, 0.0, 0.0), NWU: (0.0, 0.0, HALF, HALF)}  # x y z w, of vectors in these axes to ENU
NAMES = {NED: "north-east-down", NWU: "north-west-up"}
MAX_ROWS = 400
NEAR_NS = 100_000_000
MIN_PATH_M = 0.5
MIN_DIFFERENCE = 0.02  # of the two agreements, each between -1 and 1
MIN_UP = 0.5


@dataclass(frozen=True, kw_only=True)
class Axes:
    """The axes of the GNSS poses, and their source."""

    name: str
    why: str


def in_enu(convert: Convert, name: str) -> Convert:
    """The same poses with their parent's axes turned to east, north, up."""

    def to_enu(rows: SampleRows, stamp_ns: NDArray[np.int64]) -> records.Record:
        record = convert(rows, stamp_ns)
        return rotate_odometry(record, ENU_TURN[name]) if isinstance(record, records.Odometry) else record

    return to_enu


def rotate_odometry(record: records.Odometry, turn: tuple[float, float, float, float]) -> records.Odometry:
    """Rotate odometry into another parent frame, where a vector of the old one keeps its meaning."""
    rotation = np.stack([axes.rotate_vectors(turn, axis) for axis in np.eye(3)], axis=-1)
    whole = np.kron(np.eye(2), rotation)
    return replace(
        record,
        position_m=record.position_m @ rotation.T,
        orientation_xyzw=_product(np.asarray(turn), record.orientation_xyzw),
        pose_covariance=whole @ record.pose_covariance @ whole.T,
    )


def _product(first: Floats, second: Floats) -> Floats:
    """Quaternions (n, 4) x y z w: the second rotation after the first."""
    vector = first[3] * second[:, :3] + second[:, 3:] * first[:3] + np.cross(first[:3], second[:, :3])
    real = first[3] * second[:, 3:] - second[:, :3] @ first[:3, None]
    return np.hstack([vector, real])


def axes_of_unit(archive: Archive, unit: LogStream, odometry: LogStream | None) -> Axes:
    """Return the axes as chosen, else from the odometry's trajectory, else from the rover's upright direction."""
    chosen = archive.parameters["dgps_frame"]
    if chosen != "auto":
        return Axes(name=chosen, why="as dgps_frame says")
    by_path = _axes_by_path(unit, odometry) if odometry is not None else None
    return by_path or _by_up(archive, unit) or Axes(name=NED, why="nothing in the log determines it; as in the scripts")


def _axes_by_path(unit: LogStream, odometry: LogStream) -> Axes | None:
    """Choose the axes in which the path turns as in the odometry (z up): left in NWU, right in NED seen with z up."""
    pairs = _match_rows(unit, odometry)
    if len(pairs) < 3:
        return None
    theirs, ours = _positions(unit, pairs[:, 0]), _positions(odometry, pairs[:, 1])
    good = np.isfinite(theirs).all(axis=1) & np.isfinite(ours).all(axis=1)
    theirs, ours = theirs[good], ours[good]
    if len(ours) < 3 or np.linalg.norm(np.ptp(ours, axis=0)) < MIN_PATH_M:
        return None
    theirs, ours = theirs - theirs.mean(axis=0), ours - ours.mean(axis=0)
    size = float(np.linalg.norm(theirs) * np.linalg.norm(ours)) or 1.0
    a, b = ours[:, 0] + 1j * ours[:, 1], theirs[:, 0] + 1j * theirs[:, 1]
    heights = float(ours[:, 2] @ theirs[:, 2])
    scores = {
        NWU: (abs(np.vdot(a, b)) + heights) / size,
        NED: (abs(np.vdot(a.conj(), b)) - heights) / size,
    }
    best, other = sorted(scores, key=lambda name: -scores[name])
    if scores[best] - scores[other] < MIN_DIFFERENCE:
        return None
    return Axes(
        name=best, why=f"its path agrees with the odometry's by {scores[best]:.3f}, else by {scores[other]:.3f}"
    )


def _match_rows(unit: LogStream, odometry: LogStream) -> NDArray[np.intp]:
    """Return rows (k, 2) of both that are at most NEAR_NS apart, some hundred over the common time."""
    if not len(unit) or not len(odometry):
        return np.zeros((0, 2), np.intp)
    first, last = _first_and_last(odometry)
    chosen, times = _spread_rows(unit, first, last)
    rows, theirs = _rows_not_before(odometry, times)
    near = theirs - times <= NEAR_NS
    return np.stack([chosen[near], rows[near]], axis=1)


def _first_and_last(log: LogStream) -> tuple[int, int]:
    """The first and the last of a stream's own times; NO_TIME for the first if one has none."""
    blocks = log.blocks
    is_complete = bool((blocks["known"] == np.diff(log.first_rows)).all())
    return int(blocks["low"].min()) if is_complete else NO_TIME, int(blocks["high"].max())


def _spread_rows(log: LogStream, first_ns: int, last_ns: int) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Some hundred rows (k,) between two times, evenly spread over all such, and their times."""
    counts = [_count_between(log, *rows, limits=(first_ns, last_ns)) for rows in log.ranges()]
    total, passed = sum(counts), 0
    requested = np.unique(np.linspace(0, max(total - 1, 0), MAX_ROWS).astype(np.intp))[:total]
    chosen, times = [np.zeros(0, np.intp)], [np.zeros(0, np.int64)]
    for (start, end), count in zip(log.ranges(), counts, strict=True):
        own = requested[(requested >= passed) & (requested < passed + count)] - passed
        if len(own):
            stamps = log.own_ns(start, end)
            rows = np.flatnonzero(_between(stamps, first_ns, last_ns))[own]
            chosen.append(start + rows)
            times.append(stamps[rows])
        passed += count
    return np.concatenate(chosen), np.concatenate(times)


def _count_between(log: LogStream, start: int, end: int, *, limits: tuple[int, int]) -> int:
    """Count the rows between two times; most blocks are counted without being read."""
    blocks = log.blocks[slice(*np.searchsorted(log.first_rows, [start, end]))]
    is_complete = int(blocks["known"].sum()) == end - start
    if is_complete and bool(((blocks["low"] >= limits[0]) & (blocks["high"] <= limits[1])).all()):
        return end - start
    return int(np.count_nonzero(_between(log.own_ns(start, end), *limits)))


def _between(times: NDArray[np.int64], first_ns: int, last_ns: int) -> NDArray[np.bool_]:
    return np.asarray((times >= first_ns) & (times <= last_ns) & (times != NO_TIME), bool)


def _rows_not_before(log: LogStream, times: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """The rows (k,) that were taken first of those not before the times (k,), and when; of several the first."""
    rows, nearest = np.zeros(len(times), np.intp), np.full(len(times), np.iinfo(np.int64).max)
    borders, blocks = log.first_rows, log.blocks
    for index in np.argsort(blocks["low"], kind="stable").tolist():
        is_open = (blocks["high"][index] >= times) & (blocks["low"][index] <= nearest)
        if not bool(is_open.any()):
            continue
        own_ns = log.own_ns(int(borders[index]), int(borders[index + 1]))
        order = np.argsort(own_ns, kind="stable")
        positions = np.searchsorted(own_ns[order], times)
        row = order[np.minimum(positions, len(own_ns) - 1)]
        is_better = (positions < len(own_ns)) & (
            (own_ns[row] < nearest) | ((own_ns[row] == nearest) & (borders[index] + row < rows))
        )
        rows[is_better], nearest[is_better] = borders[index] + row[is_better], own_ns[row[is_better]]
    return rows, nearest


def _positions(log: LogStream, rows: NDArray[np.intp]) -> Floats:
    return SampleRows(_samples(log, rows)).vectors(3, *POSITION)


def _samples(log: LogStream, rows: NDArray[np.intp]) -> list[Any]:
    samples = []
    for row in rows.tolist():
        try:
            samples.append(log.sample(row))
        except ArchiveError:
            samples.append({})
    return samples


def _by_up(archive: Archive, unit: LogStream) -> Axes | None:
    """Return the axes in which the rover is upright, from the unit's mounting position and its orientation."""
    (row,) = (row for row in archive.spec.extrinsics if row.parent == "dgps")
    rows = np.linspace(0, len(unit) - 1, min(len(unit), 50)).astype(np.intp)
    turn = SampleRows(_samples(unit, rows)).vectors(4, *ORIENTATION)
    turn = turn[np.isfinite(turn).all(axis=1)]
    if not len(turn):
        return None
    up = float(axes.rotate_vectors(turn, axes.rotate_vectors(row.rotation, (0.0, 0.0, 1.0)))[:, 2].mean())
    if abs(up) < MIN_UP:
        return None
    return Axes(
        name=NWU if up > 0 else NED, why=f"so the rover stands upright ({up:+.2f} of its z axis along the unit's)"
    )
