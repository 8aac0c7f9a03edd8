"""The satellite unit's poses: in which axes they are, measured by the way that they go, and as east, north, up."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay_archive import axes, records
from fieldplay_archive.archive import Archive
from fieldplay_archive.errors import ArchiveError
from fieldplay_archive.msgpack_logs.file_index import NO_TIME
from fieldplay_archive.msgpack_logs.ordered import Convert
from fieldplay_archive.msgpack_logs.poses import ORIENTATION, POSITION
from fieldplay_archive.msgpack_logs.rows import Floats, Rows
from fieldplay_archive.msgpack_logs.streams import LogStream

NED, NWU = "ned", "nwu"
HALF = float(np.sqrt(0.5))
ENU_TURN = {NED: (HALF, HALF, 0.0, 0.0), NWU: (0.0, 0.0, HALF, HALF)}  # x y z w, of vectors in these axes to ENU
NAMES = {NED: "north-east-down", NWU: "north-west-up"}
MOST_ROWS = 400
NEAR_NS = 100_000_000
LEAST_WAY_M = 0.5
LEAST_DIFFERENCE = 0.02  # of the two agreements, each between -1 and 1
LEAST_UP = 0.5


@dataclass(frozen=True, kw_only=True)
class Axes:
    """The axes of the unit's poses, and how that is known."""

    name: str
    why: str


def in_enu(convert: Convert, name: str) -> Convert:
    """The same poses with their parent's axes turned to east, north, up."""

    def converted(rows: Rows, stamp_ns: NDArray[np.int64]) -> records.Record:
        record = convert(rows, stamp_ns)
        return turned(record, ENU_TURN[name]) if isinstance(record, records.Odometry) else record

    return converted


def turned(record: records.Odometry, turn: tuple[float, float, float, float]) -> records.Odometry:
    """Odometry in a parent that is turned: a vector of the old one, turned so, is the same in the new one."""
    rotation = np.stack([axes.rotated(turn, axis) for axis in np.eye(3)], axis=-1)
    whole = np.kron(np.eye(2), rotation)
    return replace(
        record,
        position_m=record.position_m @ rotation.T,
        orientation_xyzw=_product(np.asarray(turn), record.orientation_xyzw),
        pose_covariance=whole @ record.pose_covariance @ whole.T,
    )


def _product(first: Floats, second: Floats) -> Floats:
    """Quaternions (n, 4) x y z w: the second turn, then the first."""
    vector = first[3] * second[:, :3] + second[:, 3:] * first[:3] + np.cross(first[:3], second[:, :3])
    real = first[3] * second[:, 3:] - second[:, :3] @ first[:3, None]
    return np.hstack([vector, real])


def axes_of_unit(archive: Archive, unit: LogStream, odometry: LogStream | None) -> Axes:
    """The axes as chosen, or by the odometry's way, or by which way the rover is up."""
    chosen = archive.parameters["dgps_frame"]
    if chosen != "auto":
        return Axes(name=chosen, why="as dgps_frame says")
    by_way = _by_way(unit, odometry) if odometry is not None else None
    return by_way or _by_up(archive, unit) or Axes(name=NED, why="nothing in the log tells, so as the scripts have it")


def _by_way(unit: LogStream, odometry: LogStream) -> Axes | None:
    """A way that turns left in the odometry, whose z is up, turns left in NWU, and right in NED seen with z up."""
    pairs = _paired_rows(unit, odometry)
    if len(pairs) < 3:
        return None
    theirs, ours = _positions(unit, pairs[:, 0]), _positions(odometry, pairs[:, 1])
    good = np.isfinite(theirs).all(axis=1) & np.isfinite(ours).all(axis=1)
    theirs, ours = theirs[good], ours[good]
    if len(ours) < 3 or np.linalg.norm(np.ptp(ours, axis=0)) < LEAST_WAY_M:
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
    if scores[best] - scores[other] < LEAST_DIFFERENCE:
        return None
    return Axes(name=best, why=f"its way agrees with the odometry's by {scores[best]:.3f}, else by {scores[other]:.3f}")


def _paired_rows(unit: LogStream, odometry: LogStream) -> NDArray[np.intp]:
    """Rows (k, 2) of both that were taken within NEAR_NS, some hundred over the common time."""
    if not len(unit) or not len(odometry):
        return np.zeros((0, 2), np.intp)
    order = np.argsort(odometry.own_ns, kind="stable")
    times = odometry.own_ns[order]
    known = np.flatnonzero((unit.own_ns >= times[0]) & (unit.own_ns <= times[-1]) & (unit.own_ns != NO_TIME))
    chosen = known[np.unique(np.linspace(0, len(known) - 1, MOST_ROWS).astype(np.intp))] if len(known) else known
    place = np.minimum(np.searchsorted(times, unit.own_ns[chosen]), len(times) - 1)
    near = times[place] - unit.own_ns[chosen] <= NEAR_NS
    return np.stack([chosen[near], order[place[near]]], axis=1)


def _positions(log: LogStream, rows: NDArray[np.intp]) -> Floats:
    return Rows(_samples(log, rows)).vectors(3, *POSITION)


def _samples(log: LogStream, rows: NDArray[np.intp]) -> list[Any]:
    found = []
    for row in rows.tolist():
        try:
            found.append(log.sample(row))
        except ArchiveError:
            found.append({})
    return found


def _by_up(archive: Archive, unit: LogStream) -> Axes | None:
    """The rover stands on its wheels: by its place in the unit, and the unit's turn."""
    (row,) = (row for row in archive.spec.extrinsics if row.parent == "dgps")
    rows = np.linspace(0, len(unit) - 1, min(len(unit), 50)).astype(np.intp)
    turn = Rows(_samples(unit, rows)).vectors(4, *ORIENTATION)
    turn = turn[np.isfinite(turn).all(axis=1)]
    if not len(turn):
        return None
    up = float(axes.rotated(turn, axes.rotated(row.rotation, (0.0, 0.0, 1.0)))[:, 2].mean())
    if abs(up) < LEAST_UP:
        return None
    return Axes(
        name=NWU if up > 0 else NED, why=f"so the rover stands upright ({up:+.2f} of its z axis along the unit's)"
    )
