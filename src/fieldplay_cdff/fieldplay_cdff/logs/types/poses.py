"""Poses and motions: rigid body states, transforms, bare poses."""

import numpy as np
from numpy.typing import NDArray

from fieldplay.geometry import axes
from fieldplay.messages import records
from fieldplay_cdff.logs.types.rows import Floats, SampleRows, no_numbers

Stamps = NDArray[np.int64]

UNKNOWN_VARIANCE = 1e6  # of a part that the data do not hold
NORM_ERROR = 1e-3  # of a quaternion
IDENTITY = (0.0, 0.0, 0.0, 1.0)
NO_TURN = (
    "its velocities are in the target's frame; where a sample has no orientation that of its source is not known, and "
    "leaves with a variance of 1e6"
)
W_FIRST = (1, 2, 3, 0)  # of a quaternion w x y z, its x y z w
POSITION, ORIENTATION = ("pos", "position"), ("orient", "orientation")


def odometry_from_states(rows: SampleRows, stamp_ns: Stamps, *, w_first: bool = False) -> records.Odometry:
    """The source in the target; the velocity, which is in the target, is turned into the source.

    A part that is NaN throughout is not known: it is zero, or the identity, with UNKNOWN_VARIANCE. So is a velocity
    without the orientation that would turn it, which is told.
    """
    _require_names(rows, "sourceframe", "targetframe")
    position = rows.vectors(3, *POSITION)
    turn = _orientation(rows, w_first=w_first)
    velocity, rates = rows.vectors(3, "velocity"), rows.vectors(3, "angularvelocity")
    no_place, no_turn = _unknown(rows, "position", position), _unknown(rows, "orientation", turn)
    no_velocity, no_rates = _unknown(rows, "velocity", velocity), _unknown(rows, "angular_velocity", rates)
    rows.fault(no_place & no_turn & no_velocity & no_rates, "expected a pose or a motion, got neither")
    if (no_turn & ~no_velocity).any():
        rows.notes.add(NO_TURN)
        no_velocity |= no_turn
        rows.fault(no_place & no_turn & no_rates, "expected an orientation, by which its velocity is turned, got none")
    _require_unit(rows, turn, ~no_turn)
    turn[no_turn] = IDENTITY
    body_R_target = np.swapaxes(_matrices(turn), 1, 2)
    position[no_place] = velocity[no_velocity] = rates[no_rates] = 0.0
    covariances = [
        _covariance(rows, "covposition", no_place),
        _covariance(rows, "covorientation", no_turn, np.swapaxes(body_R_target, 1, 2)),
        _covariance(rows, "covvelocity", no_velocity, body_R_target),
        _covariance(rows, "covangularvelocity", no_rates),
    ]
    return records.Odometry(
        stamp_ns=stamp_ns,
        position_m=position,
        orientation_xyzw=turn,
        pose_covariance=_blocks(*covariances[:2]),
        linear_velocity_m_s=np.einsum("nij,nj->ni", body_R_target, velocity),
        angular_velocity_rad_s=rates,
        twist_covariance=_blocks(*covariances[2:]),
    )


def odometry_from_transforms(rows: SampleRows, stamp_ns: Stamps, *, w_first: bool = False) -> records.Odometry:
    """The child in the parent; motions are not known."""
    position = rows.vectors(3, "data.translation", "translation")
    turn = rows.vectors(4, "data.orientation", "orientation")
    turn = turn[:, W_FIRST] if w_first else turn
    _require_finite(rows, "translation", position)
    _require_finite(rows, "orientation", turn)
    _require_unit(rows, turn, np.ones(len(rows), bool))
    covariance = rows.vectors(36, "data.cov", "cov").reshape(-1, 6, 6)
    covariance[~np.isfinite(covariance).all(axis=(1, 2))] = 0.0
    none = np.zeros((len(rows), 3))
    return records.Odometry(
        stamp_ns=stamp_ns,
        position_m=position,
        orientation_xyzw=turn,
        pose_covariance=covariance,
        linear_velocity_m_s=none,
        angular_velocity_rad_s=none,
        twist_covariance=np.tile(np.eye(6) * UNKNOWN_VARIANCE, (len(rows), 1, 1)),
    )


def poses_from_samples(rows: SampleRows, stamp_ns: Stamps, *, w_first: bool = False) -> records.Pose:
    """Bare poses."""
    position, turn = rows.vectors(3, *POSITION), _orientation(rows, w_first=w_first)
    _require_finite(rows, "position", position)
    _require_finite(rows, "orientation", turn)
    _require_unit(rows, turn, np.ones(len(rows), bool))
    return records.Pose(stamp_ns=stamp_ns, position_m=position, orientation_xyzw=turn)


def _orientation(rows: SampleRows, *, w_first: bool) -> Floats:
    """Quaternions (n, 4) x y z w; Rock's own form names its parts, so the order is for lists alone."""
    turn = rows.vectors(4, *ORIENTATION)
    if w_first:
        is_list = ~rows.has_parts(*ORIENTATION)
        turn[is_list] = turn[is_list][:, W_FIRST]
    return turn


def _unknown(rows: SampleRows, name: str, values: Floats) -> NDArray[np.bool_]:
    """Which rows (n,) have nothing but NaN; those that have some of it, or infinity, are defective."""
    is_nan = np.isnan(values)
    unknown = np.asarray(is_nan.all(axis=1), bool)
    rows.fault(no_numbers(values) & ~unknown, f"{name}: expected numbers, got NaN")
    return unknown


def _require_names(rows: SampleRows, *names: str) -> None:
    """Frames that are named are so by texts."""
    for name in names:
        values = rows.values(name)
        if set(map(type, values)) <= {str, type(None)}:
            continue
        for row, value in enumerate(values):
            if not isinstance(value, str | None):
                rows.faults.setdefault(row, f"{name}: expected a text, got {type(value).__name__}")


def _require_finite(rows: SampleRows, name: str, values: Floats) -> None:
    rows.fault(no_numbers(values), f"{name}: expected numbers, got NaN")


def _require_unit(rows: SampleRows, turn: Floats, wanted: NDArray[np.bool_]) -> None:
    off = np.abs(np.linalg.norm(np.nan_to_num(turn), axis=1) - 1) > NORM_ERROR
    rows.fault(wanted & off, "orientation: expected a unit quaternion, got one of another length")


def _matrices(turn: Floats) -> Floats:
    """Rotations (n, 3, 3) of quaternions."""
    return np.stack([axes.rotated(turn, axis) for axis in np.eye(3)], axis=-1)


def _covariance(rows: SampleRows, name: str, unknown: NDArray[np.bool_], turn: Floats | None = None) -> Floats:
    """Covariances (n, 3, 3), turned into other axes; zero where they hold NaN, large where there is no value at all."""
    found = rows.vectors(9, name).reshape(-1, 3, 3)
    found[~np.isfinite(found).all(axis=(1, 2))] = 0.0
    if turn is not None:
        found = turn @ found @ np.swapaxes(turn, 1, 2)
    found[unknown] = np.eye(3) * UNKNOWN_VARIANCE
    return found


def _blocks(first: Floats, second: Floats) -> Floats:
    whole = np.zeros((len(first), 6, 6))
    whole[:, :3, :3], whole[:, 3:, 3:] = first, second
    return whole
